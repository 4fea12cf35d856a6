/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line: the bytes of a line are looked at as they come, the line when it is whole. Every
 * decision depends on the bytes up to one place alone, so it does not matter how they arrive.
 */
#include "http/head.h"

#include <assert.h>
#include <string.h>

#include "http/chars_int.h"
#include "http/head_int.h"

void http_head_init(struct http_head *h)
{
	assert(h);
	memset(h, 0, sizeof(*h));
	h->content_length = -1;
}

/* A tab is a blank of fields and of reasons; bytes above ASCII are opaque there, and nowhere
 * else. */
static bool is_text(unsigned char c, bool is_strict)
{
	if (c >= 0x20 && c < 0x7f)
		return true;
	return !is_strict && (c == '\t' || c >= 0x80);
}

/* 1: h->scanned is behind a whole line. */
static int scan_line(struct http_head *h, size_t len, enum http_side side, struct http_error *e)
{
	bool is_first = h->line == 0, is_strict = is_first && side == HTTP_REQUEST;

	for (size_t i = h->scanned; i < len; i++) {
		unsigned char c = (unsigned char)h->buf[i];
		bool is_after_cr = i > h->line && h->buf[i - 1] == '\r';

		if (i >= HTTP_HEAD_MAX)
			return http_refuse(e, 431, "the head is longer than 32 KiB");
		if (is_after_cr != (c == '\n'))
			return http_refuse(e, 400, "a CR or LF stands alone");
		if (c == '\n') {
			h->scanned = i + 1;
			return 1;
		}
		if (c == '\r')
			continue;
		if (!is_text(c, is_strict))
			return http_refuse(e, 400, "a control or foreign character in the head");
		if (is_first && i >= HTTP_LINE_MAX)
			return http_refuse(e, 414, "the first line is longer than 8 KiB");
	}
	h->scanned = len;
	return 0;
}

static enum http_method method_of(const char *p, size_t n)
{
	static const struct {
		const char *text;
		enum http_method method;
	} known[] = {
		{"GET", HTTP_GET},	   {"HEAD", HTTP_HEAD},	      {"POST", HTTP_POST},
		{"PUT", HTTP_PUT},	   {"DELETE", HTTP_DELETE},   {"PATCH", HTTP_PATCH},
		{"OPTIONS", HTTP_OPTIONS}, {"CONNECT", HTTP_CONNECT}, {"TRACE", HTTP_TRACE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].text) == n && memcmp(p, known[i].text, n) == 0)
			return known[i].method;
	return HTTP_OTHER;
}

static int take_version(struct http_head *h, const char *p, size_t n, struct http_error *e)
{
	if (n != 8 || memcmp(p, "HTTP/", 5) != 0 || !chars_has(&chars_digit, p[5]) || p[6] != '.' ||
	    !chars_has(&chars_digit, p[7]))
		return http_refuse(e, 400, "the first line has no version of HTTP");
	if (p[5] != '1' || p[7] > '1')
		return http_refuse(e, 505, "the version of HTTP is neither 1.0 nor 1.1");
	h->minor = (uint8_t)(p[7] - '0');
	return 0;
}

static int request_line(struct http_head *h, const char *p, size_t n, struct http_error *e)
{
	const char *space = memchr(p, ' ', n);
	int r;

	h->method_text = p;
	h->method_len = space ? (uint32_t)(space - p) : (uint32_t)n;
	if (h->method_len == 0 || !chars_all(&chars_token, p, h->method_len))
		return http_refuse(e, 400, "the request begins with no method");
	if (h->method_len > HTTP_METHOD_MAX)
		return http_refuse(e, 501, "the method is longer than 32 characters");
	h->method = method_of(p, h->method_len);
	if (!space)
		return http_refuse(e, 400, "the request has no target");
	h->target = space + 1;
	n -= h->method_len + 1;
	space = memchr(h->target, ' ', n);
	if (!space)
		return http_refuse(e, 400, "the first line has no version of HTTP");
	h->target_len = (uint32_t)(space - h->target);
	r = take_version(h, space + 1, n - h->target_len - 1, e);
	return r < 0 ? r : target_check(h, e);
}

/* The blank behind the status belongs there even without a reason; servers leave it out. */
static int status_line(struct http_head *h, const char *p, size_t n, struct http_error *e)
{
	int r = take_version(h, p, n < 8 ? n : 8, e);

	if (r < 0)
		return r;
	if (n < 12 || p[8] != ' ' || !chars_all(&chars_digit, p + 9, 3) || (n > 12 && p[12] != ' '))
		return http_refuse(e, 502, "the first line has no status");
	h->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + p[11] - '0');
	if (h->status < 100 || h->status > 599)
		return http_refuse(e, 502, "the status is not between 100 and 599");
	h->reason = n > 12 ? p + 13 : p + 12;
	h->reason_len = n > 12 ? (uint32_t)(n - 13) : 0;
	return 0;
}

static int field_line(struct http_head *h, const char *p, size_t n, enum http_side side,
		      struct http_error *e)
{
	const char *colon = memchr(p, ':', n);
	size_t name_len = colon ? (size_t)(colon - p) : 0;

	if (p[0] == ' ' || p[0] == '\t')
		return http_refuse(e, 400, "a field is folded over two lines");
	if (name_len == 0 || !chars_all(&chars_token, p, name_len))
		return http_refuse(e, 400, "a line of the head is no field");
	if (h->n_fields == HTTP_FIELDS_MAX)
		return http_refuse(e, 431, "the head has more than 100 fields");
	const char *value = colon + 1;
	size_t value_len = n - name_len - 1;
	chars_trim(&value, &value_len);
	h->fields[h->n_fields++] = (struct http_field){
		.name = p,
		.value = value,
		.name_len = (uint32_t)name_len,
		.value_len = (uint32_t)value_len,
	};
	return field_take(h, side, e);
}

/* 1: that was the last line. */
static int take_line(struct http_head *h, enum http_side side, struct http_error *e)
{
	const char *p = h->buf + h->line;
	size_t n = h->scanned - 2 - h->line;
	bool is_first = h->line == 0;
	int r;

	h->line = h->scanned;
	if (is_first)
		return side == HTTP_REQUEST ? request_line(h, p, n, e) : status_line(h, p, n, e);
	if (n > 0)
		return field_line(h, p, n, side, e);
	r = field_finish(h, side, e);
	return r < 0 ? r : 1;
}

int http_head_parse(struct http_head *h, const char *buf, size_t len, enum http_side side,
		    struct http_error *e)
{
	int r = 0;

	assert(h && buf && e);
	if (buf != h->buf) { /* our slices point to where it was */
		bool is_refused = h->is_refused;

		http_head_init(h);
		h->is_refused = is_refused;
		h->buf = buf;
	}
	assert(len >= h->scanned);
	if (h->is_refused)
		return http_refuse(e, side == HTTP_REQUEST ? 400 : 502,
				   "what came before was refused");
	while (r == 0) {
		r = scan_line(h, len, side, e);
		if (r == 0)
			return 0;
		if (r > 0)
			r = take_line(h, side, e);
	}
	if (r > 0)
		return (int)h->scanned;
	h->is_refused = true;
	if (side == HTTP_RESPONSE)
		e->status = 502;
	return r;
}
