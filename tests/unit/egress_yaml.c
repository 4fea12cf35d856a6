/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files: what they may say, and that whatever else they say is refused by name and place. */
#include "egress/yaml.h"
#include "tap.h"

static int load(const char *text, struct policy **ret, struct err *e)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1); /* without NUL behind */
	struct policy *p = policy_new();

	memcpy(copy, text, len);
	int r = policy_load_yaml(p, copy, len, "p.yaml", NULL, e);
	free(copy);
	if (ret && r == 0)
		*ret = p;
	else
		policy_free(p);
	return r;
}

static void bad(const char *text, const char *says)
{
	struct err e = ERR_INIT;
	char line[160];

	snprintf(line, sizeof(line), "%s", says);
	if (!ok(load(text, NULL, &e) < 0 && strstr(e.text, says) && strstr(e.text, "p.yaml"), line))
		diag("%s", e.text);
}

static void good(const char *text, unsigned rules)
{
	struct err e = ERR_INIT;
	struct policy *p = NULL;
	char line[80];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	if (!ok(load(text, &p, &e) == 0 && policy_rules(p) == rules, line))
		diag("%s", e.text);
	policy_free(p);
}

static void taken(void)
{
	good("allow: []\n", 0);
	good("allow: [example.org, 'a.test:8080', '[::1]:443']\n", 3);
	good("# a comment\nallow:\n  - example.org # another\n", 1);
	good("{\"allow\": [{\"host\": \"example.org\", \"port\": 443}]}", 1);
	good("--- \nallow: [a.test]\n...\n", 1);
	good("ask: [a.test]\ndeny: ['*.b.test']\n", 2);
	good("allow:\n- {host: a.test, port: [80, 443], bytes_up: 1.5M, bytes_down: 1024}\n", 1);
	good("allow:\n- host: a.test\n  inject:\n    - {secret: K, header: X-Key}\n    - {secret: L, "
	     "query: l}\n",
	     1);
	good("allow:\n- {host: a.test, inject: {secret: K, basic: user}, methods: [GET]}\n", 1);
	good("allow:\n- {host: a.test, ask: true, name: 'of some use'}\n", 1);
}

static void places(void)
{
	bad("allow:\n  - host: a.test\n    prot: tls\n", "line 3, column 5: allow[0].prot");
	bad("allow:\n  - a.test\n  - host: a.test\n    port: x\n",
	    "line 4, column 11: allow[1].port");
	bad("allow:\n  - a b\n", "line 2, column 5: allow[0]");
	bad("allow:\n  - host: a.test:80\n", "a port has a key of its own");
	bad("# nothing\n", "line 1, column 1: it is empty");
	bad("allow:\n  - https://a.test/\n", "line 2, column 5: allow[0]: a URL");
	bad("allow:\n  - name: x\n    host: http://a.test\n", "line 3, column 11: allow[0].host");
	bad("allow:\n  - host: a.test\n    methods: [GET, get]\n",
	    "line 3, column 20: allow[0].methods");
	bad("allow:\n  - host: a.test\n    paths:\n      - /a\n      - b\n",
	    "line 5, column 9: allow[0].paths");
	bad("alow: []\n", "line 1, column 1: alow: there is no such key");
	bad("allow:\n  - host: a.test\n    host: b.test\n",
	    "line 3, column 5: \"host\" is there twice");
	bad("allow: []\nallow: []\n", "line 2, column 1: \"allow\" is there twice");
	bad("allow: [a.test\n", "line 2");
	struct err e = ERR_INIT;
	(void)load("allow:\n  - {host: a.test, method: [GET]}\n", NULL, &e);
	has_str(e.remedy, "methods", "it knows what was meant");
}

