/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a sandbox that lives. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/boxes.h"
#include "api/handlers.h"
#include "base/fd.h"
#include "api/process.h"
#include "pinfold/pinfold.h"

static struct value *describe(const struct pinfold_process *p,
			      const struct pinfold_process_state *states, size_t n)
{
	struct value *o = value_object();
	char state[2] = {p->state, '\0'};
	bool background = false;

	for (size_t i = 0; i < n; i++)
		background |= states[i].running && states[i].pid == p->pid;
	value_set(o, "pid", value_of_u64(p->pid));
	value_set(o, "parent", value_of_u64(p->parent));
	value_set(o, "command", value_of_str(p->command));
	value_set(o, "state", value_of_str(state));
	value_set(o, "status", value_of_str("running"));
	value_set(o, "background", value_of_bool(background));
	value_set(o, "threads", value_of_u64(p->threads));
	value_set(o, "cpu_ms", value_of_u64(p->cpu_ms));
	value_set(o, "memory_bytes", value_of_u64(p->memory_bytes));
	return o;
}

struct value *process_describe(const struct pinfold_process_state *s)
{
	struct value *o = value_object();

	value_set(o, "pid", value_of_u64(s->pid));
	value_set(o, "command", value_of_str(s->command));
	value_set(o, "status", value_of_str(s->status));
	value_set(o, "running", value_of_bool(s->running));
	value_set(o, "exit_code", s->exit_code < 0 ? value_of_null() : value_of_int(s->exit_code));
	value_set(o, "signal", s->signal ? value_of_int(s->signal) : value_of_null());
	value_set(o, "started", value_of_instant(s->started_ms));
	value_set(o, "ended", value_of_instant(s->ended_ms));
	value_set(o, "output_bytes", value_of_u64(s->output_bytes));
	value_set(o, "background", value_of_bool(true));
	return o;
}

/* All that are there, then those background commands that have ended. */
int op_process_list(struct call *c, struct err *e)
{
	struct pinfold_process_state *states = NULL;
	struct pinfold_process *list = NULL;
	struct pinfold_error failure;
	size_t n = 0, n_states = 0;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);

	if (!b)
		return -ENOENT;
	int r = pinfold_sandbox_processes(b->id, &list, &n, &failure);
	if (r == 0)
		r = pinfold_process_list(b->id, &states, &n_states, &failure);
	if (r == 0) {
		struct value *items = value_array();

		for (size_t i = 0; i < n; i++)
			value_add(items, describe(&list[i], states, n_states));
		for (size_t i = 0; i < n_states; i++)
			if (!states[i].running)
				value_add(items, process_describe(&states[i]));
		c->reply.value = value_object();
		value_set(c->reply.value, "items", items);
		value_set(c->reply.value, "next", value_of_null());
	} else {
		r = api_error(e, &failure);
	}
	pinfold_process_list_free(states);
	pinfold_processes_free(list);
	box_put(c->api, b);
	return r;
}

/* What the daemon knows by its sandbox's id and by options of the command line. */
static int process_error(const struct call *c, const struct pinfold_error *failure, struct err *e)
{
	if (strncmp(failure->code, "not_found", 9) != 0 ||
	    !strstr(failure->message, "no such command"))
		return api_error(e, failure);
	(void)err_set(e, ERR_MISSING, "there is no background process %lld in sandbox %s",
		      (long long)arg_int(c, "pid", 0), arg_str(c, "id"));
	(void)err_detail(e, "process");
	return err_remedy(e,
			  "exec starts one with background; others can be listed, and signalled");
}

int op_process_get(struct call *c, struct err *e)
{
	struct pinfold_process_output out = {0};
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = 0;

	if (!b)
		return -ENOENT;
	if (pinfold_process_read(b->id, (uint32_t)arg_int(c, "pid", 0), INT64_MAX,
				 (uint32_t)arg_int(c, "wait", 0), call_cancelled_fd(c), &out,
				 &failure) < 0)
		r = process_error(c, &failure, e);
	else
		c->reply.value = process_describe(&out.state);
	pinfold_process_output_free(&out);
	box_put(c->api, b);
	return r;
}

static struct value *describe_output(const struct pinfold_process_output *out)
{
	struct value *o = value_object(), *parts = value_array();
	size_t at = 0;

