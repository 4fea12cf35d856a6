/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A word of a command is taken apart as a shell, JSON or a program would do it: runs of letters with
 * blanks, quotes and signs between them. A name that says so makes a secret of what follows it, up
 * to where its quotes close or the command ends.
 */
#include "ledger/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hold.h"
#include "ledger/redact_int.h"

#define DEPTH 8 /* quotes in quotes */

struct out {
	char *text;
	size_t len, size;
	bool full;
};

/* One that is open: its sign, with the backslash that it may have. */
struct quote {
	char sign;
	bool escaped;
	const char *inside; /* the first behind it */
};

struct walk {
	struct out o;
	const char *word, *end;
	struct redact_state *s;
	struct quote open[DEPTH];
	unsigned depth;
	bool joined; /* since the name there was a sign that a value follows */
	bool list;   /* of secrets */
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

static void put_redacted(struct out *o)
{
	put(o, REDACTED, sizeof(REDACTED) - 1);
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* What is never within a run; \0 is behind every word. */
static bool is_apart(char c)
{
	return is_blank(c) || is_quote(c) || memchr(";|&()<>,", c, 9) != NULL;
}

static struct quote quote_at(const struct walk *w, const char *p)
{
	return (struct quote){*p, p > w->word && p[-1] == '\\', p + 1};
}

static bool is_same(const struct quote *a, const struct quote *b)
{
	return a->sign == b->sign && a->escaped == b->escaped;
}

/* How deep it is open; 0: it is not. */
static unsigned depth_of(const struct walk *w, const struct quote *q)
{
	for (unsigned i = w->depth; i > 0; i--)
		if (is_same(&w->open[i - 1], q))
			return i;
	return 0;
}

/* Where it closes, with its backslash; the end, if it does not. */
static const char *closing(const struct walk *w, const struct quote *q)
{
	for (const char *p = q->inside; (p = memchr(p, q->sign, (size_t)(w->end - p))); p++) {
		const struct quote other = quote_at(w, p);

		if (is_same(q, &other))
			return p - q->escaped;
	}
	return w->end;
}

/* A quote, or the apostrophe of a word. */
static void pass_quote(struct walk *w, const char *p)
{
	const struct quote q = quote_at(w, p);
	unsigned at = depth_of(w, &q);
	bool within = p > w->word && isalpha((unsigned char)p[-1]) &&
		      isalpha((unsigned char)p[1]) && !w->s->secret;

	if (at)
		w->depth = at - 1;
	else if (w->depth < DEPTH && !(within && *p == '\''))
		w->open[w->depth++] = q;
}

/* The quote that begins right before p; NULL: there is none. */
static const struct quote *quote_before(const struct walk *w, const char *p)
{
	const struct quote *q = w->depth ? &w->open[w->depth - 1] : NULL;

	return q && q->inside == p ? q : NULL;
}

/* How far a secret goes that begins at `from`, in or behind the run that begins at `run`. */
static const char *extent(const struct walk *w, const char *run, const char *from, bool is_option)
{
	const struct quote *q = quote_before(w, run);

	if (q)
		return closing(w, q);
	if (is_option && run == w->word)
		return w->end;
	for (const char *at = from; at < w->end; at++) {
		if (*at == '\\' && at + 1 < w->end && is_blank(at[1])) {
			at++;
		} else if (is_quote(*at)) {
			const struct quote inner = quote_at(w, at);

			if (depth_of(w, &inner))
				return at - inner.escaped;
			at = closing(w, &inner) + inner.escaped;
		} else if (is_apart(*at) && *at != ',') {
			return at;
		}
	}
	return w->end;
}

/* Its pieces, each as it is or replaced. */
static void put_pieces(struct out *o, const char *p, const char *end)
{
	for (bool fresh = true; p < end; fresh = false) {
		const char *stop = p;
		size_t keep = 0;
		size_t key =
			fresh || !isalnum((unsigned char)p[-1]) ? redact_key(p, end, &keep) : 0;

		if (key) {
			put(o, p, keep);
			put_redacted(o);
			p += key;
			continue;
		}
		while (stop < end && isalnum((unsigned char)*stop))
			stop++;
		if (redact_is_noise(p, (size_t)(stop - p)))
			put_redacted(o);
		else
			put(o, p, (size_t)(stop - p));
		if (stop < end)
			put(o, stop++, 1);
		p = stop;
	}
}

static bool is(const char *p, const char *end, const char *text)
{
	return (size_t)(end - p) == strlen(text) && strncasecmp(p, text, strlen(text)) == 0;
}

static bool begins(const char *p, const char *end, const char *text)
{
	return (size_t)(end - p) > strlen(text) && memcmp(p, text, strlen(text)) == 0;
}

static bool is_one_of(const char *p, const char *end, const char *const *list)
{
	for (; *list; list++)
		if (is(p, end, *list))
			return true;
	return false;
}

/* Where the value begins that a name in front of it makes a secret; NULL: nowhere. */
static const char *secret_value(const char *p, const char *end)
{
	for (const char *at = p; at < end; at++) {
		if (*at != '=' && *at != ':')
			continue;
		if (redact_names(p, (size_t)(at - p)) || is(p, at + 1, "cookie:") ||
		    (at + 1 < end && redact_has_part(p, (size_t)(at - p))))
			return at + 1;
	}
	return NULL;
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

/* By the word before, or by its option: where the password begins, or NULL. */
static const char *told(const char *p, const char *end, struct redact_state *s)
{
	static const char *const users[] = {"-u", "--user", "--proxy-user", NULL};
	const char *password = password_of(p, end, s->user);

	s->user = is_one_of(p, end, users);
	if (s->client && begins(p, end, "-p") && p[2] != '-')
		password = p + 2;
	s->secret |= s->client && is(p, end, "-p");
	s->client = s->client || is_client(p, end);
	return password;
}

static const char *past_blanks(const char *p)
{
	while (is_blank(*p))
		p++;
	return p;
}

/* Does "= value" or ": value" come behind a run, or behind the quotes that it has? */
static bool is_assigned(const char *end, bool *ret_quoted)
{
	*ret_quoted = is_quote(*end);
	end = past_blanks(end + *ret_quoted);
	return *end == '=' || *end == ':';
}

/* $NAME and ${NAME} are no secrets, and what comes behind them is none for their sake. */
static bool is_reference(const char *p, const char *end)
{
	bool quoted;

	if (end - p < 2 || *p != '$' || is_assigned(end, &quoted))
		return false;
	for (p++; p < end; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '{' && *p != '}')
			return false;
	return true;
}

/* Is what follows a run a secret? Not behind a path or what ends an element of XML. */
static bool announces(const char *p, const char *end)
{
	size_t len = (size_t)(end - p);
	bool quoted = false, assigned = is_assigned(end, &quoted);

	if (*p == '/')
		return false;
	if (redact_names(p, len))
		return true;
	if (end[-1] == ':') /* of an object: {pass: "x"} */
		assigned = is_quote(*past_blanks(end));
	/* PWD alone is where somebody is. */
	return (*p == '-' || assigned) &&
	       (redact_has_part(p, len) || (quoted && is(p, end, "pwd")));
}

/* Signs and words between a name and its secret. */
static bool joins(const char *p, const char *end)
{
	static const char *const others[] = {"!=", "=~", "+=", "?=", "-", "is", "was", NULL};

	for (const char *at = p; at < end; at++)
		if (!memchr("=:[]{}\\", *at, 7))
			return is_one_of(p, end, others);
	return true;
}

/* Of "Authorization: Bearer abc" it is the second word. */
static bool is_scheme(const char *p, const char *end)
{
	static const char *const schemes[] = {"basic", "digest", "negotiate", "ntlm", NULL};

	return is_one_of(p, end, schemes) ||
	       (*p != '$' && redact_names(p, (size_t)(end - p)) && !secret_value(p, end));
}

/* A run with a name and its value; or with a name at its end, whose value follows. "X-Token: a b" has
 * quotes around both, or is a word of its own. */
static const char *put_value(struct walk *w, const char *p, const char *value, const char *end)
{
	const struct quote *q = quote_before(w, p);
	bool is_header = value == end && value[-1] == ':' && is_blank(*end) && *p != '-';

	put(&w->o, p, (size_t)(value - p));
	if (value < end || (is_header && (q || p == w->word))) {
		put(&w->o, " ", is_header);
		put_redacted(&w->o);
		return q ? closing(w, q) : is_header ? w->end : extent(w, p, value, !w->s->script);
	}
	w->s->secret = w->joined = true;
	return end;
}

/* In a URL, signs between runs may be part of a password or a query. */
static const char *put_url(struct walk *w, const char *p, const char *scheme, const char *end)
{
	const char *host = scheme + 3, *stop = end;

	while (stop < w->end && !is_blank(*stop) && !is_quote(*stop) && !memchr("<>|", *stop, 3))
		stop++;
	const char *slash = memchr(host, '/', (size_t)(stop - host));
	const char *user = memrchr(host, '@', (size_t)((slash ? slash : stop) - host));
	const char *query = memchr(host, '?', (size_t)(stop - host));
	if (!query && memchr(host, '=', (size_t)(stop - host)))
		query = memchr(host, '#', (size_t)(stop - host));
	if (!query && (!user || user < end))
		stop = end;
	put(&w->o, p, (size_t)(host - p));
	if (user) {
		put_redacted(&w->o);
		host = user;
	}
	put_pieces(&w->o, host, query ? query : stop);
	if (query) {
		put(&w->o, query, 1);
		put_redacted(&w->o);
		while (stop > end && memchr(";&)", stop[-1], 3))
			stop--; /* the shell's */
	}
	return stop;
}

/* What a name before it makes a secret; returns where it ends. */
static const char *put_secret(struct walk *w, const char *p, const char *end)
{
	if (joins(p, end)) {
		bool ends = w->list && memchr(p, ']', (size_t)(end - p));

		put(&w->o, p, (size_t)(end - p));
		w->list = memchr(p, '[', (size_t)(end - p)) || (w->list && !ends);
		w->s->secret = w->list || !ends;
		w->joined = true;
		return end;
	}
	const char *stop = extent(w, p, p, false);
	put_redacted(&w->o);
	w->s->secret = w->list || is_scheme(p, end);
	return stop;
}

static const char *put_run(struct walk *w, const char *p, const char *end)
{
	struct redact_state *s = w->s;
	const char *scheme = memmem(p, (size_t)(end - p), "://", 3), *value, *password;

	if (s->secret && (*p != '-' || joins(p, end)))
		return put_secret(w, p, end);
	s->secret = w->joined = w->list = false;
	if (is_reference(p, end)) {
		s->user = false;
		put(&w->o, p, (size_t)(end - p));
		return end;
	}
	if (scheme)
		return put_url(w, p, scheme, end);
	value = secret_value(p, end);
	if (value)
		return put_value(w, p, value, end);
	s->secret = announces(p, end);
	password = told(p, end, s);
	if (password) {
		s->secret = false;
		put(&w->o, p, (size_t)(password - p));
		put_redacted(&w->o);
		return extent(w, p, password, true);
	}
	put_pieces(&w->o, p, end);
	return end;
}

/* Is the secret that is waited for in these quotes? What has only signs in it is not. */
static bool has_secret(const struct walk *w, const struct quote *q)
{
	for (const char *p = q->inside, *end = closing(w, q); p < end; p++)
		if (!is_apart(*p) && !memchr("=:[]{}\\", *p, 7))
			return true;
	return false;
}

/* One sign between runs. Those that end a command end the waiting for a secret. */
static const char *put_apart(struct walk *w, const char *p)
{
	bool waits = w->s->secret, xml = p > w->word && !is_apart(p[-1]);

	put(&w->o, p, 1);
	if (is_quote(*p)) {
		unsigned before = w->depth;

		pass_quote(w, p);
		const struct quote *q = w->depth > before ? quote_before(w, p + 1) : NULL;
		if (!waits || !q || !has_secret(w, q))
			return p + 1;
		put_redacted(&w->o);
		w->s->secret = w->list;
		return closing(w, q);
	}
	if (*p == ',' || *p == '(')
		w->joined = true;
	else if (memchr(";|&)<", *p, 5) || (*p == '>' && !xml) || (*p == '\n' && !w->joined))
		w->s->secret = false;
	return p + 1;
}

size_t redact(const char *word, struct redact_state *s, char *ret, size_t size)
{
	struct walk w = {.o = {.text = ret, .size = size}, .word = word, .s = s};
	const char *p = word;

	w.end = word + strlen(word);
	if (!HOLD_RECORD_REDACT) {
		put(&w.o, word, strlen(word));
		p = w.end;
	} else if (s->secret && *word != '-') {
		/* The word before was the name of all of this one. */
		put_redacted(&w.o);
		s->secret = is_scheme(word, w.end);
		p = w.end;
	}
	while (p < w.end && !w.o.full) {
		const char *stop = p;

		while (!is_apart(*stop))
			stop++;
		p = stop > p ? put_run(&w, p, stop) : put_apart(&w, p);
	}
	/* sh -c, perl -ne */
	s->script = word[0] == '-' && word[1] != '-' && (w.end[-1] == 'c' || w.end[-1] == 'e');
	ret[w.o.len] = '\0';
	return w.o.len;
}
