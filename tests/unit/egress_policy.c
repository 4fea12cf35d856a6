/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy says, by table; and what must hold of every policy: the order of rules means
 * nothing, a rule that denies never lets anything through, a ceiling never widens, packing changes
 * nothing.
 */
#include "egress/policy.h"
#include "egress/rule.h"
#include "egress/target.h"
#include "egress/yaml.h"
#include "tap.h"

/* Policies of the table below. */
static const char plain[] = "allow:\n"
			    "  - example.org\n"
			    "  - '*.wild.test'\n"
			    "  - db.test:5432\n"
			    "  - 203.0.113.5\n"
			    "  - 10.1.2.3:8080\n"
			    "  - '[fd00::7]:443'\n"
			    "  - xn--bcher-kva.test\n"
			    "  - {host: raw.test, port: 9000, protocol: tcp}\n"
			    "  - {host: clear.test, port: [80, 8080], protocol: http}\n";
static const char inspected[] =
	"allow:\n"
	"  - {name: reader, host: api.test, methods: [GET, HEAD], paths: ['/v1/**', '/health']}\n"
	"  - {name: writer, host: api.test, methods: [POST], paths: ['/v1/items']}\n"
	"  - {name: npm, host: npm.test, methods: [GET], paths: ['/**']}\n"
	"  - {name: star, host: star.test, paths: ['/a/*/c', '/x/*']}\n"
	"  - {name: secret, host: brokered.test, inject: {secret: KEY, header: Authorization, "
	"prefix: 'Bearer '}}\n"
	"  - {name: tracer, host: trace.test, methods: [TRACE, GET]}\n"
	"  - {name: all, host: wide.test, protocol: https}\n";
static const char layered[] = "allow:\n"
			      "  - '*.corp.test'\n"
			      "  - {host: both.test, port: 443}\n"
			      "  - {host: both.test, port: 443, protocol: https, methods: [GET]}\n"
			      "  - open.test\n"
			      "  - {host: rawdeny.test, port: 7000, protocol: tcp}\n"
			      "  - {host: gone.test}\n"
			      "  - {host: asked.test, port: 443}\n"
			      "  - 198.51.100.7\n"
			      "ask:\n"
			      "  - asked.test\n"
			      "  - {host: partly.test, methods: [POST]}\n"
			      "  - {host: askpath.corp.test, paths: ['/admin/**']}\n"
			      "deny:\n"
			      "  - bad.corp.test\n"
			      "  - '*.evil.corp.test'\n"
			      "  - {host: open.test, paths: ['/admin/**']}\n"
			      "  - {host: open.test, methods: [DELETE]}\n"
			      "  - {host: rawdeny.test, paths: ['/x']}\n"
			      "  - {host: gone.test, port: 443}\n"
			      "  - 198.51.100.7:80\n";

struct row {
	const char *policy;
	const char *ask;  /* METHOD URL; LOOKUP name; CONNECT host:port [protocol] */
	const char *want; /* action, then what is to be spoken; "?": the host itself is refused */
};

