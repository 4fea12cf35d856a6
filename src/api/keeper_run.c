/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a workspace, by the keeper: `pinfold exec` there, its output and what it says of
 * itself (cmd/relay.h) into the record here. Nothing of it is one of our handles, so the library's
 * loop (follow.c) is not used.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/keeper_int.h"
#include "api/options.h"
#include "api/quota.h"
#include "api/runs.h"
#include "api/words.h"
#include "base/fd.h"
#include "base/id.h"

#define SAID_MAX ((size_t)256 << 20) /* a document: two outputs of 16 MiB, escaped */
#define DRAIN_MS 5000		     /* from its end to the end of what it printed */
#define GRACE_MS 2000u

struct kept {
	struct call *c;
	struct keeper_child child;
	const char *id, *command, *workspace;
	struct record *rec; /* NULL: nothing runs yet */
	struct carry carry[2];
	char *said; /* what came on the result's pipe and is no whole line yet */
	size_t len, room;
	char *result, status[16];
	uint64_t cpu_us;
	bool failed; /* before it began: `error` */
	struct err *error;
};

/* An image is what a workspace is made of; then it has it. */
static int refuse_other(const struct wanted *w, const char *workspace, bool create, struct err *e)
{
	const struct pinfold_run_options *o = &w->o;
	const char *what = o->isolation && strcmp(o->isolation, "strict")    ? "isolation"
			   : !create && o->image && strcmp(o->image, "host") ? "image"
									     : NULL;

	if (!what)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%s: not %s", what,
		      workspace ? "in a workspace" : "with deps or an image");
	return err_remedy(e, "leave it out");
}

static void add_amount(struct keeper_words *w, const char *option, uint64_t n, const char *unit)
{
	if (n)
		keeper_add(w, "--%s=%llu%s", option, (unsigned long long)n, unit);
}

static void add_options(struct keeper_words *w, const struct pinfold_run_options *o, const char *id)
{
	keeper_add(w, "--run-id=%s", id);
	add_amount(w, "time", o->time_ms, "ms");
	add_amount(w, "grace", o->grace_ms, "ms");
	add_amount(w, "cpu-time", o->cpu_time_ms, "ms");
	if (o->cpus_milli)
		keeper_add(w, "--cpus=%llu.%03llu", (unsigned long long)o->cpus_milli / 1000,
			   (unsigned long long)o->cpus_milli % 1000);
	add_amount(w, "memory", o->memory_bytes, "");
	add_amount(w, "pids", o->pids, "");
	add_amount(w, "disk", o->disk_bytes, "");
	add_amount(w, "nofile", o->nofile, "");
	add_amount(w, "output", o->output_bytes, "");
	add_amount(w, "egress-bytes", o->egress_bytes, "");
	add_amount(w, "egress-connections", o->egress_connections, "");
	add_amount(w, "egress-requests", o->egress_requests, "");
	/* As for every run of a daemon; without one, an ordinary user's default is another. */
	keeper_add(w, "--limits=%s", o->limits ? o->limits : "strict");
	if (o->user)
		keeper_add(w, "--user=%s", o->user);
	if (o->on_alert)
		keeper_add(w, "--on-alert=%s", o->on_alert);
	if (o->reason)
		keeper_add(w, "--reason=%s", o->reason);
	const char *asker = o->client && *o->client ? o->client : o->token;
	if (asker && *asker)
		keeper_add(w, "--asker=%s", asker);
	if (o->flags & PINFOLD_DETERMINISTIC)
		keeper_add(w, "--deterministic");
	if (o->deps)
		keeper_add(w, "--deps=%s", o->deps);
	for (unsigned i = 0; o->packages && o->packages[i]; i++)
		keeper_add(w, "--package=%s", o->packages[i]);
	for (unsigned i = 0; o->apt && o->apt[i]; i++)
		keeper_add(w, "--apt=%s", o->apt[i]);
	if (o->workdir)
		keeper_add(w, "--workdir=%s", o->workdir);
	for (unsigned i = 0; o->env && o->env[i]; i++)
		keeper_add(w, "--env=%s", o->env[i]);
	for (unsigned i = 0; o->allow && o->allow[i]; i++)
		keeper_add(w, "--allow=%s", o->allow[i]);
	if (o->policy)
		keeper_add(w, "--policy-text=%s", o->policy);
	if (o->lang)
		keeper_add(w, "--lang=%s", o->lang);
}

