/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of secrets, taken out of what a server sends: see secret.h. A form is looked for as it is.
 * One that is spelt may have an escape in the place of each of its characters: which of them a
 * server escapes in a URL, in JSON or in HTML is its own affair.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/secret.h"

#define SPELT_MAX 8 /* bytes of one character: &#x002F; */

static bool add(struct redact *r, const char *text, size_t len, bool is_spelt)
{
	if (len < SECRET_VALUE_MIN || len >= REDACT_FORM_MAX ||
	    r->n == sizeof(r->form) / sizeof(r->form[0]))
		return true; /* too short to be told from other text, or there is none */
	for (unsigned i = 0; i < r->n; i++)
		if (r->form[i].len == len && r->form[i].is_spelt == is_spelt &&
		    memcmp(r->form[i].text, text, len) == 0)
			return true;
	r->form[r->n].text = malloc(len);
	if (!r->form[r->n].text)
		return false;
	memcpy(r->form[r->n].text, text, len);
	r->form[r->n].is_spelt = is_spelt;
	r->form[r->n++].len = len;
	if (is_spelt)
		len *= SPELT_MAX;
	if (len > r->longest)
		r->longest = len;
	return true;
}

/* Without the digits at its ends that depend on what stands beside it. */
static size_t in_base64(const char *in, size_t len, size_t skip, const char *last, char *out)
{
	char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = out;

	memcpy(digits + 62, last, 2);
	for (size_t i = skip; i + 2 < len; i += 3) {
		unsigned n = (unsigned)(unsigned char)in[i] << 16 |
			     (unsigned)(unsigned char)in[i + 1] << 8 | (unsigned char)in[i + 2];

		*at++ = digits[n >> 18];
		*at++ = digits[n >> 12 & 63];
		*at++ = digits[n >> 6 & 63];
		*at++ = digits[n & 63];
	}
	return (size_t)(at - out);
}

static size_t in_hex(const char *in, size_t len, bool lower, char *out)
{
	for (size_t i = 0; i < len; i++)
		(void)snprintf(out + 2 * i, 3, lower ? "%02x" : "%02X", (unsigned char)in[i]);
	return 2 * len;
}

/* As UTF-16 has it, whichever byte comes first: without the zero at one end. */
static size_t in_utf16(const char *in, size_t len, char *out)
{
	for (size_t i = 0; i < len; i++) {
		out[2 * i] = in[i];
		out[2 * i + 1] = '\0';
	}
	return 2 * len - 1;
}

static bool add_forms(struct redact *r, const struct secret *one)
{
	char text[REDACT_FORM_MAX];
	const char *in = one->value;
	size_t len = one->len;
	bool good = add(r, in, len, false) && add(r, in, len, true) &&
		    add(r, text, in_utf16(in, len, text), false);

	for (int other = 0; other < 2 && good; other++)
		good = add(r, text, in_hex(in, len, other, text), false);
	/* It may begin at any of three places of a group. Where it has + or / in it, those are escaped as
	 * any others are: PHP writes \/ in JSON, a URL has %2B. */
	for (size_t skip = 0; skip < 3 && good; skip++) {
		size_t n = in_base64(in, len, skip, "+/", text);
		bool is_spelt = memchr(text, '+', n) || memchr(text, '/', n);

		good = add(r, text, n, is_spelt) &&
		       add(r, text, in_base64(in, len, skip, "-_", text), false);
	}
	explicit_bzero(text, sizeof(text));
	return good;
}

struct redact *redact_new(const struct secret_set *s)
{
	struct redact *r = calloc(1, sizeof(*r));
	bool good = r;

	for (unsigned i = 0; good && i < s->n; i++)
		good = add_forms(r, &s->list[i]);
	if (good && (r->held = malloc(r->longest + 1)))
		return r;
	redact_free(r);
	return NULL;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++) {
		explicit_bzero(r->form[i].text, r->form[i].len);
		free(r->form[i].text);
	}
	if (r->held)
		explicit_bzero(r->held, r->longest + 1);
	free(r->held);
	free(r);
}

/* `n` hexadecimal digits that are `c`; 0: they are not. -1: as far as they are there. */
static int spelt_hex(unsigned char c, const char *text, size_t len, size_t n)
{
	unsigned number = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == len)
			return -1;
		if (!isxdigit((unsigned char)text[i]))
			return 0;
		number = number << 4 |
			 (unsigned)(isdigit((unsigned char)text[i]) ? text[i] - '0'
								    : (text[i] | 32) - 'a' + 10);
	}
	return number == c;
}

/* Of HTML, from & to ; with both. */
static int spelt_entity(unsigned char c, const char *text, size_t len)
{
	static const struct {
		const char *text;
		char c;
	} names[] = {{"&quot;", '"'},  {"&amp;", '&'}, {"&lt;", '<'},	{"&gt;", '>'},
		     {"&apos;", '\''}, {"&sol;", '/'}, {"&plus;", '+'}, {"&equals;", '='}};
	const char *end = memchr(text, ';', len < SPELT_MAX ? len : SPELT_MAX);
	unsigned number = 0;
	char rest[SPELT_MAX + 1] = "", after = 0;

	if (!end)
		return len < SPELT_MAX ? -1 : 0;
	size_t n = (size_t)(end - text) + 1;
	memcpy(rest, text, n);
	bool is_number = sscanf(rest, "&#x%4x%c", &number, &after) == 2 ||
			 sscanf(rest, "&#X%4x%c", &number, &after) == 2 ||
			 sscanf(rest, "&#%4u%c", &number, &after) == 2;
	if (is_number && after == ';')
		return number == c ? (int)n : 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].c == (char)c && strcmp(names[i].text, rest) == 0)
			return (int)n;
	return 0;
}