static const struct row rows[] = {
	/* names as they should be */
	{plain, "LOOKUP example.org", "allow"},
	{plain, "LOOKUP EXAMPLE.ORG.", "allow"},
	{plain, "CONNECT example.org:443", "allow tls"},
	{plain, "CONNECT example.org:80", "allow http"},
	{plain, "CONNECT Example.ORG.:443", "allow tls"},
	{plain, "GET https://example.org/any?q=1", "allow https"},
	{plain, "POST https://example.org/any", "allow https"},
	{plain, "GET http://example.org/", "allow http"},
	{plain, "GET http://example.org:80/", "allow http"},
	{plain, "GET http://EXAMPLE.org./", "allow http"},
	/* ports that nobody named */
	{plain, "CONNECT example.org:22", "deny"},
	{plain, "CONNECT example.org:25", "deny"},
	{plain, "CONNECT example.org:6379", "deny"},
	{plain, "CONNECT example.org:8443", "deny"},
	{plain, "GET http://example.org:443/", "deny"},
	{plain, "GET https://example.org:80/", "deny"},
	{plain, "CONNECT db.test:5432", "allow tcp"},
	{plain, "CONNECT db.test:443", "deny"},
	{plain, "CONNECT db.test:80", "deny"},
	{plain, "LOOKUP db.test", "allow"},
	/* the protocol of the port, and no other */
	{plain, "CONNECT example.org:443 tls", "allow tls"},
	{plain, "CONNECT example.org:443 tcp", "deny"},
	{plain, "CONNECT example.org:443 http", "deny"},
	{plain, "CONNECT example.org:80 tls", "deny"},
	{plain, "CONNECT example.org:80 tcp", "deny"},
	{plain, "CONNECT raw.test:9000 tls", "allow tcp"},
	{plain, "CONNECT raw.test:9000", "allow tcp"},
	{plain, "CONNECT clear.test:8080", "allow http"},
	{plain, "CONNECT clear.test:443", "deny"},
	{plain, "GET http://clear.test:8080/", "allow http"},
	{plain, "GET https://clear.test:8080/", "deny"},
	/* names that look like it (I07) */
	{plain, "CONNECT example.org.evil.test:443", "deny"},
	{plain, "CONNECT evilexample.org:443", "deny"},
	{plain, "CONNECT www.example.org:443", "deny"},
	{plain, "CONNECT example.org.:443", "allow tls"},
	{plain, "CONNECT example.org..:443", "?"},
	{plain, "CONNECT .example.org:443", "?"},
	{plain, "CONNECT example..org:443", "?"},
	{plain, "CONNECT example.org%00.evil.test:443", "?"},
	{plain, "CONNECT example.org%2f.evil.test:443", "?"},
	{plain, "CONNECT example.org@evil.test:443", "?"},
	{plain, "CONNECT example.org#.evil.test:443", "?"},
	{plain, "CONNECT example.org\\.evil.test:443", "?"},
	{plain, "CONNECT example\xe3\x80\x82org:443", "?"},
	{plain, "CONNECT ex\xd0\xb0mple.org:443", "?"},
	{plain, "CONNECT xn--exmple-4nf.org:443", "deny"},
	{plain, "CONNECT xn--bcher-kva.test:443", "allow tls"},
	{plain, "CONNECT XN--BCHER-KVA.test:443", "allow tls"},
	{plain,
	 "CONNECT b\xc3\xbc"
	 "cher.test:443",
	 "?"},
	{plain, "CONNECT _example.org:443", "?"},
	{plain, "CONNECT example.org\t:443", "?"},
	{plain, "CONNECT example.org\n:443", "?"},
	{plain, "CONNECT example:443", "deny"},
	{plain, "CONNECT org:443", "deny"},
	{plain, "LOOKUP secret-data.example.org", "deny"},
	{plain, "LOOKUP evil.test", "deny"},
	/* wildcards (I10) */
	{plain, "CONNECT a.wild.test:443", "allow tls"},
	{plain, "CONNECT a.b.wild.test:443", "allow tls"},
	{plain, "CONNECT wild.test:443", "deny"},
	{plain, "CONNECT xwild.test:443", "deny"},
	{plain, "CONNECT a.wild.test.evil.test:443", "deny"},
	{plain, "CONNECT .wild.test:443", "?"},
	{plain, "LOOKUP a.wild.test", "allow"},
	{plain, "LOOKUP wild.test", "deny"},
	/* addresses in every spelling (I06) */
	{plain, "CONNECT 203.0.113.5:443", "allow tls private"},
	{plain, "CONNECT 3405803781:443", "allow tls private"},
	{plain, "CONNECT 0xcb007105:443", "allow tls private"},
	{plain, "CONNECT 0313.0.0161.5:443", "allow tls private"},
	{plain, "CONNECT [::ffff:203.0.113.5]:443", "allow tls private"},
	{plain, "CONNECT 203.0.113.5:8443", "deny"},
	{plain, "CONNECT 203.0.113.6:443", "deny"},
	{plain, "CONNECT 10.1.2.3:8080", "allow tcp private"},
	{plain, "CONNECT 10.1.515:8080", "allow tcp private"},
	{plain, "CONNECT 10.1.2.3:80", "deny"},
	{plain, "CONNECT [fd00:0::7]:443", "allow tls private"},
	{plain, "CONNECT [fd00::8]:443", "deny"},
	{plain, "CONNECT 127.0.0.1:443", "deny"},
	{plain, "CONNECT 127.1:443", "deny"},
	{plain, "CONNECT 2130706433:443", "deny"},
	{plain, "CONNECT 0x7f000001:443", "deny"},
	{plain, "CONNECT 0177.0.0.1:443", "deny"},
	{plain, "CONNECT 0:443", "deny"},
	{plain, "CONNECT 0.0.0.0:443", "deny"},
	{plain, "CONNECT [::]:443", "deny"},
	{plain, "CONNECT [::1]:443", "deny"},
	{plain, "CONNECT [::ffff:127.0.0.1]:443", "deny"},
	{plain, "CONNECT [::ffff:7f00:1]:443", "deny"},
	{plain, "CONNECT [64:ff9b::7f00:1]:443", "deny"},
	{plain, "CONNECT [2002:7f00:1::]:443", "deny"},
	{plain, "CONNECT [fe80::1%25lo]:443", "?"},
	{plain, "CONNECT 169.254.169.254:80", "deny"},
	{plain, "CONNECT 2852039166:80", "deny"},
	{plain, "CONNECT [fd00:ec2::254]:80", "deny"},
	{plain, "CONNECT 1.2.3.4.5:443", "?"},
	{plain, "CONNECT 256.1.1.1:443", "?"},
	{plain, "CONNECT localhost:443", "deny"},
	{plain, "CONNECT localhost.:443", "deny"},
	{plain, "CONNECT a.localhost:443", "deny"},
	{plain, "CONNECT ip6-localhost:443", "deny"},
	{plain, "CONNECT 127.0.0.1.nip.io:443", "deny"},
	{plain, "LOOKUP localhost", "deny"},
	/* methods and paths (J09) */
	{inspected, "CONNECT api.test:443", "allow https"},
	{inspected, "CONNECT api.test:80", "allow http"},
	{inspected, "CONNECT api.test:443 tls", "allow https"},
	{inspected, "GET https://api.test/v1/items", "allow https reader"},
	{inspected, "GET https://api.test/v1/", "allow https reader"},
	{inspected, "GET https://api.test/v1/a/b/c?x=../..", "allow https reader"},
	{inspected, "HEAD https://api.test/health", "allow https reader"},
	{inspected, "GET http://api.test/health", "allow http reader"},
	{inspected, "POST https://api.test/v1/items", "allow https writer"},
	{inspected, "POST https://api.test/v1/other", "deny"},
	{inspected, "DELETE https://api.test/v1/items", "deny"},
	{inspected, "get https://api.test/v1/items", "deny"},
	{inspected, "GET https://api.test/", "deny"},
	{inspected, "GET https://api.test", "deny"},
	{inspected, "GET https://api.test/v1", "deny"},
	{inspected, "GET https://api.test/V1/items", "deny"},
	{inspected, "GET https://api.test/healthz", "deny"},
	{inspected, "GET https://api.test/v1/../admin", "deny"},
	{inspected, "GET https://api.test/v1/%2e%2e/admin", "deny"},
	{inspected, "GET https://api.test/v1/%2E%2E%2Fadmin", "deny"},
	{inspected, "GET https://api.test/v1/..;/admin", "deny"},
	{inspected, "GET https://api.test/v1/..%5cadmin", "deny"},
	{inspected, "GET https://api.test/v1/%252e%252e/admin", "deny"},
	{inspected, "GET https://api.test//v1/items", "deny"},
	{inspected, "GET https://api.test/v1//items", "deny"},
	{inspected, "GET https://api.test/v1/%00", "deny"},
	{inspected, "GET https://api.test/v1/%c0%ae%c0%ae/x", "deny"},
	{inspected, "GET https://api.test/v1/items;x=y", "allow https reader"},
	{inspected, "GET https://api.test/v1%2fitems", "deny"},
	{inspected, "GET https://api.test/%76%31/items", "allow https reader"},
	{inspected, "GET https://npm.test/@types%2fnode", "allow https npm"},
	{inspected, "PUT https://npm.test/@types%2fnode", "deny"},
	{inspected, "GET https://npm.test/a/-/a-1.0.0.tgz", "allow https npm"},
	{inspected, "GET https://star.test/a/b/c", "allow https star"},
	{inspected, "GET https://star.test/a/b/d/c", "deny"},
	{inspected, "GET https://star.test/x/y%2fz", "deny"},
	{inspected, "GET https://wide.test/../x", "allow https all"},
	{inspected, "CONNECT wide.test:80", "deny"},
	{inspected, "TRACE https://wide.test/", "deny"},
	{inspected, "CONNECT https://wide.test/", "deny"},
	{inspected, "TRACE https://trace.test/", "allow https tracer"},
	/* where a secret goes, and where not (J05) */
	{inspected, "GET https://brokered.test/", "allow https secret +KEY"},
	{inspected, "GET https://brokered.test.evil.test/", "deny"},
	{inspected, "GET https://brokered.test@evil.test/", "?"},
	{inspected, "GET https://brokered.test:8443/", "deny"},
	{inspected, "GET http://brokered.test/", "deny"},
	{inspected, "CONNECT brokered.test:443", "allow https +KEY"},
	{inspected, "TRACE https://brokered.test/", "deny"},
	/* deny beats ask beats allow */
	{layered, "CONNECT a.corp.test:443", "allow tls"},
	{layered, "CONNECT bad.corp.test:443", "deny"},
	{layered, "LOOKUP bad.corp.test", "deny"},
	{layered, "CONNECT x.bad.corp.test:443", "allow tls"},
	{layered, "CONNECT x.evil.corp.test:443", "deny"},
	{layered, "CONNECT evil.corp.test:443", "allow tls"},
	{layered, "CONNECT both.test:443", "allow https"},
	{layered, "POST https://both.test/", "allow https"},
	{layered, "CONNECT open.test:443", "allow https"},
	{layered, "CONNECT open.test:80", "allow http"},
	{layered, "GET https://open.test/x", "allow https"},
	{layered, "GET https://open.test/admin/x", "deny"},
	{layered, "GET http://open.test/admin/x", "deny"},
	{layered, "GET https://open.test/ADMIN/x", "deny"},
	{layered, "GET https://open.test/admin%2fx", "deny"},
	{layered, "GET https://open.test/admin;a/x", "deny"},
	{layered, "GET https://open.test/a/../admin/x", "deny"},
	{layered, "GET https://open.test//admin/x", "deny"},
	{layered, "DELETE https://open.test/x", "deny"},
	{layered, "CONNECT rawdeny.test:7000", "deny"},
	{layered, "CONNECT gone.test:443", "deny"},
	{layered, "CONNECT gone.test:80", "allow http"},
	{layered, "LOOKUP gone.test", "allow"},
	{layered, "LOOKUP asked.test", "allow"},
	{layered, "CONNECT asked.test:443", "ask tls"},
	{layered, "GET http://asked.test/", "ask http"},
	{layered, "CONNECT asked.test:80", "allow http"},
	{layered, "CONNECT partly.test:443", "allow https"},
	{layered, "POST https://partly.test/", "ask https"},
	{layered, "GET https://partly.test/", "deny"},
	{layered, "CONNECT askpath.corp.test:443", "allow https"},
	{layered, "GET https://askpath.corp.test/admin/x", "ask https"},
	{layered, "GET https://askpath.corp.test/ADMIN/x", "ask https"},
	{layered, "GET https://askpath.corp.test/x", "allow https"},
	{layered, "CONNECT 198.51.100.7:443", "allow tls private"},
	{layered, "CONNECT 198.51.100.7:80", "deny"},
	/* nothing allows nothing (I11) */
	{"allow: []", "CONNECT example.org:443", "deny"},
	{"allow: []", "LOOKUP example.org", "deny"},
	{"deny: []", "CONNECT example.org:443", "deny"},
	{"deny: [example.org]", "CONNECT other.test:443", "deny"},
};

