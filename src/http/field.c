/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that say how long a message is, where it goes and what becomes of the connection. */
#include <assert.h>
#include <string.h>

#include "http/chars_int.h"
#include "http/head_int.h"

#define LENGTH_DIGITS_MAX 18 /* what they can say fits into 63 bits */

typedef int take_fn(struct http_head *h, const struct http_field *f, struct http_error *e);

static int take_host(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	if (!http_host_parse(f->value, f->value_len, &h->named))
		return http_refuse(e, 400, "Host is no name or address with or without a port");
	if (!h->host) {
		h->host = f->value;
		h->host_len = f->value_len;
		h->where = h->named;
	}
	return 0;
}

static int take_length(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	int64_t value = 0;

	if (f->value_len == 0 || !chars_all(&chars_digit, f->value, f->value_len))
		return http_refuse(e, 400, "Content-Length is no number");
	if (f->value_len > LENGTH_DIGITS_MAX)
		return http_refuse(e, 413, "Content-Length is too large");
	for (uint32_t i = 0; i < f->value_len; i++)
		value = value * 10 + (f->value[i] - '0');
	h->content_length = value;
	return 0;
}

static int take_coding(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	if (!chars_same(f->value, f->value_len, "chunked"))
		return http_refuse(e, 501, "Transfer-Encoding is not chunked");
	h->chunked = true;
	return 0;
}

/* Who could name one of these in Connection could have the next hop drop it and see another
 * message. */
static bool is_framing(const char *p, size_t n)
{
	return chars_same(p, n, "host") || chars_same(p, n, "content-length") ||
	       chars_same(p, n, "transfer-encoding");
}

static int take_connection(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	const char *list = f->value, *word = NULL;
	size_t left = f->value_len, n = 0;

	while (chars_element(&list, &left, &word, &n)) {
		if (!chars_all(&chars_token, word, n))
			return http_refuse(e, 400, "Connection is no list of names");
		if (is_framing(word, n))
			return http_refuse(e, 400, "Connection names a field that frames");
		h->names_close |= chars_same(word, n, "close");
		h->names_keep |= chars_same(word, n, "keep-alive");
		h->names_upgrade |= chars_same(word, n, "upgrade");
	}
	return 0;
}

static int take_expect(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	if (h->minor == 0)
		return 0;
	if (!chars_same(f->value, f->value_len, "100-continue"))
		return http_refuse(e, 417, "Expect is not 100-continue");
	h->expect_continue = true;
	return 0;
}

static int take_upgrade(struct http_head *h, const struct http_field *f, struct http_error *e)
{
	(void)e;
	h->upgrade = f->value;
	h->upgrade_len = f->value_len;
	return 0;
}

/*
 * Fields of which there may be one. That is more than framing: of two credentials, origins or
 * session ids a reader takes the first and another the last.
 */
#define ONCE_REQUEST 1u
#define ONCE_RESPONSE 2u
#define ONCE_BOTH (ONCE_REQUEST | ONCE_RESPONSE)
static const struct known {
	const char *name;
	unsigned once;
	take_fn *of_request, *of_response;
} known[] = {
	{"host", ONCE_REQUEST, take_host, NULL},
	{"content-length", ONCE_BOTH, take_length, take_length},
	{"transfer-encoding", ONCE_BOTH, take_coding, take_coding},
	{"connection", 0, take_connection, take_connection},
	{"expect", ONCE_REQUEST, take_expect, NULL},
	{"upgrade", ONCE_BOTH, take_upgrade, take_upgrade},
	{"location", ONCE_RESPONSE, NULL, NULL},
	{"authorization", ONCE_REQUEST, NULL, NULL},
	{"proxy-authorization", ONCE_REQUEST, NULL, NULL},
	{"content-type", ONCE_REQUEST, NULL, NULL},
	{"content-encoding", ONCE_REQUEST, NULL, NULL},
	{"origin", ONCE_REQUEST, NULL, NULL},
	{"referer", ONCE_REQUEST, NULL, NULL},
	{"range", ONCE_REQUEST, NULL, NULL},
	{"if-range", ONCE_REQUEST, NULL, NULL},
	{"last-event-id", ONCE_REQUEST, NULL, NULL},
	{"idempotency-key", ONCE_REQUEST, NULL, NULL},
	{"mcp-session-id", ONCE_REQUEST, NULL, NULL},
	{"mcp-protocol-version", ONCE_REQUEST, NULL, NULL},
	{"sec-websocket-key", ONCE_REQUEST, NULL, NULL},
	{"sec-websocket-version", ONCE_REQUEST, NULL, NULL},
	{"sec-fetch-site", ONCE_REQUEST, NULL, NULL},
};
_Static_assert(sizeof(known) / sizeof(known[0]) <= 32, "a bit of http_head.seen for each");

