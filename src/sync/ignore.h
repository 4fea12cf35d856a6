/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of .gitignore files, as git reads them. Pure: bytes and names in, verdicts out.
 *
 * In each file the last rule that fits decides; a file in a deeper directory goes before one above
 * it. All .pinfoldignore files go before all .gitignore files. Nothing below a directory that is
 * left out can be taken in again: a walk does not go there.
 *
 * `.git` is git's own: neither it nor what is below it is measured by .gitignore, as git does not
 * either. .pinfoldignore may name it.
 */
#ifndef SYNC_IGNORE_H
#define SYNC_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define IGNORE_FILE_MAX (1u << 20)
#define IGNORE_DEPTH_MAX 129 /* directories with rules on the way to one path */

enum ignore_verdict {
	IGNORE_SILENT, /* no rule fits */
	IGNORE_OUT,
	IGNORE_IN, /* a rule with `!` */
};

struct ignore_rules;

/* The rules of one file. NULL when it has none. */
int ignore_parse(const char *text, size_t len, struct ignore_rules **ret, struct err *e);
void ignore_free(struct ignore_rules *rules);
/* `path` is relative to the directory that the file is in. */
enum ignore_verdict ignore_match(const struct ignore_rules *rules, const char *path, bool is_dir);

/* The rules that count in one directory: one level for each directory from the top. */
struct ignore_level {
	struct ignore_rules *git;     /* of .gitignore, or NULL */
	struct ignore_rules *pinfold; /* of .pinfoldignore, or NULL */
	size_t path_len;	      /* of the directory; 0 for the top */
};

/* Is it left out? `path` is relative to the top; its parents are known to be taken in. */
bool ignore_judge(const struct ignore_level *levels, size_t n, const char *path, bool is_dir);

#endif