static struct policy *load(const char *text)
{
	struct err e = ERR_INIT;
	struct policy *p = policy_new();

	if (policy_load_yaml(p, text, strlen(text), "test.yaml", NULL, &e) < 0)
		diag("%s", e.text);
	return p;
}

/* A row's question; false: its host is none. */
static bool question(const char *text, struct name *host, struct egress_request *q, char method[40])
{
	const char *url = strchr(text, ' ') + 1, *why = NULL;
	char place[300];

	snprintf(method, 40, "%.*s", (int)(url - text - 1), text);
	if (!strcmp(method, "LOOKUP")) {
		*q = (struct egress_request){.host = host, .protocol = EGRESS_DNS};
		return name_parse(url, strlen(url), host, &why) == 0;
	}
	if (strstr(url, "://"))
		return target_of_url(url, method, host, q, &why) == 0;
	size_t n = strcspn(url, " ");
	snprintf(place, sizeof(place), "%.*s", (int)n, url);
	*q = (struct egress_request){.host = host, .stage = EGRESS_CONNECT};
	for (int i = EGRESS_TCP; url[n] && i < EGRESS_DNS; i++)
		if (!strcmp(url + n + 1, egress_protocol_name(i)))
			q->protocol = i;
	return name_parse_port(place, n, host, &q->port, &why) == 0;
}

