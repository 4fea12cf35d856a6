/* SPDX-License-Identifier: Apache-2.0 */
/* What a model reads of a program's output: golden texts, and hostile ones. */
#include "mcp/text.h"

#include "base/utf8.h"
#include "tap.h"

/* The stream `raw`, in `budget` characters. */
static struct text shown(const char *raw, size_t len, size_t budget)
{
	struct text t = TEXT_INIT;
	struct stream s = {.name = "stdout",
			   .head = raw,
			   .head_len = len,
			   .path = "/.pinfold/runs/r18/stdout",
			   .reader = "reader"};
	bool cut = false;

	text_stream(&t, &s, budget, &cut);
	return t;
}

static void is_shown(const char *raw, const char *want, const char *name)
{
	struct text t = shown(raw, strlen(raw), 1000);

	is_str(t.data, want, name);
	text_done(&t);
}

static void plain(void)
{
	is_shown("", "stdout: (empty)\n", "nothing");
	is_shown("hello\n", "stdout:\nhello\n", "a line");
	is_shown("no end", "stdout:\nno end\n", "a line without an end gets one");
	is_shown("a\r\nb\r\n", "stdout:\na\nb\n", "lines of another system");
	is_shown("\n\nx\n", "stdout:\n\n\nx\n", "empty lines stay");
	is_shown("tab\there\n", "stdout:\ntab\there\n", "tabs stay");
	is_shown("gr\xc3\xbc\xc3\x9f \xe2\x82\xac\n", "stdout:\ngr\xc3\xbc\xc3\x9f \xe2\x82\xac\n",
		 "characters stay");
}

static void terminals(void)
{
	is_shown("\033[31mred\033[0m\n", "stdout:\nred\n", "colours go");
	is_shown("\033]0;title\a\033]8;;http://x\033\\link\n", "stdout:\nlink\n",
		 "titles and links go");
	is_shown("\033(B\033=\0337ok\033M\n", "stdout:\nok\n", "short sequences go");
	is_shown("\033[", "stdout: (empty)\n", "one that is not finished");
	is_shown("\033]0;never ends\nnext\n", "stdout:\n\nnext\n", "it does not eat the next line");
	is_shown(" 10%\r 50%\r100%\n", "stdout:\n100%\n", "a progress line is what it was last");
	is_shown("done\r\n", "stdout:\ndone\n", "a return at the end erases nothing");
	is_shown("abc\b\bx\n", "stdout:\nax\n", "backspace");
	is_shown("\b\b\bx\n", "stdout:\nx\n", "backspace over nothing");
	is_shown("a\001\002\177b\x7\n", "stdout:\nab\n", "control characters go");
	is_shown("a\xc2\x9b"
		 "31mb\n",
		 "stdout:\na31mb\n", "those of eight bits, too");
}

static void invalid(void)
{
	static const char with_nul[] = "a\0b\n";
	struct text t = shown(with_nul, 4, 100);

	is_str(t.data, "stdout:\nab\n", "a NUL goes");
	text_done(&t);
	is_shown("\xff\xfe"
		 "x\n",
		 "stdout (2 bytes were no valid UTF-8):\n\xef\xbf\xbd\xef\xbf\xbdx\n",
		 "what is no UTF-8 is replaced and counted");
	is_shown("\xc3\n", "stdout (1 byte was no valid UTF-8):\n\xef\xbf\xbd\n",
		 "half a character");
	is_shown("\xed\xa0\x80\n",
		 "stdout (3 bytes were no valid UTF-8):\n\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n",
		 "a surrogate");
}

static void folded(void)
{
	struct text raw = TEXT_INIT;

	text_put(&raw, "first\n");
	for (int i = 0; i < 20; i++)
		text_put(&raw, "same\n");
	struct text t = shown(raw.data, raw.len, 1000);
	ok(!strstr(t.data, "times"), "twenty lines that are the same stay");
	text_done(&t);
	for (int i = 0; i < 4980; i++)
		text_put(&raw, "same\n");
	text_put(&raw, "last\n");
	t = shown(raw.data, raw.len, 1000);
	is_str(t.data, "stdout:\nfirst\nsame\n[the line above came 5,000 times]\nlast\n",
	       "more become one with a count");
	text_done(&t);
	text_done(&raw);
}

static void cut(void)
{
	struct text raw = TEXT_INIT;

	for (int i = 1; i <= 1000; i++)
		text_fmt(&raw, "%07d\n", i);
	struct text t = shown(raw.data, raw.len, 100);
	is_str(t.data,
	       "stdout (showing first 40 and last 56 of 8,000 chars):\n"
	       "0000001\n0000002\n0000003\n0000004\n0000005\n"
	       "[… 7,904 chars omitted. Read them with reader path=\"/.pinfold/runs/r18/stdout\" "
	       "start_line=6, or rerun with a filter such as \"| tail -n 50\" …]\n"
	       "0000994\n0000995\n0000996\n0000997\n0000998\n0000999\n0001000\n",
	       "two fifths from the beginning, the rest from the end, whole lines");
	text_done(&t);
	text_done(&raw);
}

