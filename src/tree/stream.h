/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree stream: a tree, or what changes in one, as records over a pipe. Its bytes are in
 * stream.c. Who decodes believes nothing: every record is checked before it is handed out.
 *
 * Records come in the order of a walk (tree_path_cmp), each path once; what has no record above it
 * is meant to be there already. The root itself may come first, with the path "": a directory, or
 * whatever else is sent alone.
 */
#ifndef TREE_STREAM_H
#define TREE_STREAM_H

#include <stdbool.h>
#include <time.h>

#include "tree/attr.h"
#include "tree/frame.h"
#include "tree/path.h"

#define TREE_CHUNK_MAX (128u << 10)
#define TREE_ENTRIES_MAX (UINT64_C(1) << 24)
/* Files with more than one name are remembered: by the one who packs, and by the one who
 * unpacks. */
#define TREE_LINKED_MAX (UINT64_C(1) << 20)
#define TREE_LINKED_BYTES_MAX ((size_t)64 << 20)

enum tree_kind {
	TREE_DIR = 1,
	TREE_FILE,
	TREE_SYMLINK,
	TREE_LINK, /* hard link to an earlier file of this stream */
	TREE_FIFO,
	TREE_SKIPPED, /* a socket or a device was here; nothing is made of it */
	TREE_GONE,    /* nothing is to be here */
	TREE_END,
	TREE_ERROR
};

struct tree_entry {
	enum tree_kind kind;
	uint32_t mode;	   /* permissions, no set-id bit; TREE_SKIPPED: the type that it was */
	uint32_t uid, gid; /* as seen inside */
	struct timespec mtime;
	uint64_t size;	  /* TREE_FILE: with holes */
	bool linked;	  /* TREE_FILE: links to it may follow */
	bool opaque;	  /* TREE_DIR: what was there before is not to stay */
	const char *path; /* these three end with a NUL, and are good until the next record */
	size_t path_len;
	const char *target; /* TREE_SYMLINK, TREE_LINK */
	size_t target_len;
	const uint8_t *attrs; /* as in attr.h */
	size_t attrs_len;
};

struct tree_enc {
	struct frame_out out;
	uint64_t entries;
	bool in_file;
};

int tree_enc_init(struct tree_enc *enc, int fd, struct err *e);
void tree_enc_done(struct tree_enc *enc);
/* After a TREE_FILE come its data, in order of their offsets, and tree_enc_data_end(). */
int tree_enc_entry(struct tree_enc *enc, const struct tree_entry *entry, struct err *e);
int tree_enc_data(struct tree_enc *enc, uint64_t offset, const void *data, size_t len,
		  struct err *e);
int tree_enc_data_end(struct tree_enc *enc, struct err *e);
int tree_enc_end(struct tree_enc *enc, struct err *e);
/* Instead of the end, also in the middle of a file: why there is none. */
int tree_enc_error(struct tree_enc *enc, const struct err *what, struct err *e);

/* What the other side may send; 0 is as much as the format allows. */
struct tree_limits {
	uint64_t entries;
	uint64_t bytes; /* of all files, without holes */
};

struct tree_dec {
	struct frame_in in;
	struct tree_limits limits;
	uint64_t entries, bytes;
	bool in_file, ended;
	uint64_t file_size, file_at;
	bool any;	  /* there was a record before this one */
	bool last_is_dir; /* and it was a directory, */
	size_t last_len;  /* with this path */
	char last[TREE_PATH_MAX + 1];
	char path[TREE_PATH_MAX + 1], target[TREE_PATH_MAX + 1];
	uint8_t *attrs, *chunk;
	char *linked; /* paths that may be linked to, one after the other */
	size_t linked_len, linked_room;
	size_t *linked_at, n_linked, linked_at_room;
};

int tree_dec_init(struct tree_dec *dec, int fd, const struct tree_limits *limits, struct err *e);
void tree_dec_done(struct tree_dec *dec);
/* 1: a record; 0: the end, and it fitted; negative: the stream is not to be believed, or the other
 * side says what went wrong there. Data of a file that nobody took are skipped. */
int tree_dec_next(struct tree_dec *dec, struct tree_entry *ret, struct err *e);
/* 1: data of the file, at *ret_offset; 0: there are no more. */
int tree_dec_data(struct tree_dec *dec, uint64_t *ret_offset, const void **ret_data,
		  size_t *ret_len, struct err *e);

#endif
