/* SPDX-License-Identifier: Apache-2.0 */
/* The chains of a data directory as one stream of events, and which of them are wanted. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/find.h"
#include "ledger/settle.h"

#define CHAINS_MAX 256u
#define LOOK_MS 50 /* how often one who follows looks */
#define INSTANT 24

struct source {
	struct scan *scan;
	struct scan_line line;
	bool any; /* `line` has one that is not told yet */
};

struct reader {
	const struct pinfold_audit_options *o;
	struct record_chain chain[CHAINS_MAX];
	struct source source[CHAINS_MAX];
	unsigned n;
};

static bool same(const struct value *v, const char *key, const char *want)
{
	const char *text = value_str(value_get(v, key));

	return !want || (text && strcmp(text, want) == 0);
}

/* "workspace" is all of its kinds. */
static bool is_kind(const struct value *v, const char *want)
{
	const char *kind = value_str(value_get(v, "kind"));
	size_t n = want ? strlen(want) : 0;

	return !want || (kind && strncmp(kind, want, n) == 0 && (!kind[n] || kind[n] == '.'));
}

static bool names_host(const struct value *v, const char *want)
{
	const struct value *list = value_get(value_get(v, "data"), "denials");

	for (size_t i = 0; want && i < value_len(list); i++) {
		const struct value *d = value_at(list, i);
		const char *what = value_str(value_get(d, "what"));

		if (what && same(d, "kind", "network") && strstr(what, want))
			return true;
	}
	return !want;
}

static bool names_path(const struct value *v, const char *want)
{
	const struct value *data = value_get(v, "data"), *list = value_get(data, "files");
	size_t n = want ? strlen(want) : 0;

	for (size_t i = 0; want && i < value_len(list); i++) {
		const char *path = value_str(value_get(value_at(list, i), "path"));

		if (path && strncmp(path, want, n) == 0 &&
		    (!path[n] || path[n] == '/' || (n && want[n - 1] == '/')))
			return true;
	}
	return !want || same(data, "path", want);
}

static bool is_wanted(const struct pinfold_audit_options *o, const struct scan_line *line)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;
	const char *at = find_time(line->text, line->len);
	struct event_head head;

	if (o->from && (!event_head(line->text, line->len, &head) || head.at < o->from))
		return false;
	if (!at || (o->since && memcmp(at, o->since, INSTANT) < 0) ||
	    (o->until && memcmp(at, o->until, INSTANT) >= 0))
		return false;
	if (!o->tenant && !o->workspace && !o->run && !o->kind && !o->host && !o->path &&
	    o->flags & PINFOLD_AUDIT_BEGINS)
		return true;
	if (value_parse(line->text, line->len, &v, &none) < 0)
		return false;
	if (!(o->flags & PINFOLD_AUDIT_BEGINS) && value_get(v, "phase") &&
	    same(v, "phase", "begin"))
		return false;
	return same(v, "tenant", o->tenant) && same(v, "workspace", o->workspace) &&
	       same(v, "run", o->run) && is_kind(v, o->kind) && names_host(v, o->host) &&
	       names_path(v, o->path);
}

/* The next wanted event of each chain; 1: there is one somewhere. */
static int fill(struct reader *r, struct err *e)
{
	int any = 0;

	for (unsigned i = 0; i < r->n; i++) {
		struct source *s = &r->source[i];
		int k = 1;

		while (!s->any && k > 0) {
			k = scan_next(s->scan, &s->line, e);
			s->any = k > 0 && is_wanted(r->o, &s->line);
		}
		if (k < 0)
			return err_wrap(e, "%s", r->chain[i].name);
		any |= s->any;
	}
	return any;
}

static unsigned earliest(const struct reader *r)
{
	unsigned best = r->n;
	const char *when = NULL;

	for (unsigned i = 0; i < r->n; i++) {
		const struct source *s = &r->source[i];
		const char *at = s->any ? find_time(s->line.text, s->line.len) : NULL;

		if (at && (!when || memcmp(at, when, INSTANT) < 0)) {
			best = i;
			when = at;
		}
	}
	return best;
}

static int tell(struct reader *r, pinfold_audit_fn *each, void *arg, struct err *e)
{
	for (;;) {
		int any = fill(r, e);

		if (any < 0)
			return any;
		if (!any && !(r->o->flags & PINFOLD_AUDIT_FOLLOW))
			return 0;
		if (!any) {
			if (each(NULL, 0, NULL, arg))
				return 0;
			(void)poll(NULL, 0, LOOK_MS);
			continue;
		}
		unsigned i = earliest(r);
		struct source *s = &r->source[i];
		s->any = false;
		if (each(s->line.text, s->line.len, r->chain[i].name, arg))
			return 0;
	}
}

/* An id says when; so does --since. */
static int seek(struct reader *r, unsigned i, struct err *e)
{
	const struct pinfold_audit_options *o = r->o;

	struct err none = ERR_INIT;

	if (o->since)
		return find_seek(r->source[i].scan, o->since, e);
	/* Where that is not known yet, all are read. */
	if (o->from)
		(void)settle_seek(r->chain[i].fd, r->source[i].scan, o->from, &none);
	return 0;
}

static int open_all(struct reader *r, struct err *e)
{
	int n = record_chains(r->chain, CHAINS_MAX, e);
	int k = n;

	r->n = n < 0 ? 0 : (unsigned)n;
	for (unsigned i = 0; k >= 0 && i < r->n; i++) {
		k = scan_open(r->chain[i].fd, &r->source[i].scan, e);
		if (k >= 0)
			k = seek(r, i, e);
	}
	return k;
}

static int check_instant(const char *name, const char *text, struct err *e)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";

	for (unsigned i = 0; text && i <= INSTANT; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == '0' ? digit : text[i] == form[i])
			continue;
		(void)err_set(e, ERR_INVALID, "%s: \"%.40s\" is no instant", name, text);
		return err_remedy(e, "write it as 2026-01-31T12:00:00.000Z");
	}
	return 0;
}

int pinfold_audit(const struct pinfold_audit_options *options, pinfold_audit_fn *each, void *arg,
		  struct pinfold_error *ret_error)
{
	struct pinfold_audit_options o = {.size = sizeof(o)};
	auto_free struct reader *r = calloc(1, sizeof(*r));
	struct err e = ERR_INIT;

	assert(each && ret_error);
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	int k = r ? check_instant("--since", o.since, &e) : err_sys(&e, "audit");
	if (k >= 0)
		k = check_instant("--until", o.until, &e);
	if (k >= 0) {
		r->o = &o;
		k = open_all(r, &e);
	}
	if (k >= 0)
		k = tell(r, each, arg, &e);
	for (unsigned i = 0; r && i < r->n; i++) {
		scan_close(r->source[i].scan);
		fd_close(&r->chain[i].fd);
	}
	if (k < 0)
		error_public(&e, ret_error);
	return k < 0 ? -1 : 0;
}
