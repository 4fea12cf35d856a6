/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said between the API's process and the keeper. Nothing of it is believed there.
 *
 * A request is one message: struct keeper_head, then n_words words, each ended by a NUL, `len`
 * bytes in all; and in this order, close-on-exec or not:
 *
 *	reply	 a socket of its own. The keeper sends one struct keeper_reply; a byte that comes on it,
 *		 or its other end closed, ends the command as Ctrl-C would
 *	0, 1, 2	 standard descriptors: pipes, or /dev/null for 0
 *	result	 KEEPER_RESULT: a pipe, for what cmd/relay.h says
 *	layers	 KEEPER_LAYERS, instead of it: a socket, on which packages (wire/bundle.h) or values
 *		 of secrets come back, as one descriptor
 *	program	 KEEPER_PROGRAM: a sealed memfd with the text that --lang runs
 *
 * The words are VERB, OPTION..., WORD..., and for run and exec `--` and what to run. An option is
 * one word, --name or --name=VALUE, so that there is nothing to take for something else. Which
 * there are is in keeper_check.c.
 */
#ifndef API_KEEPER_INT_H
#define API_KEEPER_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/call.h"
#include "api/keeper.h"

#define KEEPER_MAGIC 0x7065656bu
#define KEEPER_VERSION 1u
#define KEEPER_BYTES_MAX (144u << 10) /* of one request */
#define KEEPER_WORDS_MAX 6144u
#define KEEPER_FDS_MAX 6u
#define KEEPER_CHILDREN_MAX 64u
/* Of those, who follow the ledger, which has no end: in all, and of one tenant. */
#define KEEPER_FOLLOWERS_MAX 24u
#define KEEPER_FOLLOWERS_EACH 8u
#define KEEPER_GRACE_MAX (3600u * 1000)
#define KEEPER_GRACE_MORE 5000u /* for what is not the command's own grace */

#define KEEPER_RESULT 0x1u
#define KEEPER_PROGRAM 0x2u
#define KEEPER_LAYERS 0x4u

struct keeper_head {
	uint32_t magic, version;
	uint32_t flags;
	uint32_t n_words, len;
	uint32_t grace_ms; /* what it may take to end when it is told to */
	char tenant[TENANT_SIZE];
};

enum keeper_outcome {
	KEEPER_ENDED = 1,
	KEEPER_REFUSED, /* the request is not what it should be */
	KEEPER_BUSY,	/* so many run already */
	KEEPER_FAILED,	/* it could not be started */
};

struct keeper_reply {
	uint32_t magic;
	uint32_t outcome;
	int32_t status; /* ENDED: the exit status, 128 + signal */
	char text[160]; /* REFUSED, FAILED, BUSY: why */
};

/* A request that holds: words point into the message. */
struct keeper_request {
	struct keeper_head head;
	bool whole; /* in the daemon's data directory, and told whose */
	bool asks;  /* it may have a person asked */
	bool follows;
	unsigned n_words;
	const char *words[KEEPER_WORDS_MAX];
};

/* How many descriptors come with it. */
static inline unsigned keeper_fds(uint32_t flags)
{
	return 4u + !!(flags & (KEEPER_RESULT | KEEPER_LAYERS)) + !!(flags & KEEPER_PROGRAM);
}

/* All of it, with as many descriptors as came. Pure; `e` says what is wrong. */
int keeper_check(const void *message, size_t len, unsigned n_fds, struct keeper_request *ret,
		 struct err *e);

/* A request that is being written: head and words in one buffer. */
struct keeper_words {
	char *bytes; /* KEEPER_BYTES_MAX, malloced at the first word */
	size_t len;  /* with room for the head */
	unsigned n;
	int bad; /* it did not fit: told once, by keeper_start() */
};

void keeper_add(struct keeper_words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void keeper_words_done(struct keeper_words *w)
{
	free(w->bytes);
}
#define auto_words __attribute__((cleanup(keeper_words_done))) struct keeper_words

/* What runs there, from here. Non-blocking, FD_NONE when it is closed. */
struct keeper_child {
	int reply, in, out, err, result;
	struct run_left {
		const char *data; /* for its standard input, borrowed */
		size_t len;
	} left;
};

struct keeper_start {
	struct keeper_words *words;
	uint32_t flags, grace_ms;
	const char *program; /* KEEPER_PROGRAM */
	size_t program_len;
	const char *input; /* NULL: /dev/null */
	size_t input_len;
};

int keeper_start(struct call *c, const struct keeper_start *s, struct keeper_child *ret,
		 struct err *e);
void keeper_child_done(struct keeper_child *k);
#define auto_child __attribute__((cleanup(keeper_child_done)))
#define KEEPER_CHILD_INIT                                                                          \
	{                                                                                          \
		FD_NONE, FD_NONE, FD_NONE, FD_NONE, FD_NONE,                                       \
		{                                                                                  \
			NULL, 0                                                                    \
		}                                                                                  \
	}

/* End it; its reply comes when it has. */
void keeper_tell_end(const struct keeper_child *k);
/* The message on its reply socket, which is readable. 0, or an error: there will be none. */
int keeper_take_reply(struct keeper_child *k, int *ret_status, struct err *e);
void keeper_feed(struct keeper_child *k);
/* The error in a document of a failure. Negative; `e` is as it was when there is none in it. */
int keeper_error(const char *document, size_t len, struct err *e);

#endif
