/* SPDX-License-Identifier: Apache-2.0 */
/* What reaches a terminal: each case whole, split at every byte, and with the smallest buffer. */
#include <stdio.h>
#include <string.h>

#include "cmd/escape.h"

#define CASE(what, in, out)                                                                        \
	{                                                                                          \
		what, in, sizeof(in) - 1, out, sizeof(out) - 1                                     \
	}

static const struct {
	const char *what;
	const char *in;
	size_t in_len;
	const char *out;
	size_t out_len;
} cases[] = {
	CASE("plain text", "hello, world\n", "hello, world\n"),
	CASE("nothing", "", ""),
	CASE("tab and newline", "a\tb\n\nc", "a\tb\n\nc"),
	CASE("ESC", "\x1b[31mred", "^[[31mred"),
	CASE("OSC 52 clipboard", "\x1b]52;c;aGk=\a", "^[]52;c;aGk=^G"),
	CASE("OSC 0 title", "\x1b]0;root@host\x1b\\", "^[]0;root@host^[\\"),
	CASE("device query", "\x1b[6n\x1b[c", "^[[6n^[[c"),
	CASE("NUL", "a\0b", "a^@b"),
	CASE("bell, backspace, vertical tab, form feed", "\a\b\v\f", "^G^H^K^L"),
	CASE("shift out", "\x0e\x0f", "^N^O"),
	CASE("DEL", "a\x7f", "a^?"),
	CASE("\\r overprint", "rm -rf /\rls", "rm -rf /^Mls"),
	CASE("\\r\\n", "dos\r\nline\r\n", "dos\r\nline\r\n"),
	CASE("\\r\\r\\n", "a\r\r\n", "a^M\r\n"),
	CASE("\\r at the end", "a\r", "a^M"),
	CASE("\\r before a sequence", "\r\xc3\xa9", "^M\xc3\xa9"),
	CASE("two-byte letters", "h\xc3\xa9", "h\xc3\xa9"),
	CASE("three-byte letters", "\xe2\x82\xac", "\xe2\x82\xac"),
	CASE("emoji with joiner", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
	     "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"),
	CASE("last code point", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"),
	CASE("no-break space passes", "\xc2\xa0", "\xc2\xa0"),
	CASE("8-bit CSI",
	     "\x9b"
	     "31m",
	     "\\x9b"
	     "31m"),
	CASE("8-bit OSC and ST",
	     "\x9d"
	     "0;x\x9c",
	     "\\x9d"
	     "0;x\\x9c"),
	CASE("CSI in UTF-8",
	     "\xc2\x9b"
	     "31m",
	     "<U+009B>31m"),
	CASE("NEL in UTF-8", "\xc2\x85", "<U+0085>"),
	CASE("first and last C1 in UTF-8", "\xc2\x80\xc2\x9f", "<U+0080><U+009F>"),
	CASE("bidi override",
	     "a\xe2\x80\xae"
	     "b",
	     "a<U+202E>b"),
	CASE("bidi embedding to override", "\xe2\x80\xaa\xe2\x80\xad", "<U+202A><U+202D>"),
	CASE("bidi isolates", "\xe2\x81\xa6\xe2\x81\xa9", "<U+2066><U+2069>"),
	CASE("marks", "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "<U+200E><U+200F><U+061C>"),
	CASE("line and paragraph separator", "\xe2\x80\xa8\xe2\x80\xa9", "<U+2028><U+2029>"),
	CASE("byte order mark", "\xef\xbb\xbfx", "<U+FEFF>x"),
	CASE("tag characters", "\xf3\xa0\x81\x81", "<U+E0041>"),
	CASE("stray continuation",
	     "a\xbf"
	     "b",
	     "a\\xbf"
	     "b"),
	CASE("FE and FF", "\xfe\xff", "\\xfe\\xff"),
	CASE("overlong slash", "\xc0\xaf", "\\xc0\\xaf"),
	CASE("overlong ESC in three bytes", "\xe0\x80\x9b", "\\xe0\\x80\\x9b"),
	CASE("overlong in four bytes", "\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"),
	CASE("surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"),
	CASE("above the last code point", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"),
	CASE("five-byte form", "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"),
	CASE("cut sequence at the end", "a\xe2\x82", "a\\xe2\\x82"),
	CASE("cut sequence before ASCII", "\xf0\x9f\x91x", "\\xf0\\x9f\\x91x"),
	CASE("cut sequence before ESC", "\xe2\x82\x1b", "\\xe2\\x82^["),
	CASE("cut sequence before \\r\\n", "\xe2\x82\r\n", "\\xe2\\x82\r\n"),
	CASE("cut sequence before another", "\xe2\x82\xc3\xa9", "\\xe2\\x82\xc3\xa9"),
	CASE("lead after lead", "\xc3\xc3\xa9", "\\xc3\xc3\xa9"),
};

static char result[4096];

/* Feeds pieces of `piece` bytes (the first of `first`) through an output buffer of `room`. */
static size_t escape(const char *in, size_t len, size_t first, size_t piece, size_t room)
{
	struct escape x = {0};
	size_t n = 0, at = 0, part = first;
	char out[256];

	while (at < len) {
		size_t used = 0;
		size_t todo = part < len - at ? part : len - at;
		size_t m = escape_feed(&x, in + at, todo, &used, out, room);

		memcpy(result + n, out, m);
		n += m;
		at += used;
		part = piece;
	}
	size_t m = escape_end(&x, out, room);
	memcpy(result + n, out, m);
	return n + m;
}

static int same(unsigned i, size_t n)
{
	return n == cases[i].out_len && !memcmp(result, cases[i].out, n);
}

static int case_good(unsigned i)
{
	size_t len = cases[i].in_len;
	int ok = same(i, escape(cases[i].in, len, len, len, 256)) &&
		 same(i, escape(cases[i].in, len, 1, 1, 256)) &&
		 same(i, escape(cases[i].in, len, len, len, ESCAPE_ROOM));

	for (size_t first = 1; first < len; first++)
		ok = ok && same(i, escape(cases[i].in, len, first, len, 256));
	return ok;
}

static int only_harmless(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		int crlf = c == '\r' && i + 1 < n && s[i + 1] == '\n';

		if ((c < 0x20 && c != '\n' && c != '\t' && !crlf) || c == 0x7f)
			return 0;
		if (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0)
			return 0;
	}
	return 1;
}

/* Every sequence of two bytes: no control byte comes through, and the room promised is enough. */
static int all_pairs_harmless(void)
{
	for (unsigned v = 0; v < 0x10000; v++) {
		char in[2] = {(char)(v >> 8), (char)v};

		if (!only_harmless(result, escape(in, 2, 1, 1, ESCAPE_ROOM)))
			return 0;
	}
	return 1;
}

static int lines_good(void)
{
	char out[128];

	escape_line("a\nforged: b\r\n\x1b[2J\xe2\x80\xae", out, sizeof(out));
	if (strcmp(out, "a^Jforged: b^M^J^[[2J<U+202E>") != 0)
		return 0;
	char text[400];
	memset(text, 0x1b, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	escape_line(text, out, sizeof(out));
	return strlen(out) > 0 && strlen(out) < sizeof(out) && only_harmless(out, strlen(out));
}

static unsigned number;
static int failed;

static void report(int ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++number, what);
	failed |= !ok;
}

int main(void)
{
	unsigned count = sizeof(cases) / sizeof(cases[0]);

	printf("1..%u\n", count + 2);
	for (unsigned i = 0; i < count; i++)
		report(case_good(i), cases[i].what);
	report(all_pairs_harmless(), "no pair of bytes lets a control byte through");
	report(lines_good(), "a message stays one line");
	return failed;
}
