/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/ledger.h>
#include "engine/record.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "engine/setting.h"

#define EVENT_DATA_MAX (16u << 10)

void record_init(struct record *r)
{
	*r = (struct record){.dir = FD_NONE};
	for (int i = 0; i < 2; i++)
		hash_init(&r->output[i]);
	hash_init(&r->input);
}

void record_done(struct record *r)
{
	fd_close(&r->dir);
	value_free(r->words);
	r->words = NULL;
}

static void set_text(struct value *v, const char *key, const char *text)
{
	if (text && text[0])
		value_set(v, key, record_word(text));
}

static struct value *new_event(const struct record *r, const char *kind, const char *phase,
			       struct value *data)
{
	struct value *v = value_object(), *who = value_object();

	value_set(who, "uid", value_of_int(getuid()));
	set_text(who, "token", r->who.token);
	set_text(who, "client", r->who.client);
	value_set(v, "who", who);
	value_set(v, "kind", value_of_str(kind));
	value_set(v, "phase", value_of_str(phase));
	set_text(v, "tenant", r->who.tenant);
	value_set(v, "data", data ? data : value_object());
	return v;
}

static atomic_bool written; /* by this process */
static atomic_int wake = FD_NONE;

int pinfold_ledger_fd(void)
{
	int none = FD_NONE;

	if (atomic_load(&wake) >= 0)
		return atomic_load(&wake);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd >= 0 && !atomic_compare_exchange_strong(&wake, &none, fd))
		(void)close(fd); /* another thread was faster */
	return atomic_load(&wake);
}

static void (*on_due)(void);

void pinfold_ledger_on_due(void (*settle)(void))
{
	on_due = settle;
}

void record_settle(void)
{
	/* Who listens for events settles by himself, and may have threads. */
	if (on_due && atomic_load(&wake) < 0 && record_written())
		on_due();
}

bool record_written(void)
{
	return atomic_load(&written);
}

static int put(struct record *r, struct value *event, struct err *e)
{
	atomic_store(&written, true);
	int fd = atomic_load(&wake);
	/* Who listens for events stays and makes many. */
	unsigned flags = fd >= 0 ? CHAIN_KEEP : 0;
	int k = setting_ledger_sync(e);

	flags |= k > 0 ? CHAIN_SYNC : 0;
	if (k >= 0)
		k = chain_append(r->dir, event, flags, &r->place, e);

	if (fd >= 0)
		(void)eventfd_write(fd, 1); /* full: it is readable already */
	value_free(event);
	return k;
}

/* Where a workspace stands now; one that is not there stands nowhere. */
static void set_snapshot(struct value *data, const struct op *op, const char *key)
{
	struct err none = ERR_INIT;
	struct workspace w;
	struct snap now;

	if (op->store && op->workspace && !value_get(data, key) &&
	    workspace_find(op->store, op->workspace, &w, &none) >= 0 &&
	    history_get(op->store, w.head, &now, &none) >= 0)
		value_set(data, key, value_of_int(now.seq));
}

int op_begin(struct op *op, const char *kind, struct store *s, struct value *data, struct err *e)
{
	struct record_who who = op->record.who;

	record_init(&op->record);
	op->record.who = who;
	op->kind = kind;
	int r = record_open(s, &op->record.dir, e);
	if (r < 0 || op->record.dir < 0) {
		value_free(data);
		return r;
	}
	if (!data)
		data = value_object();
	op->store = s;
	set_snapshot(data, op, "snapshot_before");
	struct value *v = new_event(&op->record, kind, "begin", data);
	set_text(v, "workspace", op->workspace);
	set_text(v, "sandbox", op->sandbox);
	r = put(&op->record, v, e);
	op->record.begun = r >= 0;
	return r;
}

int op_end(struct op *op, int r, struct value *data, const struct err *e)
{
	struct err none = ERR_INIT;

	if (!op->record.begun || op->record.dir < 0) {
		value_free(data);
		record_done(&op->record);
		return r;
	}
	if (!data)
		data = value_object();
	value_set(data, "status", value_of_str(r < 0 ? "failed" : "ok"));
	if (r >= 0)
		set_snapshot(data, op, "snapshot");
	if (r < 0)
		value_set(data, "error", record_error(e));
	struct value *v = new_event(&op->record, op->kind, "end", data);
	set_text(v, "workspace", op->workspace);
	set_text(v, "sandbox", op->sandbox);
	(void)put(&op->record, v, &none); /* it was done: that it began is on record */
	record_done(&op->record);
	return r;
}

/* Ids of ours look like keys. */
static bool is_id(const char *text)
{
	char prefix[4] = "";

	(void)snprintf(prefix, sizeof(prefix), "%s", text);
	return strlen(text) == ID_SIZE - 1 && id_is(prefix, text);
}

