/* SPDX-License-Identifier: Apache-2.0 */
/* Ids: a prefix and 26 lower-case base32 characters. The first ten are the time in milliseconds,
 * so ids sort by age; the rest is random. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>

#include "base/err.h"

#define ID_SIZE 30 /* three letters, 26 characters, NUL */

int id_make(const char *prefix, char ret[ID_SIZE], struct err *e);
bool id_is(const char *prefix, const char *text);

#endif
