/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: what is one, in which order, and what a layer's key is made of. */
#include "deps/lock.h"
#include "deps/sbom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define PACKAGE(name, hash)                                                                        \
	"{\"name\":\"" name "\",\"version\":\"1.0\",\"file\":\"x-1.0.whl\",\"sha256\":\"" hash "\"}"
#define LOCK(packages)                                                                             \
	"{\"version\":1,\"python\":{\"interpreter\":\"cpython-311\",\"platform\":\"linux\","       \
	"\"asked\":[\"b\"],\"packages\":[" packages "]}}"

static struct err e = ERR_INIT;

static struct value *parse(const char *text)
{
	struct value *v = NULL;

	return lock_parse(text, strlen(text), &v, &e) < 0 ? NULL : v;
}

static void order(void)
{
	auto_value *lock = parse(LOCK(PACKAGE("b", HASH_B) "," PACKAGE("a", HASH_A)));
	auto_value *other = parse(LOCK(PACKAGE("a", HASH_A) "," PACKAGE("b", HASH_B)));
	const struct value *part = value_get(lock, "python");
	char key[HASH_TEXT_SIZE], twin[HASH_TEXT_SIZE];

	ok(lock && other, "two locks");
	is_int(lock_count(part), 2, "with two packages");
	is_str(lock_at(part, 0).name, "a", "in the order of their names");
	is_str(lock_at(part, 1).sha256, HASH_B, "each with its own");
	lock_key(DEPS_PYTHON, part, key);
	lock_key(DEPS_PYTHON, value_get(other, "python"), twin);
	is_str(key, twin, "the order does not make another layer");
	lock_key(DEPS_NODE, part, twin);
	ok(strcmp(key, twin) != 0, "the language does");
	value_set(value_get(other, "python"), "interpreter", value_of_str("cpython-312"));
	lock_key(DEPS_PYTHON, value_get(other, "python"), twin);
	ok(strcmp(key, twin) != 0, "the interpreter does");
	auto_value *third = parse(LOCK(PACKAGE("a", HASH_B) "," PACKAGE("b", HASH_B)));
	lock_key(DEPS_PYTHON, value_get(third, "python"), twin);
	ok(strcmp(key, twin) != 0, "a hash does");
}

static void text(void)
{
	auto_value *lock = parse(LOCK(PACKAGE("b", HASH_B) "," PACKAGE("a", HASH_A)));
	char *first = lock_text(lock);
	auto_value *again = parse(first ? first : "");
	char *second = lock_text(again);

	has_str(first, "\n   {\"name\":\"a\"", "a line for each");
	is_str(first, second, "read and written, it is the same");
	free(first);
	free(second);
}

static void hostile(void)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"version\":2}",
		"{\"version\":1,\"python\":[]}",
		"{\"version\":1,\"python\":{\"packages\":[]}}",
		LOCK("{}"),
		LOCK("7"),
		LOCK(PACKAGE("../a", HASH_A)),
		LOCK(PACKAGE("-r", HASH_A)),
		LOCK(PACKAGE("a b", HASH_A)),
		LOCK(PACKAGE("a\\nb", HASH_A)),
		LOCK(PACKAGE("a\\u0000b", HASH_A)),
		LOCK(PACKAGE("", HASH_A)),
		LOCK(PACKAGE("a", "aa")),
		LOCK(PACKAGE("a", "../" HASH_A)),
		LOCK("{\"name\":\"a\",\"version\":\"1;rm\",\"file\":\"x\",\"sha256\":\"" HASH_A
		     "\"}"),
		LOCK("{\"name\":\"a\",\"version\":\"1\",\"file\":\"../x\",\"sha256\":\"" HASH_A
		     "\"}"),
		LOCK("{\"name\":\"a\",\"version\":\"1\",\"file\":\"x/y\",\"sha256\":\"" HASH_A
		     "\"}"),
		LOCK("{\"name\":\"a\",\"version\":\"1\",\"sha256\":\"" HASH_A "\"}"),
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_value *v = parse(rows[i]);

		ok(!v && e.text[0], rows[i][0] ? rows[i] : "nothing");
	}
}

