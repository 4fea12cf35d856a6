/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of requests, and patterns for them. Pure.
 *
 * Servers read odd paths in different ways, so a path is held against patterns in two readings:
 * strict, where it is undone once and says what it says; and loose, as the most lenient server
 * would have it: %2F is a slash, what stands behind a ;, an escaped ? or # is not there, nor are dots and
 * blanks at a segment's end, full width is none, case does not matter. A rule
 * that allows must fit both, one that denies or asks need fit only one. What has no safe reading at
 * all is refused: segments of dots, empty segments, escapes of escapes, backslashes, control
 * characters, bytes that are not UTF-8.
 */
#ifndef EGRESS_PATH_H
#define EGRESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PATH_LEN_MAX 8192u
#define PATH_PATTERN_MAX 255u

struct path {
	uint16_t strict_len, loose_len;
	char strict[PATH_LEN_MAX + 1];
	char loose[PATH_LEN_MAX + 1];
};

/* 0; or -EINVAL, and *ret_why says why in constant words. */
int path_read(const char *text, size_t len, struct path *ret, const char **ret_why);

/* Begins with /; * stands for any characters of one segment, ** for any at all, / included. */
int path_pattern_check(const char *pattern, size_t len, struct err *e);
/* In time that grows with the path's length times the pattern's, whatever they are. */
bool path_fits(const char *pattern, size_t len, const struct path *p, bool must_fit_both);

#endif