/* Of a URL; also of one that stands in another one: /login?next=%2F%3Fkey%3Da%252Fb. What a % itself
 * becomes depends on how deep that is. */
static int spelt_percent(unsigned char c, const char *text, size_t len, unsigned depth)
{
	static const char *const own[] = {"%", "%25", "%2525"};
	size_t n = strlen(own[depth]);

	if (c == '%' && memcmp(text, own[depth], n < len ? n : len) == 0)
		return n <= len ? (int)n : -1;
	int r = spelt_hex(c, text + 1, len - 1, 2);
	if (r || len < 3 || memcmp(text + 1, "25", 2) != 0)
		return 3 * r;
	return 5 * spelt_hex(c, text + 3, len - 3, 2);
}

/* Of JSON and its like; also of one that stands in another one as a text, with up to three. */
static int spelt_backslash(unsigned char c, const char *text, size_t len)
{
	size_t n = 1;
	int r;

	while (c != '\\' && n < len && n < 3 && text[n] == '\\')
		n++;
	if (n == len)
		return -1;
	if (text[n] != 'u' && text[n] != 'x')
		return (unsigned char)text[n] == c ? (int)n + 1 : 0;
	size_t digits = text[n] == 'u' ? 4 : 2;
	r = spelt_hex(c, text + n + 1, len - n - 1, digits);
	return r > 0 ? (int)(n + 1 + digits) : r;
}

/* How many bytes spell `c` here; 0: it is another; -1: what is there may be its beginning. */
static int spelt(unsigned char c, const char *text, size_t len, unsigned depth)
{
	int r = 0;

	if (text[0] == '%')
		r = spelt_percent(c, text, len, depth);
	else if (text[0] == '&')
		r = spelt_entity(c, text, len);
	else if (text[0] == '\\')
		r = spelt_backslash(c, text, len);
	else if (text[0] == '+' && c == ' ')
		r = 1;
	if (r == 0 && (unsigned char)text[0] == c)
		r = 1;
	return r < 0 ? -1 : r;
}

/* The same for a whole form; 0: it is not here. */
static int fits_at(const char *form, size_t form_len, const char *text, size_t len, unsigned depth)
{
	size_t at = 0;

	for (size_t i = 0; i < form_len; i++) {
		int n = at < len ? spelt((unsigned char)form[i], text + at, len - at, depth) : -1;

		if (n <= 0)
			return n;
		at += (size_t)n;
	}
	return (int)at;
}

static int fits(const char *form, size_t form_len, const char *text, size_t len)
{
	unsigned depths = memchr(form, '%', form_len) ? 3 : 1;
	int most = 0;

	for (unsigned depth = 0; depth < depths; depth++) {
		int n = fits_at(form, form_len, text, len, depth);

		if (n > 0)
			return n;
		most = n < 0 ? n : most;
	}
	return most;
}

static bool may_begin(char c, char first)
{
	return c == first || c == '%' || c == '&' || c == '\\';
}

static bool redact_spelt(const char *form, size_t form_len, char *text, size_t len)
{
	bool any = false;

	for (size_t i = 0; i < len; i++) {
		int n = may_begin(text[i], form[0]) ? fits(form, form_len, text + i, len - i) : 0;

		if (n <= 0)
			continue;
		memset(text + i, '*', (size_t)n);
		any = true;
	}
	return any;
}

bool redact_whole(const struct redact *r, char *text, size_t len)
{
	bool any = false;

	for (unsigned i = 0; i < r->n; i++) {
		char *at = text;
		size_t left = len;

		if (r->form[i].is_spelt) {
			any |= redact_spelt(r->form[i].text, r->form[i].len, text, len);
			continue;
		}
		while ((at = memmem(at, left, r->form[i].text, r->form[i].len))) {
			memset(at, '*', r->form[i].len);
			left = len - (size_t)(at - text);
			any = true;
		}
	}
	return any;
}

/* Could this, to the end, be the beginning of a form? */
static bool is_begun(const struct redact *r, unsigned i, const char *text, size_t n)
{
	if (r->form[i].is_spelt)
		return may_begin(text[0], r->form[i].text[0]) &&
		       fits(r->form[i].text, r->form[i].len, text, n) < 0;
	return n < r->form[i].len && memcmp(text, r->form[i].text, n) == 0;
}

/* How many bytes at the end could be the beginning of one. */
static size_t begun(const struct redact *r, const char *text, size_t len)
{
	size_t most = r->longest ? r->longest - 1 : 0;

	for (size_t n = len < most ? len : most; n > 0; n--)
		for (unsigned i = 0; i < r->n; i++)
			if (is_begun(r, i, text + len - n, n))
				return n;
	return 0;
}

size_t redact_feed(struct redact *r, const char *in, size_t len, char *out)
{
	size_t all = r->n_held + len;

	memcpy(out, r->held, r->n_held);
	memcpy(out + r->n_held, in, len);
	(void)redact_whole(r, out, all);
	r->n_held = begun(r, out, all);
	memcpy(r->held, out + all - r->n_held, r->n_held);
	return all - r->n_held;
}

size_t redact_end(struct redact *r, char *out)
{
	size_t n = r->n_held;

	memcpy(out, r->held, n);
	r->n_held = 0;
	return n;
}