static int ask(struct kept *k, const struct wanted *w, bool create, struct err *e)
{
	const struct pinfold_run_options *o = &w->o;
	bool input = !(o->flags & PINFOLD_NO_STDIN);
	auto_words words = {0};

	keeper_add(&words, create ? "run" : "exec");
	add_options(&words, o, k->id);
	if (create && o->image)
		keeper_add(&words, "--image=%s", o->image);
	if (k->workspace)
		keeper_add(&words, create ? "--name=%s" : "%s", k->workspace);
	keeper_add(&words, "--");
	for (unsigned i = 0; o->argv && o->argv[i]; i++)
		keeper_add(&words, "%s", o->argv[i]);
	struct keeper_start s = {
		.words = &words,
		.flags = KEEPER_RESULT | (o->lang ? KEEPER_PROGRAM : 0),
		.grace_ms = (uint32_t)(o->grace_ms ? o->grace_ms : GRACE_MS),
		.program = o->code,
		.program_len = o->code_len,
		.input = input ? (w->input.data ? w->input.data : "") : NULL,
		.input_len = w->input.len,
	};
	return keeper_start(k->c, &s, &k->child, e);
}

static void begin(struct kept *k, const char *line, size_t len)
{
	struct err e = ERR_INIT, ignored = ERR_INIT;
	auto_value *said = NULL;
	const char *sandbox = NULL;

	if (value_parse(line, len, &said, &ignored) >= 0)
		sandbox = value_str(value_get(said, "sandbox"));
	k->rec = record_begin(k->c, k->id, k->command,
			      sandbox && id_is("sbx", sandbox) ? sandbox : "",
			      k->workspace ? k->workspace : "", &e);
	if (!k->rec) {
		*k->error = e;
		k->failed = true;
		keeper_tell_end(&k->child);
		return;
	}
	record_started(k->rec);
}

static void take_told(struct kept *k, const char *line, size_t len,
		      void (*fn)(struct record *rec, const char *text, size_t len))
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (k->rec && value_parse(line, len, &v, &ignored) >= 0 && value_str(value_get(v, "text")))
		fn(k->rec, value_str(value_get(v, "text")), value_len(value_get(v, "text")));
}

static void take_denial(struct kept *k, const char *line, size_t len)
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;

	if (!k->rec || value_parse(line, len, &v, &ignored) < 0)
		return;
	const struct pinfold_denial d = {value_str(value_get(v, "kind")),
					 value_str(value_get(v, "what")),
					 value_str(value_get(v, "hint")),
					 (uint64_t)value_int(value_get(v, "count"))};
	if (d.kind && d.what && d.hint)
		record_denial(k->rec, &d);
}

static void take_result(struct kept *k, const char *line, size_t len)
{
	struct err ignored = ERR_INIT;
	auto_value *v = NULL;
	const char *status = NULL;

	if (value_parse(line, len, &v, &ignored) >= 0)
		status = value_str(value_get(v, "status"));
	free(k->result);
	k->result = status ? strndup(line, len) : NULL;
	k->cpu_us = (uint64_t)(1000 * value_real(value_get(value_get(v, "usage"), "cpu_ms")));
	(void)snprintf(k->status, sizeof(k->status), "%s", status ? status : "failed");
}