int field_take(struct http_head *h, enum http_side side, struct http_error *e)
{
	const struct http_field *f = &h->fields[h->n_fields - 1];
	bool is_request = side == HTTP_REQUEST;

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *k = &known[i];
		take_fn *take = is_request ? k->of_request : k->of_response;

		if (!http_field_is(f, k->name))
			continue;
		if ((h->seen >> i & 1) && (k->once & (is_request ? ONCE_REQUEST : ONCE_RESPONSE)))
			return http_refuse(e, 400, "a field is given twice that may be there once");
		h->seen |= 1u << i;
		return take ? take(h, f, e) : 0;
	}
	return 0;
}

static int check_framing(const struct http_head *h, struct http_error *e)
{
	if (!h->chunked)
		return 0;
	if (h->content_length >= 0)
		return http_refuse(e, 400, "Content-Length beside Transfer-Encoding");
	if (h->minor == 0)
		return http_refuse(e, 400, "Transfer-Encoding in HTTP/1.0");
	return 0;
}

/* A target's own host decides, so the field may not say another one. */
static int check_host(const struct http_head *h, struct http_error *e)
{
	uint16_t port = 0;

	if (!h->named.name)
		return h->minor == 0 ? 0 : http_refuse(e, 400, "Host is missing");
	switch (h->form) {
	case HTTP_ORIGIN:
	case HTTP_ASTERISK: return 0;
	case HTTP_ABSOLUTE: port = chars_same(h->target, 6, "https:") ? 443 : 80; break;
	case HTTP_AUTHORITY: port = h->where.port; break;
	}
	if (!http_host_same(&h->named, &h->where, port))
		return http_refuse(e, 400, "Host is not the target's");
	return 0;
}

static int finish_request(struct http_head *h, struct http_error *e)
{
	bool has_body = h->chunked || h->content_length > 0;
	int r = check_host(h, e);

	if (r < 0)
		return r;
	if (has_body && (h->method == HTTP_CONNECT || h->method == HTTP_TRACE))
		return http_refuse(e, 400, "CONNECT or TRACE with a body");
	return 0;
}

static int finish_response(struct http_head *h, struct http_error *e)
{
	bool is_bare = h->status < 200 || h->status == 204;

	if (is_bare && (h->chunked || h->content_length > 0))
		return http_refuse(e, 502, "a body with a status that has none");
	if (!is_bare && h->status != 304 && !h->chunked && h->content_length < 0)
		h->keep_alive = false;
	return 0;
}

int field_finish(struct http_head *h, enum http_side side, struct http_error *e)
{
	int r = check_framing(h, e);

	if (r < 0)
		return r;
	h->keep_alive = !h->names_close && (h->minor > 0 || h->names_keep);
	if (!h->names_upgrade || h->minor == 0) {
		h->upgrade = NULL;
		h->upgrade_len = 0;
	}
	return side == HTTP_REQUEST ? finish_request(h, e) : finish_response(h, e);
}

bool http_field_is(const struct http_field *f, const char *name)
{
	return chars_same(f->name, f->name_len, name);
}

static char folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c + 32);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

bool http_field_reads_as(const struct http_field *f, const char *name)
{
	if (strlen(name) != f->name_len)
		return false;
	for (uint32_t i = 0; i < f->name_len; i++)
		if (folded(f->name[i]) != folded(name[i]))
			return false;
	return true;
}

const struct http_field *http_head_field(const struct http_head *h, const char *name)
{
	for (unsigned i = 0; i < h->n_fields; i++)
		if (http_field_is(&h->fields[i], name))
			return &h->fields[i];
	return NULL;
}

const struct http_field *http_head_next(const struct http_head *h, const struct http_field *f)
{
	assert(f >= h->fields && f < h->fields + h->n_fields);
	for (const struct http_field *n = f + 1; n < h->fields + h->n_fields; n++)
		if (chars_equal(n->name, n->name_len, f->name, f->name_len))
			return n;
	return NULL;
}

static bool field_lists(const struct http_field *f, const char *word, size_t n)
{
	const char *list = f->value, *element = NULL;
	size_t left = f->value_len, len = 0;

	while (chars_element(&list, &left, &element, &len))
		if (chars_equal(element, len, word, n))
			return true;
	return false;
}

bool http_head_lists(const struct http_head *h, const char *name, const char *word)
{
	const struct http_field *f = http_head_field(h, name);

	while (f && !field_lists(f, word, strlen(word)))
		f = http_head_next(h, f);
	return f;
}

bool http_field_is_hop(const struct http_head *h, const struct http_field *f)
{
	static const char *const always[] = {
		"connection",
		"keep-alive",
		"proxy-connection",
		"proxy-authenticate",
		"proxy-authorization",
		"te",
		"trailer",
		"transfer-encoding",
		"upgrade",
		"http2-settings",
	};
	const struct http_field *c = http_head_field(h, "connection");

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (http_field_is(f, always[i]))
			return true;
	while (c && !field_lists(c, f->name, f->name_len))
		c = http_head_next(h, c);
	return c;
}
