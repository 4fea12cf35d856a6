/* SPDX-License-Identifier: Apache-2.0 */
/* Where clients of a proxy want to go: HTTP heads, URLs, SOCKS. */
#include "egress/socks.h"
#include "egress/target.h"
#include "tap.h"

static char text[2048];

static bool head(struct http_head *h, const char *first, const char *fields)
{
	struct http_error e = {0};

	snprintf(text, sizeof(text), "%s HTTP/1.1\r\n%s\r\n", first, fields);
	http_head_init(h);
	return http_head_parse(h, text, strlen(text), HTTP_REQUEST, &e) > 0;
}

static void connects(const char *target, const char *host, int port)
{
	struct egress_request q;
	const char *why = NULL;
	struct http_head h;
	struct name n;
	char first[300], fields[300];

	snprintf(first, sizeof(first), "CONNECT %s", target);
	snprintf(fields, sizeof(fields), "Host: %s\r\n", target);
	bool good = head(&h, first, fields) && target_of_connect(&h, &n, &q, &why) == 0;
	ok(host ? good && !strcmp(n.text, host) && q.port == port && q.stage == EGRESS_CONNECT
		: !good,
	   target);
}

static void tunnels(void)
{
	connects("example.org:443", "example.org", 443);
	connects("EXAMPLE.org.:443", "example.org", 443);
	connects("[::1]:443", "::1", 443);
	connects("2130706433:80", "127.0.0.1", 80);
	connects("[::ffff:127.0.0.1]:80", "127.0.0.1", 80);
	connects("example.org", NULL, 0);
	connects("example.org:0", NULL, 0);
	connects("example.org:443:443", NULL, 0);
	connects("user@example.org:443", NULL, 0);
	connects("http://example.org:443", NULL, 0);
	connects("example.org:443/", NULL, 0);
	connects("_x.example.org:443", NULL, 0);
	connects("1.2.3.4.5:443", NULL, 0);
	connects("[fe80::1%25lo]:443", NULL, 0);
}

/* To example.org, on port 80, in the clear. */
static int request(const char *first, const char *fields, struct egress_request *q)
{
	static struct name n;
	const char *why = NULL;
	struct http_head h;
	struct name expected;

	(void)name_parse("example.org", 11, &expected, &why);
	if (!head(&h, first, fields))
		return -EBADMSG;
	return target_of_request(&h, &expected, 80, EGRESS_HTTP, &n, q, &why);
}

static void requests(void)
{
	struct egress_request q;
	const char *why = NULL;
	struct http_head h;
	struct name n;

	ok(request("GET /a%20b?c", "Host: example.org\r\n", &q) == 0 && q.path_len == 6 &&
		   q.method_len == 3 && q.port == 80,
	   "a request");
	is_int(request("GET /", "Host: Example.Org.:80\r\n", &q), 0, "Host in another spelling");
	is_int(request("GET http://example.org/x", "Host: example.org\r\n", &q), 0, "absolute");
	ok(request("GET /", "Host: other.test\r\n", &q) < 0, "Host is somebody else");
	ok(request("GET /", "Host: example.org:8080\r\n", &q) < 0, "Host with another port");
	ok(request("GET /", "Host: example.org.evil.test\r\n", &q) < 0, "Host that goes on");
	ok(request("GET http://other.test/", "Host: other.test\r\n", &q) < 0, "absolute elsewhere");
	ok(request("GET https://example.org/", "Host: example.org\r\n", &q) < 0, "other scheme");
	ok(request("GET http://other.test/", "Host: example.org\r\n", &q) < 0, "two places");
	ok(request("CONNECT example.org:80", "Host: example.org:80\r\n", &q) < 0, "a tunnel");
	ok(request("OPTIONS *", "Host: example.org\r\n", &q) == 0 && q.path_len == 1, "asterisk");
	ok(head(&h, "GET http://a.test:81/x", "Host: a.test:81\r\n") &&
		   target_of_request(&h, NULL, 0, EGRESS_HTTP, &n, &q, &why) == 0 && q.port == 81,
	   "of a proxy");
	ok(head(&h, "GET /x", "Host: a.test\r\n") &&
		   target_of_request(&h, NULL, 0, EGRESS_HTTP, &n, &q, &why) < 0,
	   "of a proxy, without saying where to");
}

static void url(const char *from, const char *host, int port, enum egress_protocol protocol)
{
	struct egress_request q;
	const char *why = NULL;
	struct name n;
	int r = target_of_url(from, "GET", &n, &q, &why);

	ok(host ? r == 0 && !strcmp(n.text, host) && q.port == port && q.protocol == protocol
		: r < 0 && why,
	   from);
}

