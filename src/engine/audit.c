/* SPDX-License-Identifier: Apache-2.0 */
/* The chains of a data directory as one stream of events, and which of them are wanted. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/glob.h"
#include "engine/cursor.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/find.h"
#include "ledger/runs.h"
#include "ledger/settle.h"

#define CHAINS_MAX 256u
#define LOOK_MS 50   /* how often one who follows looks, */
#define LOOKS_NEW 4u /* and at every which look for chains that are new */
#define INSTANT 24

struct source {
	struct scan *scan;
	struct runs way; /* to the events of one run, when that is asked for */
	struct scan_line line;
	bool any; /* `line` has one that is not told yet */
	char id[ID_SIZE];
	uint64_t from; /* those before it were seen */
	uint64_t next; /* the first that is not told, nor passed over */
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

/* "connect a.example.org:443" is of that host, not of example.org. */
static bool has_host(const char *what, const char *want)
{
	size_t n = strlen(want);

	for (const char *p = what; n && (p = strstr(p, want)); p++) {
		bool begins = p == what || strchr(" /[@", p[-1]);

		if (begins && (!p[n] || strchr(" :]/", p[n])))
			return true;
	}
	return false;
}

static bool names_host(const struct value *v, const char *want)
{
	const struct value *data = value_get(v, "data"), *list = value_get(data, "denials");
	const struct value *rows = value_get(data, "network");

	for (size_t i = 0; want && i < value_len(rows); i++)
		if (same(value_at(rows, i), "host", want))
			return true;
	for (size_t i = 0; want && i < value_len(list); i++) {
		const struct value *d = value_at(list, i);
		const char *what = value_str(value_get(d, "what"));

		if (what && same(d, "kind", "network") && has_host(what, want))
			return true;
	}
	return !want;
}

static bool names_path(const struct value *v, const char *want)
{
	const struct value *data = value_get(v, "data"), *list = value_get(data, "files");
	const char *path = value_str(value_get(data, "path"));
	bool named = !want || (path && glob_finds(want, path));

	for (size_t i = 0; !named && i < value_len(list); i++) {
		path = value_str(value_get(value_at(list, i), "path"));
		named = path && glob_finds(want, path);
	}
	return named;
}

static bool is_wanted(const struct pinfold_audit_options *o, const struct scan_line *line,
		      const char *chain)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;
	const char *at = find_time(line->text, line->len);

	/* Most are not of the run: they need not be looked at. */
	if (o->run && !memmem(line->text, line->len, o->run, strlen(o->run)))
		return false;
	if (!at || (o->since && memcmp(at, o->since, INSTANT) < 0) ||
	    (o->until && memcmp(at, o->until, INSTANT) >= 0))
		return false;
	if (!o->tenant && !o->workspace && !o->run && !o->kind && !o->host && !o->path &&
	    !o->sandbox && o->flags & PINFOLD_AUDIT_BEGINS)
		return true;
	if (value_parse(line->text, line->len, &v, &none) < 0)
		return false;
	const char *phase = value_str(value_get(v, "phase"));
	/* Parts of long lists are for who looks for something in them. */
	if (!(o->flags & PINFOLD_AUDIT_BEGINS) && phase &&
	    (strcmp(phase, "begin") == 0 || strcmp(phase, "started") == 0 ||
	     (strcmp(phase, "part") == 0 && !o->host && !o->path)))
		return false;
	return record_is_of(v, chain, o->tenant) && same(v, "sandbox", o->sandbox) &&
	       same(v, "workspace", o->workspace) && same(v, "run", o->run) &&
	       is_kind(v, o->kind) && names_host(v, o->host) && names_path(v, o->path);
}

/* An index knows where those of a run are. */
static bool by_run(const struct pinfold_audit_options *o)
{
	return o->run != NULL;
}

/* Where it is; false: it was seen, or is no event. */
static bool pass(struct source *s)
{
	struct event_head head;

	if (!event_head(s->line.text, s->line.len, &head))
		return false;
	memcpy(s->id, head.chain, sizeof(s->id));
	if (head.at < s->from)
		return false;
	s->next = head.at;
	return true;
}

