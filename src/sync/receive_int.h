/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver in its steps, one file each: receive.c talks, look.c finds out what is there and
 * what lacks, unpack.c opens and checks what comes, partial.c keeps it and makes whole files of it,
 * apply.c puts them in place.
 */
#ifndef SYNC_RECEIVE_INT_H
#define SYNC_RECEIVE_INT_H

#include "base/err.h"
#include "sync/chunks.h"
#include "sync/index.h"
#include "sync/manifest.h"
#include "sync/place.h"
#include "sync/session.h"
#include "sync/stream.h"

/* What is to be done for an entry. */
enum todo {
	TODO_NOTHING,
	TODO_DRESS, /* mode or time */
	TODO_MAKE,
};

/* Where a chunk that is needed comes from. */
enum source {
	SOURCE_UNUSED,	/* nothing needs it */
	SOURCE_NONE,	/* the sender has to send it */
	SOURCE_PARTIAL, /* in the partial directory */
	SOURCE_TREE,	/* in a file of the tree, where `places` says */
	SOURCE_LOOKUP,	/* the caller knows where */
};

/*
 * A chunk that is kept is a file of its own, when some file is made of it alone; else it lies where
 * it belongs in the first of the files that are made of it and others.
 */
struct need {
	uint8_t source;	  /* enum source */
	bool is_dressed;  /* its own file has the owner's mode and time */
	uint32_t place;	  /* SOURCE_TREE: number in `places` */
	uint32_t owner;	  /* the entry that its own file becomes; CHUNKS_NONE */
	uint32_t home;	  /* else the entry that it lies in */
	uint64_t home_at; /* and where */
};

#define PARTIAL_NAME_SIZE (HASH_TEXT_SIZE + 1)

struct receiver {
	const struct sync_receive_opts *opts;
	struct manifest_limits limits;
	struct sync_stats *stats;
	struct stream stream;
	int partial; /* owned when the caller gave none */
	bool owns_partial;
	struct index old;  /* the tree as it was left last, and its manifest */
	struct index next; /* what a session that was cut off had begun to write; empty: none */
	uint8_t last[HASH_BYTES];
	struct manifest tree; /* as it is to be */
	uint8_t name[HASH_BYTES];
	struct index_stat *stats_now; /* for each entry of it */
	uint8_t *todo;		      /* enum todo for each */
	struct chunks chunks;	      /* of the tree to be */
	struct need *needs;	      /* for each chunk */
	struct chunks places;	      /* of what is there: entries of old, then of fresh */
	struct manifest_entry *fresh; /* what was read because nobody knew; owns chunks and path */
	size_t n_fresh;
	uint8_t *buffer;       /* DIGEST_BUFFER bytes */
	struct timespec start; /* before the tree was looked at */
	struct stat *ahead;    /* of the old tree's entries; mode 0: not there */
	uint32_t *wanted;      /* chunks that the sender has to send */
	size_t n_wanted;
};

static inline unsigned mode_here(const struct receiver *r, const struct manifest_entry *entry)
{
	return entry->mode & ~r->opts->mode_off;
}

/* While the sender is busy: look at what was there the last time. */
void look_ahead(struct receiver *r);
/* Fill todo and needs; keeps what is found at once. Nothing in the tree changes. */
int look(struct receiver *r, struct err *e);
int look_find(struct receiver *r, struct err *e);

int partial_open(struct receiver *r, struct err *e);
/* What an interrupted session has left: keep what is needed and whole, remove the rest. */
int partial_take_stock(struct receiver *r, struct err *e);
/* Keep a chunk whose hash fits. More than one thread may do so, with different chunks. */
int partial_put(struct receiver *r, uint32_t chunk, const uint8_t *data, struct err *e);
/* Make every file that is to be made, whole, under partial_name(). */
int partial_prepare(struct receiver *r, struct err *e);
void partial_name(const struct receiver *r, size_t entry, char ret[PARTIAL_NAME_SIZE]);
int partial_clear(int fd, struct err *e);
/* `len` bytes of a chunk from wherever it is, checked. 0, 1: it does not fit, or -errno. */
int chunk_read(struct receiver *r, uint32_t chunk, uint8_t *to);

/* unpack.c: the chunks in `wanted`, as they come. */
int unpack_all(struct receiver *r, struct err *e);

int apply(struct receiver *r, struct err *e);

#endif
