/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as a list: one entry for each directory, file and symbolic link, with what is in the files
 * said by hashes. Pure: no I/O.
 *
 * Entries are in the order of a walk: a directory is followed at once by all that is below it.
 * Every parent is there, as a directory, before its children. So a list that was accepted names
 * each path once, never through a link or a file, never outside.
 *
 * A file of at most CHUNK_WHOLE_MAX bytes is one chunk, and the hash of the file is the chunk's; an
 * empty one has none. A larger file lists its chunks.
 *
 * manifest_add() is the only way in, for a scan of our own as for bytes from outside: the rules are
 * the same for both.
 */
#ifndef SYNC_MANIFEST_H
#define SYNC_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "sync/buf.h"

#define MANIFEST_PATH_MAX 4095
#define MANIFEST_NAME_MAX 255
#define MANIFEST_DEPTH_MAX 128
#define MANIFEST_BYTES_MAX ((size_t)256 << 20) /* encoded */

enum manifest_kind {
	MANIFEST_GONE = 0, /* in a delta alone: the path is not there any more */
	MANIFEST_FILE = 1,
	MANIFEST_DIR = 2,
	MANIFEST_LINK = 3,
};

struct manifest_chunk {
	uint8_t hash[HASH_BYTES];
	uint32_t len;
};

struct manifest_entry {
	const char *path; /* relative, NUL-terminated */
	const char *target;
	const struct manifest_chunk *chunks;
	uint32_t n_chunks;
	uint16_t path_len;
	uint16_t mode; /* permission bits; directories may have the sticky bit */
	uint8_t kind;
	uint32_t mtime_ns; /* files alone have a time */
	int64_t mtime_s;
	uint64_t size;
	uint8_t hash[HASH_BYTES];
};

struct manifest_limits {
	uint32_t entries_max;
	uint64_t bytes_max; /* sum of the files' sizes */
	size_t memory_max;  /* of what a manifest takes once it is decoded */
};

#define MANIFEST_LIMITS                                                                            \
	{                                                                                          \
		.entries_max = 1000000, .bytes_max = (uint64_t)1 << 40,                            \
		.memory_max = (size_t)512 << 20                                                    \
	}

struct manifest {
	struct manifest_entry *entries;
	size_t n;
	size_t cap;
	size_t files; /* of the entries: files and links, not directories */
	uint64_t bytes;
	struct manifest_limits limits;
	struct arena arena;
	size_t open[MANIFEST_DEPTH_MAX]; /* the directories that the last entry is in, or is */
	unsigned depth;
};

void manifest_init(struct manifest *m, const struct manifest_limits *limits);
void manifest_done(struct manifest *m);
#define auto_manifest __attribute__((cleanup(manifest_done)))

/* The order of entries: bytes, with '/' before all others. */
int manifest_path_cmp(const char *a, const char *b);

/* Check an entry and append a copy of it. ERR_INVALID: it breaks a rule; ERR_LIMIT: too much. */
int manifest_add(struct manifest *m, const struct manifest_entry *entry, struct err *e);
/* The entry with that path, or NULL. */
const struct manifest_entry *manifest_find(const struct manifest *m, const char *path);
/* Are they the same in everything? */
bool manifest_same(const struct manifest_entry *a, const struct manifest_entry *b);
/* Does this symbolic link lead out of the tree, or may it? Its entry must be in `m`, which must be
 * whole: where a target goes up again, what it goes up from must be a directory of `m`. */
bool manifest_leads_out(const struct manifest *m, const struct manifest_entry *link);
/* ERR_DENIED for the first link that leads out. */
int manifest_check_links(const struct manifest *m, struct err *e);

/* The bytes of it: the same tree has the same bytes, and their hash is the manifest's name. */
int manifest_encode(const struct manifest *m, struct buf *ret, struct err *e);
int manifest_decode(const void *data, size_t len, const struct manifest_limits *limits,
		    struct manifest *ret, struct err *e);
/* What turns `from` into `to`. */
int manifest_diff(const struct manifest *from, const struct manifest *to, struct buf *ret,
		  struct err *e);
int manifest_patch(const struct manifest *from, const void *data, size_t len,
		   const struct manifest_limits *limits, struct manifest *ret, struct err *e);

#endif