/* The next wanted event of each chain; 1: there is one somewhere. */
static int fill(struct reader *r, struct err *e)
{
	int any = 0;

	for (unsigned i = 0; i < r->n; i++) {
		struct source *s = &r->source[i];
		int k = 1;

		while (!s->any && k > 0) {
			k = by_run(r->o) ? runs_next(&s->way, s->scan, &s->line, e)
					 : scan_next(s->scan, &s->line, e);
			if (k <= 0 || !pass(s))
				continue;
			s->any = is_wanted(r->o, &s->line, r->chain[i].name);
			s->next += !s->any;
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

/* Which chain it is; "": it has no event yet. */
static int learn_id(const struct record_chain *chain, struct source *s, struct err *e)
{
	auto_scan *first = NULL;
	struct event_head head;
	int k = scan_open(chain->fd, &first, e);

	if (k >= 0)
		k = scan_next(first, &s->line, e);
	if (k > 0 && event_head(s->line.text, s->line.len, &head))
		memcpy(s->id, head.chain, sizeof(s->id));
	return k < 0 ? k : 0;
}

static int seek(struct reader *r, unsigned i, struct err *e)
{
	const struct pinfold_audit_options *o = r->o;
	struct source *s = &r->source[i];
	struct err none = ERR_INIT;
	int k = o->cursor ? learn_id(&r->chain[i], s, e) : 0;

	if (k < 0)
		return k;
	s->from = s->next = o->cursor ? cursor_place(o->cursor, s->id) : o->from;
	if (by_run(o))
		return runs_open(r->chain[i].fd, o->run, &s->way, e);
	if (o->since && !s->from)
		return find_seek(s->scan, o->since, e);
	/* Where that is not known, all are read. */
	if (s->from)
		(void)settle_seek_near(r->chain[i].fd, s->scan, s->from, &none);
	return 0;
}

/* Where somebody is who has heard all that was told. */
static void note_cursor(const struct reader *r)
{
	const struct pinfold_audit_options *o = r->o;

	if (!o->ret_cursor || !o->ret_cursor_size)
		return;
	o->ret_cursor[0] = '\0';
	for (unsigned i = 0; i < r->n; i++)
		if (r->source[i].id[0])
			cursor_add(o->ret_cursor, o->ret_cursor_size, r->source[i].id,
				   r->source[i].next);
}

static bool is_known(const struct reader *r, const char *name)
{
	for (unsigned i = 0; i < r->n; i++)
		if (strcmp(r->chain[i].name, name) == 0)
			return true;
	return false;
}

/* Those that are there and are not read yet: all, or what began since. */
static int open_new(struct reader *r, struct err *e)
{
	auto_free struct record_chain *all = calloc(CHAINS_MAX, sizeof(*all));
	int n = all ? record_chains(all, CHAINS_MAX, e) : err_sys(e, "audit");
	int k = n;

	for (int i = 0; i < n; i++) {
		if (k >= 0 && r->n < CHAINS_MAX && !is_known(r, all[i].name) &&
		    record_may_have(all[i].name, r->o->tenant)) {
			r->chain[r->n] = all[i];
			all[i].fd = FD_NONE;
			k = scan_open(r->chain[r->n].fd, &r->source[r->n].scan, e);
			r->n++;
			if (k >= 0)
				k = seek(r, r->n - 1, e);
		}
		fd_close(&all[i].fd);
	}
	return k;
}

/* Nothing will come that is early enough. */
static bool is_past(const char *until)
{
	struct timespec now;
	struct tm tm;
	char text[INSTANT + 1];

	if (!until)
		return false;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	if (!gmtime_r(&now.tv_sec, &tm))
		return false;
	size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + n, sizeof(text) - n, ".%03uZ", (unsigned)(now.tv_nsec / 1000000));
	return strcmp(text, until) >= 0;
}

static int tell(struct reader *r, pinfold_audit_fn *each, void *arg, struct err *e)
{
	for (unsigned looks = 1;; looks++) {
		bool past = is_past(r->o->until);
		int any = fill(r, e);

		if (any < 0)
			return any;
		if (!any && (past || !(r->o->flags & PINFOLD_AUDIT_FOLLOW)))
			return 0;
		if (!any) {
			note_cursor(r);
			if (each(NULL, 0, NULL, arg))
				return 0;
			(void)poll(NULL, 0, LOOK_MS);
			if (looks % LOOKS_NEW == 0 && (any = open_new(r, e)) < 0)
				return any;
			continue;
		}
		unsigned i = earliest(r);
		struct source *s = &r->source[i];
		s->any = false;
		s->next++;
		note_cursor(r);
		if (each(s->line.text, s->line.len, r->chain[i].name, arg))
			return 0;
	}
}

static int read_all(struct reader *r, pinfold_audit_fn *each, void *arg, struct err *e)
{
	int k = open_new(r, e);

	if (k >= 0)
		k = tell(r, each, arg, e);
	for (unsigned i = 0; i < r->n; i++) {
		scan_close(r->source[i].scan);
		runs_close(&r->source[i].way);
		fd_close(&r->chain[i].fd);
	}
	return k;
}

int record_instant(const char *name, const char *text, struct err *e)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";

	for (unsigned i = 0; text && i <= INSTANT; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == '0' ? digit : text[i] == form[i])
			continue;
		(void)err_set(e, ERR_INVALID, "%s: \"%.40s\" is no instant", name, text);
		return err_remedy(e, "write it as 2026-01-31T12:00:00.000Z or 2026-01-31, or how "
				     "long ago: 90d, 12h, 30s");
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
	int k = r ? record_instant("--since", o.since, &e) : err_sys(&e, "audit");
	if (k >= 0)
		k = record_instant("--until", o.until, &e);
	if (k >= 0)
		k = cursor_check(o.cursor, &e);
	if (k >= 0 && o.run && !id_is("run", o.run)) {
		k = err_set(&e, ERR_INVALID, "--run: \"%.40s\" is no id of a run", o.run);
		(void)err_remedy(&e, "pinfold audit lists them: run and 26 characters");
	}
	if (k >= 0) {
		r->o = &o;
		k = read_all(r, each, arg, &e);
	}
	if (k < 0)
		error_public(&e, ret_error);
	return k < 0 ? -1 : 0;
}