	for (size_t i = 0; i < out->n_runs; i++) {
		struct value *part = value_object();

		value_set(part, "stream",
			  value_of_str(out->runs[i].stream == 2 ? "stderr" : "stdout"));
		value_set_text(part, out->data + at, out->runs[i].len);
		value_add(parts, part);
		at += out->runs[i].len;
	}
	value_set(o, "offset", value_of_u64(out->offset));
	value_set(o, "next_offset", value_of_u64(out->offset + out->len));
	value_set(o, "output", parts);
	value_set(o, "process", process_describe(&out->state));
	return o;
}

int op_process_output(struct call *c, struct err *e)
{
	struct pinfold_process_output out = {0};
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = 0;

	if (!b)
		return -ENOENT;
	if (pinfold_process_read(b->id, (uint32_t)arg_int(c, "pid", 0), arg_int(c, "offset", 0),
				 (uint32_t)arg_int(c, "wait", 0), call_cancelled_fd(c), &out,
				 &failure) < 0)
		r = process_error(c, &failure, e);
	else
		c->reply.value = describe_output(&out);
	pinfold_process_output_free(&out);
	box_put(c->api, b);
	return r;
}

int process_signal_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} table[] = {{"INT", SIGINT},	{"TERM", SIGTERM},  {"KILL", SIGKILL}, {"HUP", SIGHUP},
		     {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},  {"USR2", SIGUSR2}, {"STOP", SIGSTOP},
		     {"CONT", SIGCONT}, {"WINCH", SIGWINCH}};

	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char number[8];

		(void)snprintf(number, sizeof(number), "%d", table[i].number);
		if (strcmp(name, table[i].name) == 0 || strcmp(name, number) == 0)
			return table[i].number;
	}
	return 0;
}

int op_process_signal(struct call *c, struct err *e)
{
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	const uint32_t pid = (uint32_t)arg_int(c, "pid", 0);
	int signo = process_signal_of(arg_str(c, "signal")), r = 0;

	if (!b)
		return -ENOENT;
	if (!signo) {
		(void)err_set(e, ERR_INVALID, "signal: \"%.20s\" is none", arg_str(c, "signal"));
		r = err_remedy(e,
			       "use INT, TERM, KILL, HUP, QUIT, USR1, USR2, STOP, CONT or WINCH");
	} else if (pid == 1) {
		(void)err_set(e, ERR_CONFLICT, "process 1 is the sandbox itself");
		r = err_remedy(e, "to end it, delete the sandbox; to stop it, pause it");
	} else if (pinfold_process_signal(b->id, pid, signo, &failure) < 0) {
		r = process_error(c, &failure, e);
	}
	box_put(c->api, b);
	return r;
}

int op_process_stdin(struct call *c, struct err *e)
{
	struct pinfold_error failure;
	const struct value *data = arg(c, "data");
	const char *encoding = arg_str(c, "encoding"), *text = value_str(data);
	auto_free void *plain = NULL;
	size_t written = 0, len = value_len(data);
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = 0;

	if (!b)
		return -ENOENT;
	if (text && encoding && strcmp(encoding, "base64") == 0) {
		if (value_from_base64(text, len, &plain, &len) < 0)
			r = err_set(e, ERR_INVALID, "data: not base64");
		text = plain;
	}
	if (r >= 0 && pinfold_process_write(b->id, (uint32_t)arg_int(c, "pid", 0), text, len,
					    arg_true(c, "close"), &written, &failure) < 0)
		r = process_error(c, &failure, e);
	c->reply.value = value_object();
	value_set(c->reply.value, "written", value_of_u64(written));
	box_put(c->api, b);
	return r;
}

int op_process_resize(struct call *c, struct err *e)
{
	struct pinfold_error failure;
	struct box *b = box_find(c->api, &c->who, arg_str(c, "id"), e);
	int r = 0;

	if (!b)
		return -ENOENT;
	if (pinfold_process_resize(b->id, (uint32_t)arg_int(c, "pid", 0),
				   (unsigned)arg_int(c, "rows", 24),
				   (unsigned)arg_int(c, "cols", 80), &failure) < 0)
		r = process_error(c, &failure, e);
	box_put(c->api, b);
	return r;
}
