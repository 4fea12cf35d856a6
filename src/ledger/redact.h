/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a command without what looks like a secret: the ledger is read by people who have no
 * business with it, and kept for long. What is replaced:
 *
 *	- what follows a name with password, secret, token, credential or key in it, behind = or : or as the
 *	  next word; the same of names and options with the part pass, pwd or auth (DB_PASS=, --pass)
 *	- the password of -u USER:PASSWORD, and of -pPASSWORD where a program takes it so
 *	- user and password in a URL, and its query
 *	- keys that say what they are: AKIA…, sk-…, ghp_…, github_pat_…, xox…, glpat-…, eyJ…
 *	- words of 16 and more letters and digits that are no words: mixed, or hexadecimal; forty of base64
 *
 * It errs on the side of taking too much; the hash of the true arguments is in the event beside it.
 */
#ifndef LEDGER_REDACT_H
#define LEDGER_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* What the words before say of the next. Begins as zeros. */
struct redact_state {
	bool secret; /* it is one */
	bool user;   /* it may be USER:PASSWORD */
	bool client; /* -p has a password behind it */
	bool script; /* it is one of several commands */
};

/* Does a name say that its value is a secret? */
bool redact_names(const char *name, size_t len);

/* One argument. At most size - 1 bytes are written; what does not fit ends with "…". Returns the
 * length. */
size_t redact(const char *word, struct redact_state *s, char *ret, size_t size);

#endif
