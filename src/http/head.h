/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1.1 message: first line and fields. Pure and without heap: slices point into
 * the caller's buffer and end with it.
 *
 * Strict on purpose. Whoever judges a request may not read it differently from who serves it, so
 * whatever two readers could disagree about is refused, not repaired: lines that do not end with CR
 * LF, folded lines, blanks in front of a colon, two lengths, a length beside chunks, a body's
 * coding other than `chunked`, a second Host or one that is not the target's.
 *
 *	struct http_head h;
 *
 *	http_head_init(&h);
 *	while ((used = http_head_parse(&h, buf, len, HTTP_REQUEST, &e)) == 0)
 *		len += read more behind buf + len
 */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/error.h"
#include "http/host.h"

#define HTTP_LINE_MAX 8192  /* of the first line, without its CR LF */
#define HTTP_HEAD_MAX 32768 /* of all of it; a buffer of this size holds every head */
#define HTTP_FIELDS_MAX 100
#define HTTP_METHOD_MAX 32

enum http_side { HTTP_REQUEST, HTTP_RESPONSE };

enum http_method {
	HTTP_OTHER,
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_DELETE,
	HTTP_PATCH,
	HTTP_OPTIONS,
	HTTP_CONNECT,
	HTTP_TRACE,
};

enum http_form {
	HTTP_ORIGIN,	/* /path?query */
	HTTP_ABSOLUTE,	/* http://host/path?query */
	HTTP_AUTHORITY, /* host:port, of CONNECT */
	HTTP_ASTERISK,	/* *, of OPTIONS */
};

struct http_field {
	const char *name;
	const char *value; /* without blanks at its ends */
	uint32_t name_len, value_len;
};

struct http_head {
	enum http_method method;
	const char *method_text;
	uint32_t method_len;
	enum http_form form;
	const char *target;
	uint32_t target_len;

	uint16_t status; /* of a response, 100 to 599 */
	const char *reason;
	uint32_t reason_len;

	uint8_t minor; /* HTTP/1.0 or 1.1 */
	struct http_field fields[HTTP_FIELDS_MAX];
	unsigned n_fields;

	int64_t content_length; /* -1: none is given */
	bool chunked;
	bool keep_alive; /* of a response that is read to its end: false */
	bool expect_continue;
	const char *upgrade; /* the field, when Connection names it; else NULL */
	uint32_t upgrade_len;

	/* Where a request goes: the target's host, else the field's. NULL: HTTP/1.0 without any. */
	const char *host;
	uint32_t host_len;
	struct http_host where; /* the same in parts */

	/* How far it was read; nobody else's business. */
	const char *buf;
	size_t scanned, line;
	uint32_t seen;
	struct http_host named;
	bool is_refused, names_close, names_keep, names_upgrade;
};

void http_head_init(struct http_head *h);

/*
 * Parse what is there of a head that begins at `buf`. > 0: it is whole and that many bytes long. 0:
 * more is needed; call again with the same bytes and more behind them, in the same place (what was
 * seen is not looked at again) or another (it is). < 0: refused, `e` says why, and nothing behind
 * can be believed: answer and close. Bytes are refused as soon as they cannot be right any more,
 * wherever reads cut them, with the same answer.
 */
int http_head_parse(struct http_head *h, const char *buf, size_t len, enum http_side side,
		    struct http_error *e);

/* The first field of that name (in lower case), or NULL. Of those that a request may have once
 * there is no second: see field.c. */
const struct http_field *http_head_field(const struct http_head *h, const char *name);
/* The next one of the same name behind `f`, or NULL. */
const struct http_field *http_head_next(const struct http_head *h, const struct http_field *f);
/* Is the field named so (in lower case)? */
bool http_field_is(const struct http_field *f, const char *name);
/* Or would it be for a reader that knows letters and digits alone, as those are that make variables of
 * fields (CGI, WSGI, PHP): X_Api.Key is X-Api-Key? */
bool http_field_reads_as(const struct http_field *f, const char *name);
/* Is the word (in lower case) an element of any field of that name? */
bool http_head_lists(const struct http_head *h, const char *name, const char *word);
/* Belongs to this connection alone (Connection, what it names, Upgrade, Proxy-*, TE, …): a proxy
 * does not pass it on. Transfer-Encoding is among them, Content-Length is not. */
bool http_field_is_hop(const struct http_head *h, const struct http_field *f);

#endif
