/* SPDX-License-Identifier: Apache-2.0 */
/* For alert/ alone: the next byte that is worth looking at, many at a time. */
#ifndef ALERT_FIND_H
#define ALERT_FIND_H

#include <stddef.h>

/* The first index >= from, < len, with ESC there; or "uc", in either case, or "<|", of which the
 * second byte may be behind the end. Else len. */
size_t find_noted(const unsigned char *data, size_t from, size_t len);

#endif
