/* SPDX-License-Identifier: Apache-2.0 */
/* For redact*.c alone. */
#ifndef LEDGER_REDACT_INT_H
#define LEDGER_REDACT_INT_H

#include "ledger/redact.h"

/* redact_look.c: names that are too short to be looked for anywhere are a part of their own; letters
 * and digits through each other; a key that says by its beginning what it is: how much of [p, end) is
 * one, or 0, and how much of that may stay. */
bool redact_has_part(const char *p, size_t len);
bool redact_is_noise(const char *p, size_t len);
size_t redact_key(const char *p, const char *end, size_t *ret_keep);

#endif
