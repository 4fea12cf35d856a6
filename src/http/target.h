/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets in parts: path, query, parameters, segments. Pure. Parsers of heads have checked already
 * that escapes are well-formed and none is %00; what is decoded here is checked again, because it
 * may come from elsewhere. Nothing is normalised: what would have to be is refused.
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/head.h"

struct http_target {
	const char *path; /* borrowed, as it came; "" for an absolute target without one */
	uint32_t path_len;
	const char *query; /* behind the `?`; NULL: there is none */
	uint32_t query_len;
};

/* Of origin and absolute form; those of the others have no path and are empty. */
void http_target_split(const struct http_head *h, struct http_target *ret);

/* Undo percent escapes into `out`, with NUL behind. Returns how many bytes, -EINVAL for a bad
 * escape or a NUL, -ENAMETOOLONG when it does not fit into `size`. `plus`: + is a blank, as in
 * forms. */
ssize_t http_decode(const char *in, size_t len, bool plus, char *out, size_t size);

/* name=value between &; both still escaped, as forms are. */
struct http_param {
	const char *name, *value; /* value NULL: there was no = */
	uint32_t name_len, value_len;
};

struct http_query {
	const char *at;
	size_t left;
	bool splits_more; /* set by the caller: also at ;, as some servers do */
};

void http_query_init(struct http_query *q, const struct http_target *t);
/* false: there are no more. Empty pieces are passed over. */
bool http_query_next(struct http_query *q, struct http_param *ret);

#define HTTP_PATH_ARGS_MAX 8

/* What stood for the {names} of a template, in its order. */
struct http_path_args {
	unsigned n;
	const char *value[HTTP_PATH_ARGS_MAX]; /* decoded, with NUL behind; in buf */
	char buf[1024];
};

/*
 * Does a path fit a template such as /v1/sandboxes/{id}/files? 1: yes, and `ret` has its values. 0:
 * no. -EINVAL: it fits nothing, whatever the template: a segment that is empty (also behind a last
 * /), . or .., or that has a / or NUL in it once it is decoded; -ENAMETOOLONG: values that are
 * longer than a kilobyte together.
 */
int http_path_match(const char *template, const char *path, size_t len, struct http_path_args *ret);

#endif
