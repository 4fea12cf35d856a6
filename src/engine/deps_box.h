/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver of ours (deps/drivers.h) in a sandbox: it knows a package manager. It is told what to
 * do, and tells what came of it, in frames over its standard input and output:
 *
 *	kind (1 byte), length (8 bytes, little endian), as many bytes
 *
 *	J	a document (JSON): what is to be done; what came of it
 *	F	a file: 64 hexadecimal digits of its SHA-256, then what is in it
 *	T	a piece of a tar archive, whose names are relative to /usr; a J beside them has more to say
 *		about it. Or a piece of a package that was made of what is installed
 *	E	a document: {"code": "missing", "message": "...", "remedy": "..."}; nothing comes behind it
 *	D	done; nothing comes behind it
 *
 * It reads everything before it answers. It is believed no more than any other program in a
 * sandbox.
 */
#ifndef ENGINE_DEPS_BOX_H
#define ENGINE_DEPS_BOX_H

#include "base/value.h"
#include "engine/run_int.h"

struct box_ask {
	const char *lang;   /* what the driver is written in: python, node, r */
	const char *driver; /* its text */
	const char *policy; /* what it may reach (docs/egress.md); NULL: nothing */
	const char *user;   /* root, or NULL */
	enum sandbox_host host;
	const struct store *store; /* with `ground`: where that is; borrowed */
	uint32_t ground;	   /* a layer on the host's /usr, or 0 */
	bool is_bare;		   /* on packages: a driver in python runs nothing of theirs */
	bool is_small;		   /* what it writes fits into memory: no volume is made for it */
};

struct box {
	struct pinfold_run *run;
	const char *data; /* what it said and nobody read yet */
	size_t left;
	bool ended;
	char complaint[400]; /* the end of what it said to standard error */
};

struct box_frame {
	char kind;
	uint64_t len;
};

int box_start(const struct box_ask *ask, struct box *ret, struct err *e);
int box_say(struct box *b, const struct value *doc, struct err *e);
/* A file of `bytes` bytes; ERR_CONFLICT where it is not what its hash says. */
int box_give(struct box *b, const char *sha256, int fd, uint64_t bytes, struct err *e);
/* The same of one that stands for another, whose hash it does not have: nobody compares. */
int box_give_for(struct box *b, const char *sha256, int fd, uint64_t bytes, struct err *e);
/* Nothing more is said to it. */
void box_said(struct box *b);
/* The head of the next frame; an E is the error that it is. */
int box_next(struct box *b, struct box_frame *ret, struct err *e);
/* Some of the frame's bytes: reads all of `len`. */
int box_read(struct box *b, void *data, size_t len, struct err *e);
int box_read_doc(struct box *b, const struct box_frame *f, struct value **ret, struct err *e);
/* Wait until it has ended; r < 0: with what was wrong already. */
int box_end(struct box *b, int r, struct err *e);

#endif
