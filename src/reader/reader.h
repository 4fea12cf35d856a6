/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the reader. Each takes what follows its name, writes to standard output, and returns
 * negative with `e` filled; then main() has the last word, unless `*told` says that it was said. */
#ifndef READER_READER_H
#define READER_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef int reader_verb(char **args, bool *told, struct err *e);

reader_verb reader_diff, reader_pack, reader_fetch, reader_unpack, reader_merge, reader_digest,
	reader_receive, reader_send, reader_export, reader_import, reader_image, reader_three;

/* A directory by its absolute path; "-" is none where `none` says so (*ret_fd negative). */
int reader_open(const char *path, bool none, int *ret_fd, struct err *e);

/* Options come first. 1: `*args` began with this one and is behind it, its value in *ret_value
 * where that is wanted; 0: it did not. */
int reader_option(char ***args, const char *name, const char **ret_value);
/* As above, with a number. */
int reader_number(char ***args, const char *name, uint64_t *ret, struct err *e);

#endif
