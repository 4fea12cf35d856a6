/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/target.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "egress/hold.h"
#include "http/target.h"

#define WEBSOCKET "WEBSOCKET"

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EINVAL;
}

static uint16_t usual_port(enum egress_protocol protocol)
{
	return protocol == EGRESS_HTTPS || protocol == EGRESS_TLS ? 443 : 80;
}

int target_of_connect(const struct http_head *h, struct name *host, struct egress_request *ret,
		      const char **ret_why)
{
	if (h->method != HTTP_CONNECT || h->form != HTTP_AUTHORITY)
		return refuse(ret_why, "not a CONNECT");
	if (h->content_length > 0 || h->chunked)
		return refuse(ret_why, "a CONNECT with a body");
	if (name_parse(h->where.name, h->where.name_len, host, ret_why) < 0)
		return -EINVAL;
	*ret = (struct egress_request){
		.host = host, .port = h->where.port, .stage = EGRESS_CONNECT};
	return 0;
}

/* An absolute target names a scheme, which must be the one that is spoken. */
static bool is_scheme(const struct http_head *h, enum egress_protocol protocol)
{
	const char *scheme = protocol == EGRESS_HTTPS ? "https://" : "http://";
	size_t n = strlen(scheme);

	return h->target_len >= n && strncasecmp(h->target, scheme, n) == 0;
}

int target_of_request(const struct http_head *h, const struct name *expected, uint16_t port,
		      enum egress_protocol protocol, struct name *host, struct egress_request *ret,
		      const char **ret_why)
{
	struct http_target t;

	assert(protocol == EGRESS_HTTP || protocol == EGRESS_HTTPS);
	if (!h->host)
		return refuse(ret_why, "no Host");
	if (h->form == HTTP_AUTHORITY)
		return refuse(ret_why, "a CONNECT inside a connection");
	if (h->form == HTTP_ABSOLUTE && !is_scheme(h, protocol))
		return refuse(ret_why, "the target's scheme is not what is spoken");
	if (!expected && h->form != HTTP_ABSOLUTE)
		return refuse(ret_why, "a request to a proxy that does not say where to");
	if (name_parse(h->where.name, h->where.name_len, host, ret_why) < 0)
		return -EINVAL;
	uint16_t named = h->where.port ? h->where.port : usual_port(protocol);
	if (HOLD_GATE_HOST && expected && (!name_equal(host, expected) || named != port))
		return refuse(ret_why, "Host is not where the connection goes");
	http_target_split(h, &t);
	*ret = (struct egress_request){
		.host = host,
		.port = named,
		.protocol = protocol,
		.stage = EGRESS_REQUEST,
		.method = h->method_text,
		.method_len = h->method_len,
		.path = h->form == HTTP_ASTERISK ? "*" : t.path,
		.path_len = h->form == HTTP_ASTERISK ? 1 : t.path_len,
	};
	return 0;
}

bool target_is_websocket(const struct http_head *h)
{
	return h->method_len == strlen(WEBSOCKET) &&
	       strncasecmp(h->method_text, WEBSOCKET, h->method_len) == 0;
}

static void upper(char name[TARGET_METHOD_SIZE], const char *text, size_t len)
{
	size_t n = len < HTTP_METHOD_MAX ? len : HTTP_METHOD_MAX;

	for (size_t i = 0; i < n; i++)
		name[i] = (char)toupper((unsigned char)text[i]);
	name[n] = '\0';
}

