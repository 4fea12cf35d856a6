/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/secret.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "egress/credential.h"
#include "egress/hold.h"
#include "http/target.h"

#define BASIC "Basic "
#define USER_MAX 128u
#define PAIR_MAX (USER_MAX + 1 + SECRET_VALUE_MAX)
#define BASE64_SIZE(n) (((n) + 2) / 3 * 4 + 1)

bool secret_is_name(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n >= SECRET_NAME_SIZE || isdigit((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
}

bool secret_is_value(const char *value, size_t len)
{
	if (len < SECRET_VALUE_MIN || len > SECRET_VALUE_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < 0x21 && value[i] != ' ')
			return false;
	return value[0] != ' ' && value[len - 1] != ' ' && !memchr(value, 0x7f, len);
}

void secret_mark(const uint8_t random[SECRET_RANDOM], char ret[SECRET_MARK_LEN + 1])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	char *at = ret + sizeof(SECRET_MARK) - 1;

	memcpy(ret, SECRET_MARK, sizeof(SECRET_MARK) - 1);
	for (unsigned bit = 0; bit < SECRET_RANDOM * 8; bit += 5) {
		unsigned pair = (unsigned)random[bit / 8] << 8 |
				(bit / 8 + 1 < SECRET_RANDOM ? random[bit / 8 + 1] : 0);

		*at++ = digits[pair >> (11 - bit % 8) & 31];
	}
	*at = '\0';
	assert(at == ret + SECRET_MARK_LEN);
}

bool secret_set_is_good(const struct secret_set *s)
{
	if (s->magic != SECRET_SET_MAGIC || s->n > SECRET_SET_MAX)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		const struct secret *one = &s->list[i];

		if (!memchr(one->name, '\0', sizeof(one->name)) || !secret_is_name(one->name) ||
		    strnlen(one->placeholder, sizeof(one->placeholder)) != SECRET_MARK_LEN ||
		    !secret_is_value(one->value, one->len))
			return false;
	}
	return true;
}

const struct secret *secret_find(const struct secret_set *s, const char *name)
{
	for (unsigned i = 0; s && i < s->n; i++)
		if (strcmp(s->list[i].name, name) == 0)
			return &s->list[i];
	return NULL;
}

static size_t base64(const char *in, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)in;
	char *at = out;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned n = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0);

		*at++ = digits[n >> 18];
		*at++ = digits[n >> 12 & 63];
		*at++ = left > 1 ? digits[n >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[n & 63] : '=';
	}
	*at = '\0';
	return (size_t)(at - out);
}

/* "user:text" as basic auth has it. Its length, 0: too long. */
static size_t pair64(const char *user, const char *text, size_t len,
		     char out[BASE64_SIZE(PAIR_MAX)])
{
	char pair[PAIR_MAX + 1];
	size_t n = strlen(user);

	if (n > USER_MAX || len > SECRET_VALUE_MAX)
		return 0;
	memcpy(pair, user, n);
	pair[n] = ':';
	memcpy(pair + n + 1, text, len);
	size_t all = base64(pair, n + 1 + len, out);
	explicit_bzero(pair, sizeof(pair));
	return all;
}

static bool equal(const struct http_field *f, const char *front, const char *text)
{
	size_t n = strlen(front), m = strlen(text);

	return f->value_len == n + m && strncasecmp(f->value, front, n) == 0 &&
	       memcmp(f->value + n, text, m) == 0;
}

/* For any reader: one that makes variables of fields would take x_api_key for x-api-key. */
static bool is_named(const struct http_field *f, const char *name)
{
	return http_field_reads_as(f, name);
}

/* Does the injection write this field? */
static bool writes(const struct egress_inject *in, const struct http_field *f)
{
	return (in->where == EGRESS_HEADER && is_named(f, in->key)) ||
	       (in->where == EGRESS_BASIC && is_named(f, "authorization"));
}

/* The client's own field, in the place of one that is injected, has the placeholder and no more. */
static bool stands_for(const struct egress_inject *in, const struct secret *one,
		       const struct http_field *f)
{
	char pair[BASE64_SIZE(PAIR_MAX)];

	if (in->where == EGRESS_HEADER)
		return equal(f, in->prefix, one->placeholder) || equal(f, "", one->placeholder) ||
		       equal(f, "Bearer ", one->placeholder);
	return pair64(in->key, one->placeholder, SECRET_MARK_LEN, pair) && equal(f, BASIC, pair);
}

static enum secret_finding check_field(const struct secret_set *s, const struct http_field *f,
				       const struct egress_verdict *v)
{
	const struct egress_inject *in = v->inject;

	for (unsigned i = 0; i < v->n_inject; i++)
		if (writes(&in[i], f))
			return stands_for(&in[i], secret_find(s, in[i].secret), f) ? SECRET_FINE
										   : SECRET_FOREIGN;
	if (mark_in(f->value, f->value_len) || mark_in(f->name, f->name_len))
		return SECRET_STRAY;
	return v->is_brokered && credential_is_field(f) ? SECRET_FOREIGN : SECRET_FINE;
}

static const struct egress_inject *of_param(const struct egress_inject *in, unsigned n,
					    const struct http_param *p)
{
	char name[USER_MAX + 1];

	if (http_decode(p->name, p->name_len, true, name, sizeof(name)) < 0)
		return NULL;
	name[strcspn(name, "[")] = '\0'; /* key[]=a is another key to many */
	for (unsigned i = 0; i < n; i++)
		if (in[i].where == EGRESS_QUERY && strcasecmp(in[i].key, name) == 0)
			return &in[i];
	return NULL;
}

