/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that live: made and kept by the daemon, known by their id. Each function is one
 * question to it over a connection of its own.
 */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/guard.h"
#include "engine/said.h"

#define LIVE_MS 600000u /* how long one lives when nobody says */

int sandbox_check_id(const char *id, struct err *e)
{
	bool good = strlen(id) == SANDBOX_ID_SIZE - 1 && strncmp(id, "sbx", 3) == 0;

	if (good && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0')
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.40s\" is not the id of a sandbox", id);
	return err_remedy(e, "pinfold ps lists them: sbx and 26 characters");
}

int sandbox_result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

int sandbox_ask(struct link_ask *ask, const struct request *req, struct pinfold_run *explain,
		struct link_msg *ret, int *ret_fd, struct err *e)
{
	auto_close int link = FD_NONE, null = FD_NONE;
	int fds[2] = {FD_NONE, FD_NONE};
	int r = remote_open(&link, e);

	if (r >= 0 && req) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		r = null < 0 ? err_sys(e, "open /dev/null") : 0;
	}
	const int stdio[3] = {null, null, null};
	if (r >= 0)
		r = remote_ask(link, ask, req, stdio, e);
	if (r >= 0)
		r = remote_next(link, explain ? explain->cancel_fd : 0, ret, fds, e);
	if (r >= 0 && ret->kind == LINK_ERROR) {
		remote_error(ret, e);
		r = -EREMOTEIO;
	} else if (r >= 0 && ret->kind == LINK_FAILED && explain) {
		r = explain_failure(explain, ret->step, ret->op, ret->code, e);
	} else if (r >= 0 && ret->kind != LINK_OK && ret->kind != LINK_ENDED) {
		r = err_set(e, ERR_INTERNAL, "the daemon gave an unexpected answer");
	}
	if (ret_fd)
		*ret_fd = take_fd(&fds[0]);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return r < 0 ? r : 0;
}

static const char *verb_of(enum link_op op, uint64_t arg)
{
	if (op == LINK_KILL)
		return arg == SIGKILL ? "sandbox.end" : "sandbox.signal";
	return op == LINK_PAUSE	   ? "sandbox.pause"
	       : op == LINK_RESUME ? "sandbox.resume"
				   : "sandbox.extend";
}

static int about_with(const char *id, struct link_ask ask, struct pinfold_error *ret_error)
{
	struct link_msg msg;
	struct err e = ERR_INIT;
	struct op record = {.sandbox = id};
	int r = sandbox_check_id(id, &e);

	if (r >= 0)
		r = op_begin(&record, verb_of((enum link_op)ask.op, ask.arg), NULL, NULL, &e);
	else
		record_init(&record.record);
	if (r >= 0) {
		(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
		r = sandbox_ask(&ask, NULL, NULL, &msg, NULL, &e);
	}
	return sandbox_result(op_end(&record, r, NULL, &e), &e, ret_error);
}

static int about(const char *id, enum link_op op, uint64_t arg, struct pinfold_error *ret_error)
{
	return about_with(id, (struct link_ask){.op = op, .arg = arg}, ret_error);
}

int pinfold_sandbox_signal(const char *id, int signo, struct pinfold_error *ret_error)
{
	return about(id, LINK_KILL, (uint64_t)signo, ret_error);
}

int pinfold_sandbox_destroy(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_KILL, SIGKILL, ret_error);
}

int pinfold_sandbox_pause(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_PAUSE, 0, ret_error);
}

int pinfold_sandbox_resume(const char *id, struct pinfold_error *ret_error)
{
	return about(id, LINK_RESUME, 0, ret_error);
}

int pinfold_sandbox_extend(const char *id, uint64_t ms, struct pinfold_error *ret_error)
{
	return about(id, LINK_EXTEND, ms, ret_error);
}

int pinfold_sandbox_touch(const char *id, uint64_t ms, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_EXTEND, .flags = LINK_USED, .arg = ms};

	return about_with(id, ask, ret_error);
}

/* Options of a sandbox without a command of its own: a word stands where one would. */
static void without_command(struct pinfold_run_options *o)
{
	static const char *const nothing[] = {"-", NULL};

	o->argv = nothing;
}