/* Names outside /usr that packages of the distribution have. */
static void links(void)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{"[]", true},
		{"[\"etc/fonts\",\"var/lib/texmf\",\"opt/x\"]", true},
		{"[\"etc/passwd\"]", false},
		{"[\"etc/resolv.conf\"]", false},
		{"[\"etc/ssl\"]", false},
		{"[\"etc/a/b\"]", false},
		{"[\"etc/..\"]", false},
		{"[\"etc/\"]", false},
		{"[\"etc\"]", false},
		{"[\"home/user\"]", false},
		{"[\"/etc/x\"]", false},
		{"[\"etc/x\\u0000y\"]", false},
		{"[\"etc/x\",\"etc/x\"]", false},
		{"[7]", false},
		{"\"etc/x\"", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_value *v = NULL;

		e = (struct err)ERR_INIT;
		ok(value_parse(rows[i].text, strlen(rows[i].text), &v, &e) >= 0 &&
			   (lock_check_links(v, &e) >= 0) == rows[i].good,
		   rows[i].text);
	}
}

/* What other tools know a package of the distribution by. */
static void bill(void)
{
	auto_value *lock = parse(
		"{\"version\":1,\"apt\":{\"interpreter\":\"debian-12\",\"platform\":\"linux-amd64\","
		"\"packages\":[{\"name\":\"g++\",\"version\":\"4:12.2~1\",\"file\":\"x\",\"sha256\":\"" HASH_A
		"\"}]}}");
	auto_value *doc = sbom_of(lock, "cyclonedx", 0);

	is_str(value_str(value_get(value_at(value_get(doc, "components"), 0), "purl")),
	       "pkg:deb/debian/g%2B%2B@4:12.2~1", "a package URL");
}

#define PLACED(path, hash)                                                                         \
	"{\"name\":\"ms\",\"version\":\"1.0\",\"file\":\"ms-1.0.tgz\",\"sha256\":\"" hash          \
	"\",\"path\":\"" path "\"}"
#define NODE(packages)                                                                             \
	"{\"version\":1,\"node\":{\"interpreter\":\"node-115\",\"platform\":\"linux-x64\","        \
	"\"packages\":[" packages "]}}"

/* One name in several places is several components; who needs whom is a graph. */
static void graph(void)
{
	auto_value *lock = parse(NODE(PLACED("b/node_modules/ms", HASH_B) "," PLACED(
		"ms",
		HASH_A) ","
			"{\"name\":\"fig\",\"version\":\"1.0\",\"file\":\"fig.tgz\",\"sha256\":\"" HASH_A
			"\",\"path\":\"fig\",\"license\":\"MIT\",\"needed_by\":[\"ms\"]}"));
	auto_value *doc = sbom_of(lock, "cyclonedx", 0);
	const struct value *all = value_get(doc, "components"),
			   *needs = value_get(doc, "dependencies");
	const struct value *first = value_at(all, 0), *last = value_at(needs, 2);

	ok(strncmp(value_str(value_get(doc, "serialNumber")), "urn:uuid:", 9) == 0, "a number");
	is_int((int)value_len(needs), 3, "every component");
	ok(strcmp(value_str(value_get(value_at(all, 1), "bom-ref")),
		  value_str(value_get(value_at(all, 2), "bom-ref"))) != 0,
	   "no two have one name");
	is_str(value_str(value_get(value_get(value_at(value_get(first, "licenses"), 0), "license"),
				   "id")),
	       "MIT", "licences");
	is_str(value_str(value_at(value_get(last, "dependsOn"), 0)), "pkg:npm/fig@1.0", "needs");
}

