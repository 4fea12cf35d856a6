/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hold.h"

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

/* Names and options that are too short to be looked for anywhere: a part of their own, between
 * signs. */
static bool has_part(const char *p, size_t len)
{
	static const char *const parts[] = {"pass", "pwd", "auth", "passphrase", "pw"};
	static const char *const innocent[] = {"bypass", "compass", "encompass", "surpass"};

	for (size_t at = 0; at < len;) {
		size_t n = 0;

		while (at + n < len && isalnum((unsigned char)p[at + n]))
			n++;
		for (size_t i = 0; n && i < sizeof(parts) / sizeof(*parts); i++)
			/* PWD alone is where somebody is. */
			if (n == strlen(parts[i]) && strncasecmp(p + at, parts[i], n) == 0 &&
			    (n < len || strncasecmp(p, "pw", 2) != 0))
				return true;
		bool harmless = n < 4 || strncasecmp(p + at + n - 4, "pass", 4) != 0;
		for (size_t i = 0; !harmless && i < sizeof(innocent) / sizeof(*innocent); i++)
			harmless = n == strlen(innocent[i]) &&
				   strncasecmp(p + at, innocent[i], n) == 0;
		if (!harmless)
			return true;
		at += n + 1;
	}
	return false;
}

bool redact_names(const char *p, size_t len)
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

/* How often it goes from small letters to large ones, to digits, to others. */
static unsigned turns_of(const char *p, size_t len)
{
	unsigned n = 0;

	for (size_t i = 1; i < len; i++) {
		unsigned char a = (unsigned char)p[i - 1], b = (unsigned char)p[i];

		n += !islower(a) != !islower(b) || !isupper(a) != !isupper(b) ||
		     !isdigit(a) != !isdigit(b);
	}
	return n;
}

static size_t span(const char *p, const char *end, const char *more)
{
	const char *at = p;

	while (at < end && (isalnum((unsigned char)*at) || strchr(more, *at)))
		at++;
	return (size_t)(at - p);
}

/* Keys that say by their beginning what they are. How much of it is one; *ret_keep: what may
 * stay. */
static size_t known_key(const char *p, const char *end, size_t *ret_keep)
{
	static const struct {
		const char *prefix, *more; /* letters beside letters and digits */
		size_t least;		   /* behind the prefix */
	} keys[] = {
		{"AKIA", "", 12},   {"ASIA", "", 12},	{"sk-", "-_", 16},
		{"ghp_", "", 16},   {"gho_", "", 16},	{"ghu_", "", 16},
		{"ghs_", "", 16},   {"ghr_", "", 16},	{"github_pat_", "_", 16},
		{"xoxb-", "-", 10}, {"xoxp-", "-", 10}, {"xoxa-", "-", 10},
		{"xoxr-", "-", 10}, {"xoxs-", "-", 10}, {"glpat-", "-_", 10},
		{"eyJ", "-_.", 24}, {"AIza", "-_", 30}, {"npm_", "", 30},
		{"hf_", "", 24},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i].prefix);

		if ((size_t)(end - p) < n || memcmp(p, keys[i].prefix, n) != 0)
			continue;
		size_t len = span(p + n, end, keys[i].more);
		/* "sk-learn-extra-modules" are words. */
		if (len >= keys[i].least && turns_of(p + n, len) > 4) {
			*ret_keep = n;
			return n + len;
		}
		if (keys[i].prefix[0] == 'A' && len >= keys[i].least) {
			*ret_keep = n;
			return n + len;
		}
	}
	/* Forty of base64, as clouds have them. */
	size_t len = span(p, end, "+/");
	*ret_keep = 0;
	return len == 40 && *p != '/' && turns_of(p, len) >= 12 ? len : 0;
}

static bool is_piece(char c)
{
	return isalnum((unsigned char)c);
}