/* As a row has it. */
static const char *words(const struct egress_verdict *v, const char *want, char *text, size_t size)
{
	int n = snprintf(text, size, "%s", egress_action_name(v->action));

	if (v->action != EGRESS_DENY && v->protocol)
		n += snprintf(text + n, size - (size_t)n, " %s", egress_protocol_name(v->protocol));
	if (v->may_be_private)
		n += snprintf(text + n, size - (size_t)n, " private");
	if (v->action != EGRESS_DENY && v->name != v->text && strstr(want, v->name))
		n += snprintf(text + n, size - (size_t)n, " %s", v->name);
	if (v->n_inject)
		snprintf(text + n, size - (size_t)n, " +%s", v->inject[0].secret);
	return text;
}

static void table(void)
{
	const char *last = NULL;
	struct policy *p = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct egress_request q;
		struct egress_verdict v;
		struct name host;
		char method[40], got[200] = "?", line[300];

		if (rows[i].policy != last) {
			policy_free(p);
			p = load(rows[i].policy);
			last = rows[i].policy;
		}
		if (question(rows[i].ask, &host, &q, method)) {
			policy_decide(p, &q, &v);
			words(&v, rows[i].want, got, sizeof(got));
			if (v.action != EGRESS_ALLOW && (!v.hint[0] || !v.why))
				snprintf(got, sizeof(got), "no hint");
		}
		snprintf(line, sizeof(line), "row %zu: %.20s %.60s", i, rows[i].want,
			 strpbrk(rows[i].ask, "\n\t") ? "..." : rows[i].ask);
		is_str(got, rows[i].want, line);
	}
	policy_free(p);
}