/* What was asked for, before it is known that there is such a thing: it may be a secret in the
 * wrong place. */
static void redact_arguments(struct value *data)
{
	struct value *all = value_get(data, "arguments");
	const char *status = value_str(value_get(data, "status"));

	if (!all || value_kind(all) != VALUE_OBJECT || (status && strcmp(status, "ok") == 0))
		return;
	auto_value *names = value_copy(all);
	for (const char *k = value_next_key(names, NULL); k; k = value_next_key(names, k)) {
		const char *text = value_str(value_get(names, k));

		if (text && !is_id(text))
			value_set(all, k, record_redacted(text));
	}
}

static int check_event(const struct pinfold_ledger_event *o, struct value **ret, struct err *e)
{
	size_t len = o->data ? strlen(o->data) : 0;
	bool known = o->kind && (strchr(o->kind, '.') || strcmp(o->kind, "alert") == 0);

	if (!known || !o->phase || strncmp(o->kind, "ledger.", 7) == 0 || strlen(o->kind) > 64)
		return err_set(e, ERR_INVALID, "kind: not of the form x.y, or the ledger's own");
	if (len > EVENT_DATA_MAX)
		return err_set(e, ERR_INVALID, "data: more than %u bytes", EVENT_DATA_MAX);
	int r = len ? value_parse(o->data, len, ret, e) : 0;
	return r >= 0 && *ret && value_kind(*ret) != VALUE_OBJECT
		       ? err_set(e, ERR_INVALID, "data: not an object")
		       : r;
}