/* Its pieces, each as it is or replaced. A name in front of = or : says what the rest is. */
static void put_pieces(struct out *o, const char *p, const char *end)
{
	for (bool fresh = true; p < end; fresh = false) {
		const char *stop = p;
		size_t keep = 0, key = fresh || !is_piece(p[-1]) ? known_key(p, end, &keep) : 0;

		if (key) {
			put(o, p, keep);
			put(o, REDACTED, sizeof(REDACTED) - 1);
			p += key;
			continue;
		}
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

	for (; at < end; at++) {
		if (*at != '=' && *at != ':')
			continue;
		if (redact_names(p, (size_t)(at - p)) ||
		    (at + 1 < end && has_part(p, (size_t)(at - p))))
			return at + 1;
	}
	return NULL;
}

static bool is(const char *p, const char *end, const char *text)
{
	return (size_t)(end - p) == strlen(text) && memcmp(p, text, strlen(text)) == 0;
}

static bool begins(const char *p, const char *end, const char *text)
{
	return (size_t)(end - p) > strlen(text) && memcmp(p, text, strlen(text)) == 0;
}

/* The password of "user:password" behind -u or --user; numbers are ids. NULL: there is none. */
static const char *password_of(const char *p, const char *end, bool expected)
{
	static const char *const options[] = {"--user=", "--proxy-user=", "-u"};

	for (size_t i = 0; !expected && i < sizeof(options) / sizeof(*options); i++)
		if (begins(p, end, options[i])) {
			p += strlen(options[i]);
			expected = true;
		}
	const char *colon = expected ? memchr(p, ':', (size_t)(end - p)) : NULL;
	if (!colon || colon + 1 == end || colon == p || *p == '/')
		return NULL;
	for (const char *at = colon + 1; at < end; at++)
		if (!isdigit((unsigned char)*at))
			return colon + 1;
	return NULL;
}

/* Programs that take a password as -pPASSWORD. */
static bool is_client(const char *p, const char *end)
{
	static const char *const names[] = {"mysql", "mariadb", "sshpass"};
	const char *slash = memrchr(p, '/', (size_t)(end - p));

	p = slash ? slash + 1 : p;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if ((size_t)(end - p) >= strlen(names[i]) &&
		    memcmp(p, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* By the word before, or by its option. True: it was put. */
static bool put_told(struct out *o, const char *p, const char *end, struct redact_state *s)
{
	const char *password = password_of(p, end, s->user);

	s->user = is(p, end, "-u") || is(p, end, "--user") || is(p, end, "--proxy-user") ||
		  is(p, end, "-U");
	if (s->client && begins(p, end, "-p") && p[2] != '-')
		password = p + 2;
	s->client = s->client || is_client(p, end);
	if (!password)
		return false;
	put(o, p, (size_t)(password - p));
	put(o, REDACTED, sizeof(REDACTED) - 1);
	return true;
}

/* A run without blanks and quotes, as a shell would take it. */
static void put_run(struct out *o, const char *p, const char *end, struct redact_state *s)
{
	const char *scheme = memmem(p, (size_t)(end - p), "://", 3);
	const char *value = scheme ? NULL : secret_value(p, end);

	if (s->secret && p < end && *p != '-') {
		put(o, REDACTED, sizeof(REDACTED) - 1);
		s->secret = redact_names(p, (size_t)(end - p)); /* "Authorization: Bearer x" */
		return;
	}
	s->secret = !scheme &&
		    (redact_names(p, (size_t)(end - p)) ||
		     (*p == '-' && has_part(p, (size_t)(end - p)))) &&
		    (!value || value == end);
	if (!scheme && !value && put_told(o, p, end, s)) {
		s->secret = false;
		return;
	}
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

size_t redact(const char *word, struct redact_state *s, char *ret, size_t size)
{
	static const char apart[] = " \t\n\"'`;|&()<>,";
	struct out o = {.text = ret, .size = size};

	while (*word) {
		size_t n = strcspn(word, apart);

		if (!HOLD_RECORD_REDACT)
			put(&o, word, n);
		else if (n)
			put_run(&o, word, word + n, s);
		word += n;
		n = strspn(word, apart);
		put(&o, word, n);
		word += n;
	}
	ret[o.len] = '\0';
	return o.len;
}
