/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own program, reader/, in a sandbox: the only one that reads or merges layers at rest, or
 * walks the files of a workspace for us. It speaks over its standard output, in the formats of
 * tree/, and is believed no more than any other program in a sandbox.
 */
#ifndef ENGINE_READER_H
#define ENGINE_READER_H

#include <signal.h>

#include "base/err.h"
#include "base/hash.h"
#include "pinfold/pinfold.h"
#include "engine/workspace_int.h"

struct reader {
	struct pinfold_run *run;
	int in, out; /* blocking */
};

#define READER_INIT                                                                                \
	{                                                                                          \
		.in = FD_NONE, .out = FD_NONE                                                      \
	}

/* Words of its command line, with room for those that are made up. */
#define READER_ARGS_MAX 158u
struct reader_words {
	const char *argv[READER_ARGS_MAX + 1]; /* ends with NULL */
	unsigned n;
	char text[READER_ARGS_MAX * 24u];
	size_t used;
};

/* Starts as zeros. A word is borrowed; there is always room for what a stack of layers needs. */
void reader_word(struct reader_words *w, const char *word);
/* A part of a layer, and the number of a layer by itself. */
void reader_word_layer(struct reader_words *w, uint32_t number, const char *part);
void reader_word_number(struct reader_words *w, uint32_t number);

struct reader_ask {
	const char *const *argv; /* what follows the program's name; ends with NULL */
	enum sandbox_peek peek;
	const struct stack *before, *now; /* PEEK_LOOK: the two views, or PEEK_MERGE: NULL */
	uint32_t out;			  /* PEEK_MERGE: the layer that is made */
	const char *dir;		  /* what a workspace shows at /work, NULL: nothing */
	const char *said;		  /* what of it is hidden: struct workspace's */
	bool secrets;			  /* with those files of it that are hidden from commands */
	bool bare;			  /* PEEK_LOOK: `now` alone, over nothing */
	bool socket;			  /* its standard input is one, r->in the other end */
	bool fed;			  /* it reads from r->in */
};

/* Start it on layers at rest. */
int reader_look(struct store *s, const struct reader_ask *ask, struct reader *ret, struct err *e);
/* Start it in a workspace. Of `how`, the tool is filled in. */
int reader_enter(struct store *s, const char *name, const char *const *argv,
		 struct workspace_how *how, struct reader *ret, struct err *e);
/* Hand on the bytes of `from` until it ends, or the reader wants no more: its answer says why. They
 * are hashed on the way unless `h` is NULL. */
int reader_pump(int from, int to, struct hash *h, struct err *e);
/* Between the two, writing to one that has died is an error (EPIPE) and no signal for whoever uses
 * this library. */
void reader_hush(sigset_t *ret_before);
void reader_unhush(const sigset_t *before);
/* Wait until it has ended; r < 0: with what was wrong already. Fails when it did. */
int reader_end(struct reader *r, int result, struct err *e);

#endif
