/* SPDX-License-Identifier: Apache-2.0 */
/* Values of secrets, taken out of what a server sends: see secret.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/secret.h"

static bool add(struct redact *r, const char *text, size_t len)
{
	if (len < SECRET_VALUE_MIN || len >= REDACT_FORM_MAX ||
	    r->n == sizeof(r->form) / sizeof(r->form[0]))
		return true; /* too short to be told from other text, or there is none */
	for (unsigned i = 0; i < r->n; i++)
		if (r->form[i].len == len && memcmp(r->form[i].text, text, len) == 0)
			return true;
	r->form[r->n].text = malloc(len);
	if (!r->form[r->n].text)
		return false;
	memcpy(r->form[r->n].text, text, len);
	r->form[r->n++].len = len;
	if (len > r->longest)
		r->longest = len;
	return true;
}

static size_t in_url(const char *in, size_t len, bool lower, char *out)
{
	char *at = out;

	for (size_t i = 0; i < len; i++)
		if (isalnum((unsigned char)in[i]) || strchr("-._~", in[i]))
			*at++ = in[i];
		else
			at += snprintf(at, 4, lower ? "%%%02x" : "%%%02X", (unsigned char)in[i]);
	return (size_t)(at - out);
}

/* PHP and others write a slash as \/ . */
static size_t in_json(const char *in, size_t len, bool slash, char *out)
{
	char *at = out;

	for (size_t i = 0; i < len; i++) {
		if (in[i] == '"' || in[i] == '\\' || (slash && in[i] == '/'))
			*at++ = '\\';
		*at++ = in[i];
	}
	return (size_t)(at - out);
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

static bool add_forms(struct redact *r, const struct secret *one)
{
	char text[REDACT_FORM_MAX];
	const char *in = one->value;
	size_t len = one->len;
	bool good = add(r, in, len);

	for (int other = 0; other < 2 && good; other++)
		good = add(r, text, in_url(in, len, other, text)) &&
		       add(r, text, in_json(in, len, other, text)) &&
		       add(r, text, in_hex(in, len, other, text));
	/* It may begin at any of three places of a group. */
	for (size_t skip = 0; skip < 3 && good; skip++)
		good = add(r, text, in_base64(in, len, skip, "+/", text)) &&
		       add(r, text, in_base64(in, len, skip, "-_", text));
	explicit_bzero(text, sizeof(text));
	return good;
}

struct redact *redact_new(const struct secret_set *s)
{
	struct redact *r = calloc(1, sizeof(*r));
	bool good = r;

	for (unsigned i = 0; good && i < s->n; i++)
		good = add_forms(r, &s->list[i]);
	if (good)
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
	explicit_bzero(r->held, sizeof(r->held));
	free(r);
}

bool redact_whole(const struct redact *r, char *text, size_t len)
{
	bool any = false;

	for (unsigned i = 0; i < r->n; i++) {
		char *at = text;
		size_t left = len;

		while ((at = memmem(at, left, r->form[i].text, r->form[i].len))) {
			memset(at, '*', r->form[i].len);
			left = len - (size_t)(at - text);
			any = true;
		}
	}
	return any;
}

/* How many bytes at the end could be the beginning of one. */
static size_t begun(const struct redact *r, const char *text, size_t len)
{
	size_t most = r->longest ? r->longest - 1 : 0;

	for (size_t n = len < most ? len : most; n > 0; n--)
		for (unsigned i = 0; i < r->n; i++)
			if (n < r->form[i].len && memcmp(text + len - n, r->form[i].text, n) == 0)
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