/* By SPDX's identifiers, where a package's own words tell which. */
static void licences(void)
{
	static const struct {
		const char *said, *id, *expression, *name;
	} rows[] = {
		{"MIT", "MIT", NULL, NULL},
		{"mit license", "MIT", NULL, NULL},
		{"Apache Software License", "Apache-2.0", NULL, NULL},
		{"MIT + file LICENSE", "MIT", NULL, NULL},
		{"GPL-2 | GPL-3", NULL, "GPL-2.0-only OR GPL-3.0-only", NULL},
		{"(MIT OR Apache-2.0)", NULL, "MIT OR Apache-2.0", NULL},
		{"MIT AND BSD-3-Clause", NULL, "MIT AND BSD-3-Clause", NULL},
		{"BSD", NULL, NULL, "BSD"},
		{"MIT OR something", NULL, NULL, "MIT OR something"},
		{"(MIT OR ISC) AND (X11)", NULL, NULL, "(MIT OR ISC) AND (X11)"},
		{"GPL-3 OR ", NULL, NULL, "GPL-3 OR "},
	};
	char text[600];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       NODE("{\"name\":\"fig\",\"version\":\"1.0\",\"file\":\"fig.tgz\","
				    "\"sha256\":\"" HASH_A
				    "\",\"path\":\"fig\",\"license\":\"%s\"}"),
			       rows[i].said);
		auto_value *lock = parse(text), *doc = sbom_of(lock, "cyclonedx", 0);
		auto_value *other = sbom_of(lock, "spdx", 0);
		const struct value *row = value_at(
			value_get(value_at(value_get(doc, "components"), 0), "licenses"), 0);
		const struct value *one = value_get(row, "license");
		const struct value *package = value_at(value_get(other, "packages"), 0);
		const char *known = rows[i].id ? rows[i].id : rows[i].expression;

		is_str(value_str(value_get(one, "id")), rows[i].id, rows[i].said);
		is_str(value_str(value_get(row, "expression")), rows[i].expression, rows[i].said);
		is_str(value_str(value_get(one, "name")), rows[i].name, rows[i].said);
		is_str(value_str(value_get(package, "licenseDeclared")),
		       known ? known : "NOASSERTION", rows[i].said);
		is_str(value_str(value_get(package, "licenseComments")), rows[i].name,
		       rows[i].said);
	}
}

/* npm has one name in several places; which package is where makes another layer. */
static void places(void)
{
	static const char *const wrong[] = {"",
					    "..",
					    "../ms",
					    "/ms",
					    "ms/../x",
					    "ms/node_modules/",
					    "ms/node_modules/../x",
					    "/node_modules/ms",
					    "a/b",
					    "ms/",
					    "ms\\u0000"};
	auto_value *lock =
		parse(NODE(PLACED("b/node_modules/ms", HASH_B) "," PLACED("ms", HASH_A)));
	auto_value *other =
		parse(NODE(PLACED("ms", HASH_B) "," PLACED("b/node_modules/ms", HASH_A)));
	auto_value *scoped = parse(NODE(PLACED("@a/b/node_modules/@c/d", HASH_A)));
	char key[HASH_TEXT_SIZE], twin[HASH_TEXT_SIZE];

	ok(lock && other && scoped, "the same name twice, and a scope");
	is_str(lock_at(value_get(lock, "node"), 0).path, "b/node_modules/ms", "where each is");
	lock_key(DEPS_NODE, value_get(lock, "node"), key);
	lock_key(DEPS_NODE, value_get(other, "node"), twin);
	ok(strcmp(key, twin) != 0, "in other places it is another layer");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[512];

		(void)snprintf(text, sizeof(text), NODE(PLACED("%s", HASH_A)), wrong[i]);
		auto_value *v = parse(text);
		ok(!v && strstr(e.text, "where it belongs"), text);
	}
}

int main(void)
{
	TAP_RUN(places);
	TAP_RUN(links);
	TAP_RUN(bill);
	TAP_RUN(graph);
	TAP_RUN(licences);
	TAP_RUN(order);
	TAP_RUN(text);
	TAP_RUN(hostile);
	return tap_done();
}
