/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target.h"

#include <assert.h>
#include <string.h>

#include "http/chars_int.h"
#include "http/head_int.h"

/* Characters of the set, and every % with two digits behind it that are not both 0. */
static bool is_escaped_well(const struct char_set *set, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!chars_has(set, p[i]))
			return false;
		if (p[i] != '%')
			continue;
		if (n - i < 3 || chars_hex(p[i + 1]) < 0 || chars_hex(p[i + 2]) < 0 ||
		    (p[i + 1] == '0' && p[i + 2] == '0'))
			return false;
		i += 2;
	}
	return true;
}

static int check_path(const char *p, size_t n, struct http_error *e)
{
	const char *mark = memchr(p, '?', n);
	size_t path_len = mark ? (size_t)(mark - p) : n;

	if (!is_escaped_well(&chars_path, p, path_len))
		return http_refuse(e, 400, "a character or escape that no path has");
	if (mark && !is_escaped_well(&chars_query, mark + 1, n - path_len - 1))
		return http_refuse(e, 400, "a character or escape that no query has");
	return 0;
}

static int take_host(struct http_head *h, const char *p, size_t n, struct http_error *e)
{
	if (!http_host_parse(p, n, &h->where))
		return http_refuse(e, 400, "the target's host is no name or address");
	h->host = p;
	h->host_len = (uint32_t)n;
	return 0;
}

/* Bytes of `http://` or `https://`, 0 for another scheme. */
static size_t scheme_len(const char *p, size_t n)
{
	if (n >= 7 && chars_same(p, 7, "http://"))
		return 7;
	return n >= 8 && chars_same(p, 8, "https://") ? 8 : 0;
}

/* Where the host of an absolute target ends. */
static size_t authority_end(const char *p, size_t n, size_t at)
{
	while (at < n && p[at] != '/' && p[at] != '?')
		at++;
	return at;
}

int target_check(struct http_head *h, struct http_error *e)
{
	const char *p = h->target;
	size_t n = h->target_len, begin = scheme_len(p, n), end = authority_end(p, n, begin);
	int r;

	if (h->method == HTTP_CONNECT) {
		h->form = HTTP_AUTHORITY;
		r = take_host(h, p, n, e);
		if (r == 0 && h->where.port == 0)
			return http_refuse(e, 400, "CONNECT without a port");
		return r;
	}
	if (n == 1 && p[0] == '*') {
		h->form = HTTP_ASTERISK;
		return h->method == HTTP_OPTIONS
			       ? 0
			       : http_refuse(e, 400, "a target * without OPTIONS");
	}
	if (n > 0 && p[0] == '/') {
		h->form = HTTP_ORIGIN;
		return check_path(p, n, e);
	}
	if (begin == 0)
		return http_refuse(e, 400, "the target is neither a path nor an http address");
	h->form = HTTP_ABSOLUTE;
	r = take_host(h, p + begin, end - begin, e);
	return r < 0 ? r : check_path(p + end, n - end, e);
}

void http_target_split(const struct http_head *h, struct http_target *ret)
{
	const char *p = h->target;
	size_t n = h->target_len, at = 0;

	assert(p);
	if (h->form == HTTP_AUTHORITY || h->form == HTTP_ASTERISK)
		at = n;
	else if (h->form == HTTP_ABSOLUTE)
		at = authority_end(p, n, scheme_len(p, n));
	const char *mark = memchr(p + at, '?', n - at);
	*ret = (struct http_target){
		.path = p + at,
		.path_len = (uint32_t)((mark ? (size_t)(mark - p) : n) - at),
		.query = mark ? mark + 1 : NULL,
		.query_len = mark ? (uint32_t)(p + n - mark - 1) : 0,
	};
}

ssize_t http_decode(const char *in, size_t len, bool plus, char *out, size_t size)
{
	size_t n = 0;

	assert(out && size > 0);
	for (size_t i = 0; i < len; i++) {
		char c = in[i];

		if (c == '%') {
			int high = len - i >= 3 ? chars_hex(in[i + 1]) : -1;
			int low = len - i >= 3 ? chars_hex(in[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c == '\0')
			return -EINVAL;
		if (n + 1 >= size)
			return -ENAMETOOLONG;
		out[n++] = c;
	}
	out[n] = '\0';
	return (ssize_t)n;
}

void http_query_init(struct http_query *q, const struct http_target *t)
{
	q->at = t->query;
	q->left = t->query_len;
	q->splits_more = false;
}

static const char *end_of_param(const struct http_query *q)
{
	size_t n = 0;

	while (n < q->left && q->at[n] != '&' && !(q->splits_more && q->at[n] == ';'))
		n++;
	return n < q->left ? q->at + n : NULL;
}

bool http_query_next(struct http_query *q, struct http_param *ret)
{
	while (q->left > 0) {
		const char *p = q->at, *amp = end_of_param(q);
		size_t n = amp ? (size_t)(amp - p) : q->left;
		const char *equals = memchr(p, '=', n);

		q->at += amp ? n + 1 : n;
		q->left -= amp ? n + 1 : n;
		if (n == 0)
			continue;
		*ret = (struct http_param){
			.name = p,
			.value = equals ? equals + 1 : NULL,
			.name_len = equals ? (uint32_t)(equals - p) : (uint32_t)n,
			.value_len = equals ? (uint32_t)(p + n - equals - 1) : 0,
		};
		return true;
	}
	return false;
}

/* One segment, decoded into `out`. Its length or -errno. */
static ssize_t decode_segment(const char *p, size_t n, char *out, size_t size)
{
	ssize_t len = http_decode(p, n, false, out, size);

	if (len < 0)
		return len;
	if (len == 0 || strcmp(out, ".") == 0 || strcmp(out, "..") == 0 || strchr(out, '/'))
		return -EINVAL;
	return len;
}

/* The next segment of a path or template: what stands between two slashes. */
static bool next_segment(const char **p, size_t *left, const char **ret, size_t *ret_len)
{
	if (*left == 0)
		return false;
	const char *slash = memchr(*p + 1, '/', *left - 1);
	size_t n = slash ? (size_t)(slash - *p) : *left;
	*ret = *p + 1;
	*ret_len = n - 1;
	*p += n;
	*left -= n;
	return true;
}

int http_path_match(const char *template, const char *path, size_t len, struct http_path_args *ret)
{
	const char *want = NULL, *have = NULL;
	size_t want_left = strlen(template), want_len = 0, have_len = 0, used = 0;
	int is_same = 1;

	ret->n = 0;
	if (len == 0 || path[0] != '/')
		return -EINVAL;
	if (len == 1)
		return strcmp(template, "/") == 0;
	while (next_segment(&path, &len, &have, &have_len)) {
		char *out = ret->buf + used;
		ssize_t n = decode_segment(have, have_len, out, sizeof(ret->buf) - used);

		if (n < 0)
			return (int)n;
		if (!next_segment(&template, &want_left, &want, &want_len)) {
			is_same = 0;
		} else if (is_same && want_len > 0 && want[0] == '{') {
			assert(ret->n < HTTP_PATH_ARGS_MAX);
			ret->value[ret->n++] = out;
			used += (size_t)n + 1;
			/* The rest must be decoded to be looked at. */
			if (used >= sizeof(ret->buf) && len > 0)
				return -ENAMETOOLONG;
		} else if ((size_t)n != want_len || memcmp(out, want, want_len) != 0) {
			is_same = 0;
		}
	}
	return is_same && want_left == 0;
}
