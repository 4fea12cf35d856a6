/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: escaping, nesting, base64 across two pieces, names that are no text. */
#include <fcntl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "tap.h"

static char text[16384];

/* What the writer wrote, through a pipe. */
static const char *written(void (*write_it)(struct json *j))
{
	struct json j;
	int p[2];

	if (pipe(p) < 0)
		return "pipe failed";
	json_init(&j, p[1]);
	write_it(&j);
	int r = json_end(&j);
	close(p[1]);
	ssize_t n = read(p[0], text, sizeof(text) - 1);
	close(p[0]);
	text[n > 0 ? n : 0] = '\0';
	return r < 0 ? "json_end failed" : text;
}

static void nested(struct json *j)
{
	json_open(j, NULL, '{');
	json_u64(j, "a", 18446744073709551615u);
	json_open(j, "b", '[');
	json_str(j, NULL, "x");
	json_none(j, NULL);
	json_bool(j, NULL, true);
	json_close(j, ']');
	json_open(j, "c", '{');
	json_close(j, '}');
	json_ms(j, "d", 1234567);
	json_close(j, '}');
}

static void controls(struct json *j)
{
	json_str(j, NULL,
		 "q\" b\\ n\n t\t e\033 d\177 c1\xc2\x9b rlo\xe2\x80\xae bom\xef\xbb\xbf \xc3\xa4");
}

static void foreign(struct json *j)
{
	json_bytes(j, NULL, "a\xff\xfe z", 5);
}

static void pieces(struct json *j)
{
	json_open(j, NULL, '[');
	json_base64(j, NULL, "a", 1, "bc", 2);
	json_base64(j, NULL, "ab", 2, "", 0);
	json_base64(j, NULL, "", 0, "a", 1);
	json_base64(j, NULL, "", 0, "", 0);
	json_close(j, ']');
}

static void documents(void)
{
	is_str(written(nested),
	       "{\"a\":18446744073709551615,\"b\":[\"x\",null,true],\"c\":{},\"d\":1234.567}",
	       "nesting");
	is_str(written(controls),
	       "\"q\\\" b\\\\ n\\n t\\t e\\u001b d\\u007f c1\\u009b rlo\\u202e bom\\ufeff \xc3\xa4\"",
	       "what a terminal would act on is escaped, text is not");
	is_str(written(foreign), "\"a\xef\xbf\xbd\xef\xbf\xbd z\"", "bytes that are no text");
	is_str(written(pieces), "[\"YWJj\",\"YWI=\",\"YQ==\",\"\"]", "base64 over two pieces");
}

static void closed_reader(void)
{
	struct json j;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	json_init(&j, fd);
	json_str(&j, NULL, "x");
	is_int(json_end(&j), -ENOSPC, "a write error is reported at the end");
	close(fd);
}

static void utf8(void)
{
	ok(utf8_valid("\xf0\x9f\x98\x80", 4), "four bytes");
	ok(!utf8_valid("\xc0\x80", 2), "overlong zero");
	ok(!utf8_valid("\xed\xa0\x80", 3), "surrogate");
	ok(!utf8_valid("\xf4\x90\x80\x80", 4), "past the end");
	ok(!utf8_valid("\xe2\x82", 2), "cut off");
	is_int((int)utf8_cut_tail("ab\xe2\x82", 4), 2, "two bytes of three at the end");
	is_int((int)utf8_cut_tail("ab\xe2\x82\xac", 5), 0, "a whole character at the end");
	is_int((int)utf8_cut_tail("abc", 3), 0, "ASCII at the end");
	is_int((int)utf8_cut_head("\x82\xac"
				  "ab",
				  4),
	       2, "two bytes left over");
}

int main(void)
{
	TAP_RUN(documents);
	TAP_RUN(closed_reader);
	TAP_RUN(utf8);
	return tap_done();
}
