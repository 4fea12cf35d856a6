/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONG 16 /* letters of a piece that may be a key */

struct out {
	char *text;
	size_t len, size;
	bool full;
};

static void put(struct out *o, const char *data, size_t len)
{
	static const char more[] = "\xe2\x80\xa6";

	if (o->full)
		return;
	if (o->len + len + sizeof(more) > o->size) {
		o->full = true;
		/* Never the beginning of a character without its end. */
		while (o->len + sizeof(more) > o->size ||
		       (o->len && ((unsigned char)o->text[o->len - 1] & 0x80)))
			o->len--;
		data = more;
		len = sizeof(more) - 1;
	}
	memcpy(o->text + o->len, data, len);
	o->len += len;
}

static bool names_secret(const char *p, size_t len)
{
	static const char *const parts[] = {"passw",	    "secret",	   "token",
					    "credential",   "apikey",	   "api-key",
					    "api_key",	    "access-key",  "access_key",
					    "private-key",  "private_key", "bearer",
					    "authorization"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (size_t at = 0; at + strlen(parts[i]) <= len; at++)
			if (strncasecmp(p + at, parts[i], strlen(parts[i])) == 0)
				return true;
	return false;
}

/* Letters and digits through each other: nobody's word. */
static bool is_noise(const char *p, size_t len)
{
	unsigned digits = 0, letters = 0, turns = 0;

	if (len < LONG)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool digit = isdigit((unsigned char)p[i]);

		digits += digit;
		letters += !digit;
		turns += i > 0 && digit != (isdigit((unsigned char)p[i - 1]) != 0);
	}
	return digits >= 3 && letters >= 2 && turns >= 3;
}

static bool is_piece(char c)
{
	return isalnum((unsigned char)c);
}

/* Its pieces, each as it is or replaced. A name in front of = or : says what the rest is. */
static void put_pieces(struct out *o, const char *p, const char *end)
{
	while (p < end) {
		const char *stop = p;

		while (stop < end && is_piece(*stop))
			stop++;
		if (is_noise(p, (size_t)(stop - p)))
			put(o, REDACTED, sizeof(REDACTED) - 1);
		else
			put(o, p, (size_t)(stop - p));
		if (stop < end)
			put(o, stop++, 1);
		p = stop;
	}
}

/* Where the value begins that a name in front of it makes a secret; NULL: nowhere. */
static const char *secret_value(const char *p, const char *end)
{
	const char *at = p;

	for (; at < end; at++)
		if ((*at == '=' || *at == ':') && names_secret(p, (size_t)(at - p)))
			return at + 1;
	return NULL;
}

/* A run without blanks and quotes, as a shell would take it. */
static void put_run(struct out *o, const char *p, const char *end, bool *secret_next)
{
	const char *scheme = memmem(p, (size_t)(end - p), "://", 3);
	const char *value = scheme ? NULL : secret_value(p, end);

	if (*secret_next && p < end && *p != '-') {
		put(o, REDACTED, sizeof(REDACTED) - 1);
		*secret_next = names_secret(p, (size_t)(end - p)); /* "Authorization: Bearer x" */
		return;
	}
	*secret_next = !scheme && names_secret(p, (size_t)(end - p)) && (!value || value == end);
	if (value && value < end) {
		put(o, p, (size_t)(value - p));
		put(o, REDACTED, sizeof(REDACTED) - 1);
		return;
	}
	if (!scheme) {
		put_pieces(o, p, end);
		return;
	}
	const char *host = scheme + 3, *slash = memchr(host, '/', (size_t)(end - host));
	const char *user = memrchr(host, '@', (size_t)((slash ? slash : end) - host));
	const char *query = memchr(host, '?', (size_t)(end - host));
	put(o, p, (size_t)(host - p));
	if (user) {
		put(o, REDACTED "@", sizeof(REDACTED));
		host = user + 1;
	}
	put_pieces(o, host, query ? query : end);
	if (query)
		put(o, "?" REDACTED, sizeof(REDACTED));
}

size_t redact(const char *word, bool *secret_next, char *ret, size_t size)
{
	static const char apart[] = " \t\n\"'`;|&()<>,";
	struct out o = {.text = ret, .size = size};

	while (*word) {
		size_t n = strcspn(word, apart);

		if (n)
			put_run(&o, word, word + n, secret_next);
		word += n;
		n = strspn(word, apart);
		put(&o, word, n);
		word += n;
	}
	ret[o.len] = '\0';
	return o.len;
}