static void take_line(struct kept *k, const char *line, size_t len)
{
	if (len > 8 && strncmp(line, "started ", 8) == 0 && !k->rec) {
		begin(k, line + 8, len - 8);
	} else if (len > 7 && strncmp(line, "denial ", 7) == 0) {
		take_denial(k, line + 7, len - 7);
	} else if (len > 6 && strncmp(line, "alert ", 6) == 0) {
		take_told(k, line + 6, len - 6, record_alert);
	} else if (len > 9 && strncmp(line, "approval ", 9) == 0) {
		take_told(k, line + 9, len - 9, record_question);
	} else if (len > 7 && strncmp(line, "result ", 7) == 0) {
		take_result(k, line + 7, len - 7);
	} else if (len > 7 && strncmp(line, "failed ", 7) == 0 && !k->rec) {
		k->failed = true;
		(void)err_set(k->error, ERR_INTERNAL, "it could not be started");
		(void)keeper_error(line + 7, len - 7, k->error);
	}
}

static bool make_room(struct kept *k, size_t more)
{
	size_t room = k->room ? k->room : 65536;

	while (room < k->len + more)
		room *= 2;
	if (room == k->room)
		return true;
	char *said = room <= SAID_MAX ? realloc(k->said, room) : NULL;
	if (!said)
		return false;
	k->said = said;
	k->room = room;
	return true;
}

static void take_said(struct kept *k)
{
	for (;;) {
		ssize_t n =
			make_room(k, 16384) ? read(k->child.result, k->said + k->len, 16384) : 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			fd_close(&k->child.result);
			return;
		}
		char *from = k->said + k->len, *end;
		k->len += (size_t)n;
		/* A document is large and has one line end: no byte is looked at twice. */
		while ((end = memchr(from, '\n', (size_t)(k->said + k->len - from)))) {
			size_t rest = (size_t)(k->said + k->len - end) - 1;

			take_line(k, k->said, (size_t)(end - k->said));
			memmove(k->said, end + 1, rest);
			k->len = rest;
			from = k->said;
		}
	}
}

static void take_output(struct kept *k, int *fd, int stream)
{
	char buf[32768];

	/* As much as others leave time for: the result and a cancel are looked at in between. */
	for (int i = 0; i < 16 && *fd >= 0; i++) {
		ssize_t n = read(*fd, buf, sizeof(buf));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			fd_close(fd);
		else if (k->rec)
			record_output(k->rec, k->carry, stream, buf, (size_t)n);
	}
}

static bool is_over(const struct keeper_child *k, uint64_t until)
{
	bool silent = k->out < 0 && k->err < 0 && k->result < 0;

	return k->reply < 0 && (silent || loop_now_ms() >= until);
}

/* Until it has ended and all that it printed was read. */
static int attend(struct kept *k, int *ret_status, struct err *e)
{
	struct keeper_child *child = &k->child;
	uint64_t until = UINT64_MAX;
	bool stopped = false;
	int r = 0;

	while (r >= 0 && !is_over(child, until)) {
		/* That it has started is said before it can print, but on another pipe. */
		bool begun = k->rec || child->reply < 0;
		struct pollfd p[6] = {{.fd = child->reply, .events = POLLIN},
				      {.fd = child->result, .events = POLLIN},
				      {.fd = begun ? child->out : -1, .events = POLLIN},
				      {.fd = begun ? child->err : -1, .events = POLLIN},
				      {.fd = child->in, .events = POLLOUT},
				      {.fd = stopped ? -1 : call_cancelled_fd(k->c),
				       .events = POLLIN}};

		(void)poll(p, 6, child->reply >= 0 ? -1 : 100); /* whatever it says, we look */
		keeper_feed(child);
		if (child->result >= 0)
			take_said(k);
		if (begun) {
			take_output(k, &child->out, 0);
			take_output(k, &child->err, 1);
		}
		if (p[5].revents && !stopped) {
			keeper_tell_end(child);
			stopped = true;
		}
		if (p[0].revents) {
			r = keeper_take_reply(child, ret_status, e);
			until = loop_now_ms() + DRAIN_MS;
		}
	}
	return r;
}

/* It ended without a word: it was killed, or told to end before it could begin. */
static int ended_early(const struct kept *k, int status, struct err *e)
{
	if (call_cancelled(k->c)) {
		(void)err_set(e, ERR_BUSY, "it was cancelled");
		return err_detail(e, "cancelled");
	}
	return err_set(e, ERR_INTERNAL, "the command ended without a result (status %d)", status);
}

