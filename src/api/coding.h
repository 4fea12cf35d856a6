/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip and zstd: answers for who takes them, and bodies that come so. Each library is seen by one
 * file (coding_gzip.c, coding_zstd.c). What a stranger sends expands step by step into room that
 * the caller gives, so he says how much is too much.
 */
#ifndef API_CODING_H
#define API_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "http/coding.h"

#define CODING_MIN 1024u	      /* less is not worth it */
#define CODING_FILE_MAX (64ull << 20) /* more goes as it is */

/* What goes in and comes out: both are moved on by what was taken and made. */
struct coder_io {
	const char *in;
	size_t in_len;
	char *out;
	size_t room;
	bool last; /* there is no more behind `in` */
};

struct coder_ops {
	void *(*make)(bool open);
	/* 1: whole; 0: wants more room or input; < 0: that is not what it claims to be. */
	int (*step)(void *state, bool open, struct coder_io *io);
	void (*free)(void *state, bool open);
};
extern const struct coder_ops coder_gzip, coder_zstd;

struct coder;
/* open: from what came to plain bytes; else the other way. NULL: no memory. */
struct coder *coder_new(enum http_coding coding, bool open);
void coder_free(struct coder *c);
/* As coder_ops.step; after the end more input is an error. */
int coder_step(struct coder *c, struct coder_io *io);

/* All of a malloced text. 1: *text is now shorter; 0: it stays as it is. */
int coding_text(enum http_coding coding, char **text, size_t *len);
/* A part of a file, into another one that is nowhere to be found. 1: *fd is that; 0: it stays. */
int coding_file(enum http_coding coding, int *fd, uint64_t *offset, uint64_t *length);
/* Is it worth trying? type NULL: JSON. */
bool coding_is_worth(const char *type, uint64_t length);
/* "gzip", "zstd" or "identity" as a Content-Encoding; false: we do not have that. */
bool coding_find(const char *name, size_t len, enum http_coding *ret);

#endif
