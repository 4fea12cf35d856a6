/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinfold.yaml in a project is a proposal: an agent may have written it. It counts after a person
 * said so, and again after each change. What is remembered is a hash of where it is and what it
 * says, in `trusted` of the configuration directory: a line each, SHA-256 in hexadecimal, a blank,
 * the path.
 */
#ifndef EGRESS_TRUST_H
#define EGRESS_TRUST_H

#include <limits.h>
#include <stddef.h>

#include "base/err.h"

#define TRUST_FILE "pinfold.yaml"
#define TRUST_MAX 1000u /* files that are remembered */

enum trust_state {
	TRUST_NONE, /* there is no such file */
	TRUST_YES,
	TRUST_NO,
	TRUST_CHANGED, /* another text at this place was trusted */
};

struct trust {
	enum trust_state state;
	char path[PATH_MAX]; /* absolute, without links */
	char *text;	     /* what the answer is about: parse this, do not read it again. Owned */
	size_t len;
};

void trust_done(struct trust *t);
#define auto_trust __attribute__((cleanup(trust_done)))

/* Looks for pinfold.yaml in a directory. A link, or what is not a file, is an error. */
int trust_check(const char *dir, struct trust *ret, struct err *e);
/* The same in a directory that is open already; `real` is its path without links. */
int trust_check_at(int dir, const char *real, struct trust *ret, struct err *e);
/* Trusts the file as it is now; `path` is the file, or the directory that it is in. *ret is what
 * was trusted: it has been parsed, so that nobody trusts what cannot be used. */
int trust_add(const char *path, struct trust *ret, struct err *e);
/* -ENOENT with words when it was not trusted. The file need not exist any more. */
int trust_forget(const char *path, struct err *e);
/* Each path that is remembered, and how it stands; stops when `each` returns not 0. */
int trust_list(int (*each)(const char *path, enum trust_state state, void *arg), void *arg,
	       struct err *e);

#endif
