/* SPDX-License-Identifier: Apache-2.0 */
/* Two policies beside each other: whose connections may stay when one takes the other's place. */
#include "egress/policy.h"
#include "egress/yaml.h"
#include "tap.h"

#include <string.h>

static struct policy *policy_of(const char *text)
{
	struct policy *p = policy_new();
	struct err e = ERR_INIT;

	if (!p || policy_load_yaml(p, text, strlen(text), "test", NULL, &e) < 0)
		ok(false, e.text);
	return p;
}

static struct name name_for(const char *host)
{
	const char *why = NULL;
	struct name n;

	if (name_parse(host, strlen(host), &n, &why) < 0)
		ok(false, why);
	return n;
}

static const struct {
	const char *host, *a, *b;
	bool same;
} rows[] = {
	{"x.test", "allow: [x.test]", "allow: [x.test]", true},
	{"x.test", "allow: [x.test]", "allow: [x.test, y.test]", true},
	{"y.test", "allow: [x.test]", "allow: [x.test, y.test]", false},
	{"x.test", "allow: [x.test]", "allow: [x.test]\ndeny: [x.test]", false},
	{"x.test", "allow: [x.test]", "ask: [x.test]", false},
	{"x.test", "allow: ['x.test:80']", "allow: ['x.test:81']", false},
	{"a.x.test", "allow: ['*.x.test']", "allow: ['*.x.test']", true},
	{"a.x.test", "allow: ['*.x.test']", "allow: ['*.x.test', 'a.x.test']", false},
	{"a.b.x.test", "allow: ['*.x.test']\ndeny: ['*.b.x.test']", "allow: ['*.x.test']", false},
	{"x.test", "allow: [{host: x.test, paths: [/a, /b]}]",
	 "allow: [{host: x.test, paths: [/a, /b]}]", true},
	{"x.test", "allow: [{host: x.test, paths: [/a, /b]}]",
	 "allow: [{host: x.test, paths: [/a, /c]}]", false},
	{"x.test", "allow: [{host: x.test, methods: [GET]}]",
	 "allow: [{host: x.test, methods: [GET, PUT]}]", false},
	{"x.test", "allow: [{host: x.test, bytes_up: 1K}]", "allow: [{host: x.test, bytes_up: 2K}]",
	 false},
	{"x.test", "allow: [{host: x.test, name: one}]", "allow: [{host: x.test, name: two}]",
	 true},
	{"x.test", "allow: [{host: x.test, inject: {secret: A, header: H}}]",
	 "allow: [{host: x.test, inject: {secret: B, header: H}}]", false},
	{"192.0.2.1", "allow: [192.0.2.1]", "allow: [192.0.2.1, 192.0.2.2]", true},
};

static void table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_policy *a = policy_of(rows[i].a), *b = policy_of(rows[i].b);
		struct name n = name_for(rows[i].host);
		bool same = policy_same_for(a, b, &n);
		char text[400];

		(void)snprintf(text, sizeof(text), "%s: %s | %s", rows[i].host, rows[i].a,
			       rows[i].b);
		for (char *at = text; (at = strchr(at, '\n'));)
			*at = ';';
		ok(same == rows[i].same && policy_same_for(b, a, &n) == same, text);
	}
}

static void ceilings(void)
{
	auto_policy *a = policy_of("allow: [x.test]"), *b = policy_of("allow: [x.test]");
	struct name n = name_for("x.test"), other = name_for("y.test");
	struct policy_line line;
	struct err e = ERR_INIT;

	(void)policy_set_ceiling(b, policy_of("allow: ['*.test', y.test]"), &e);
	ok(!policy_same_for(a, b, &n), "a ceiling is a difference");
	(void)policy_set_ceiling(a, policy_of("allow: ['*.test', z.test]"), &e);
	ok(policy_same_for(a, b, &n), "one that says the same of the host is none");
	ok(!policy_same_for(a, b, &other), "and one that does not is");
	ok(policy_line(b, 0, &line) && !line.is_ceiling &&
		   strcmp(line.text, "allow x.test:80,443 http,tls") == 0,
	   "rules in words");
	ok(policy_line(b, 1, &line) && line.is_ceiling, "the ceiling's behind them");
	ok(!policy_line(b, 3, &line), "and no more");
}

static void accounts(void)
{
	auto_policy *a = policy_of("allow: [x.test, y.test]");
	auto_policy *b = policy_of("allow: [z.test, y.test]");
	struct err e = ERR_INIT;

	ok(policy_same_rule(b, a, 0) == -1, "a rule that is gone");
	ok(policy_same_rule(b, a, 1) == 1, "one that stayed");
	ok(policy_same_rule(a, b, 7) == -1 && policy_same_rule(a, b, -1) == -1,
	   "one that there never was");
	ok(policy_same_rule(a, b, -2) == -1, "of a ceiling that there is not");
	(void)policy_set_ceiling(a, policy_of("allow: [p.test, q.test]"), &e);
	(void)policy_set_ceiling(b, policy_of("allow: [q.test]"), &e);
	ok(policy_same_rule(b, a, -3) == -2 && policy_same_rule(a, b, -2) == -3, "of the ceilings");
}

int main(void)
{
	TAP_RUN(table);
	TAP_RUN(ceilings);
	TAP_RUN(accounts);
	return tap_done();
}