/* What somebody who reads the record gets, where the keeper had no document. */
static char *failure(const struct kept *k, const struct err *e)
{
	auto_value *v = value_object();
	struct value *error = value_object();

	value_set(error, "code", value_of_str(err_code(e->kind)));
	value_set(error, "message", value_of_str(e->text));
	value_set(error, "remedy", value_of_str(e->remedy));
	value_set(v, "id", value_of_str(k->id));
	value_set(v, "workspace", value_of_str(k->workspace));
	value_set(v, "status", value_of_str("failed"));
	value_set(v, "error", error);
	return value_text(v, NULL);
}

static int finish(struct kept *k, int r, int status, struct err *e)
{
	struct reply *reply = &k->c->reply;

	if (r >= 0 && !k->rec)
		return k->failed ? -EIO : ended_early(k, status, e);
	if (!k->rec)
		return r;
	record_flush(k->rec, k->carry);
	if (!k->result) {
		r = r < 0 ? r : ended_early(k, status, e);
		k->result = failure(k, e);
		(void)snprintf(k->status, sizeof(k->status), "failed");
	} else {
		if (strcmp(k->status, "exited") != 0 && call_cancelled(k->c) &&
		    record_explain(k->c->api->quotas, k->rec->tenant, &k->result))
			(void)snprintf(k->status, sizeof(k->status), "killed");
		r = 0;
		k->result = words_of_result(k->result, k->id);
		reply->text = strdup(k->result);
		reply->text_len = reply->text ? strlen(reply->text) : 0;
	}
	record_end(k->c->api->runs, k->rec, k->status, take_ptr(&k->result));
	record_unref(k->c->api->runs, k->rec);
	return r;
}

/* A caller's word counts before that of who runs the daemon. */
const char *keeper_deps(const struct call *c)
{
	const char *mode = arg_str(c, "deps"), *standard = getenv("PINFOLD_DEPS");

	if (!mode && standard && strcmp(standard, "never") != 0)
		mode = standard;
	return mode && strcmp(mode, "off") != 0 ? mode : NULL;
}

bool keeper_packages(const struct call *c)
{
	return keeper_deps(c) || value_len(arg(c, "packages")) || value_len(arg(c, "apt"));
}

bool keeper_image(const struct call *c)
{
	const char *image = arg_str(c, "image");

	return c->api->keeper && image && strcmp(image, "host") != 0;
}

bool keeper_secrets(const struct call *c)
{
	const char *policy = arg_str(c, "policy");

	return c->api->keeper && policy && strstr(policy, "inject");
}

int keeper_run(struct call *c, const char *workspace, bool create, struct err *e)
{
	char id[ID_SIZE];
	struct kept k = {.c = c, .child = KEEPER_CHILD_INIT, .workspace = workspace, .error = e};
	struct wanted w;
	struct lease *lease = NULL;
	int status = 0, r = wanted_take(&w, c, true, e);
	struct quota_need need = {w.o.memory_bytes, w.o.disk_bytes, c->cancel};

	k.id = id;
	k.command = w.command;
	if (r >= 0)
		r = refuse_other(&w, workspace, create, e);
	w.o.deps = keeper_deps(c);
	if (r >= 0)
		r = id_make("run", id, e);
	if (r >= 0)
		r = quota_take(c->api->quotas, c->who.tenant, &need, &lease, e);
	if (r >= 0)
		r = quota_purse(c->api, c->who.tenant, &w.o, &w.o.egress_purse, e);
	purse_narrow(&w.o);
	if (r >= 0)
		r = ask(&k, &w, create, e);
	if (r >= 0) {
		r = attend(&k, &status, e);
		purse_add_result(w.o.egress_purse, k.result);
		r = finish(&k, r, status, e);
	}
	lease_end(c->api->quotas, lease, k.cpu_us);
	keeper_child_done(&k.child);
	free(k.said);
	free(k.result);
	wanted_done(&w);
	return r;
}
