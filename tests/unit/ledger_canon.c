/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/canon.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tap.h"

static void same(const char *text, const char *want)
{
	struct err e = ERR_INIT;
	auto_value *v = NULL;
	auto_free char *got = NULL;
	size_t len = 0;

	if (value_parse(text, strlen(text), &v, &e) < 0 || canon_text(v, &got, &len, &e) < 0) {
		ok(0, text);
		diag("%s", e.text);
		return;
	}
	is_str(got, want, want);
	is_int((long long)len, (long long)strlen(want), "its length");
}

/* The example of RFC 8785, 3.2.2 and 3.2.3. */
static void test_rfc(void)
{
	same("{\"numbers\":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"
	     "\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\","
	     "\"literals\":[null,true,false]}",
	     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
	     "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

/* Sorted by UTF-16 units, as in 3.2.3: a smiley stands before U+FB33. */
static void test_order(void)
{
	same("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,"
	     "\"\\u00f6\":7}",
	     "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
	     "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
	same("{\"b\":1,\"a\":{\"d\":1,\"c\":2},\"\":0,\"ab\":3}",
	     "{\"\":0,\"a\":{\"c\":2,\"d\":1},\"ab\":3,\"b\":1}");
}

static void test_numbers(void)
{
	static const char *const pairs[][2] = {
		{"0", "0"},
		{"-0.0", "0"},
		{"-5", "-5"},
		{"9007199254740992", "9007199254740992"},
		{"9007199254740993", "9007199254740992"},
		{"1.0", "1"},
		{"1e21", "1e+21"},
		{"123456789012345680000.0", "123456789012345680000"},
		{"1e-6", "0.000001"},
		{"1e-7", "1e-7"},
		{"5e-324", "5e-324"},
		{"1.7976931348623157e308", "1.7976931348623157e+308"},
		{"0.1", "0.1"},
		{"-12.75", "-12.75"},
		{"295147905179352830000.0", "295147905179352830000"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		same(pairs[i][0], pairs[i][1]);
}

static void test_broken(void)
{
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t len = 0;

	ok(canon_text(NULL, &text, &len, &e) < 0, "no value, no text");
}

int main(void)
{
	value_init();
	TAP_RUN(test_rfc);
	TAP_RUN(test_order);
	TAP_RUN(test_numbers);
	TAP_RUN(test_broken);
	return tap_done();
}
