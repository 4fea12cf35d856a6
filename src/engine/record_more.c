/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of a run: what it was refused, what it reached, which files it changed. The first few of
 * each are in the event of its end; the rest is in events "run.more" before that, so that every
 * decision and every file is on record and no event is too long. Words of the command, names of
 * variables and packages are in the event of its beginning and behind it.
 */
#include <stdio.h>
#include <string.h>

#include "engine/record.h"
#include "engine/run_int.h"

#define END_ROWS 8u	   /* of each list in the event of the end */
#define END_FILES 16u	   /* the same of files */
#define BEGIN_PACKAGES 16u /* in the event of the beginning */
#define MORE_FILES 1000u   /* as many as a result has */
#define MORE_BYTES 20000u  /* of one event, if every letter needs no escape */
#define PATH_BYTES 4096u   /* of a path */
#define END_BYTES 6000u	   /* of paths in the event of the end, with escapes */
#define BEGIN_NAMES 32u	   /* of variables in the event of the beginning */
#define NAME_BYTES 256u
#define BEGIN_WORDS_BYTES 8000u /* of the command, with escapes */

static const char *const verdicts[] = {
	[GATE_ALLOWED] = "allowed", [GATE_DENIED] = "denied", [GATE_PENDING] = "pending"};

static const char *const changes[] = {
	[MSG_ADDED] = "added", [MSG_MODIFIED] = "modified", [MSG_DELETED] = "deleted"};

static struct value *denial(const struct pinfold_run *run, unsigned i)
{
	const struct run_denial *d = &run->denials[i];
	struct value *v = value_object();

	value_set(v, "kind", value_of_str(d->kind));
	value_set(v, "what", record_redacted(d->what));
	value_set(v, "count", value_of_u64(d->count));
	return v;
}

/* A name or an address, never what was asked of it. */
static struct value *decision(const struct pinfold_run *run, unsigned i)
{
	const struct gate_report *r = &run->rows[i];
	struct value *v = value_object();

	value_set(v, "host", record_word(r->host));
	value_set(v, "port", value_of_int(r->port));
	value_set(v, "verdict", value_of_str(verdicts[r->verdict]));
	if (r->rule[0])
		value_set(v, "rule", record_word(r->rule));
	value_set(v, "count", value_of_u64(r->count));
	value_set(v, "bytes_in", value_of_u64(r->bytes_in));
	value_set(v, "bytes_out", value_of_u64(r->bytes_out));
	if (r->ms)
		value_set(v, "ms", value_of_u64(r->ms));
	return v;
}

/* Of what was looked into: never its query. */
static struct value *request(const struct pinfold_run *run, unsigned i)
{
	const struct run_request *q = &run->requests[i];
	const char *space = strchr(q->what, ' ');
	struct value *v = value_object();

	if (q->row < run->n_rows) {
		value_set(v, "host", record_word(run->rows[q->row].host));
		value_set(v, "port", value_of_int(run->rows[q->row].port));
	}
	if (space) {
		value_set(v, "method", value_of_bytes(q->what, (size_t)(space - q->what)));
		value_set(v, "path", record_redacted(space + 1));
	}
	if (q->status) /* else a person is asked */
		value_set(v, "status", value_of_u64(q->status));
	value_set(v, "ms", value_of_u64(q->ms));
	return v;
}

/* Bytes that a text has in JSON, at most. */
static size_t cost(const char *text, size_t len)
{
	size_t n = 2;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		n += c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : c < 0x80 ? 1 : 3;
	}
	return n;
}

/* How many paths the event of the end has room for. */
static unsigned first_files(const struct pinfold_run *run)
{
	size_t used = 0;
	unsigned n = 0;

	for (; n < run->n_files && n < END_FILES; n++) {
		used += cost(run->files[n].path, run->files[n].path_len);
		if (used > END_BYTES)
			break;
	}
	return n;
}

static struct value *file(const struct pinfold_run *run, unsigned i)
{
	const struct run_file *f = &run->files[i];
	struct value *v = value_object();