/* Why the command could not be executed, where explain_failure() found words for it. */
static int take_failure(const struct pinfold_run *run, int r, struct pinfold_error *ret_error)
{
	if (r >= 0 || !run->failed)
		return r;
	*ret_error = run->error;
	return r;
}

/* The daemon has that level only; who asks for another by name is not given it silently. */
static int check_level(const struct pinfold_run_options *o, struct err *e)
{
	if (!o->isolation || strcmp(o->isolation, "strict") == 0)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "--isolation: a sandbox that lives is always strict");
	return err_remedy(e, "leave --isolation out, or run it without --detach");
}

/* Packages are said when it is made: a mount cannot be brought into one that has given up its
 * rights. */
static int check_packages(const struct pinfold_run_options *o, bool idle, struct err *e)
{
	bool named = (o->packages && o->packages[0]) || (o->apt && o->apt[0]) || o->packages_fd;

	if (!idle || !o->deps || strcmp(o->deps, "off") == 0 || o->dir || named)
		return 0;
	(void)err_set(e, ERR_INVALID, "deps: there is neither a program nor a directory yet");
	return err_remedy(e, "name what it is to have: packages, --package NAME");
}

/* Somebody else had them installed, and says what they are. */
static int say_packages(struct pinfold_run *run, const char *json, struct err *e)
{
	auto_value *said = NULL;

	if (!json || run->req.deps.packages)
		return 0;
	int r = value_parse(json, strlen(json), &said, e);
	if (r >= 0 && value_kind(said) != VALUE_ARRAY)
		r = err_set(e, ERR_INVALID, "packages: no list");
	if (r >= 0)
		run->req.deps.packages = take_ptr(&said);
	return r;
}

static int create_request(struct pinfold_run *run, struct pinfold_run_options *o, bool idle,
			  struct err *e)
{
	auto_deps deps = {.store = NULL};
	int r = check_level(o, e);

	if (r >= 0)
		r = pin_refuse(o, "--detach", e);
	if (r >= 0)
		r = said_check(&(struct secrets_said){o->hide, o->show}, e);
	if (r >= 0)
		r = check_packages(o, idle, e);
	if (r >= 0)
		r = deps_prepare(o, NULL, NULL, &deps, e);
	if (r >= 0)
		r = request_init(&run->req, o, NULL, true, e);
	if (r >= 0)
		r = request_ceiling(&run->req, e);
	if (r < 0)
		return r;
	deps_attach(&run->req, &deps);
	run->req.layers_fd = o->packages_fd;
	run->req.spec.deps.passed = o->packages_fd > 0;
	return say_packages(run, o->packages_json, e);
}

int pinfold_sandbox_create(const struct pinfold_run_options *options, char ret_id[PINFOLD_ID_SIZE],
			   struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_CREATE};
	struct pinfold_run *run = run_new();
	struct pinfold_run_options o;
	struct err e = ERR_INIT;
	struct link_msg msg;

	assert(options && ret_id && ret_error);
	options_take(&o, options);
	bool idle = !o.lang && (!o.argv || !o.argv[0]);
	if (idle)
		without_command(&o);
	if (!o.time_ms)
		o.time_ms = LIVE_MS;
	int r = run ? create_request(run, &o, idle, &e) : err_sys(&e, "run");
	struct op op = {.sandbox = NULL};
	record_init(&op.record);
	if (r >= 0) {
		record_asks(run, options);
		op.record.who = run->record.who;
	}
	if (r >= 0)
		r = op_begin(&op, "sandbox.create", NULL, record_run_asked(run, options), &e);
	if (r >= 0) {
		run->cancel_fd = o.cancel_fd;
		run->req.spec.live = idle;
		run->lives = true;
		request_usual_ports(&run->req);
		r = egress_begin(run, &e);
	}
	if (r >= 0)
		r = guard_begin(run, &e);
	if (r >= 0) {
		r = sandbox_ask(&ask, &run->req, run, &msg, NULL, &e);
	}
	op.sandbox = r >= 0 ? msg.ok.sandbox : NULL;
	/* The beginning did not know which it is. */
	struct value *made = value_object();
	if (r >= 0)
		record_run_command(made, run);
	r = op_end(&op, r, made, &e);
	if (r >= 0)
		r = egress_hold(run, msg.ok.sandbox, &e);
	if (r > 0)
		run = NULL;
	if (r >= 0)
		(void)snprintf(ret_id, PINFOLD_ID_SIZE, "%.*s", (int)sizeof(msg.ok.sandbox) - 1,
			       msg.ok.sandbox);
	r = sandbox_result(r, &e, ret_error);
	if (run)
		r = take_failure(run, r, ret_error);
	pinfold_run_free(run);
	return r;
}

