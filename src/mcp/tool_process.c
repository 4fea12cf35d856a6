/* SPDX-License-Identifier: Apache-2.0 */
/* Background processes: what they printed, and what they are told. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/runs.h"
#include "base/fd.h"
#include "mcp/asked.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define WRITE_LOOK_MS 200u
#define RUN_LOOK_MS 50
#define QUIET_MS 300u
#define HEARD_MAX (1u << 20)

static void put_state(struct text *t, const struct pinfold_process_state *s)
{
	if (s->running)
		text_put(t, "running");
	else if (s->signal > 0)
		text_fmt(t, "killed by signal %d (SIG%s)", s->signal,
			 sigabbrev_np(s->signal) ? sigabbrev_np(s->signal) : "?");
	else if (s->exit_code >= 0)
		text_fmt(t, "exit %d", s->exit_code);
	else
		text_put(t, s->status);
}

static int unknown_process(struct call *c, const struct box *b, const char *name, struct err *e)
{
	struct pinfold_process_state *list = NULL;
	struct pinfold_error ignored;
	auto_text all = TEXT_INIT;
	size_t n = 0;

	if (pinfold_process_list(b->id, &list, &n, &ignored) == 0) {
		for (size_t i = n > 10 ? n - 10 : 0; i < n; i++) {
			text_fmt(&all, "%sp%u (", all.len ? ", " : "",
				 names_of_process(tool_mcp(c)->names, b->id, list[i].pid));
			put_state(&all, &list[i]);
			text_put(&all, ")");
		}
		pinfold_process_list_free(list);
	}
	(void)err_set(e, ERR_MISSING, "%.16s is unknown in sandbox %s", name, box_label(b));
	(void)err_detail(e, "process");
	if (all.len)
		return err_remedy(e, "Known: %.400s", all.data);
	return err_remedy(e, "There is none: start one with %s background=true",
			  tool_name(tool_exec));
}

static int find_process(struct call *c, const struct box *b, uint32_t *ret_pid, struct err *e)
{
	const char *name = arg_str(c, "process_id");

	if (names_process(tool_mcp(c)->names, b->id, name, ret_pid))
		return 0;
	/* They get their names in the order of their start when nobody knows them any more. */
	(void)unknown_process(c, b, name, e);
	return names_process(tool_mcp(c)->names, b->id, name, ret_pid) ? 0 : -ENOENT;
}

/* What it prints from `offset` on, until it is quiet for a moment, ends, or the time is over. */
struct heard {
	struct text out;
	uint64_t from, next, total; /* offsets */
	struct pinfold_process_state state;
};

static int listen_to(struct call *c, const struct box *b, uint32_t pid, int64_t offset,
		     uint64_t wait_ms, struct heard *h, struct err *e)
{
	uint64_t until = loop_now_ms() + wait_ms, now;
	bool first = true;

	do {
		struct pinfold_process_output got = {0};
		struct pinfold_error failure;

		now = loop_now_ms();
		uint64_t wait = now < until ? until - now : 0;
		wait = !first && wait > QUIET_MS ? QUIET_MS : wait;
		if (pinfold_process_read(b->id, pid, first ? offset : (int64_t)h->next,
					 (uint32_t)wait, call_cancelled_fd(c), &got, &failure) < 0)
			return api_error(e, &failure);
		h->from = first ? got.offset : h->from;
		h->next = got.offset + got.len;
		h->state = got.state;
		text_add(&h->out, got.data ? got.data : "", got.len);
		bool quiet = !got.len;
		pinfold_process_output_free(&got);
		if (quiet)
			break;
		first = false;
	} while (h->state.running && now < until && h->out.len < HEARD_MAX && !call_cancelled(c));
	return 0;
}

static int show_output(struct call *c, struct box *b, uint32_t pid, int64_t offset,
		       uint32_t wait_ms, struct text *t, struct err *e)
{
	struct heard h = {.out = TEXT_INIT};
	int r = listen_to(c, b, pid, offset, wait_ms, &h, e);
	struct stream s = {.name = "output", .head = h.out.data, .head_len = h.out.len};
	char number[32];
	bool cut = false;

	if (r >= 0) {
		text_fmt(t, "process %s ", arg_str(c, "process_id"));
		put_state(t, &h.state);
		text_fmt(t, "  [sandbox %s]\n", box_label(b));
		if (offset >= 0 && h.from > (uint64_t)offset)
			text_fmt(t, "[%s bytes before were dropped]\n",
				 text_number(h.from - (uint64_t)offset, number));
		const size_t max = (size_t)arg_int(c, "max_output_chars", 12000);

		text_stream(t, &s, max < 29000 ? max : 29000, &cut); /* of 30,000 in all */
		text_fmt(t, "next_offset: %llu of %llu bytes", (unsigned long long)h.next,
			 (unsigned long long)h.state.output_bytes);
		names_set_offset(tool_mcp(c)->names, b->id, pid, h.next);
		if (h.state.running)
			asked_note(c, b, t);
		if (h.state.running && !h.out.len)
			text_put(
				t,
				"\nNothing new. Poll again with wait_ms=20000, or do something else "
				"meanwhile.");
	}
	text_done(&h.out);
	return r;
}

/* Another thread says so. */
static bool has_ended(const struct record *rec)
{
	return __atomic_load_n(&rec->ended_at, __ATOMIC_RELAXED);
}