static void types(void)
{
	bad("", "it is empty");
	bad("allow:\n  - host: a.test:80\n", "a port has a key of its own");
	bad("# nothing\n", "it is empty");
	bad("null\n", "is not a mapping");
	bad("[]\n", "is not a mapping");
	bad("{}\n", "is not a mapping");
	bad("allow:\n", "is not a list");
	bad("allow: null\n", "is not a list");
	bad("allow: example.org\n", "is not a list");
	bad("allow: {host: a.test}\n", "is not a list");
	bad("allow: [null]\n", "neither HOST");
	bad("allow: [443]\n", "neither HOST");
	bad("allow: [[a.test]]\n", "neither HOST");
	bad("allow: [{}]\n", "has no host");
	bad("allow: [{port: 443}]\n", "has no host");
	bad("allow: [{host: }]\n", "host: is nothing");
	bad("allow: [{host: 12}]\n", "host: is a number");
	bad("allow: [{host: ''}]\n", "host: is empty");
	bad("allow: [{host: '*'}]\n", "would be everything");
	bad("allow: ['*']\n", "would be everything");
	bad("allow: [{host: a.test, port: '443'}]\n", "port: is a text");
	bad("allow: [{host: a.test, port: 0}]\n", "port: is not from 1");
	bad("allow: [{host: a.test, port: 70000}]\n", "port: is not from 1");
	bad("allow: [{host: a.test, port: -1}]\n", "port: is not from 1");
	bad("allow: [{host: a.test, port: 0x50}]\n", "port: is a text");
	bad("allow: [{host: a.test, port: 0443}]\n", "port: is a text");
	bad("allow: [{host: a.test, port: []}]\n", "empty list");
	bad("allow: [{host: a.test, ask: yes}]\n", "ask: is a text");
	bad("allow: [{host: a.test, protocol: quic}]\n", "is no protocol");
	bad("allow: [{host: a.test, methods: GET}]\n", "methods: is a text");
	bad("allow: [{host: a.test, methods: []}]\n", "empty list");
	bad("allow: [{host: a.test, methods: [get]}]\n", "method \"get\"");
	bad("allow: [{host: a.test, paths: []}]\n", "empty list");
	bad("allow: [{host: a.test, paths: [x]}]\n", "has no / in front");
	bad("allow: [{host: a.test, paths: ['/a/../b']}]\n", "dot segment");
	bad("allow: [{host: a.test, bytes_up: 0}]\n", "more than 0");
	bad("allow: [{host: a.test, bytes_up: much}]\n", "is not a size");
	bad("allow: [{host: a.test, connections: 1.5}]\n", "connections: is a text");
	bad("allow: [{host: a.test, protocol: tls, methods: [GET]}]\n", "cannot be seen");
	bad("allow: [{host: a.test, port: 22, methods: [GET]}]\n", "cannot be seen");
	bad("allow: [{host: a.test, protocol: tcp}]\n", "needs a port");
	bad("deny: [{host: a.test, ask: true}]\n", "in a rule that denies");
	bad("allow: [{preset: pip}]\n", "cannot be used here");
}

static void too_many(void)
{
	bad("allow: [{host: a.test, port: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}]\n",
	    "more than 16 ports");
	bad("allow: [{host: a.test, methods: [A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q]}]\n",
	    "methods: more than 16");
}

static void secrets(void)
{
	bad("allow: [{host: '*.a.test', inject: {secret: K, header: A}}]\n", "one name");
	bad("allow: [{host: 10.0.0.1, inject: {secret: K, header: A}}]\n", "one name");
	bad("allow: [{host: a.test, protocol: http, inject: {secret: K, header: A}}]\n",
	    "https alone");
	bad("allow: [{host: a.test, port: 80, inject: {secret: K, header: A}}]\n", "https alone");
	bad("deny: [{host: a.test, inject: {secret: K, header: A}}]\n", "denies");
	bad("allow: [{host: a.test, inject: {secret: K}}]\n", "needs secret");
	bad("allow: [{host: a.test, inject: {header: A}}]\n", "needs secret");
	bad("allow: [{host: a.test, inject: {secret: K, header: A, query: b}}]\n", "one place");
	bad("allow: [{host: a.test, inject: {secret: K, query: b, prefix: x}}]\n", "prefix");
	bad("allow: [{host: a.test, inject: {secret: K, header: 'A: b'}}]\n", "no usable name");
	bad("allow: [{host: a.test, inject: {secret: '../k', header: A}}]\n",
	    "no name of a secret");
	bad("allow: [{host: a.test, inject: {secret: K, header: Host}}]\n", "no place");
	bad("allow: [{host: a.test, inject: {secret: K, header: content-Length}}]\n", "no place");
	bad("allow: [{host: a.test, inject: {secret: K, header: Transfer-Encoding}}]\n",
	    "no place");
	bad("allow: [{host: a.test, inject: {secret: K, header: A, prefix: \"x\\r\\ny\"}}]\n",
	    "prefix");
	bad("allow: [{host: a.test, inject: {secrt: K}}]\n", "there is no such key");
}

