/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into a sandbox and what comes out of it, field by field. In: nothing that says who the
 * caller is to us or to other servers of this machine (cookies do not know ports). Out: nothing
 * that a browser keeps or obeys for our whole origin; and a page that is shown all the same is put
 * into an origin of its own.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/proxy_int.h"

static const char *const kept_out[] = {
	"authorization",
	"cookie",
	"cookie2",
	"host",
	"expect",
	"content-length",
	"origin",
	"referer",
	"forwarded",
	"x-forwarded-for",
	"x-forwarded-host",
	"x-forwarded-proto",
	"x-forwarded-prefix",
	"x-real-ip",
};

static const char *const kept_in[] = {
	"set-cookie",
	"set-cookie2",
	"content-length",
	"content-security-policy",
	"content-security-policy-report-only",
	"access-control-allow-origin",
	"access-control-allow-credentials",
	"access-control-allow-headers",
	"access-control-allow-methods",
	"access-control-expose-headers",
	"access-control-max-age",
	"access-control-allow-private-network",
	"strict-transport-security",
	"public-key-pins",
	"clear-site-data",
	"service-worker-allowed",
	"alt-svc",
	"www-authenticate",
	"location",
	"x-content-type-options",
	"cross-origin-resource-policy",
	"nel",
	"report-to",
	"reporting-endpoints",
	"origin-agent-cluster",
	"request-id",
	"referrer-policy",
};

static bool is_in(const struct http_field *f, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (http_field_is(f, list[i]))
			return true;
	return false;
}
#define IS_IN(f, list) is_in(f, list, sizeof(list) / sizeof((list)[0]))

static void add_framing(struct http_out *o, const struct http_head *h, enum framing framing)
{
	if (framing == FRAME_CHUNKS)
		http_out_field(o, "Transfer-Encoding", "chunked");
	/* Of an answer without a body it tells how long one would be. */
	else if (h->content_length >= 0 && framing != FRAME_TO_END)
		http_out_field_u64(o, "Content-Length", (uint64_t)h->content_length);
}

int proxy_request_head(char buf[PROXY_HEAD_SIZE], const struct taken *client,
		       const struct proxy_target *to, enum framing framing)
{
	const struct http_head *h = &client->head;
	char method[HTTP_METHOD_MAX + 1], host[32];
	struct http_out o;

	(void)snprintf(method, sizeof(method), "%.*s", (int)h->method_len, h->method_text);
	(void)snprintf(host, sizeof(host), "localhost:%u", to->port);
	http_out_init(&o, buf, PROXY_HEAD_SIZE);
	http_out_request(&o, method, to->rest, strlen(to->rest));
	http_out_field(&o, "Host", host);
	for (unsigned i = 0; i < h->n_fields; i++)
		if (!http_field_is_hop(h, &h->fields[i]) && !IS_IN(&h->fields[i], kept_out))
			http_out_copy(&o, &h->fields[i]);
	if (http_head_field(h, "origin")) { /* it was ours, or we had refused it */
		char origin[48];

		(void)snprintf(origin, sizeof(origin), "http://%s", host);
		http_out_field(&o, "Origin", origin);
	}
	if (h->host)
		http_out_field_n(&o, "X-Forwarded-Host", h->host, h->host_len);
	http_out_field(&o, "X-Forwarded-Prefix", to->prefix);
	if (to->websocket[0])
		http_out_field(&o, "Upgrade", "websocket");
	http_out_field(&o, "Connection", to->websocket[0] ? "Upgrade" : "close");
	add_framing(&o, h, framing);
	return http_out_end(&o);
}

/* A place on that server is below our prefix. Elsewhere is elsewhere. */
static void add_location(struct http_out *o, const struct http_field *f,
			 const struct proxy_target *to)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1"};
	const char *p = f->value;
	size_t n = f->value_len;
	char own[48], text[HTTP_LINE_MAX];

	for (unsigned i = 0; i < 2; i++) {
		size_t len =
			(size_t)snprintf(own, sizeof(own), "http://%s:%u/", hosts[i], to->port);

		if (n >= len && strncasecmp(p, own, len) == 0) {
			p += len - 1;
			n -= len - 1;
			break;
		}
	}
	if (n > 0 && p[0] == '/' && !(n > 1 && (p[1] == '/' || p[1] == '\\'))) {
		int len = snprintf(text, sizeof(text), "%s%.*s", to->prefix, (int)n, p);

		if ((size_t)len < sizeof(text))
			http_out_field_n(o, "Location", text, (size_t)len);
	} else {
		http_out_field_n(o, "Location", p, n);
	}
}

int proxy_answer_head(char buf[PROXY_HEAD_SIZE], const struct http_head *answer,
		      const struct proxy_target *to, enum framing framing)
{
	struct http_out o;

	http_out_init(&o, buf, PROXY_HEAD_SIZE);
	http_out_status(&o, answer->status);
	for (unsigned i = 0; i < answer->n_fields; i++) {
		const struct http_field *f = &answer->fields[i];

		if (http_field_is(f, "location"))
			add_location(&o, f, to);
		else if (!http_field_is_hop(answer, f) && !IS_IN(f, kept_in))
			http_out_copy(&o, f);
	}
	http_out_field(&o, "Content-Security-Policy", "sandbox allow-scripts allow-forms");
	http_out_field(&o, "X-Content-Type-Options", "nosniff");
	http_out_field(&o, "Cross-Origin-Resource-Policy", "same-origin");
	http_out_field(&o, "Referrer-Policy", "no-referrer");
	http_out_field(&o, "Request-Id", to->request_id);
	add_framing(&o, answer, framing);
	http_out_field(&o, "Connection", "close");
	return http_out_end(&o);
}

bool proxy_is_accepted(const struct http_head *answer, const struct proxy_target *to)
{
	const struct http_field *f = http_head_field(answer, "sec-websocket-accept");

	return to->websocket[0] && answer->upgrade &&
	       http_head_lists(answer, "upgrade", "websocket") && f &&
	       f->value_len == strlen(to->websocket) &&
	       memcmp(f->value, to->websocket, f->value_len) == 0;
}

int proxy_upgrade_head(char buf[PROXY_HEAD_SIZE], const struct http_head *answer,
		       const struct proxy_target *to)
{
	static const char *const names[] = {"sec-websocket-protocol", "sec-websocket-extensions"};
	struct http_out o;

	http_out_init(&o, buf, PROXY_HEAD_SIZE);
	http_out_status(&o, 101);
	http_out_field(&o, "Upgrade", "websocket");
	http_out_field(&o, "Connection", "Upgrade");
	http_out_field(&o, "Sec-WebSocket-Accept", to->websocket);
	for (unsigned i = 0; i < answer->n_fields; i++)
		if (IS_IN(&answer->fields[i], names))
			http_out_copy(&o, &answer->fields[i]);
	http_out_field(&o, "Request-Id", to->request_id);
	return http_out_end(&o);
}
