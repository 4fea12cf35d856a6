/* SPDX-License-Identifier: Apache-2.0 */
/* What of a command looks like a secret by itself, and which names say that one follows. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "ledger/redact_int.h"

#define LONG 16 /* letters of a piece that may be a key */

/* Names and options that are too short to be looked for anywhere: a part of their own, between
 * signs. */
bool redact_has_part(const char *p, size_t len)
{
	static const char *const parts[] = {"pass", "pwd",	"auth",	 "passphrase",
					    "pw",   "passcode", "cookie"};
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
bool redact_is_noise(const char *p, size_t len)
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
size_t redact_key(const char *p, const char *end, size_t *ret_keep)
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