static enum secret_finding check_query(const struct secret_set *s, const struct http_target *t,
				       const struct egress_verdict *v, bool splits_more)
{
	struct http_query q;
	struct http_param p;

	http_query_init(&q, t);
	q.splits_more = splits_more;
	while (http_query_next(&q, &p)) {
		const struct egress_inject *one = of_param(v->inject, v->n_inject, &p);
		const struct secret *it = one ? secret_find(s, one->secret) : NULL;

		if (it && (p.value_len != SECRET_MARK_LEN ||
			   memcmp(p.value, it->placeholder, SECRET_MARK_LEN) != 0))
			return SECRET_FOREIGN;
		if (!it &&
		    (mark_in(p.name, p.name_len) || (p.value && mark_in(p.value, p.value_len))))
			return SECRET_STRAY;
		if (!it && v->is_brokered && credential_is_param(&p))
			return SECRET_FOREIGN;
	}
	return SECRET_FINE;
}

static enum secret_finding check_target(const struct secret_set *s, const struct http_head *h,
					const struct egress_verdict *v)
{
	struct http_target t;

	http_target_split(h, &t);
	if (mark_in(t.path ? t.path : "", t.path_len))
		return SECRET_STRAY;
	enum secret_finding found = check_query(s, &t, v, false);
	/* As servers read it that take ; for &. */
	return found == SECRET_FINE ? check_query(s, &t, v, true) : found;
}

enum secret_finding secret_check(const struct secret_set *s, const struct http_head *h,
				 const struct egress_verdict *v, uint64_t now_ms,
				 const char **ret_why)
{
	static const char *const why[] = {
		[SECRET_FINE] = "",
		[SECRET_FOREIGN] =
			"a credential of its own towards a host for which the gate has one",
		[SECRET_STRAY] = "the placeholder of a secret where none belongs",
		[SECRET_GONE] = "the secret of the rule is not there, or its time is over",
	};
	enum secret_finding found = SECRET_FINE;

	for (unsigned i = 0; i < v->n_inject && found == SECRET_FINE; i++) {
		const struct secret *one = secret_find(s, v->inject[i].secret);

		if (!one || (one->expires_ms && one->expires_ms <= now_ms))
			found = SECRET_GONE;
	}
	if (found == SECRET_FINE)
		found = check_target(s, h, v);
	for (unsigned i = 0; i < h->n_fields && found == SECRET_FINE; i++)
		found = check_field(s, &h->fields[i], v);
	if (!HOLD_GATE_FOREIGN && found == SECRET_FOREIGN)
		found = SECRET_FINE;
	*ret_why = why[found];
	return found;
}

bool secret_drops(const struct http_field *f, const struct egress_inject *in, unsigned n)
{
	static const char *const ways[] = {
		"accept-encoding", "grpc-accept-encoding", "connect-accept-encoding", "range",
		"if-range",	   "accept-charset"};

	for (unsigned i = 0; i < n; i++)
		if (writes(&in[i], f))
			return true;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (is_named(f, ways[i]))
			return true;
	return false;
}

void secret_put(const struct secret_set *s, const struct egress_inject *in, unsigned n,
		struct http_out *o)
{
	char text[sizeof(BASIC) + BASE64_SIZE(PAIR_MAX)], pair[BASE64_SIZE(PAIR_MAX)];

	for (unsigned i = 0; i < n; i++) {
		const struct secret *one = secret_find(s, in[i].secret);

		assert(one);
		if (in[i].where == EGRESS_HEADER) {
			(void)snprintf(text, sizeof(text), "%.128s%.*s", in[i].prefix,
				       (int)one->len, one->value);
			http_out_field(o, in[i].key, text);
		} else if (in[i].where == EGRESS_BASIC &&
			   pair64(in[i].key, one->value, one->len, pair)) {
			(void)snprintf(text, sizeof(text), BASIC "%s", pair);
			http_out_field(o, "Authorization", text);
		}
	}
	explicit_bzero(text, sizeof(text));
	explicit_bzero(pair, sizeof(pair));
}

struct writer {
	char *out;
	size_t len, size;
	bool full;
};

static void put(struct writer *w, const char *text, size_t len)
{
	if (w->full || w->size - w->len <= len) {
		w->full = true;
		return;
	}
	memcpy(w->out + w->len, text, len);
	w->len += len;
}

static void put_escaped(struct writer *w, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char escape[4];

		if (isalnum((unsigned char)text[i]) || (text[i] && strchr("-._~", text[i]))) {
			put(w, text + i, 1);
			continue;
		}
		(void)snprintf(escape, sizeof(escape), "%%%02X", (unsigned char)text[i]);
		put(w, escape, 3);
	}
}

int secret_target(const struct secret_set *s, const struct http_head *h,
		  const struct egress_inject *in, unsigned n, char *out, size_t size)
{
	struct writer w = {out, 0, size, false};
	struct http_target t;
	struct http_query q;
	struct http_param p;
	char front = '?';

	http_target_split(h, &t);
	put(&w, t.path_len ? t.path : "/", t.path_len ? t.path_len : 1);
	http_query_init(&q, &t);
	while (http_query_next(&q, &p)) {
		if (of_param(in, n, &p))
			continue; /* it comes again below, with its value */
		put(&w, &front, 1);
		put(&w, p.name, p.name_len);
		if (p.value) {
			put(&w, "=", 1);
			put(&w, p.value, p.value_len);
		}
		front = '&';
	}
	for (unsigned i = 0; i < n; i++) {
		const struct secret *one = secret_find(s, in[i].secret);

		if (in[i].where != EGRESS_QUERY || !one)
			continue;
		put(&w, &front, 1);
		put_escaped(&w, in[i].key, strlen(in[i].key));
		put(&w, "=", 1);
		put_escaped(&w, one->value, one->len);
		front = '&';
	}
	return w.full ? -1 : (int)w.len;
}
