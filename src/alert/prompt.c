/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/prompt.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "alert/output.h"

#define WORDS_MAX 6

static bool is_letter(unsigned char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_blank(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Does `word` stand here? MORE: as far as there is something. */
static enum prompt_verdict stands(const unsigned char *p, size_t n, const char *word, bool folded)
{
	size_t len = strlen(word), k = n < len ? n : len;
	const char *here = (const char *)p;

	if (folded ? strncasecmp(here, word, k) != 0 : strncmp(here, word, k) != 0)
		return PROMPT_NO;
	return k < len ? PROMPT_MORE : PROMPT_YES;
}

static bool is_one_of(const unsigned char *p, size_t n, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == n && strncasecmp((const char *)p, *list, n) == 0)
			return true;
	return false;
}

/* A colour that ends at `to`: how long it is. */
static size_t colour(const unsigned char *p, size_t first, size_t to)
{
	size_t from = to - 1;

	while (from > first && p[from - 1] >= '0' && p[from - 1] <= ';')
		from--;
	return p[to - 1] == 'm' && from >= first + 2 && p[from - 1] == '[' && p[from - 2] == 0x1b
		       ? to - from + 2
		       : 0;
}

/* A blank of those that are no ASCII, which ends at `to`: how long it is. */
static size_t wide_blank(const unsigned char *p, size_t first, size_t to)
{
	if (to >= first + 2 && p[to - 2] == 0xc2 && p[to - 1] == 0xa0)
		return 2;
	return to >= first + 3 && p[to - 3] == 0xe2 && p[to - 2] == 0x80 &&
			       (p[to - 1] <= 0x8b || p[to - 1] == 0xaf)
		       ? 3
		       : 0;
}

/* Where the word before ends: between words are blanks, and what Markdown, comments and terminals
 * put there. `end` itself: there is no blank, or a paragraph ends. */
static size_t before_gap(const unsigned char *p, size_t first, size_t end)
{
	bool blank = false, line = false;
	size_t to = end;

	while (to > first) {
		unsigned char c = p[to - 1];
		size_t wide = wide_blank(p, first, to), n = wide ? wide : colour(p, first, to);

		if (!n && !is_blank(c) && !memchr("*_~\"'`()[]#>-", c, 13))
			break;
		if (c == '\n' && line)
			return end;
		line = c == '\n' || (line && is_blank(c));
		blank |= is_blank(c) || wide;
		to -= n ? n : 1;
	}
	return blank ? to : end;
}

/* From the word that begins at `end` back: a word for what was said, and before it one for not
 * heeding, in one sentence. MORE: nothing says which instructions; that may come behind. *ret_many:
 * only of several, since processors have a "system instruction", too. */
static enum prompt_verdict overrules(const unsigned char *p, size_t first, size_t end,
				     bool *ret_many)
{
	static const char *const said[] = {"previous", "prior", "earlier", "preceding",
					   "above",    "your",	NULL};
	static const char *const others[] = {"original", "system", NULL};
	/* Behind these begins what is no longer meant: "previous errors in instruction decoders". */
	static const char *const apart[] = {"in", "on",	  "for",   "from",    "with",
					    "by", "when", "while", "because", NULL};
	static const char *const heed[] = {"ignore", "disregard", "forget", "override", NULL};
	bool named = false, other = false;

	for (int i = 0; i < WORDS_MAX; i++) {
		size_t to = before_gap(p, first, end), from = to;

		while (from > first && is_letter(p[from - 1]) && !colour(p, first, from))
			from--;
		if (to == end || from == to)
			return PROMPT_NO;
		if (is_one_of(p + from, to - from, heed)) {
			*ret_many = !named || is_one_of(p + from, to - from, heed + 3);
			return named || other ? PROMPT_YES : PROMPT_MORE;
		}
		if (!named && !other && is_one_of(p + from, to - from, apart))
			return PROMPT_NO;
		named |= is_one_of(p + from, to - from, said);
		other |= is_one_of(p + from, to - from, others);
		end = from;
	}
	return PROMPT_NO;
}

/* "instructions above", "instructions you were given": from the end of "instruction" on. */
static enum prompt_verdict says_which(const unsigned char *p, size_t at, size_t len)
{
	static const char *const which[] = {"above", "you were", "you have"};
	enum prompt_verdict best = PROMPT_NO;
	size_t blanks = 0;

	at += at < len && (p[at] | 0x20) == 's';
	for (; at < len && is_blank(p[at]) && blanks < 4; at++)
		blanks++;
	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]) && (blanks || at == len); i++) {
		enum prompt_verdict v = stands(p + at, len - at, which[i], true);

		if (v == PROMPT_YES)
			return v;
		best = v == PROMPT_MORE ? v : best;
	}
	return best;
}

/* "instrUCtion" */
static enum prompt_verdict instruction(const unsigned char *p, size_t at, size_t len)
{
	size_t first = at > OUTPUT_BACK ? at - OUTPUT_BACK : 0;

	if (at - first < 5 || strncasecmp((const char *)p + at - 5, "instr", 5) != 0)
		return PROMPT_NO;
	bool many = false;
	enum prompt_verdict said = overrules(p, first, at - 5, &many);
	if (said == PROMPT_NO)
		return PROMPT_NO;
	const char *word = said == PROMPT_YES && many ? "uctions" : "uction";
	enum prompt_verdict whole = stands(p + at, len - at, word, true);
	return whole == PROMPT_YES && said == PROMPT_MORE
		       ? says_which(p, at + strlen("uction"), len)
		       : whole;
}

static enum prompt_verdict token(const unsigned char *p, size_t at, size_t len)
{
	static const char *const tokens[] = {"<|im_start|>system", "<|start_header_id|>system",
					     "<|system|>"};
	enum prompt_verdict best = PROMPT_NO;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		enum prompt_verdict v = stands(p + at, len - at, tokens[i], false);

		if (v == PROMPT_YES)
			return v;
		best = v == PROMPT_MORE ? v : best;
	}
	return best;
}

enum prompt_verdict prompt_at(const unsigned char *data, size_t at, size_t len,
			      const char **ret_what)
{
	bool is_token = data[at] == '<';

	*ret_what = is_token ? "a system turn of a model's template"
			     : "a sentence that overrules instructions";
	return is_token ? token(data, at, len) : instruction(data, at, len);
}
