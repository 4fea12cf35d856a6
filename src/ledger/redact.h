/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a command without what looks like a secret: the ledger is read by people who have no
 * business with it, and kept for long. What is replaced:
 *
 *	- what follows a name with password, secret, token, credential or key in it, behind = or : or as the
 *	  next word
 *	- user and password in a URL, and its query
 *	- words of 16 and more letters and digits that are no words: mixed, or hexadecimal
 *
 * It errs on the side of taking too much; the hash of the true arguments is in the event beside it.
 */
#ifndef LEDGER_REDACT_H
#define LEDGER_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* One argument; *secret_next says whether it is itself a secret by the one before, and is set for the next.
 * At most size - 1 bytes are written; what does not fit ends with "…". Returns the length. */
size_t redact(const char *word, bool *secret_next, char *ret, size_t size);

#endif
