/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed character at p (shortest form, no surrogates), 0 when there is none
 * within `max` bytes. */
size_t utf8_len(const unsigned char *p, size_t max);
bool utf8_valid(const void *data, size_t len);
/* Bytes at the end of data that begin a character but do not finish it. */
size_t utf8_cut_tail(const void *data, size_t len);
/* Continuation bytes at the start of data, left over from a character cut before. */
size_t utf8_cut_head(const void *data, size_t len);

#endif
