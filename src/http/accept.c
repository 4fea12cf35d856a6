/* SPDX-License-Identifier: Apache-2.0 */
#include "http/accept.h"

#include <assert.h>
#include <string.h>

#include "http/chars_int.h"

/* Thousandths, of "1", "0.5", "1.000"; -1: that is none. */
static int parse_q(const char *p, size_t n)
{
	int value = 0, unit = 100;

	if (n == 0 || n > 5 || (p[0] != '0' && p[0] != '1') || (n > 1 && p[1] != '.'))
		return -1;
	for (size_t i = 2; i < n; i++, unit /= 10) {
		if (!chars_has(&chars_digit, p[i]))
			return -1;
		value += (p[i] - '0') * unit;
	}
	value += (p[0] - '0') * 1000;
	return value <= 1000 ? value : -1;
}

/* Cut `text` at its first semicolon, and look for q among what is behind; 1000 without one. */
static int split_q(const char *text, size_t *len)
{
	const char *semicolon = memchr(text, ';', *len), *end = text + *len;
	const char *name = text;

	if (!semicolon)
		return 1000;
	*len = (size_t)(semicolon - text);
	chars_trim(&name, len); /* a blank in front was trimmed before */
	while (semicolon) {
		const char *p = semicolon + 1;
		size_t n;

		semicolon = memchr(p, ';', (size_t)(end - p));
		n = (size_t)((semicolon ? semicolon : end) - p);
		chars_trim(&p, &n);
		if (n >= 2 && (p[0] == 'q' || p[0] == 'Q') && p[1] == '=')
			return parse_q(p + 2, n - 2);
	}
	return 1000;
}

/* One element of all fields of that name after the other. */
struct each {
	const struct http_head *head;
	const struct http_field *field;
	const char *list;
	size_t left;
};

static void each_init(struct each *it, const struct http_head *h, const char *name)
{
	it->head = h;
	it->field = http_head_field(h, name);
	it->list = it->field ? it->field->value : "";
	it->left = it->field ? it->field->value_len : 0;
}

/* q of the next one, or -1 at the end. */
static int each_next(struct each *it, const char **ret, size_t *ret_len)
{
	while (it->field) {
		while (chars_element(&it->list, &it->left, ret, ret_len)) {
			int q = split_q(*ret, ret_len);

			if (q >= 0)
				return q;
		}
		it->field = http_head_next(it->head, it->field);
		it->list = it->field ? it->field->value : "";
		it->left = it->field ? it->field->value_len : 0;
	}
	return -1;
}

enum http_coding http_accept_coding(const struct http_head *h)
{
	int gzip = -1, zstd = -1, identity = -1, any = 0, q;
	const char *name = NULL;
	struct each it;
	size_t n = 0;

	each_init(&it, h, "accept-encoding");
	while ((q = each_next(&it, &name, &n)) >= 0) {
		if (chars_same(name, n, "gzip") || chars_same(name, n, "x-gzip"))
			gzip = q;
		else if (chars_same(name, n, "zstd"))
			zstd = q;
		else if (chars_same(name, n, "identity"))
			identity = q;
		else if (chars_same(name, n, "*"))
			any = q;
	}
	gzip = gzip < 0 ? any : gzip;
	zstd = zstd < 0 ? any : zstd;
	if (zstd > 0 && zstd >= gzip && zstd >= identity)
		return HTTP_ZSTD;
	return gzip > 0 && gzip >= identity ? HTTP_GZIP : HTTP_IDENTITY;
}

const char *http_coding_name(enum http_coding coding)
{
	switch (coding) {
	case HTTP_IDENTITY: return "identity";
	case HTTP_GZIP: return "gzip";
	case HTTP_ZSTD: return "zstd";
	}
	return "identity";
}

/* How exactly an element of Accept means the type: 3 by name, 2 by its first half, 1 by stars. */
static int exactness(const char *p, size_t n, const char *type)
{
	size_t half = strcspn(type, "/") + 1;

	if (chars_same(p, n, type))
		return 3;
	if (chars_same(p, n, "*/*"))
		return 1;
	return n == half + 1 && p[half] == '*' && chars_equal(p, half, type, half) ? 2 : 0;
}

static bool accepts(const struct http_head *h, const char *type, int exact_min)
{
	int best = 0, best_q = 0, q;
	const char *name = NULL;
	struct each it;
	size_t n = 0;

	each_init(&it, h, "accept");
	while ((q = each_next(&it, &name, &n)) >= 0) {
		int exact = exactness(name, n, type);

		if (exact < exact_min || exact < best)
			continue;
		best_q = exact == best && best_q > q ? best_q : q;
		best = exact;
	}
	return best > 0 && best_q > 0;
}

bool http_accepts(const struct http_head *h, const char *type)
{
	assert(strchr(type, '/'));
	return !http_head_field(h, "accept") || accepts(h, type, 1);
}

bool http_accepts_by_name(const struct http_head *h, const char *type)
{
	return accepts(h, type, 3);
}

bool http_content_is(const struct http_head *h, const char *type)
{
	const struct http_field *f = http_head_field(h, "content-type");

	if (!f)
		return false;
	const char *p = f->value;
	const char *semicolon = memchr(p, ';', f->value_len);
	size_t n = semicolon ? (size_t)(semicolon - p) : f->value_len;
	chars_trim(&p, &n);
	return chars_same(p, n, type);
}