static void urls(void)
{
	url("https://example.org/x", "example.org", 443, EGRESS_HTTPS);
	url("HTTPS://Example.org:8443", "example.org", 8443, EGRESS_HTTPS);
	url("http://example.org?q", "example.org", 80, EGRESS_HTTP);
	url("example.org", "example.org", 443, EGRESS_ANY);
	url("example.org:22", "example.org", 22, EGRESS_ANY);
	url("tcp://example.org:22", "example.org", 22, EGRESS_TCP);
	url("https://[::1]/", "::1", 443, EGRESS_HTTPS);
	url("https://0x7f.1/", "127.0.0.1", 443, EGRESS_HTTPS);
	url("https://a@b/", NULL, 0, 0);
	url("https://", NULL, 0, 0);
	url("ftp://example.org", NULL, 0, 0);
	url("tcp://example.org", NULL, 0, 0);
	url("example.org/x", NULL, 0, 0);
	url("https://exa mple.org/", NULL, 0, 0);
	url("https://example.org:x/", NULL, 0, 0);
	url("", NULL, 0, 0);
}

static void greetings(void)
{
	uint8_t answer[2];

	is_int(socks_greeting((const uint8_t *)"\5", 1, answer), 0, "more");
	is_int(socks_greeting((const uint8_t *)"\5\2\0", 3, answer), 0, "still more");
	is_int(socks_greeting((const uint8_t *)"\5\2\2\0x", 5, answer), 4, "a greeting");
	ok(answer[0] == 5 && answer[1] == 0, "no authentication");
	ok(socks_greeting((const uint8_t *)"\5\1\2", 3, answer) < 0 && answer[1] == 0xff,
	   "passwords");
	ok(socks_greeting((const uint8_t *)"\5\0", 2, answer) < 0, "no method");
	ok(socks_greeting((const uint8_t *)"\4\1", 2, answer) < 0, "SOCKS4");
}

static void socks(const char *name, const char *bytes, size_t len, const char *host, int port)
{
	struct socks_request r;
	uint8_t *copy = malloc(len);
	bool more = true;

	memcpy(copy, bytes, len);
	for (size_t i = 0; host && i < len; i++)
		more &= socks_request(copy, i, &r) == 0;
	int n = socks_request(copy, len, &r);
	ok(more && (host ? n == (int)len && !strcmp(r.host.text, host) && r.port == port
			 : n < 0 && r.reply != SOCKS_OK && r.why),
	   name);
	free(copy);
}

#define SOCKS(name, bytes, host, port) socks(name, bytes, sizeof(bytes) - 1, host, port)

static void socks_requests(void)
{
	uint8_t answer[SOCKS_REPLY_SIZE];

	SOCKS("by name",
	      "\5\1\0\3\x0b"
	      "Example.org\1\xbb",
	      "example.org", 443);
	SOCKS("by address", "\5\1\0\1\x7f\0\0\1\0\x50", "127.0.0.1", 80);
	SOCKS("by address of IPv6", "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", "::1", 80);
	SOCKS("mapped", "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\x50", "127.0.0.1", 80);
	SOCKS("an address as a name",
	      "\5\1\0\3\x0a"
	      "2130706433\0\x50",
	      "127.0.0.1", 80);
	SOCKS("bind", "\5\2\0\1\x7f\0\0\1\0\x50", NULL, 0);
	SOCKS("udp", "\5\3\0\1\x7f\0\0\1\0\x50", NULL, 0);
	SOCKS("port 0", "\5\1\0\1\x7f\0\0\1\0\0", NULL, 0);
	SOCKS("another kind", "\5\1\0\2\x7f\0\0\1\0\x50", NULL, 0);
	SOCKS("reserved", "\5\1\1\1\x7f\0\0\1\0\x50", NULL, 0);
	SOCKS("NUL in a name", "\5\1\0\3\5a\0b.c\0\x50", NULL, 0);
	SOCKS("an empty name", "\5\1\0\3\0\0\x50", NULL, 0);
	SOCKS("SOCKS4", "\4\1\0\x50\x7f\0\0\1\0", NULL, 0);
	socks_answer(SOCKS_DENIED, answer);
	ok(answer[0] == 5 && answer[1] == 2 && answer[3] == 1, "an answer");
}