static void spellings(void)
{
	static const char *const bad[] = {"*",
					  "*.",
					  "*:443",
					  "**.example.org",
					  "a.*.org",
					  "*example.org",
					  "*.10.0.0.1",
					  "*.*",
					  "",
					  "example.org:0",
					  "example.org:99999",
					  "http://example.org",
					  "example.org/x",
					  "localhost",
					  "localhost:8080",
					  "user@example.org",
					  "exa mple.org",
					  "*.localhost"};
	static const char *const good[] = {"example.org",    "*.example.org", "*.example.org:8443",
					   "127.0.0.1:8080", "[::1]:80",      "10.0.0.1"};
	struct err e = ERR_INIT;
	struct policy *p = policy_new();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(policy_allow(p, bad[i], &e) < 0 && strstr(e.text, "--allow") && e.remedy[0],
		   bad[i]);
	ok(policy_is_empty(p), "what was refused left nothing");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(policy_allow(p, good[i], &e) == 0, good[i]);
	uint16_t ports[POLICY_PORTS_MAX];
	is_int(policy_ports(p, ports), 4, "ports to listen on");
	ok(ports[0] == 80 && ports[1] == 443 && ports[2] == 8080 && ports[3] == 8443, "in order");
	policy_free(p);
}

static void oddities(void)
{
	static const char *const odd[] = {"*.com",
					  "*.co.uk",
					  "*.github.io",
					  "*.s3.amazonaws.com",
					  "*.com.br",
					  "*.org.uk",
					  "*.CO.IN.",
					  "*.s3.eu-west-1.amazonaws.com",
					  "*.s3-website-us-east-1.amazonaws.com",
					  "*.execute-api.us-east-1.amazonaws.com",
					  "*.lambda-url.us-east-1.on.aws",
					  "*.readthedocs.io",
					  "*.digitaloceanspaces.com",
					  "*.cloudapp.azure.com",
					  "169.254.169.254"};
	static const char *const plain_ones[] = {"*.example.org",
						 "*.co.example.org",
						 "*.x.co.uk",
						 "*.go.dev",
						 "*.s3.example.org",
						 "co.uk",
						 "bucket.s3.amazonaws.com",
						 "*.bucket.s3.amazonaws.com"};
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct policy *p = policy_new();

		ok(policy_allow(p, odd[i], &e) == 0 && policy_warning(p, 0) &&
			   strstr(policy_warning(p, 0), *odd[i] == '*' ? "*." : odd[i]) &&
			   !policy_warning(p, 1),
		   odd[i]);
		policy_free(p);
	}
	for (size_t i = 0; i < sizeof(plain_ones) / sizeof(plain_ones[0]); i++) {
		struct policy *p = policy_new();

		ok(policy_allow(p, plain_ones[i], &e) == 0 && !policy_warning(p, 0), plain_ones[i]);
		policy_free(p);
	}
	struct policy *p = load(plain);
	ok(!policy_warning(p, 0), "nothing is odd about the others");
	policy_free(p);
}

static struct egress_verdict ask(const struct policy *p, const char *text)
{
	static struct name host;
	struct egress_request q;
	struct egress_verdict v;
	static char method[40];

	if (!question(text, &host, &q, method))
		diag("no question: %s", text);
	policy_decide(p, &q, &v);
	return v;
}

