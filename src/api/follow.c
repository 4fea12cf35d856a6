/* SPDX-License-Identifier: Apache-2.0 */
/* A run, from its start to its result, into its record. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "api/boxes.h"
#include "api/heirs.h"
#include "api/kept.h"
#include "api/metrics.h"
#include "api/quota.h"
#include "api/runs.h"
#include "api/words.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "pinfold/pinfold.h"
#include "pinfold/replay.h"

static void tell(struct record *rec, const char *event, struct value *data)
{
	size_t len = 0;
	auto_free char *text = value_text(data, &len);

	value_free(data);
	if (text)
		feed_add(rec->feed, event, text, len);
}

static size_t escape(unsigned char c, char *to)
{
	static const char hex[] = "0123456789abcdef";
	static const char letter[] = "btn\0fr";

	if (c >= 0x20 && c != '"' && c != '\\') {
		to[0] = (char)c;
		return 1;
	}
	to[0] = '\\';
	to[1] = c == '"' || c == '\\' ? (char)c : c >= 8 && c <= 13 ? letter[c - 8] : '\0';
	if (to[1])
		return 2;
	memcpy(to + 1, "u00", 3);
	to[4] = hex[c >> 4];
	to[5] = hex[c & 15];
	return 6;
}

/* Not by way of a value: a program can print nothing but control bytes, and those took the general
 * writer so long that one run kept a processor busy for others. */
static char *text_of(const char *data, size_t len, size_t *ret_len)
{
	static const char end[] = "\",\"encoding\":\"utf-8\"}";
	char *text = malloc(9 + 6 * len + sizeof(end));
	size_t n = 9;

	if (!text)
		return NULL;
	memcpy(text, "{\"text\":\"", n);
	for (size_t i = 0; i < len; i++)
		n += escape((unsigned char)data[i], text + n);
	memcpy(text + n, end, sizeof(end));
	*ret_len = n + sizeof(end) - 1;
	return text;
}

void record_tell_output(struct record *rec, int stream, const void *data, size_t len)
{
	const char *event = stream ? "stderr" : "stdout";
	struct value *o = NULL;
	size_t n = 0;

	if (!utf8_valid(data, len)) {
		o = value_object();
		value_set_text(o, data, len);
		tell(rec, event, o);
		return;
	}
	auto_free char *text = text_of(data, len, &n);
	if (text)
		feed_add(rec->feed, event, text, n);
}

struct value *record_summary(const struct record *rec)
{
	struct value *o = value_object();

	value_set(o, "id", value_of_str(rec->id));
	value_set(o, "status", value_of_str(rec->status));
	value_set(o, "command", value_of_str(rec->command));
	value_set(o, "sandbox", rec->sandbox[0] ? value_of_str(rec->sandbox) : value_of_null());
	value_set(o, "workspace",
		  rec->workspace[0] ? value_of_str(rec->workspace) : value_of_null());
	value_set(o, "created", value_of_instant(rec->made_ms));
	return o;
}

void record_announce(struct call *c, struct record *rec)
{
	heirs_run(c->api->heirs, rec); /* before anybody can ask for it */
	call_answer(c, record_summary(rec));
	call_stream(c, rec->feed);
}

struct record *record_begin(struct call *c, const char *id, const char *command,
			    const char *sandbox, const char *workspace, struct err *e)
{
	struct record *rec = record_new(c->api->runs, c->who.tenant, id);

	if (!rec) {
		(void)err_sys(e, "record of a run");
		return NULL;
	}
	(void)snprintf(c->run, sizeof(c->run), "%s", id);
	(void)snprintf(rec->command, sizeof(rec->command), "%s", command);
	(void)snprintf(rec->sandbox, sizeof(rec->sandbox), "%s", sandbox);
	(void)snprintf(rec->workspace, sizeof(rec->workspace), "%s", workspace);
	rec->cancel_fd = c->cancel;
	record_announce(c, rec);
	return rec;
}

void record_started(struct record *rec)
{
	struct value *o = value_object();

	rec->started = true;
	value_set(o, "id", value_of_str(rec->id));
	value_set(o, "sandbox", rec->sandbox[0] ? value_of_str(rec->sandbox) : value_of_null());
	tell(rec, "started", o);
}