static void bombs(void)
{
	static char text[POLICY_FILE_MAX + 16];
	struct err e = ERR_INIT;
	struct policy *p = policy_new();

	bad("allow: &a [a.test]\n", "an anchor");
	bad("allow: [&a a.test]\n", "an anchor");
	bad("a: &a [x]\nb: [*a, *a]\n", "an anchor");
	bad("allow: [*a]\n", "an alias");
	bad("allow: !!seq [a.test]\n", "a tag");
	bad("allow: [!!str a.test]\n", "a tag");
	bad("allow: [{<<: {host: a.test}}]\n", "there is no such key");
	bad("allow: []\n---\nallow: [a.test]\n", "a second document");
	bad("allow: [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]\n", "nested too deep");
	bad("? [a]\n: b\n", "a key that is not a text");
	bad("allow: [\"a\\0b\"]\n", "NUL");
	bad("allow: [\xff\xfe]\n", "p.yaml");
	memset(text, '[', sizeof(text));
	ok(policy_load_yaml(p, text, 1 << 20, "p.yaml", NULL, &e) < 0 && strstr(e.text, "deep"),
	   "a megabyte of brackets");
	ok(policy_load_yaml(p, text, sizeof(text), "p.yaml", NULL, &e) < 0 && e.kind == ERR_LIMIT,
	   "a huge file");
	ok(policy_load_yaml(p, "allow: []\0x", 11, "p.yaml", NULL, &e) < 0, "NUL behind it");
	size_t n = 0;
	n += (size_t)snprintf(text, 16, "allow: [{");
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, 32, "k%d: 1, ", i);
	snprintf(text + n, 8, "}]");
	ok(policy_load_yaml(p, text, n + 2, "p.yaml", NULL, &e) < 0 && strstr(e.text, "keys"),
	   "many keys");
	policy_free(p);
}

static void json(void)
{
	static const char *const texts[] = {
		"{\"allow\": [\"a.test\", {\"host\": \"b.test\", \"methods\": [\"GET\"]}]}",
		"{\"allow\": [{\"host\": \"b.test\", \"prot\": 1}]}",
		"{\"allow\": null}",
		"{\"allow\": [{\"host\": \"a\\u0000.test\"}]}",
		"{\"allow\": [[[[[[[[[[[]]]]]]]]]]]}",
		"{\"allow\": [1.5]}",
	};

	value_init();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e = ERR_INIT;
		struct value *v = NULL;
		struct policy *p = policy_new();

		ok(value_parse(texts[i], strlen(texts[i]), &v, &e) == 0, "JSON");
		ok((policy_load_value(p, v, "policy", NULL, &e) == 0) == (i == 0) &&
			   (i == 0 || strstr(e.text, "policy: ")),
		   texts[i]);
		value_free(v);
		policy_free(p);
	}
}

static int preset(struct policy *p, const char *name, const char *source, unsigned line, void *arg,
		  struct err *e)
{
	(void)source;
	*(unsigned *)arg = line;
	if (strcmp(name, "pip") != 0)
		return err_set(e, ERR_INVALID, "there is no such preset");
	return policy_allow(p, "index.test", e);
}

static void presets(void)
{
	unsigned line = 0;
	struct policy_presets known = {.add = preset, .arg = &line};
	struct err e = ERR_INIT;
	struct policy *p = policy_new();
	static const char one[] = "allow:\n  - preset: pip\n", two[] = "allow:\n  - preset: pop\n";
	static const char more[] = "allow:\n  - {preset: pip, host: a.test}\n";
	static const char deny[] = "deny:\n  - preset: pip\n";

	ok(policy_load_yaml(p, one, strlen(one), "p.yaml", &known, &e) == 0 &&
		   policy_rules(p) == 1 && line == 2,
	   "a preset");
	ok(policy_load_yaml(p, two, strlen(two), "p.yaml", &known, &e) < 0 &&
		   strstr(e.text, "line 2, column 13: allow[0].preset: there is no such preset"),
	   "one that nobody knows");
	ok(policy_load_yaml(p, more, strlen(more), "p.yaml", &known, &e) < 0, "it stands alone");
	ok(policy_load_yaml(p, deny, strlen(deny), "p.yaml", &known, &e) < 0, "and allows");
	policy_free(p);
}

int main(void)
{
	TAP_RUN(taken);
	TAP_RUN(places);
	TAP_RUN(types);
	TAP_RUN(too_many);
	TAP_RUN(secrets);
	TAP_RUN(bombs);
	TAP_RUN(json);
	TAP_RUN(presets);
	return tap_done();
}