static void hints(void)
{
	struct policy *p = load(layered), *s = load(inspected);
	struct egress_verdict v = ask(p, "CONNECT new.test:8443");

	has_str(v.hint, "--allow new.test:8443", "what a person would have to do");
	v = ask(p, "CONNECT [2001:db8::1]:443");
	has_str(v.hint, "--allow [2001:db8::1]:443", "an address in brackets");
	v = ask(p, "CONNECT bad.corp.test:443");
	has_str(v.hint, "on purpose", "what is denied stays denied");
	has_str(v.hint, "test.yaml line 15", "and where that is written");
	is_str(v.text, "deny bad.corp.test", "the rule");
	is_int(v.line, 15, "its line");
	v = ask(p, "CONNECT asked.test:443");
	has_str(v.hint, "approve", "who may approve");
	v = ask(s, "DELETE https://api.test/v1/items");
	has_str(v.hint, "DELETE", "a method");
	v = ask(s, "GET https://api.test/v1/../x");
	has_str(v.hint, "a dot segment", "a path without a safe reading");
	v = ask(s, "CONNECT wide.test:443 http");
	has_str(v.hint, "https", "another protocol");
	v = ask(p, "CONNECT localhost:80");
	has_str(v.hint, "127.0.0.1", "the sandbox itself");
	policy_free(p);
	policy_free(s);
}

static void limits(void)
{
	struct policy *p = load(
		"allow:\n"
		"  - {host: '*.a.test', bytes_up: 10M, connections: 8, port: 443}\n"
		"  - {host: x.a.test, bytes_up: 1M, bytes_down: 100, requests_per_minute: 60,\n"
		"     headers: 8k}\n");
	struct egress_verdict v = ask(p, "GET https://x.a.test/");

	is_int((long long)v.limits.bytes_up, 1 << 20, "the least counts");
	is_int((long long)v.limits.bytes_down, 100, "a limit of one rule");
	is_int(v.limits.connections, 8, "a limit of the other");
	is_int(v.limits.requests_per_minute, 60, "requests");
	is_int(v.limits.header_bytes, 8192, "heads");
	v = ask(p, "CONNECT y.a.test:443");
	is_int((long long)v.limits.bytes_up, 10 << 20, "where one rule holds, its own");
	is_int(v.needs_inspection, 0, "bytes and connections need no looking inside");
	policy_free(p);
}

static void ceilings(void)
{
	struct err e = ERR_INIT;
	struct policy *p = load("allow:\n"
				"  - '*.a.test'\n"
				"  - b.test\n"
				"  - 10.0.0.1:443\n"
				"  - 10.0.0.2:443\n"
				"  - {host: c.test, port: [443, 8443]}\n");
	struct policy *ceiling = load("allow:\n"
				      "  - {host: x.a.test, bytes_up: 5}\n"
				      "  - c.test:443\n"
				      "  - 10.0.0.1:443\n"
				      "ask: ['*.ask.a.test']\n"
				      "deny: [{host: x.a.test, paths: ['/no']}]\n");
	uint16_t ports[POLICY_PORTS_MAX];

	is_int(policy_set_ceiling(p, ceiling, &e), 0, "a ceiling");
	struct egress_verdict v = ask(p, "CONNECT x.a.test:443");
	ok(v.action == EGRESS_ALLOW && v.protocol == EGRESS_HTTPS, "it makes us look inside");
	is_int((long long)v.limits.bytes_up, 5, "its limits hold");
	is_int(ask(p, "GET https://x.a.test/no").action, EGRESS_DENY, "what it denies");
	is_int(ask(p, "GET https://x.a.test/yes").action, EGRESS_ALLOW, "what it does not");
	v = ask(p, "CONNECT y.a.test:443");
	ok(v.action == EGRESS_DENY && v.is_ceiling, "what it does not have");
	has_str(v.hint, "the operator of this machine", "whom to ask");
	is_int(ask(p, "CONNECT z.ask.a.test:443").action, EGRESS_ASK, "it asks");
	is_int(ask(p, "CONNECT d.test:443").action, EGRESS_DENY, "it gives nothing of its own");
	is_int(ask(p, "CONNECT 10.0.0.1:443").may_be_private, 1, "an address that both name");
	is_int(ask(p, "CONNECT 10.0.0.2:443").action, EGRESS_DENY, "one that it does not");
	is_int(policy_ports(p, ports), 2, "ports of both");
	for (int i = 0; i < 3; i++)
		is_int(policy_set_ceiling(p, load("allow: []"), &e), 0, "another");
	ok(policy_set_ceiling(p, load("allow: []"), &e) < 0, "too many");
	is_int(ask(p, "CONNECT x.a.test:443").action, EGRESS_DENY, "empty ones end it all");
	policy_free(p);
}

static bool reach(const struct policy *p, const char *text, uint16_t port)
{
	enum address_class class;
	struct address a;

	return address_parse(text, strlen(text), &a) && policy_may_reach(p, &a, port, &class);
}

