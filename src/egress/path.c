/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/path.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "egress/hold.h"

enum { TOKEN_STAR = 256, TOKEN_STARS };

/* A pattern as an automaton: state k is "in front of token k". */
struct automaton {
	uint16_t token[PATH_PATTERN_MAX];
	unsigned n;
};

struct states {
	uint64_t bits[4];
};

_Static_assert(PATH_PATTERN_MAX < 256, "states are bits of four words");

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EINVAL;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Escapes undone: all of them in `loose`; in `strict` a slash stays %2F. */
static const char *undo(const char *text, size_t len, struct path *ret)
{
	size_t strict = 0, loose = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			int high = len - i > 2 ? hex_value(text[i + 1]) : -1;
			int low = len - i > 2 ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return "an escape that is none";
			c = (char)(high << 4 | low);
			i += 2;
			if (c == '/') {
				memcpy(ret->strict + strict, "%2F", 3);
				strict += 3;
				ret->loose[loose++] = c;
				continue;
			}
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return "a control character";
		if (c == '\\')
			return "a backslash";
		ret->strict[strict++] = c;
		ret->loose[loose++] = c;
	}
	ret->strict_len = (uint16_t)strict;
	ret->loose_len = (uint16_t)loose;
	return NULL;
}

/* What some readers take for a character of ASCII, since they bring text to one form (NFKC) or to one
 * case: full width, small, and other dots, slashes, blanks and letters. * is a pattern's own, and what ends
 * a path or a segment no pattern has. */
static size_t wide_at(const char *text, size_t left, char *ret)
{
	static const struct {
		const char *text;
		char c;
	} others[] = {
		{"\xc2\xa0", ' '},	{"\xc4\xb0", 'i'},     {"\xc4\xb1", 'i'},
		{"\xc5\xbf", 's'},	{"\xe2\x80\xa4", '.'}, {"\xe2\x80\xa5", '.'},
		{"\xe2\x80\xa6", '.'},	{"\xe2\x81\x84", '/'}, {"\xe2\x84\xaa", 'k'},
		{"\xe2\x88\x95", '/'},	{"\xe3\x80\x80", ' '}, {"\xef\xb9\x92", '.'},
		{"\xef\xb9\xa8", '\\'},
	};

	if (left >= 3 && text[0] == '\xef' && (text[1] == '\xbc' || text[1] == '\xbd')) {
		unsigned code = ((unsigned)text[1] & 3) << 6 | ((unsigned)text[2] & 0x3f);

		*ret = (char)(code + 0x20);
		return code >= 1 && code <= 0x5e && !strchr("*?#;", *ret) ? 3 : 0;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t n = strlen(others[i].text);

		if (left >= n && memcmp(text, others[i].text, n) == 0) {
			*ret = others[i].c;
			return n;
		}
	}
	return 0;
}

/* In place; the new length. */
static size_t narrow(char *text, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len;) {
		char c = text[at];
		size_t n = (unsigned char)c >= 0x80 ? wide_at(text + at, len - at, &c) : 1;

		text[to++] = n ? c : text[at];
		at += n ? n : 1;
	}
	return to;
}

static const char *check_undone(struct path *p)
{
	if (!utf8_valid(p->loose, p->loose_len))
		return "bytes that are not UTF-8";
	p->loose_len = (uint16_t)narrow(p->loose, p->loose_len);
	if (memchr(p->loose, '\\', p->loose_len))
		return "a backslash";
	for (size_t i = 0; i + 2 < p->loose_len; i++)
		if (p->loose[i] == '%' && hex_value(p->loose[i + 1]) >= 0 &&
		    hex_value(p->loose[i + 2]) >= 0)
			return "an escape of an escape";
	return NULL;
}

static bool is_trimmed(char c)
{
	return c == '.' || c == ' ';
}

/* Of each segment what stands in front of a ; ? or # (which were escaped), in lower case, without dots and
 * blanks at its end: those Windows leaves out. Behind the first ? or # there is nothing for who decodes
 * before he splits; for who does not there is, so it is looked at, too. NULL, or why it is refused. */
static const char *loosen(struct path *p)
{
	size_t to = 0, at = 0, cut = 0;

	while (at < p->loose_len) {
		p->loose[to++] = '/';
		size_t begin = to;
		for (at++; at < p->loose_len && !strchr("/;?#", p->loose[at]); at++)
			p->loose[to++] = lower(p->loose[at]);
		char end = at < p->loose_len ? p->loose[at] : '\0';
		/* Nothing behind the last slash is fine. */
		if (to == begin && (end == '/' || end == ';'))
			return "an empty segment";
		bool had_some = to > begin;
		while (to > begin && is_trimmed(p->loose[to - 1]))
			to--;
		if (HOLD_GATE_PATH && had_some && to == begin)
			return "a dot segment";
		for (; at < p->loose_len && p->loose[at] != '/'; at++)
			if (!cut && strchr("?#", p->loose[at]))
				cut = to;
	}
	p->loose_len = (uint16_t)(cut ? cut : to);
	return NULL;
}

