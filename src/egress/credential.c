/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names under which clients send keys. Towards a host for which the gate has one, none of their own gets
 * through: it could be an attacker's, to have what is done land in his account. Every product has a name
 * of its own for it, so names are read by their words: what ends with `token` is one, unless the word in
 * front says that it leads to the next page.
 */
#include "egress/credential.h"

#include <ctype.h>
#include <string.h>

#include "http/target.h"

#define NAME_MAX_LEN 128u /* of a longer one its end */
#define KEY_MIN 20u	  /* shorter ones of ?key= are something else */

/* A name in lower case: by its words, and without what stands between them. */
struct words {
	char all[NAME_MAX_LEN + 1], last[NAME_MAX_LEN + 1], before[NAME_MAX_LEN + 1];
};

/* However words are put together: apiKey, api_key, X-Rapidapi-Key. */
static const char *const ends[] = {
	"apikey",	 "appkey",	    "applicationkey", "authkey",      "accesskey",
	"secretkey",	 "subscriptionkey", "functionskey",   "accesstoken",  "apitoken",
	"authtoken",	 "usertoken",	    "privatetoken",   "refreshtoken", "sessiontoken",
	"securitytoken", "bearertoken",	    "clientsecret",   "appsecret",    "apisecret",
	"authorization",
};

/* What a name ends with, as a word. */
static const char *const of_fields[] = {
	"authorization", "authentication", "auth",	 "token",	"key", "secret",
	"password",	 "passwd",	   "credential", "credentials", "jwt", "assertion",
	"bearer",	 "cookie",	   "cookie2",	 "signature",
};
static const char *const of_parameters[] = {
	"auth",		  "authorization",  "bearer", "jwt",
	"secret",	  "password",	    "passwd", "pwd",
	"token",	  "signature",	    "sig",    "credential",
	"awsaccesskeyid", "googleaccessid",
};

/* Words in front of `token` and `key` that make something else of them. */
static const char *const harmless[] = {
	"page",	       "next",	     "prev",	 "previous",  "continuation", "continue",
	"sync",	       "cursor",     "resume",	 "start",     "scroll",	      "skip",
	"pagination",  "csrf",	     "xsrf",	 "cache",     "websocket",    "surrogate",
	"idempotency", "encryption", "customer", "partition", "sort",	      "row",
	"primary",     "routing",    "message",	 "object",    "dedup",	      "deduplication",
	"group",
};

static bool is_among(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], word) == 0)
			return true;
	return false;
}

#define AMONG(list, word) is_among(list, sizeof(list) / sizeof((list)[0]), word)

static void read_words(const char *name, size_t len, struct words *ret)
{
	size_t all = 0, last = 0;

	memset(ret, 0, sizeof(*ret));
	if (len > NAME_MAX_LEN) {
		name += len - NAME_MAX_LEN;
		len = NAME_MAX_LEN;
	}
	for (size_t i = 0; i < len; i++) {
		char c = (char)tolower((unsigned char)name[i]);

		if (!isalnum((unsigned char)c))
			continue;
		if (i > 0 && !isalnum((unsigned char)name[i - 1]) && last > 0) {
			memcpy(ret->before, ret->last, last);
			ret->before[last] = '\0';
			last = 0;
		}
		ret->all[all++] = c;
		ret->last[last++] = c;
		ret->last[last] = '\0';
	}
}

static bool has_end(const struct words *w)
{
	size_t len = strlen(w->all);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(ends[i]);

		if (len >= n && memcmp(w->all + len - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_harmless(const struct words *w)
{
	if (strcmp(w->last, "token") == 0 || strcmp(w->last, "key") == 0)
		return AMONG(harmless, w->before);
	/* Is for a proxy, and never passed on. */
	return strcmp(w->last, "authorization") == 0 && strcmp(w->before, "proxy") == 0;
}

static bool says_one(const struct words *w, bool is_named)
{
	return !is_harmless(w) && (is_named || has_end(w));
}

bool credential_is_field(const struct http_field *f)
{
	struct words w;

	read_words(f->name, f->name_len, &w);
	return says_one(&w, AMONG(of_fields, w.last));
}

/* Is what ?key= says a key? A path is none, nor the digest of something. */
static bool is_key(const char *value, size_t len)
{
	bool is_hex = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (!isalnum(c) && c != '-' && c != '_')
			return false;
		is_hex &= isxdigit(c) != 0;
	}
	return len >= KEY_MIN && !is_hex;
}

bool credential_is_param(const struct http_param *p)
{
	char name[NAME_MAX_LEN + 1];
	struct words w;

	if (http_decode(p->name, p->name_len, true, name, sizeof(name)) < 0)
		return false;
	read_words(name, strlen(name), &w);
	if (strcmp(w.all, "key") == 0)
		return p->value && is_key(p->value, p->value_len);
	return says_one(&w, AMONG(of_parameters, w.last));
}