/* "r21": code that is still being executed, by another call. */
static int read_run(struct call *c, struct box *b, struct text *t, struct err *e)
{
	struct record *rec = run_of_name(c, b, arg_str(c, "process_id"), e);
	struct pollfd p = {.fd = call_cancelled_fd(c), .events = POLLIN};
	uint64_t until = loop_now_ms() + (uint64_t)arg_int(c, "wait_ms", 0);

	if (!rec)
		return -ENOENT;
	while (!has_ended(rec) && loop_now_ms() < until && poll(&p, 1, RUN_LOOK_MS) == 0)
		;
	bool ended = has_ended(rec);
	if (ended && shown_run(c, b, rec, t)) { /* a command that waited for a person */
		record_unref(c->api->runs, rec);
		return 0;
	}
	struct outcome o = {.box = b,
			    .rec = rec,
			    .run = arg_str(c, "process_id"),
			    .title = ended ? "ended" : "running",
			    .so_far = !ended,
			    .notes = TEXT_INIT,
			    .max_chars = (size_t)arg_int(c, "max_output_chars", 12000)};
	show_run(t, &o);
	record_unref(c->api->runs, rec);
	return 0;
}

int tool_process_read(struct call *c, struct err *e)
{
	struct box *b = tool_box(c, e);
	auto_text t = TEXT_INIT;
	uint32_t pid = 0;

	if (!b)
		return -ENOENT;
	int r = 0;
	if (arg_str(c, "process_id")[0] == 'r') {
		r = read_run(c, b, &t, e);
	} else {
		r = find_process(c, b, &pid, e);
		if (r >= 0)
			r = show_output(
				c, b, pid,
				arg_int(c, "offset",
					(int64_t)names_offset(tool_mcp(c)->names, b->id, pid)),
				(uint32_t)arg_int(c, "wait_ms", 0), &t, e);
	}
	if (r >= 0)
		r = tool_reply(c, &t, e);
	box_put(c->api, b);
	return r;
}

static int signal_of(const char *name)
{
	return !strcmp(name, "INT")    ? SIGINT
	       : !strcmp(name, "TERM") ? SIGTERM
	       : !strcmp(name, "KILL") ? SIGKILL
				       : SIGHUP;
}

/* By the name that the model knows: "command 17 of sbx… has ended" is about p1. */
static int by_name(struct call *c, const struct pinfold_error *failure, struct err *e)
{
	const char *of = strncmp(failure->message, "command ", 8) == 0
				 ? strstr(failure->message, " of ")
				 : NULL;
	const char *rest = of ? strchr(of + 4, ' ') : NULL;
	int r = api_error(e, failure);

	if (rest)
		(void)snprintf(e->text, sizeof(e->text), "%.16s%s", arg_str(c, "process_id"), rest);
	return r;
}

static int write_process(struct call *c, struct box *b, struct text *t, struct err *e)
{
	const struct value *input = arg(c, "input");
	const char *signo = arg_str(c, "signal");
	bool ends = arg_true(c, "close_stdin");
	struct pinfold_error failure;
	uint32_t pid = 0;
	size_t wrote = 0;

	if (find_process(c, b, &pid, e) < 0)
		return -ENOENT;
	if ((input || ends) && pinfold_process_write(b->id, pid, input ? value_str(input) : "",
						     value_len(input), ends, &wrote, &failure) < 0)
		return by_name(c, &failure, e);
	if (signo && pinfold_process_signal(b->id, pid, signal_of(signo), &failure) < 0)
		return by_name(c, &failure, e);
	return show_output(c, b, pid, (int64_t)names_offset(tool_mcp(c)->names, b->id, pid),
			   (uint32_t)arg_int(c, "wait_ms", WRITE_LOOK_MS), t, e);
}

/* The session that executes it, by name. */
static bool session_of(struct call *c, struct box *b, const char *name, char ret[BOX_NAME_SIZE])
{
	bool found = false;
	char run[32];

	if (!names_run(tool_mcp(c)->names, b->id, name, run))
		return false;

	(void)pthread_mutex_lock(&b->lock);
	for (const struct session *s = b->sessions; s && !found; s = s->next)
		if (s->busy && strcmp(s->run, run) == 0) {
			(void)snprintf(ret, BOX_NAME_SIZE, "%s", s->name);
			found = true;
		}
	(void)pthread_mutex_unlock(&b->lock);
	return found;
}

static int interrupt_run(struct call *c, struct box *b, struct text *t, struct err *e)
{
	const char *run = arg_str(c, "process_id"), *signo = arg_str(c, "signal");
	char session[BOX_NAME_SIZE];

	if (arg(c, "input") || !signo || strcmp(signo, "INT") != 0) {
		(void)err_set(e, ERR_INVALID,
			      "%.16s is code in a session: it takes signal=\"INT\" alone", run);
		return err_remedy(e, "Leave input and close_stdin out");
	}
	if (session_of(c, b, run, session) && box_session_interrupt(b, session, e) < 0)
		return -EIO;
	return read_run(c, b, t, e);
}

int tool_process_write(struct call *c, struct err *e)
{
	struct box *b = tool_box(c, e);
	auto_text t = TEXT_INIT;

	if (!b)
		return -ENOENT;
	int r = arg_str(c, "process_id")[0] == 'r' ? interrupt_run(c, b, &t, e)
						   : write_process(c, b, &t, e);
	if (r >= 0)
		r = tool_reply(c, &t, e);
	box_put(c->api, b);
	return r;
}