void record_output(struct record *rec, struct carry carry[2], int stream, const void *data,
		   size_t len)
{
	struct carry *cut = &carry[stream];
	auto_free char *joined = malloc(cut->n + len);

	spool_add(&rec->output[stream], data, len);
	if (!joined)
		return;
	memcpy(joined, cut->bytes, cut->n);
	memcpy(joined + cut->n, data, len);
	len += cut->n;
	size_t tail = utf8_cut_tail(joined, len);
	cut->n = tail;
	memcpy(cut->bytes, joined + len - tail, tail);
	if (len > tail)
		record_tell_output(rec, stream, joined, len - tail);
}

void record_denial(struct record *rec, const struct pinfold_denial *d)
{
	struct value *o = value_object();
	auto_free char *hint = strdup(d->hint);

	if (hint)
		words_of_fields(hint);
	value_set(o, "text", value_of_str(d->what)); /* as it was before there was a `what` */
	value_set(o, "kind", value_of_str(d->kind));
	value_set(o, "what", value_of_str(d->what));
	value_set(o, "count", value_of_u64(d->count));
	value_set(o, "hint", value_of_str(hint ? hint : ""));
	tell(rec, "denial", o);
}

struct value *record_pair(const char *key, const char *text, size_t len)
{
	const char *space = memchr(text, ' ', len);
	size_t word = space ? (size_t)(space - text) : len;
	size_t rest = space ? word + 1 : len;
	struct value *o = value_object();

	value_set(o, key, value_of_bytes(text, word));
	value_set(o, "what", value_of_bytes(text + rest, len - rest));
	return o;
}

void record_question(struct record *rec, const char *text, size_t len)
{
	tell(rec, "approval", record_pair("id", text, len));
}

void record_alert(struct record *rec, const char *text, size_t len)
{
	tell(rec, "alert", record_pair("rule", text, len));
}

void record_flush(struct record *rec, struct carry carry[2])
{
	for (int i = 0; i < 2; i++)
		if (carry[i].n)
			record_tell_output(rec, i, carry[i].bytes, carry[i].n);
}

static void take_event(struct record *rec, struct carry carry[2], const struct pinfold_run *run,
		       const struct pinfold_event *ev)
{
	struct pinfold_denial denial;

	switch (ev->kind) {
	case PINFOLD_EVENT_STARTED: record_started(rec); return;
	case PINFOLD_EVENT_STDOUT:
	case PINFOLD_EVENT_STDERR:
		record_output(rec, carry, ev->kind == PINFOLD_EVENT_STDERR, ev->data, ev->len);
		return;
	case PINFOLD_EVENT_ASK: record_question(rec, ev->data, ev->len); return;
	case PINFOLD_EVENT_ALERT: record_alert(rec, ev->data, ev->len); return;
	case PINFOLD_EVENT_DENIAL:
		if (pinfold_run_denial(run, &denial) == 0)
			record_denial(rec, &denial);
		return;
	case PINFOLD_EVENT_RESULT:
		/* Also what could not be executed had a sandbox: who follows learns which. */
		if (!rec->started)
			record_started(rec);
		record_flush(rec, carry);
		return;
	}
}

/* The library writes documents to descriptors. */
static char *document(const struct pinfold_run *run)
{
	auto_close int fd = memfd_create("pinfold-result", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || pinfold_run_write_json(run, fd) < 0 || fstat(fd, &st) < 0)
		return NULL;
	size_t len = (size_t)st.st_size, got = 0;
	auto_free char *text = malloc(len + 1);
	if (!text || lseek(fd, 0, SEEK_SET) < 0 || fd_read_max(fd, text, len, &got) < 0)
		return NULL;
	while (got && text[got - 1] == '\n')
		got--;
	text[got] = '\0';
	return take_ptr(&text);
}

/* What a full pipe does not take is written when there is room. */
static void feed_input(struct pinfold_run *run, struct run_input *left)
{
	int fd = pinfold_run_stdin_fd(run);

	while (fd >= 0 && left->len) {
		ssize_t n = write(fd, left->data, left->len);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			left->len = 0; /* nobody reads it */
			break;
		}
		pinfold_run_keep_input(run, left->data, (size_t)n);
		left->data += n;
		left->len -= (size_t)n;
	}
	if (fd >= 0)
		pinfold_run_stdin_close(run);
}