	value_set(v, "path",
		  value_of_bytes(f->path, f->path_len < PATH_BYTES ? f->path_len : PATH_BYTES));
	if (f->change <= MSG_DELETED && changes[f->change])
		value_set(v, "change", value_of_str(changes[f->change]));
	value_set(v, "type", value_of_str(run_file_type(f->mode)));
	if (f->change != MSG_DELETED)
		value_set(v, "size", value_of_u64(f->size));
	if (f->sha256[0])
		value_set(v, "sha256", value_of_str(f->sha256));
	return v;
}

static struct value *package(const struct pinfold_run *run, unsigned i)
{
	return value_copy(value_at(run->req.deps.packages, i));
}

struct list {
	const char *name, *omitted; /* keys */
	struct value *(*row)(const struct pinfold_run *run, unsigned i);
	unsigned n, first;
	uint64_t lost; /* that even the run does not have */
	unsigned most; /* on record */
};

enum { DENIALS, NETWORK, REQUESTS, FILES, LISTS };

static void lists_of(const struct pinfold_run *run, struct list l[LISTS])
{
	l[DENIALS] = (struct list){.name = "denials",
				   .omitted = "denials_omitted",
				   .row = denial,
				   .n = run->n_denials,
				   .first = END_ROWS,
				   .lost = run->denials_omitted,
				   .most = MORE_FILES};
	l[NETWORK] = (struct list){.name = "network",
				   .omitted = "network_omitted",
				   .row = decision,
				   .n = run->n_rows,
				   .first = END_ROWS,
				   .lost = run->rows_omitted,
				   .most = MORE_FILES};
	l[REQUESTS] = (struct list){.name = "requests",
				    .omitted = "requests_omitted",
				    .row = request,
				    .n = run->n_requests,
				    .first = END_ROWS,
				    .lost = run->requests_dropped + run->requests_lost,
				    .most = MORE_FILES};
	l[FILES] = (struct list){.name = "files",
				 .row = file,
				 .n = run->n_files,
				 .first = first_files(run),
				 .most = MORE_FILES};
}

/* Decisions of the gate, each counted as often as it was made. */
static void set_counts(struct value *v, const struct pinfold_run *run)
{
	uint64_t n[GATE_PENDING + 1] = {0};
	struct value *to = value_object();

	for (unsigned i = 0; i < run->n_rows; i++)
		n[run->rows[i].verdict] += run->rows[i].count;
	for (unsigned i = 0; i <= GATE_PENDING; i++)
		value_set(to, verdicts[i], value_of_u64(n[i]));
	value_set(v, "decisions", to);
}

void record_run_lists(struct value *v, const struct pinfold_run *run)
{
	struct list all[LISTS];

	lists_of(run, all);
	for (unsigned k = 0; k < LISTS; k++) {
		const struct list *l = &all[k];
		struct value *rows = value_array();
		unsigned i = 0;

		if (k != DENIALS && l->n == 0) {
			value_free(rows);
			continue;
		}
		for (; i < l->n && i < l->first; i++)
			value_add(rows, l->row(run, i));
		value_set(v, l->name, rows);
		if (l->omitted && l->lost + l->n > i)
			value_set(v, l->omitted, value_of_u64(l->lost + l->n - i));
	}
	if (run->n_rows)
		set_counts(v, run);
	if (run->alerts.n) /* each is an event of its own */
		value_set(v, "alerts", value_of_u64(run->alerts.n + run->alerts.omitted));
	if (run->req.deps.imported)
		value_set(v, "imported", value_copy(run->req.deps.imported));
	if (run->n_files)
		value_set(v, "files_changed", value_of_u64(run->n_files + run->files_omitted));
}

/* As many as one event holds, from *i on. */
static struct value *part(const struct pinfold_run *run, const struct list *l, unsigned *i)
{
	struct value *data = value_object(), *rows = value_array();
	size_t used = 0;

	for (; *i < l->n && *i < l->most && used < MORE_BYTES; (*i)++) {
		struct value *row = l->row(run, *i);
		char *text = value_text(row, NULL);
		size_t len = text ? strlen(text) + 1 : MORE_BYTES;

		free(text);
		if (used && used + len > MORE_BYTES) {
			value_free(row);
			break;
		}
		used += len;
		value_add(rows, row);
	}
	value_set(data, l->name, rows);
	return data;
}