/* Lines that were folded away count for where the rest begins. */
static void cut_after_fold(void)
{
	struct text raw = TEXT_INIT;

	for (int i = 0; i < 100; i++)
		text_put(&raw, "same\n");
	for (int i = 0; i < 1000; i++)
		text_fmt(&raw, "%07d\n", i);
	struct text t = shown(raw.data, raw.len, 200);
	ok(strstr(t.data, "start_line=106"), "the number is that of the whole output");
	text_done(&t);
	text_done(&raw);
}

static void long_line(void)
{
	struct text raw = TEXT_INIT;

	for (int i = 0; i < 1000; i++)
		text_put(&raw, "\xe2\x82\xac");
	struct text t = shown(raw.data, raw.len, 100);
	ok(strstr(t.data, "showing first 40 and last 60 of 1,000 chars"),
	   "one long line is cut in it");
	ok(utf8_valid(t.data, t.len), "between characters");
	text_done(&t);
	text_done(&raw);
}

static void two_ends(void)
{
	struct text t = TEXT_INIT;
	struct stream s = {.name = "stdout",
			   .head = "one\ntwo\n",
			   .head_len = 8,
			   .tail = "y\nz\n",
			   .tail_len = 4,
			   .chars = 5000000,
			   .lost = 12,
			   .so_far = true};
	bool is_cut = false;

	text_stream(&t, &s, 1000, &is_cut);
	ok(is_cut, "what is looked at from both ends is cut");
	has_str(t.data,
		"stdout so far (showing first 8 and last 4 of 5,000,000 chars):\none\ntwo\n[…",
		"its beginning");
	has_str(t.data, "…]\ny\nz\n[recording stopped at 64 MB; 12 more bytes came]\n", "its end");
	text_done(&t);
}

/* Whatever comes in: what goes out is valid, within the budget, and without controls. */
static void hostile(void)
{
	uint32_t seed = 12345;
	int bad = 0;

	for (int round = 0; round < 2000; round++) {
		static const char bits[] =
			"\033[31m\r\n\b\t]0;\a\\\xc3\xbc\xff\xe2\x82 aaaa\x9b?hP";
		char raw[400];
		size_t len = 0;

		for (; len < sizeof(raw); len++) {
			seed = seed * 1103515245 + 12345;
			raw[len] = bits[(seed >> 16) % (sizeof(bits) - 1)];
		}
		struct text t = shown(raw, len, 1 + round % 300);
		bad += !utf8_valid(t.data, t.len);
		for (size_t i = 0; i < t.len; i++)
			bad += (unsigned char)t.data[i] < 0x20 && !strchr("\t\n", t.data[i]);
		bad += text_chars(t.data, t.len) > (uint64_t)(1 + round % 300) + 400;
		text_done(&t);
	}
	is_int(bad, 0, "2,000 odd texts");
}

static void numbers(void)
{
	char to[32];

	is_str(text_number(0, to), "0", "0");
	is_str(text_number(999, to), "999", "999");
	is_str(text_number(1000, to), "1,000", "1,000");
	is_str(text_number(UINT64_MAX, to), "18,446,744,073,709,551,615", "the largest");
	is_str(text_size(0, to), "0 bytes", "no byte");
	is_str(text_size(1, to), "1 byte", "a byte");
	is_str(text_size(1126, to), "1.1 KB", "1.1 KB");
	is_str(text_size(23 << 10, to), "23 KB", "23 KB");
	is_str(text_size(610u << 20, to), "610 MB", "610 MB");
	is_str(text_seconds(30, to), "0.03s", "0.03s");
	is_str(text_seconds(1234, to), "1.2s", "1.2s");
}

static void bounded(void)
{
	struct text t = {.max = 10};

	text_put(&t, "123456789");
	ok(!t.short_of, "up to its maximum");
	text_put(&t, "0");
	ok(t.short_of, "no more");
	is_str(t.data, "123456789", "what fitted stays");
	text_fmt(&t, "%s", "x");
	is_str(t.data, "123456789", "formatted, too");
	text_done(&t);
}

int main(void)
{
	TAP_RUN(plain);
	TAP_RUN(terminals);
	TAP_RUN(invalid);
	TAP_RUN(folded);
	TAP_RUN(cut);
	TAP_RUN(cut_after_fold);
	TAP_RUN(long_line);
	TAP_RUN(two_ends);
	TAP_RUN(hostile);
	TAP_RUN(numbers);
	TAP_RUN(bounded);
	return tap_done();
}
