/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the store what it says it is? Every frozen layer has its row, its directory and the content
 * that was written down of it; every directory has a row; every snapshot has its layers and every
 * workspace its head.
 *
 * Repair only drops what is lost already: a snapshot that needs a layer that is gone, a directory
 * that nobody has. A layer that was changed is told of and left: it may still be worth something.
 * But nothing is built on it (check_trust) until it is as it was, or was accepted as it is.
 */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;
struct stack;

#define CHECK_DIGEST_SIZE 256u

enum check_kind {
	CHECK_DATABASE,	  /* store.db itself */
	CHECK_ORPHAN,	  /* a directory without a row */
	CHECK_MISSING,	  /* a layer that is not there, or not whole */
	CHECK_UNREADABLE, /* a layer that cannot be read to its end */
	CHECK_CHANGED,	  /* a layer with other content than it had */
	CHECK_ROW,	  /* a layer that snapshots have, without a row that says so */
	CHECK_SNAPSHOT,	  /* a snapshot that makes no sense */
	CHECK_HEAD,	  /* a workspace that stands nowhere */
	CHECK_KINDS
};

struct check_problem {
	enum check_kind kind;
	int64_t layer;	   /* 0: it is about no layer */
	char text[320];	   /* what is wrong */
	char used_by[320]; /* "NAME SEQ SEQ, NAME SEQ": who needs it; may be cut with ... */
	bool repaired;
};

struct check_stats {
	uint64_t workspaces, snapshots, layers;
	uint64_t recorded; /* layers whose content was written down for the first time */
	uint64_t problems, repaired;
};

/* The content of a layer's parts as a text. 1; 0: it cannot be read, `e` says why; negative:
 * nothing can be looked at. */
typedef int check_digest_fn(struct store *s, uint32_t layer, uint32_t parts,
			    char ret[CHECK_DIGEST_SIZE], struct err *e);

struct check {
	struct store *store; /* open alone (store_open_alone) */
	bool repair;
	bool accept; /* what a layer holds now is what it is to hold */
	check_digest_fn *digest;
	void (*tell)(void *context, const struct check_problem *p);
	void *context;
};

int store_check(const struct check *c, struct check_stats *ret, struct err *e);
/* ERR_CONFLICT: the last check found that one of these layers was changed. */
int check_trust(struct store *s, const char *workspace, const struct stack *stack, struct err *e);

/* Write down the content of at most `most` frozen layers of which nothing is written yet. */
int check_record_some(struct store *s, unsigned most, check_digest_fn *digest, struct err *e);

#endif