static void more(struct pinfold_run *run, const struct list *l)
{
	for (unsigned i = l->first; i < l->n && i < l->most;)
		record_run_part(run, part(run, l, &i));
}

void record_run_more(struct pinfold_run *run)
{
	struct list all[LISTS];

	lists_of(run, all);
	for (unsigned k = 0; k < LISTS; k++)
		more(run, &all[k]);
}

static struct value *variable(const struct pinfold_run *run, unsigned i)
{
	const char *text = run->options->env[i];
	size_t n = (size_t)(strchrnul(text, '=') - text);

	return value_of_bytes(text, n < NAME_BYTES ? n : NAME_BYTES);
}

static struct value *argument(const struct pinfold_run *run, unsigned i)
{
	return value_copy(value_at(run->record.words, i));
}

/* As many words as the beginning has room for. */
static unsigned first_words(const struct value *words)
{
	size_t used = 0;
	unsigned n = 0;

	for (; n < value_len(words); n++) {
		const struct value *w = value_at(words, n);

		used += cost(value_str(w) ? value_str(w) : "", value_len(w));
		if (used > BEGIN_WORDS_BYTES)
			break;
	}
	return n;
}

/* What the beginning has of lists; the rest is behind it. */
enum { PACKAGES, VARIABLES, WORDS, BEGIN_LISTS };

static void begin_lists(const struct pinfold_run *run, struct list l[BEGIN_LISTS])
{
	const char *const *env = run->options ? run->options->env : NULL;
	unsigned packages = (unsigned)value_len(run->req.deps.packages), variables = 0;
	unsigned words = (unsigned)value_len(run->record.words);

	while (env && env[variables])
		variables++;
	l[PACKAGES] = (struct list){.name = "packages",
				    .omitted = "packages_omitted",
				    .row = package,
				    .n = packages,
				    .first = BEGIN_PACKAGES,
				    .most = packages};
	l[VARIABLES] = (struct list){.name = "environment",
				     .omitted = "environment_omitted",
				     .row = variable,
				     .n = variables,
				     .first = BEGIN_NAMES,
				     .most = variables};
	l[WORDS] = (struct list){.name = "command",
				 .omitted = "command_omitted",
				 .row = argument,
				 .n = words,
				 .first = first_words(run->record.words),
				 .most = words};
}

static void set_first(struct value *v, const struct pinfold_run *run, const struct list *l)
{
	struct value *rows = value_array();

	for (unsigned i = 0; i < l->n && i < l->first; i++)
		value_add(rows, l->row(run, i));
	value_set(v, l->name, rows);
	if (l->n > l->first)
		value_set(v, l->omitted, value_of_u64(l->n - l->first));
}

void record_run_command(struct value *v, const struct pinfold_run *run)
{
	struct list l[BEGIN_LISTS];

	begin_lists(run, l);
	if (l[WORDS].n || run->options->lang)
		set_first(v, run, &l[WORDS]);
	if (run->options->lang)
		value_set(v, "lang", record_word(run->options->lang));
}

void record_run_first(struct value *v, const struct pinfold_run *run)
{
	struct list l[BEGIN_LISTS];

	begin_lists(run, l);
	set_first(v, run, &l[WORDS]);
	if (l[VARIABLES].n)
		set_first(v, run, &l[VARIABLES]);
	if (!run->req.deps.packages)
		return;
	set_first(v, run, &l[PACKAGES]);
	value_set(v, "package_layers", value_copy(run->req.deps.layers));
}

void record_run_behind(struct pinfold_run *run)
{
	struct list l[BEGIN_LISTS];

	begin_lists(run, l);
	for (unsigned i = 0; i < BEGIN_LISTS; i++)
		more(run, &l[i]);
}

void record_live_network(const struct pinfold_run *run)
{
	struct value *end = value_object();
	struct list all[LISTS];

	lists_of(run, all);
	for (unsigned k = DENIALS; k <= REQUESTS; k++)
		for (unsigned i = all[k].first; i < all[k].n && i < all[k].most;)
			record_live_part(run, "part", part(run, &all[k], &i));
	record_run_lists(end, run);
	record_live_part(run, "end", end);
}