int pinfold_ledger_add(const struct pinfold_ledger_event *event, struct pinfold_error *ret_error)
{
	struct pinfold_ledger_event o = {0};
	struct record rec;
	struct value *data = NULL;
	struct err e = ERR_INIT;

	memcpy(&o, event, event->size < sizeof(o) ? event->size : sizeof(o));
	record_init(&rec);
	int r = record_open(NULL, &rec.dir, &e);
	if (r >= 0 && rec.dir >= 0)
		r = check_event(&o, &data, &e);
	if (r >= 0 && rec.dir >= 0) {
		(void)snprintf(rec.who.tenant, sizeof(rec.who.tenant), "%s",
			       o.tenant ? o.tenant : "");
		(void)snprintf(rec.who.token, sizeof(rec.who.token), "%s", o.token ? o.token : "");
		(void)snprintf(rec.who.client, sizeof(rec.who.client), "%s",
			       o.client ? o.client : "");
		redact_arguments(data);
		struct value *v = new_event(&rec, o.kind, o.phase, take_ptr(&data));
		set_text(v, "run", o.run);
		set_text(v, "sandbox", o.sandbox);
		set_text(v, "workspace", o.workspace);
		r = put(&rec, v, &e);
	}
	value_free(data);
	record_done(&rec);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

void record_who(struct pinfold_run *run, const struct pinfold_run_options *o)
{
	struct record_who *w = &run->record.who;

	(void)snprintf(w->tenant, sizeof(w->tenant), "%s", o->tenant ? o->tenant : "");
	(void)snprintf(w->token, sizeof(w->token), "%s", o->token ? o->token : "");
	(void)snprintf(w->client, sizeof(w->client), "%s", o->client ? o->client : "");
	run->options = o;
}

void record_asks(struct pinfold_run *run, const struct pinfold_run_options *o)
{
	record_who(run, o);
	value_free(run->record.words);
	run->record.words = record_words(o->argv, o->env);
}

static const char *kind_of(const struct pinfold_run *run)
{
	return run->workspace[0]       ? "workspace.exec"
	       : run->req.spec.session ? "session.open"
	       : run->exec	       ? "sandbox.exec"
				       : "run";
}

/* Tools of ours that look into layers are parts of other operations. */
static bool is_ours(const struct pinfold_run *run)
{
	return run->req.spec.tool || run->req.spec.peek != PEEK_NONE || run->follows;
}

/* The daemon hands out a sandbox that waits; until then nobody knows which. */
static bool has_sandbox(const struct pinfold_run *run)
{
	return run->link < 0 || run->exec || run->record.has_sandbox;
}

static struct value *run_event(const struct pinfold_run *run, const char *kind, const char *phase,
			       struct value *data)
{
	struct value *v = new_event(&run->record, kind, phase, data);

	set_text(v, "run", run->id);
	if (has_sandbox(run))
		set_text(v, "sandbox", run->req.spec.id);
	set_text(v, "workspace", run->workspace);
	return v;
}

/* Of an interpreter that stays its name: what follows is a program of ours, of many lines. */
static struct value *asked_words(const struct pinfold_run *run)
{
	const struct pinfold_run_options *o = run->options;
	const char *const name[] = {o->argv ? o->argv[0] : NULL, NULL};

	return record_words(run->req.spec.session ? name : o->argv, o->env);
}

int record_run_begin(struct pinfold_run *run, struct err *e)
{
	struct record *rec = &run->record;

	if (is_ours(run) || rec->begun || !run->options)
		return 0;
	int r = record_open(run->upper ? run->upper->store : NULL, &rec->dir, e);
	if (r < 0 || rec->dir < 0)
		return r;
	rec->words = asked_words(run);
	r = put(rec, run_event(run, kind_of(run), "begin", record_run_asked(run, run->options)), e);
	rec->begun = r >= 0;
	if (r >= 0)
		record_run_behind(run);
	return r;
}

void record_run_lives(struct pinfold_run *run)
{
	struct err none = ERR_INIT;

	if (run->record.begun && run->link >= 0 && !run->exec && !run->record.told_sandbox)
		(void)put(&run->record, run_event(run, kind_of(run), "started", NULL), &none);
	run->record.told_sandbox = true;
	record_settle();
}

/* The end of it, for what it says was missing. */
static void keep_tail(struct pinfold_run *run, const char *data, size_t len)
{
	size_t room = sizeof(run->tail);

	if (len > room) {
		data += len - room;
		len = room;
	}
	size_t stays = run->tail_len + len > room ? room - len : run->tail_len;
	memmove(run->tail, run->tail + run->tail_len - stays, stays);
	memcpy(run->tail + stays, data, len);
	run->tail_len = stays + len;
}

void record_run_alert(struct pinfold_run *run, const struct run_alert *a)
{
	struct err none = ERR_INIT;

	/* The end says how many there were. */
	if (!run->record.begun)
		return;
	(void)put(&run->record, run_event(run, "alert", "raised", alert_value(a)), &none);
	if (!run->settle_us && run->state == RUN_RUNNING) {
		run->settle_us = now_us() + RECORD_LIVES_US;
		run_arm_timer(run);
	}
}

void record_run_output(struct pinfold_run *run, int stream, const void *data, size_t len)
{
	if (stream == 1)
		keep_tail(run, data, len);
	if (!run->record.begun)
		return;
	hash_add(&run->record.output[stream], data, len);
	run->record.output_bytes[stream] += len;
}

void record_run_input(struct pinfold_run *run, const void *data, size_t len)
{
	if (!run->record.begun)
		return;
	hash_add(&run->record.input, data, len);
	run->record.input_bytes += len;
}

void record_run_part(struct pinfold_run *run, struct value *data)
{
	struct err none = ERR_INIT;

	/* The end says how many there are. */
	(void)put(&run->record, run_event(run, "run.more", "part", data), &none);
}

void record_live_part(const struct pinfold_run *run, const char *phase, struct value *taken)
{
	struct err none = ERR_INIT; /* nobody is there who could be told */
	struct record rec;

	record_init(&rec);
	rec.who = run->record.who;
	if (record_open(NULL, &rec.dir, &none) >= 0 && rec.dir >= 0) {
		struct value *v = new_event(&rec, "sandbox.network", phase, taken);

		set_text(v, "sandbox", run->req.spec.id);
		(void)put(&rec, v, &none);
	} else {
		value_free(taken);
	}
	record_done(&rec);
}

void record_run_end(struct pinfold_run *run, const struct err *e)
{
	struct record *rec = &run->record;
	struct err why = ERR_INIT;

	if (!rec->begun)
		return;
	rec->begun = false;
	if (!e)
		record_run_more(run);
	rec->kept = put(rec, run_event(run, kind_of(run), "end", record_run_outcome(run, e)),
			&why) >= 0;
	fd_close(&rec->dir);
}

void record_run_refused(struct pinfold_run *run, const struct pinfold_run_options *o,
			const struct err *e)
{
	struct record *rec = &run->record;
	struct err none = ERR_INIT;
	struct value *data;

	/* That the ledger cannot be written is not written there; nor is a failure twice. */
	if (rec->place.chain[0] || strcmp(e->detail, "ledger") == 0 ||
	    record_open(NULL, &rec->dir, &none) < 0 || rec->dir < 0)
		return;
	if (!run->id[0] && id_make("run", run->id, &none) < 0)
		return;
	const struct pinfold_run_options *were = run->options;
	run->options = o;
	value_free(rec->words);
	rec->words = record_words(o->argv, o->env);
	data = record_run_asked(run, o);
	run->options = were;
	value_set(data, "error", record_error(e));
	value_set(data, "status", value_of_str("refused"));
	(void)put(rec, run_event(run, kind_of(run), "refused", data), &none); /* nothing was done */
	fd_close(&rec->dir);
}
