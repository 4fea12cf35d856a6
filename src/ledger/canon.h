/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical JSON (RFC 8785): one value, one text, whoever writes it. So a hash of the text is a
 * hash of the value. */
#ifndef LEDGER_CANON_H
#define LEDGER_CANON_H

#include <stddef.h>

#include "base/err.h"
#include "base/value.h"

/* Malloced, ends with a NUL that is not counted. An integer that a double does not hold is written
 * as the double next to it, as the RFC has it: give it as a string. */
int canon_text(const struct value *v, char **ret, size_t *ret_len, struct err *e);

#endif