/* Those that frameworks read. */
static bool names_method(const struct http_field *f)
{
	static const char *const fields[] = {"x-http-method-override", "x-http-method",
					     "x-method-override", "x-original-method",
					     "x-forwarded-method"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (http_field_reads_as(f, fields[i]))
			return true;
	return false;
}

/* Some other field about a method (X-Method, HTTP-Method-Override), which has one in it. What a browser
 * asks for leave for with Access-Control-Request-Method it does not do yet. */
static bool may_name_method(const struct http_field *f)
{
	static const char *const methods[] = {"GET",	 "HEAD",   "POST",  "PUT",
					      "PATCH",	 "DELETE", "TRACE", "MERGE",
					      "CONNECT", "MOVE",   "COPY"};
	char word[] = "method";
	bool is_about = false;

	for (uint32_t i = 0; i + sizeof(word) - 1 <= f->name_len && !is_about; i++)
		is_about = strncasecmp(f->name + i, word, sizeof(word) - 1) == 0;
	if (!is_about || http_field_reads_as(f, "access-control-request-method"))
		return false;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (f->value_len == strlen(methods[i]) &&
		    strncasecmp(f->value, methods[i], f->value_len) == 0)
			return true;
	return false;
}

/* ?_method=DELETE of a POST: the one behind the first `skip` parameters; how many there were. 0: none. */
static unsigned query_override(const struct http_head *h, unsigned skip,
			       char name[TARGET_METHOD_SIZE])
{
	char key[sizeof("x-http-method-override")], value[HTTP_METHOD_MAX * 3 + 1];
	struct http_target t;
	struct http_query q;
	struct http_param p;

	if (h->method != HTTP_POST)
		return 0;
	http_target_split(h, &t);
	http_query_init(&q, &t);
	q.splits_more = true;
	for (unsigned i = 1; http_query_next(&q, &p); i++) {
		if (i <= skip || http_decode(p.name, p.name_len, true, key, sizeof(key)) < 0 ||
		    (strcasecmp(key, "_method") != 0 &&
		     strcasecmp(key, "x-http-method-override") != 0))
			continue;
		ssize_t n =
			p.value ? http_decode(p.value, p.value_len, true, value, sizeof(value)) : 0;

		upper(name, n < 0 ? "?" : value, n < 0 ? 1 : (size_t)n);
		return i;
	}
	return 0;
}

bool target_override(const struct http_head *h, unsigned *at, char name[TARGET_METHOD_SIZE])
{
	for (; *at < h->n_fields; (*at)++) {
		const struct http_field *f = &h->fields[*at];

		if (h->upgrade && h->minor == 1 && http_field_is(f, "upgrade") &&
		    http_head_lists(h, "upgrade", "websocket")) {
			memcpy(name, WEBSOCKET, sizeof(WEBSOCKET));
			(*at)++;
			return true;
		}
		if (names_method(f) || may_name_method(f)) {
			upper(name, f->value, f->value_len);
			(*at)++;
			return true;
		}
	}
	unsigned n = query_override(h, *at - h->n_fields, name);

	*at += n ? n - (*at - h->n_fields) : 0;
	return n > 0;
}

static bool names_path(const struct http_field *f)
{
	static const char *const fields[] = {
		"x-original-url",  "x-rewrite-url",	    "x-original-uri",  "x-rewrite-uri",
		"x-forwarded-uri", "x-forwarded-path",	    "x-forwarded-url", "x-override-url",
		"x-original-path", "x-envoy-original-path", "x-request-uri",   "x-rewrite-path"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (http_field_reads_as(f, fields[i]))
			return true;
	return false;
}

static bool is_moving(const struct http_head *h)
{
	return h->method_len == 4 &&
	       (memcmp(h->method_text, "COPY", 4) == 0 || memcmp(h->method_text, "MOVE", 4) == 0);
}

/* Of a URL what is behind the host; as it is where it is none. */
static void path_of_url(const char **at, size_t *len)
{
	const char *scheme = memmem(*at, *len, "://", 3);
	const char *host = scheme ? scheme + 3 : NULL;

	if (!host)
		return;
	const char *path = memchr(host, '/', *len - (size_t)(host - *at));
	*len -= path ? (size_t)(path - *at) : *len;
	*at = path ? path : *at;
}

bool target_override_path(const struct http_head *h, unsigned *at, const char **ret, size_t *len)
{
	for (; *at < h->n_fields; (*at)++) {
		const struct http_field *f = &h->fields[*at];

		bool is_target = is_moving(h) && http_field_reads_as(f, "destination");
		if (!is_target && !names_path(f))
			continue;
		const char *query = memchr(f->value, '?', f->value_len);

		*ret = f->value;
		*len = query ? (size_t)(query - f->value) : f->value_len;
		if (is_target)
			path_of_url(ret, len);
		(*at)++;
		return true;
	}
	return false;
}

static const struct {
	const char *prefix;
	enum egress_protocol protocol;
} schemes[] = {
	{"https://", EGRESS_HTTPS},
	{"http://", EGRESS_HTTP},
	{"tcp://", EGRESS_TCP},
	{"tls://", EGRESS_TLS},
};

int target_of_url(const char *url, const char *method, struct name *host,
		  struct egress_request *ret, const char **ret_why)
{
	struct egress_request q = {.host = host, .stage = EGRESS_CONNECT};
	const char *at = url;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t n = strlen(schemes[i].prefix);

		if (strncasecmp(url, schemes[i].prefix, n) == 0) {
			q.protocol = schemes[i].protocol;
			at = url + n;
		}
	}
	if (at == url && strstr(url, "://"))
		return refuse(ret_why, "a scheme other than http, https, tls and tcp");
	size_t len = strcspn(at, "/?#"), path = strcspn(at + len, "?#");
	if (memchr(at, '@', len))
		return refuse(ret_why, "a user in front of the host");
	if (name_parse_port(at, len, host, &q.port, ret_why) < 0)
		return -EINVAL;
	if (q.port == 0 && (q.protocol == EGRESS_TCP))
		return refuse(ret_why, "no port");
	if (q.port == 0)
		q.port = q.protocol == EGRESS_HTTP ? 80 : 443;
	if (q.protocol == EGRESS_HTTP || q.protocol == EGRESS_HTTPS) {
		q.stage = EGRESS_REQUEST;
		q.method = method;
		q.method_len = strlen(method);
		q.path = at + len;
		q.path_len = path;
	} else if (at[len]) {
		return refuse(ret_why, "a path without http:// or https:// in front");
	}
	*ret = q;
	return 0;
}
