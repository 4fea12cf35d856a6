/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is calling, and whether he came by a way that we serve. A browser on this machine can be made
 * to send requests here by any page: so a Host that is not ours and an Origin that nobody allowed
 * are refused before anything is looked at, also with a token that is good.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/conn_int.h"
#include "api/tokens.h"
#include "base/hold.h"

static bool is_host(const struct http_host *h, const char *name)
{
	return strlen(name) == h->name_len && strncasecmp(h->name, name, h->name_len) == 0;
}

static bool host_is_ours(const struct server *s, const struct http_host *h)
{
	static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};

	for (unsigned i = 0; i < 3; i++)
		if (is_host(h, loopback[i]))
			return true;
	for (unsigned i = 0; s->config.hosts && s->config.hosts[i]; i++)
		if (is_host(h, s->config.hosts[i]))
			return true;
	return false;
}

static bool is_named(const struct server *s, const char *origin)
{
	for (unsigned i = 0; s->config.origins && s->config.origins[i]; i++)
		if (strcmp(origin, s->config.origins[i]) == 0)
			return true;
	return false;
}

static bool origin_is_ours(const struct exchange *x)
{
	const struct server *s = x->conn->server;
	char origin[256];

	if (!exchange_field(x, "origin", origin, sizeof(origin)) || is_named(s, origin))
		return true;
	/* A page that we would have served ourselves. */
	const char *at = strstr(origin, "://");
	struct http_host h;
	return at && http_host_parse(at + 3, strlen(at + 3), &h) && host_is_ours(s, &h);
}

static int refuse_origin(struct err *e, const char *text)
{
	(void)err_set(e, ERR_DENIED, "%s", text);
	return err_remedy(e, "call without Origin, or start the daemon with --origin ORIGIN");
}

static int check_way(const struct exchange *x, struct err *e)
{
	const struct conn *c = x->conn;

	if (HOLD_API_HOST && c->listener->way != API_UNIX &&
	    (!x->head.host || !host_is_ours(c->server, &x->head.where))) {
		(void)err_set(e, ERR_DENIED, "the Host of the request is not served here");
		return err_remedy(e, "use localhost, or start the daemon with --host NAME");
	}
	if (HOLD_API_ORIGIN && !origin_is_ours(x))
		return refuse_origin(e, "requests of other origins are refused");
	/* What a page of another site makes a browser fetch may have no Origin, but says this. */
	char site[24];
	if (HOLD_API_ORIGIN && exchange_field(x, "sec-fetch-site", site, sizeof(site)) &&
	    strcasecmp(site, "cross-site") == 0 && !http_head_field(&x->head, "origin"))
		return refuse_origin(e, "requests of other sites are refused");
	return 0;
}

static int check_bearer(struct exchange *x, struct err *e)
{
	struct tokens *tokens = x->conn->server->api->tokens;
	const struct http_field *f = http_head_field(&x->head, "authorization");

	if (!f || f->value_len < 8 || strncasecmp(f->value, "bearer ", 7) != 0) {
		(void)err_set(e, ERR_UNAUTHENTICATED, "a token is needed");
		return err_remedy(e, "send \"Authorization: Bearer TOKEN\"; make a token with "
				     "`pinfold token new`");
	}
	if (!tokens)
		return err_set(e, ERR_UNAUTHENTICATED, "there are no tokens");
	return tokens_check(tokens, f->value + 7, f->value_len - 7, &x->who, e);
}

/* Pages of an origin that who serves has named may read the answer, also one that refuses them. Not
 * with what a browser would add itself: they bring their token. */
static bool share(struct exchange *x)
{
	char origin[256];

	if (!exchange_field(x, "origin", origin, sizeof(origin)) ||
	    !is_named(x->conn->server, origin))
		return false;
	exchange_header(x, "Access-Control-Allow-Origin", origin);
	exchange_header(x, "Vary", "Origin");
	return true;
}

bool exchange_preflight(struct exchange *x)
{
	struct err e = ERR_INIT;

	if (x->head.method != HTTP_OPTIONS ||
	    !http_head_field(&x->head, "access-control-request-method") || check_way(x, &e) < 0 ||
	    !share(x))
		return false;
	exchange_header(x, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE");
	exchange_header(x, "Access-Control-Allow-Headers",
			"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
			"If-Range, Last-Event-ID, Range, Mcp-Method, Mcp-Name, "
			"Mcp-Protocol-Version, Mcp-Session-Id");
	exchange_header(x, "Access-Control-Max-Age", "600");
	exchange_reply(x, 204, NULL, NULL, 0);
	return true;
}

bool exchange_admit(struct exchange *x, bool is_open)
{
	struct err e = ERR_INIT;
	int r = check_way(x, &e);

	if (r == 0 && share(x))
		exchange_header(x, "Access-Control-Expose-Headers",
				"Content-Range, ETag, Idempotent-Replayed, Mcp-Session-Id, "
				"Request-Id, Retry-After");
	x->who = (struct who){0};
	if (r == 0 && x->conn->listener->way == API_UNIX) {
		x->who = (struct who){.scopes = SCOPE_ALL};
		(void)snprintf(x->who.tenant, sizeof(x->who.tenant), "uid-%u", x->conn->uid);
#ifdef PINFOLD_FIXTURES
	} else if (r == 0 && x->conn->server->config.open) {
		x->who = (struct who){.tenant = "conformance", .scopes = SCOPE_ALL};
#endif
	} else if (r == 0 && !is_open) {
		r = check_bearer(x, &e);
	}
	(void)snprintf(x->who.from, sizeof(x->who.from), "%s", x->conn->from);
	if (r < 0)
		exchange_error(x, &e);
	return r == 0;
}
