/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How it ended. Only what the supervisor saw counts; a command that prints or exits with our
 * numbers changes nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/run_int.h"

void error_public(const struct err *e, struct pinfold_error *ret)
{
	(void)snprintf(ret->code, sizeof(ret->code), e->detail[0] ? "%s.%s" : "%s",
		       err_code(e->kind), e->detail);
	(void)snprintf(ret->message, sizeof(ret->message), "%s", e->text);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", e->remedy);
	ret->retry_after_ms = e->retry_ms;
}

void run_fail(struct pinfold_run *run, const struct err *e, int exit_status)
{
	run->failed = true;
	run->status = "failed";
	run->exit_status = exit_status;
	error_public(e, &run->error);
}

static void note(struct pinfold_run *run, const char *text)
{
	if (run->n_notes < RUN_NOTES_MAX && (run->notes[run->n_notes] = strdup(text)))
		run->n_notes++;
}

static void set_limit(struct pinfold_run *run, const char *kind, uint64_t value, const char *unit,
		      const char *hint)
{
	if (run->limit_kind)
		return;
	run->limit_kind = kind;
	run->limit_value = value;
	run->limit_unit = unit;
	(void)snprintf(run->limit_hint, sizeof(run->limit_hint), "%s", hint);
}

static void limit_memory(struct pinfold_run *run)
{
	char hint[160];

	(void)snprintf(hint, sizeof(hint), "out of memory at %lluM; raise it with --memory",
		       (unsigned long long)(run->req.spec.limits.memory_bytes >> 20));
	set_limit(run, "memory", run->req.spec.limits.memory_bytes, "bytes", hint);
}

/* Its own, or that of the sandbox it was sent into. */
static void limit_time(struct pinfold_run *run)
{
	uint64_t ms = run->outlived ? run->live_ms : run->req.spec.limits.time_ms;
	char hint[160];

	if (run->outlived)
		(void)snprintf(hint, sizeof(hint),
			       "the sandbox's own time was over; pinfold extend gives it more");
	else
		(void)snprintf(hint, sizeof(hint), "ran longer than %.3gs; raise it with --time",
			       (double)ms / 1000);
	set_limit(run, "time", ms, "ms", hint);
}

static void judge_stop(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	char hint[160];

	switch (run->stop) {
	case STOP_TIME:
		run->status = "timeout";
		run->exit_status = 124;
		limit_time(run);
		break;
	case STOP_CPU_TIME:
		run->status = "killed";
		run->exit_status = 137;
		(void)snprintf(hint, sizeof(hint),
			       "used more than %.3gs of CPU; raise it with --cpu-time",
			       (double)l->cpu_time_ms / 1000);
		set_limit(run, "cpu_time", l->cpu_time_ms, "ms", hint);
		break;
	case STOP_MEMORY:
		run->status = "oom";
		run->exit_status = 137;
		limit_memory(run);
		break;
	case STOP_DISK: /* which limit that was, is said with the others */
	case STOP_CALLER:
		run->status = "killed";
		run->exit_status = 137;
		break;
	case STOP_NONE: break;
	}
}

static void judge_exit(struct pinfold_run *run)
{
	int st = run->wait_status;

	if (!run->have_status) {
		/* The guest was killed from outside, or the kernel ended the whole group. */
		run->status = run->usage.oom_kills ? "oom" : "killed";
		run->exit_status = 137;
	} else if (WIFEXITED(st)) {
		run->status = "exited";
		run->exit_status = WEXITSTATUS(st);
	} else {
		bool oom = WTERMSIG(st) == SIGKILL && run->usage.oom_kills > 0;

		run->status = oom ? "oom" : "signaled";
		run->exit_status = 128 + WTERMSIG(st);
	}
	if (strcmp(run->status, "oom") == 0)
		limit_memory(run);
}

static void judge_soft_limits(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	char hint[160];

	if (run->usage.oom_kills)
		limit_memory(run);
	if (run->usage.pids_refused || run->pids_full) {
		(void)snprintf(hint, sizeof(hint),
			       "no more than %llu processes; raise it with --pids",
			       (unsigned long long)l->pids);
		set_limit(run, "pids", l->pids, "processes", hint);
	}
	if (run->req.held.disk != HELD_ABSENT && run->disk_full) {
		(void)snprintf(hint, sizeof(hint),
			       "the %lluM of disk are full; raise it with --disk",
			       (unsigned long long)(l->disk_bytes >> 20));
		set_limit(run, "disk", l->disk_bytes, "bytes", hint);
	}
	if (run->files_full && run->upper)
		set_limit(run, "disk", run->upper->w.inodes, "files",
			  "the workspace has as many files as it may; make a larger one: "
			  "pinfold new --inodes");
	for (int i = 0; i < 2; i++)
		if (capture_truncated(&run->capture[i]) && (run->req.flags & PINFOLD_CAPTURE)) {
			(void)snprintf(hint, sizeof(hint),
				       "output beyond %llu bytes is in the artifact; raise it with "
				       "--output",
				       (unsigned long long)run->req.output_bytes);
			set_limit(run, "output", run->req.output_bytes, "bytes", hint);
		}
}

/* What a person at a terminal is told, one line each. */
static void write_notes(struct pinfold_run *run)
{
	char line[512];

	if (run->skipped) {
		(void)snprintf(line, sizeof(line), "%llu bytes of output were not kept",
			       (unsigned long long)run->skipped);
		note(run, line);
	}
	if (run->req.held.memory == HELD_POLLED || run->req.held.disk == HELD_ABSENT) {
		const struct run_held *h = &run->req.held;

		(void)snprintf(line, sizeof(line),
			       "limits are best-effort: memory %s, pids %s, cpus %s, disk %s%s%s",
			       held_name(h->memory), held_name(h->pids), held_name(h->cpus),
			       held_name(h->disk), run->req.cgroups.ops ? "" : "; ",
			       run->req.cgroups.ops ? "" : run->req.cgroups.why);
		note(run, line);
	}
	if (run->req.policy_note[0])
		note(run, run->req.policy_note);
	if (run->req.secrets.beyond)
		note(run,
		     "the directory is large: it was not searched whole for files that look like "
		     "secrets; hide them with --hide");
	if (run->req.git.note)
		note(run, run->req.git.note);
	if (run->req.rough && !run->req.spec.on_volume && run->exit_status != 0)
		note(run,
		     "before Linux 6.6 a directory that the host has cannot be removed inside");
	if (run->limit_kind) {
		(void)snprintf(line, sizeof(line), "limit %s: %s", run->limit_kind,
			       run->limit_hint);
		note(run, line);
	}
	for (unsigned i = 0; i < run->n_denials && i < 8; i++) {
		const struct run_denial *d = &run->denials[i];

		(void)snprintf(line, sizeof(line), "denied %s: %s: %s", d->kind, d->what, d->hint);
		note(run, line);
	}
}

void run_judge(struct pinfold_run *run)
{
	if (run->failed)
		return;
	if (run->hangs_up) {
		run->status = "running";
		run->exit_status = 0;
		write_notes(run);
		return;
	}
	if (run->stop != STOP_NONE)
		judge_stop(run);
	else
		judge_exit(run);
	judge_soft_limits(run);
	if (strcmp(run->status, "exited") == 0 && run->exit_status != 0 && !run->follows)
		run_hidden_arguments(run);
	write_notes(run);
}
