/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One change between two views of a tree, and the stream in which changes travel from a reader to
 * the host side. Its bytes are in change.c; the decoder believes nothing.
 */
#ifndef TREE_CHANGE_H
#define TREE_CHANGE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tree/frame.h"
#include "tree/path.h"

#define TREE_CHANGES_MAX (UINT64_C(1) << 24)
#define TREE_TEXT_MAX (32u << 20)

enum tree_change_kind { TREE_ADDED = 1, TREE_MODIFIED, TREE_DELETED, TREE_CHANGE_KINDS };

enum tree_type {
	TREE_TYPE_NONE = 0,
	TREE_TYPE_FILE,
	TREE_TYPE_DIR,
	TREE_TYPE_SYMLINK,
	TREE_TYPE_FIFO,
	TREE_TYPE_SOCKET,
	TREE_TYPE_DEVICE,
	TREE_TYPES
};

/* What differs, and what is known. */
#define TREE_DIFF_CONTENT 0x1u /* bytes of a file, target of a link, or the type itself */
#define TREE_DIFF_MODE 0x2u
#define TREE_DIFF_OWNER 0x4u
#define TREE_DIFF_ATTRS 0x8u
#define TREE_DIFF_BINARY 0x10u	  /* no text for that reason; only where text was asked for */
#define TREE_DIFF_TEXT 0x20u	  /* `text` is the difference */
#define TREE_DIFF_TEXT_LEFT 0x40u /* there would be text, but no room for it */
#define TREE_DIFF_HASH_OLD 0x80u  /* `hash_old` is known */
#define TREE_DIFF_HASH_NEW 0x100u
#define TREE_DIFF_UNREADABLE 0x200u /* a file that could not be opened: judged by size and time */
#define TREE_DIFF_ALL 0x3ffu

struct tree_change {
	enum tree_change_kind kind;
	uint32_t flags;
	enum tree_type type_old, type_new;
	uint32_t mode_old, mode_new; /* permissions with set-id bits, 0 where there is nothing */
	uint64_t size_old, size_new; /* of files and of links' targets */
	uint8_t hash_old[HASH_BYTES], hash_new[HASH_BYTES];
	const char *path; /* ends with a NUL, as the text does */
	size_t path_len;
	const char *text; /* hunks as git writes them, without a head (patch.h) */
	size_t text_len;
};

struct tree_change_counts {
	uint64_t added, modified, deleted;
	uint64_t omitted; /* not sent: over the number that was asked for, or without a name */
};

enum tree_type tree_type_of(mode_t mode);

struct tree_change_enc {
	struct frame_out out;
	uint64_t sent;
};

int tree_change_enc_init(struct tree_change_enc *enc, int fd, struct err *e);
void tree_change_enc_done(struct tree_change_enc *enc);
int tree_change_enc_put(struct tree_change_enc *enc, const struct tree_change *c, struct err *e);
int tree_change_enc_end(struct tree_change_enc *enc, const struct tree_change_counts *counts,
			struct err *e);
int tree_change_enc_error(struct tree_change_enc *enc, const struct err *what, struct err *e);

/* 0 is as much as the format allows. */
struct tree_change_limits {
	uint64_t changes;
	uint64_t text_bytes; /* of all */
};

struct tree_change_dec {
	struct frame_in in;
	struct tree_change_limits limits;
	uint64_t got, text_bytes;
	bool ended;
	struct tree_change_counts counts; /* good after the end */
	char path[TREE_PATH_MAX + 1];
	char *text;
	size_t text_room;
};

int tree_change_dec_init(struct tree_change_dec *dec, int fd,
			 const struct tree_change_limits *limits, struct err *e);
void tree_change_dec_done(struct tree_change_dec *dec);
/* 1: a change, good until the next call; 0: the end, and dec->counts fitted. */
int tree_change_dec_next(struct tree_change_dec *dec, struct tree_change *ret, struct err *e);

#endif