/* A command in it, not yet asked for. */
static int prepare(const char *id, const struct pinfold_run_options *options,
		   struct pinfold_run *run, struct err *e)
{
	struct pinfold_run_options o;

	options_take(&o, options);
	o.dir = NULL;
	o.metadata = NULL;
	o.flags &= ~PINFOLD_OWN_POLICY; /* it has one, or none */
	int r = sandbox_check_id(id, e);
	if (r >= 0 && ((o.allow && o.allow[0]) || o.policy)) {
		r = err_set(e, ERR_UNSUPPORTED, "what a sandbox may reach is said when it is made");
		(void)err_remedy(e, "leave allow and policy out; pinfold allow %s changes it", id);
	}
	if (r >= 0 && o.reason) {
		r = err_set(e, ERR_UNSUPPORTED,
			    "--reason: what a sandbox is for is said when it is made");
		(void)err_remedy(e, "pinfold run --detach --reason TEXT");
	}
	if (r >= 0)
		r = pin_refuse(&o, "a sandbox that lives", e);
	if (r >= 0)
		r = request_init(&run->req, &o, NULL, true, e);
	if (r >= 0)
		r = say_packages(run, o.packages_json, e);
	run->req.spec.as_user = o.user && strcmp(o.user, "user") == 0;
	if (r >= 0)
		(void)snprintf(run->req.spec.id, sizeof(run->req.spec.id), "%s", id);
	run->req.spec.driver = run->req.spec.collect = false;
	run->exec = true;
	return r;
}

int sandbox_exec(const char *id, const struct pinfold_run_options *options, bool session,
		 struct pinfold_run **ret, struct err *e)
{
	struct pinfold_run *run = run_new();
	int r = run ? prepare(id, options, run, e) : err_sys(e, "run");

	if (r >= 0) {
		record_who(run, options);
		run->socket = run->req.spec.session = session;
		r = remote_open_exec(run, e);
	}
	if (r >= 0)
		egress_share_begin(run);
	if (r >= 0)
		r = run_begin(run, e);
	if (r < 0 && run)
		record_run_refused(run, options, e);
	if (r < 0)
		pinfold_run_free(run);
	else
		*ret = run;
	return r;
}

int pinfold_sandbox_exec(const char *id, const struct pinfold_run_options *options,
			 struct pinfold_run **ret_run, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_run && ret_error);
	return sandbox_result(sandbox_exec(id, options, false, ret_run, &e), &e, ret_error);
}

int pinfold_sandbox_spawn(const char *id, const struct pinfold_run_options *options,
			  uint32_t *ret_pid, struct pinfold_error *ret_error)
{
	struct link_ask ask = {.op = LINK_EXEC, .flags = LINK_DETACH};
	struct pinfold_run *run = run_new();
	struct err e = ERR_INIT;
	struct link_msg msg;
	int r = run ? prepare(id, options, run, &e) : err_sys(&e, "run");

	struct op op = {.sandbox = id};
	record_init(&op.record);
	if (r >= 0) {
		record_asks(run, options);
		op.record.who = run->record.who;
	}
	if (r >= 0)
		r = op_begin(&op, "sandbox.spawn", NULL, record_run_asked(run, options), &e);
	if (r >= 0) {
		(void)snprintf(ask.id, sizeof(ask.id), "%s", id);
		r = sandbox_ask(&ask, &run->req, run, &msg, NULL, &e);
	}
	struct value *data = value_object();
	if (r >= 0) /* sandbox.exited has it, too */
		value_set(data, "pid", value_of_u64(msg.ok.value));
	if (r >= 0)
		record_run_command(data, run);
	r = op_end(&op, r, data, &e);
	if (r >= 0)
		*ret_pid = (uint32_t)msg.ok.value;
	r = sandbox_result(r, &e, ret_error);
	if (run)
		r = take_failure(run, r, ret_error);
	pinfold_run_free(run);
	return r;
}