static void reached(void)
{
	struct policy *p = load("allow: [example.org, '10.0.0.1:8080', 127.0.0.1]\n"
				"deny: [93.184.216.34, '1.2.3.4:25']");

	ok(reach(p, "8.8.8.8", 443), "a public address");
	ok(!reach(p, "10.0.0.2", 443), "a private one");
	ok(reach(p, "10.0.0.1", 8080), "one that a rule names");
	ok(reach(p, "::ffff:10.0.0.1", 8080), "in another dress");
	ok(!reach(p, "10.0.0.1", 443), "on another port");
	ok(reach(p, "127.0.0.1", 443), "the machine itself, by name");
	ok(!reach(p, "127.0.0.2", 443), "and not its neighbour");
	ok(!reach(p, "169.254.169.254", 80), "metadata");
	ok(!reach(p, "64:ff9b::a00:1", 8080), "another address that leads to it is another");
	ok(!reach(p, "93.184.216.34", 443), "a public one that a rule denies");
	ok(!reach(p, "64:ff9b::93.184.216.34", 443) && !reach(p, "2002:5db8:d822::1", 443),
	   "nor by a translator");
	ok(reach(p, "64:ff9b::93.184.216.35", 443), "its neighbour can be");
	ok(reach(p, "1.2.3.4", 443) && !reach(p, "1.2.3.4", 25), "on one port");
	ok(!reach(p, "198.18.0.1", 443), "a synthetic one is nowhere");
	policy_free(p);
}

/* Random rules over few hosts, ports and paths, so that they meet. */
static uint32_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 16) % n;
}

static void random_draft(struct rule_draft *d, bool must_deny)
{
	static const char *const hosts[] = {"a.test", "*.test", "b.a.test", "*.a.test", "10.0.0.1"};
	static const char *const paths[] = {"/", "/a/**", "/a/*", "/**"};
	static const char *const methods[] = {"GET", "POST"};
	static const uint16_t ports[] = {80, 443, 8080};

	*d = (struct rule_draft){.action = must_deny ? EGRESS_DENY : pick(3)};
	d->host = hosts[pick(5)];
	if (pick(2))
		d->ports[d->n_ports++].port = ports[pick(3)];
	if (pick(3) == 0)
		d->protocol = 1 + pick(4);
	if (pick(3) == 0)
		d->methods[d->n_methods++] = methods[pick(2)];
	if (pick(3) == 0)
		d->paths[d->n_paths++] = paths[pick(4)];
	if (pick(3) == 0)
		d->limits.bytes_up = 1 + pick(3);
}

