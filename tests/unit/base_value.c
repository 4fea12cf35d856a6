/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tap.h"

static bool parses(const char *text)
{
	struct err e = ERR_INIT;
	auto_value *v = NULL;

	return value_parse(text, strlen(text), &v, &e) == 0;
}

static void test_parse(void)
{
	static const char *const good[] = {"{}",     "[1,2]",  "\"x\"",	     "null",
					   " true ", "-1.5e3", "\"\\u0000\""};
	static const char *const bad[] = {"",	      "{",	     "{\"a\":1,\"a\":2}",
					  "[1,]",     "{} x",	     "'a'",
					  "\"\xff\"", "\"\\ud800\"", "01",
					  "nul",      "[1 2]",	     "{\"a\" 1}",
					  "1e999",    "\"a\nb\""};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ok(parses(good[i]), good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!parses(bad[i]), bad[i]);
}

static void test_depth(void)
{
	char text[2 * 200 + 1];

	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	text[128] = '\0';
	ok(parses(text), "64 levels");
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	text[130] = '\0';
	ok(!parses(text), "65 levels are refused");
	ok(parses("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""),
	   "brackets in a string are no levels");
}

static void test_build(void)
{
	auto_value *o = value_object();
	auto_free char *text = NULL;
	size_t len = 0;

	value_set(o, "s", value_of_bytes("a\xff\0b", 4));
	value_set(o, "n", value_of_u64(UINT64_MAX));
	value_set(o, "x", value_array());
	value_add(value_get(o, "x"), value_of_base64("ab", 2));
	text = value_text(o, &len);
	ok(text && strcmp(text, "{\"s\":\"a\xef\xbf\xbd\\u0000b\",\"n\":9223372036854775807,\"x\":["
				"\"YWI=\"]}") == 0,
	   "text");
	value_add(value_get(o, "x"), NULL);
	ok(!value_text(o, NULL), "a value that could not be made is noticed");
}

static void test_keys(void)
{
	auto_value *v = NULL;
	struct err e = ERR_INIT;
	char seen[32] = "";

	ok(value_parse("{\"b\":1,\"a\":2}", 13, &v, &e) == 0, "parse");
	for (const char *k = NULL; (k = value_next_key(v, k));)
		strncat(seen, k, 2);
	ok(strcmp(seen, "ba") == 0, "keys in their order");
	ok(value_int(value_get(v, "a")) == 2 && !value_get(v, "c"), "get");
}

static void test_base64(void)
{
	auto_free void *data = NULL;
	size_t len = 0;

	ok(value_from_base64("YWI=", 4, &data, &len) == 0 && len == 2 && !memcmp(data, "ab", 2),
	   "base64");
	ok(value_from_base64("YW=I", 4, &data, &len) < 0, "padding in the middle");
	ok(value_from_base64("YWI", 3, &data, &len) < 0, "cut");
	ok(value_from_base64("YW!=", 4, &data, &len) < 0, "alphabet");
}

int main(void)
{
	value_init();
	TAP_RUN(test_parse);
	TAP_RUN(test_depth);
	TAP_RUN(test_build);
	TAP_RUN(test_keys);
	TAP_RUN(test_base64);
	return tap_done();
}