static void wait_for_it(struct call *c, struct pinfold_run *run, const struct run_input *left,
			bool stopped)
{
	int in = left->len ? pinfold_run_stdin_fd(run) : -1;
	struct pollfd p[3] = {{.fd = pinfold_run_fd(run), .events = POLLIN},
			      {.fd = stopped ? -1 : call_cancelled_fd(c), .events = POLLIN},
			      {.fd = in, .events = POLLOUT}};

	(void)poll(p, 3, -1); /* whatever it says, we look */
}

bool record_explain(struct quotas *q, const char *tenant, char **text)
{
	struct err why = ERR_INIT, ignored = ERR_INIT;
	auto_value *v = NULL;

	if (!*text || !quota_is_over(q, tenant, &why) ||
	    value_parse(*text, strlen(*text), &v, &ignored) < 0)
		return false;
	struct value *limit = value_object();
	value_set(limit, "kind", value_of_str(why.detail));
	quota_value(q, tenant, why.detail, limit);
	value_set(limit, "hint", value_of_str(why.text));
	value_set(v, "limit", limit);
	value_set(v, "status", value_of_str("killed"));
	value_set(v, "exit_code", value_of_null());
	char *told = value_text(v, NULL);
	if (!told)
		return false;
	free(*text);
	*text = told;
	return true;
}

/* A limit that ended more than the command: what is lost, and what to do. */
static char *with_end_of_box(char *text)
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (!text || value_parse(text, strlen(text), &v, &ignored) < 0)
		return text;
	struct value *limit = value_get(v, "limit");
	const char *before = value_str(value_get(limit, "hint"));
	char hint[400];
	(void)snprintf(
		hint, sizeof(hint),
		"%.200s%sthe sandbox ended with it, and its files are gone: make another, with "
		"more memory",
		before ? before : "", before ? "; " : "");
	value_set(limit, "hint", value_of_str(hint));
	value_set(v, "sandbox_ended", value_of_bool(true));
	char *told = value_text(v, NULL);
	if (!told)
		return text;
	free(text);
	return told;
}

static char *with_kept(const struct record *rec, char *text)
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (!text || value_parse(text, strlen(text), &v, &ignored) < 0)
		return text;
	kept_describe(rec->kept, v, rec->id);
	char *told = value_text(v, NULL);
	if (!told)
		return text;
	free(text);
	return told;
}

void record_follow(struct call *c, struct record *rec, struct pinfold_run *run,
		   const struct run_input *input)
{
	struct run_input left = input ? *input : (struct run_input){0};
	struct carry carry[2] = {0};
	struct pinfold_event ev = {0};
	bool stopped = false;

	while (ev.kind != PINFOLD_EVENT_RESULT) {
		feed_input(run, &left);
		if (pinfold_run_next(run, 0, &ev) > 0) {
			take_event(rec, carry, run, &ev);
			continue;
		}
		wait_for_it(c, run, &left, stopped);
		if (!stopped && call_cancelled(c)) {
			pinfold_run_stop(run, 0);
			stopped = true;
		}
	}
	const char *status = pinfold_run_status(run);
	struct pinfold_run_summary sum;
	pinfold_run_summary(run, &sum);
	struct metrics_ended ended = {status, sum.limit, sum.denials, sum.alerts, sum.wall_us};
	metrics_run(c->api->metrics, &ended);
	lease_end(c->api->quotas, rec->lease, sum.cpu_us);
	rec->lease = NULL;
	char *text = document(run);
	if (strcmp(status, "exited") != 0 && !sum.limit &&
	    record_explain(c->api->quotas, rec->tenant, &text))
		status = "killed";
	/* As a rule the sandbox goes on. */
	if (rec->box && strcmp(status, "oom") == 0 && !box_lives(rec->box)) {
		box_overfull(rec->box);
		text = with_end_of_box(text);
	}
	rec->box = NULL;
	if (rec->kept)
		text = with_kept(rec, text);
	record_end(c->api->runs, rec, status, text);
	pinfold_run_free(run);
}