int path_read(const char *text, size_t len, struct path *ret, const char **ret_why)
{
	const char *why = NULL;

	assert(ret && ret_why);
	if (len == 0) {
		text = "/";
		len = 1;
	}
	if (len > PATH_LEN_MAX)
		return refuse(ret_why, "longer than 8192 bytes");
	if (text[0] != '/')
		return refuse(ret_why, "no slash in front");
	why = undo(text, len, ret);
	if (!why)
		why = check_undone(ret);
	if (!why)
		why = loosen(ret);
	if (why)
		return refuse(ret_why, why);
	ret->strict[ret->strict_len] = '\0';
	ret->loose[ret->loose_len] = '\0';
	return 0;
}

int path_pattern_check(const char *pattern, size_t len, struct err *e)
{
	const char *why = NULL;
	struct path ignored;

	if (len == 0 || pattern[0] != '/')
		why = "has no / in front";
	else if (len > PATH_PATTERN_MAX)
		why = "is longer than 255 bytes";
	else if (memchr(pattern, '\0', len) || strpbrk(pattern, "%?#;\\"))
		why = "has one of % ? # ; \\ in it; write the path as it reads, without its query";
	else if (strstr(pattern, "***"))
		why = "has three stars in a row";
	else if (path_read(pattern, len, &ignored, &why) == 0)
		return 0;
	(void)err_set(e, ERR_INVALID, "path \"%.80s\": %s", pattern, why);
	return err_remedy(e, "write patterns such as /simple/** or /v1/*/items");
}

/* As loosen() has it. Behind a star a dot says which names are meant: it stays, unless the strict reading
 * has seen to that. */
static size_t loosen_pattern(const char *pattern, size_t len, bool is_strict_too, char *ret)
{
	size_t to = 0;

	memcpy(ret, pattern, len);
	len = narrow(ret, len);
	for (size_t i = 0; i < len; i++) {
		ret[to++] = lower(ret[i]);
		if (i + 1 < len && ret[i + 1] != '/')
			continue;
		size_t end = to;

		while (end > 1 && is_trimmed(ret[end - 1]) && ret[end - 2] != '/')
			end--;
		if (is_strict_too || ret[end - 1] != '*')
			to = end;
	}
	return to;
}

static void make_automaton(struct automaton *a, const char *pattern, size_t len)
{
	a->n = 0;
	for (size_t i = 0; i < len && a->n < PATH_PATTERN_MAX; i++) {
		uint16_t token = (unsigned char)pattern[i];

		if (pattern[i] == '*' && i + 1 < len && pattern[i + 1] == '*') {
			token = TOKEN_STARS;
			i++;
		} else if (pattern[i] == '*') {
			token = TOKEN_STAR;
		}
		a->token[a->n++] = token;
	}
}

static void add_state(const struct automaton *a, struct states *s, unsigned k)
{
	s->bits[k / 64] |= UINT64_C(1) << (k % 64);
	/* Stars may stand for nothing. */
	while (k < a->n && a->token[k] >= TOKEN_STAR) {
		k++;
		s->bits[k / 64] |= UINT64_C(1) << (k % 64);
	}
}

static struct states step(const struct automaton *a, const struct states *s, char c)
{
	struct states next = {{0}};

	for (unsigned word = 0; word < 4; word++) {
		for (uint64_t bits = s->bits[word]; bits; bits &= bits - 1) {
			unsigned k = word * 64 + (unsigned)__builtin_ctzll(bits);

			if (k >= a->n)
				continue;
			if (a->token[k] == TOKEN_STARS || (a->token[k] == TOKEN_STAR && c != '/'))
				add_state(a, &next, k);
			else if (a->token[k] == (unsigned char)c)
				add_state(a, &next, k + 1);
		}
	}
	return next;
}

static bool fits(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	struct automaton a;
	struct states s = {{0}};

	make_automaton(&a, pattern, pattern_len);
	add_state(&a, &s, 0);
	for (size_t i = 0; i < len; i++) {
		s = step(&a, &s, text[i]);
		if (!(s.bits[0] | s.bits[1] | s.bits[2] | s.bits[3]))
			return false;
	}
	return s.bits[a.n / 64] >> (a.n % 64) & 1;
}

bool path_fits(const char *pattern, size_t len, const struct path *p, bool must_fit_both)
{
	bool strict = fits(pattern, len, p->strict, p->strict_len);
	char loose[PATH_PATTERN_MAX];

	if (strict != must_fit_both || len > sizeof(loose))
		return strict;
	return fits(loose, loosen_pattern(pattern, len, must_fit_both, loose), p->loose,
		    p->loose_len);
}