static void override_path(void)
{
	static const char asked[] = "GET / HTTP/1.1\r\nHost: a.test\r\nX-Original-URL: /b?c\r\n"
				    "x-rewrite-url: d\r\n\r\n";
	struct http_head h;
	struct http_error e;
	const char *path = NULL;
	size_t len = 0;
	unsigned at = 0;

	http_head_init(&h);
	http_head_parse(&h, asked, sizeof(asked) - 1, HTTP_REQUEST, &e);
	ok(target_override_path(&h, &at, &path, &len) && len == 2 && !memcmp(path, "/b", 2),
	   "a path in a field, without its query");
	ok(target_override_path(&h, &at, &path, &len) && len == 1, "another");
	ok(!target_override_path(&h, &at, &path, &len), "and no more");
	static const struct {
		const char *line, *field, *want;
	} moves[] = {
		{"MOVE /a", "Destination: http://a.test/b?c\r\n", "/b"},
		{"COPY /a", "Destination: /b\r\n", "/b"},
		{"COPY /a", "destination: https://a.test\r\n", ""},
		{"GET /a", "Destination: /b\r\n", NULL},
		{"GET /a", "X_Original_URL: /b\r\n", "/b"},
		{"GET /a", "X-Original-URI: http://a.test/b\r\n", "http://a.test/b"},
		{"GET /a", "X-Override-Url: /b\r\n", "/b"},
		{"GET /a", "x-envoy-original-path: /b?c\r\n", "/b"},
	};
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		char fields[128];

		at = 0;
		(void)snprintf(fields, sizeof(fields), "Host: a.test\r\n%s", moves[i].field);
		bool good = head(&h, moves[i].line, fields);
		bool found = target_override_path(&h, &at, &path, &len);
		ok(good && found == (moves[i].want != NULL) &&
			   (!found || (len == strlen(moves[i].want) &&
				       memcmp(path, moves[i].want, len) == 0)),
		   moves[i].field);
	}
}

static void overrides(void)
{
	char name[TARGET_METHOD_SIZE] = "";
	struct http_head h;
	unsigned at = 0;

	ok(head(&h, "POST /",
		"Host: a\r\nX-Method: PUT\r\nX-HTTP-Method-Override: Delete\r\n"
		"x-http-method:\r\nX-Method-Override: "
		"AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDD\r\n"),
	   "methods in fields");
	ok(target_override(&h, &at, name) && !strcmp(name, "PUT"), "one under another name");
	ok(target_override(&h, &at, name) && !strcmp(name, "DELETE"), "one, in upper case");
	ok(target_override(&h, &at, name) && !strcmp(name, ""), "one that is empty");
	ok(target_override(&h, &at, name) && strlen(name) == HTTP_METHOD_MAX, "one that is long");
	ok(!target_override(&h, &at, name), "and no other");
	at = 0;
	ok(head(&h, "POST /", "Host: a\r\nX_HTTP.Method_Override: put\r\n") &&
		   target_override(&h, &at, name) && !strcmp(name, "PUT"),
	   "one that only some readers take for it");
	static const struct {
		const char *line, *fields, *want;
	} others[] = {
		{"POST /?a=b&_method=delete", "", "DELETE"},
		{"POST /?_method=put&%5FMETHOD=%44ELETE", "", "PUT DELETE"},
		{"POST /?a=b;_method=delete", "", "DELETE"},
		{"POST /?_method", "", ""},
		{"POST /?X-HTTP-Method-Override=PATCH", "X-Method: PUT\r\n", "PUT PATCH"},
		{"GET /?_method=DELETE", "", NULL},
		{"POST /?method=DELETE&x_method=PUT", "", NULL},
		{"GET /", "HTTP-Method-Override: delete\r\n", "DELETE"},
		{"GET /", "X-Requested-Method: PUT\r\n", "PUT"},
		{"POST /", "X-Shipping-Method: express\r\nMethods: some\r\n", NULL},
		{"OPTIONS /", "Access-Control-Request-Method: DELETE\r\n", NULL},
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char fields[128], got[128] = "";

		at = 0;
		(void)snprintf(fields, sizeof(fields), "Host: a\r\n%s", others[i].fields);
		bool good = head(&h, others[i].line, fields), any = false;
		for (; target_override(&h, &at, name); any = true)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
				 any ? " " : "", name);
		ok(good && any == (others[i].want != NULL) &&
			   (!any || !strcmp(got, others[i].want)),
		   others[i].line);
	}
	override_path();
}

int main(void)
{
	TAP_RUN(tunnels);
	TAP_RUN(requests);
	TAP_RUN(overrides);
	TAP_RUN(urls);
	TAP_RUN(greetings);
	TAP_RUN(socks_requests);
	return tap_done();
}