static const char *const questions[] = {
	"LOOKUP a.test",
	"LOOKUP b.a.test",
	"CONNECT a.test:443",
	"CONNECT b.a.test:443",
	"CONNECT a.test:80",
	"CONNECT a.test:8080",
	"CONNECT b.a.test:8080 tcp",
	"GET https://a.test/",
	"GET https://a.test/a/b",
	"POST https://a.test/a/b",
	"GET https://b.a.test/a/",
	"GET http://a.test/a/b/c",
	"GET http://b.a.test:8080/a",
	"POST http://10.0.0.1/",
	"CONNECT 10.0.0.1:443",
	"GET https://a.test/a%2fb",
	"GET https://a.test/../",
	"CONNECT a.test:443 tls",
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static bool same_verdict(const struct egress_verdict *a, const struct egress_verdict *b)
{
	return a->action == b->action && a->protocol == b->protocol &&
	       a->may_be_private == b->may_be_private && !strcmp(a->text, b->text) &&
	       !strcmp(a->why, b->why) && !strcmp(a->hint, b->hint) &&
	       a->limits.bytes_up == b->limits.bytes_up;
}

/* Is `w` less strict than `v`? What is let through to where its requests are judged may be asked
 * about there. */
static bool is_wider(const struct egress_verdict *w, const struct egress_verdict *v)
{
	bool judged_later = w->protocol == EGRESS_HTTP || w->protocol == EGRESS_HTTPS;

	return w->action > v->action && (v->action == EGRESS_DENY || !judged_later);
}

static void laws(void)
{
	unsigned order = 0, widened = 0, packed = 0, risen = 0, rules = 0;

	for (random_state = 1; rules < 20000; random_state ^= rules) {
		struct rule_draft d[8];
		struct policy *one = policy_new(), *other = policy_new(), *denied = policy_new();
		struct policy *back = NULL, *under = policy_new();
		struct err e = ERR_INIT;
		unsigned n = 1 + pick(8);
		size_t len = 0;
		void *block = NULL;

		for (unsigned i = 0; i < n; i++)
			random_draft(&d[i], false);
		for (unsigned i = 0; i < n; i++) {
			rules += policy_add(one, &d[i], &e) == 0;
			(void)policy_add(other, &d[n - 1 - i], &e);
			(void)policy_add(denied, &d[i], &e);
			(void)policy_add(under, &d[i], &e);
		}
		random_draft(&d[0], true);
		(void)policy_add(denied, &d[0], &e);
		struct policy *ceiling = policy_new();
		for (unsigned i = 0; i < 4; i++) {
			random_draft(&d[i], false);
			(void)policy_add(ceiling, &d[i], &e);
		}
		(void)policy_set_ceiling(under, ceiling, &e);
		(void)policy_pack(under, &block, &len, &e);
		if (policy_unpack(block, len, &back, &e) < 0) {
			diag("%s", e.text);
			packed++;
		}
		for (unsigned i = 0; i < QUESTIONS; i++) {
			struct egress_verdict v = ask(one, questions[i]);
			struct egress_verdict w = ask(other, questions[i]);
			struct egress_verdict u = ask(under, questions[i]);
			struct egress_verdict c = ask(ceiling, questions[i]);
			struct egress_verdict b = ask(back ? back : one, questions[i]);

			order += !same_verdict(&v, &w);
			struct egress_verdict n_v = ask(denied, questions[i]);

			widened += is_wider(&n_v, &v);
			risen += is_wider(&u, &v) || is_wider(&u, &c);
			packed += !same_verdict(&u, &b);
		}
		free(block);
		policy_free(one);
		policy_free(other);
		policy_free(denied);
		policy_free(under);
		policy_free(back);
	}
	is_int(order, 0, "the order of rules never matters");
	is_int(widened, 0, "a rule that denies never lets anything through");
	is_int(risen, 0, "a ceiling never widens, nor is anything above it");
	is_int(packed, 0, "packed and unpacked it says the same");
}

static void bent_packs(void)
{
	struct policy *p = load(inspected), *back = NULL;
	struct err e = ERR_INIT;
	unsigned taken = 0;
	size_t len = 0;
	void *block = NULL;

	is_int(policy_pack(p, &block, &len, &e), 0, "packed");
	for (size_t i = 0; i < len; i++) {
		void *cut = malloc(i ? i : 1);

		memcpy(cut, block, i);
		taken += policy_unpack(cut, i, &back, &e) == 0;
		free(cut);
	}
	is_int(taken, 0, "a block that is cut anywhere is refused");
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t *copy = malloc(len);

		memcpy(copy, block, len);
		for (unsigned i = 0; i <= pick(3); i++)
			copy[pick((unsigned)len)] = (uint8_t)pick(256);
		back = NULL;
		/* Taken or not, it must be whole. */
		if (policy_unpack(copy, len, &back, &e) == 0)
			(void)ask(back, "GET https://api.test/v1/x");
		policy_free(back);
		free(copy);
	}
	ok(1, "blocks with other bytes do no harm");
	free(block);
	policy_free(p);
}

static void many(void)
{
	struct policy *p = policy_new(), *back = NULL;
	struct err e = ERR_INIT;
	unsigned bad = 0;
	size_t len = 0;
	void *block = NULL;
	char text[64];

	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "%shost-%u.test", i % 2 ? "*." : "", i);
		bad += policy_allow(p, text, &e) < 0;
	}
	is_int(bad, 0, "10,000 rules");
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "CONNECT %shost-%u.test:443", i % 2 ? "a.b." : "", i);
		bad += ask(p, text).action != EGRESS_ALLOW;
	}
	is_int(bad, 0, "each is found");
	is_int(policy_pack(p, &block, &len, &e), 0, "they can be packed");
	is_int(policy_unpack(block, len, &back, &e), 0, "and unpacked");
	is_int(policy_rules(back), 10000, "all of them");
	free(block);
	policy_free(back);
	for (unsigned i = 10000; i < POLICY_RULES_MAX; i++) {
		snprintf(text, sizeof(text), "host-%u.test", i);
		bad += policy_allow(p, text, &e) < 0;
	}
	ok(bad == 0 && policy_allow(p, "one-more.test", &e) < 0 && e.kind == ERR_LIMIT,
	   "and no more");
	policy_free(p);
}

int main(void)
{
	TAP_RUN(table);
	TAP_RUN(spellings);
	TAP_RUN(oddities);
	TAP_RUN(hints);
	TAP_RUN(limits);
	TAP_RUN(ceilings);
	TAP_RUN(reached);
	TAP_RUN(laws);
	TAP_RUN(bent_packs);
	TAP_RUN(many);
	return tap_done();
}
