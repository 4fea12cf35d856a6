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

#define FULL_REMEDY                                                                                \
	"make room on that disk; pinfold rm, pinfold undo with pinfold gc --undone, and pinfold "  \
	"image rm give some back"

void error_public(const struct err *e, struct pinfold_error *ret)
{
	(void)snprintf(ret->code, sizeof(ret->code), e->detail[0] ? "%s.%s" : "%s",
		       err_code(e->kind), e->detail);
	(void)snprintf(ret->message, sizeof(ret->message), "%s", e->text);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s",
		       e->remedy[0]			      ? e->remedy
		       : e->num == ENOSPC || e->num == EDQUOT ? FULL_REMEDY
		       : e->num == EFBIG		      ? "raise ulimit -f, or lift it"
							      : "");
	ret->retry_after_ms = e->retry_ms;
}

int error_taken(const struct pinfold_error *from, struct err *e)
{
	const char *dot = strchr(from->code, '.');
	int r = err_set(e, err_kind_of(from->code), "%s", from->message);

	if (dot)
		(void)err_detail(e, dot + 1);
	(void)snprintf(e->remedy, sizeof(e->remedy), "%s", from->remedy);
	e->retry_ms = from->retry_after_ms;
	return r;
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

/* Java asks the kernel and not /proc/meminfo how much memory there is: its heap may be a quarter of
 * the host's. */
static bool is_java(const struct pinfold_run *run)
{
	const char *name = run->req.spec.argv ? run->req.spec.argv[0] : NULL;
	const char *slash = name ? strrchr(name, '/') : NULL;

	return name && strcmp(slash ? slash + 1 : name, "java") == 0;
}

static void limit_memory(struct pinfold_run *run)
{
	char hint[200], size[LIMIT_TEXT];

	(void)snprintf(
		hint, sizeof(hint),
		run->exec && run->stop == STOP_NONE
			? "out of memory at %s; the sandbox goes on, with its files; to have "
			  "more, make one with --memory%s"
			: "out of memory at %s; raise it with --memory%s",
		limit_size(run->req.spec.limits.memory_bytes, size),
		is_java(run) ? "; java takes a quarter of the host's for its heap unless told "
			       "with -Xmx"
			     : "");
	set_limit(run, "memory", run->req.spec.limits.memory_bytes, "bytes", hint);
}

/* Its own, or that of the sandbox it was sent into. */
static void hit_time(struct pinfold_run *run)
{
	uint64_t ms = run->outlived ? run->live_ms : run->req.spec.limits.time_ms;
	char hint[160], time[LIMIT_TEXT];

	if (run->outlived)
		(void)snprintf(hint, sizeof(hint),
			       "the sandbox's own time was over; pinfold extend gives it more");
	else
		(void)snprintf(hint, sizeof(hint), "ran longer than %s; raise it with --time",
			       limit_time(ms, time));
	set_limit(run, "time", ms, "ms", hint);
}

static void judge_stop(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	char hint[160], time[LIMIT_TEXT];

	switch (run->stop) {
	case STOP_TIME:
		run->status = "timeout";
		run->exit_status = 124;
		hit_time(run);
		break;
	case STOP_CPU_TIME:
		run->status = "killed";
		run->exit_status = 137;
		(void)snprintf(hint, sizeof(hint),
			       "used more than %s of CPU; raise it with --cpu-time",
			       limit_time(l->cpu_time_ms, time));
		set_limit(run, "cpu_time", l->cpu_time_ms, "ms", hint);
		break;
	case STOP_MEMORY:
		run->status = "oom";
		run->exit_status = 137;
		limit_memory(run);
		break;
	case STOP_DISK:	 /* which limit that was, is said with the others */
	case STOP_ALERT: /* as are alerts */
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
		/* Of a command in a sandbox that lives: a shell, whose program was killed. */
		bool oom = run->exec && WEXITSTATUS(st) == 137 && run->usage.oom_kills > 0;

		run->status = oom ? "oom" : "exited";
		run->exit_status = WEXITSTATUS(st);
	} else {
		bool oom = WTERMSIG(st) == SIGKILL && run->usage.oom_kills > 0;

		run->status = oom ? "oom" : "signaled";
		run->exit_status = 128 + WTERMSIG(st);
	}
	if (strcmp(run->status, "oom") == 0)
		limit_memory(run);
}

/* What is memory although the layer is on disk. */
static void limit_tmp(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	uint64_t half = l->memory_bytes / 2, bytes = l->disk_bytes < half ? l->disk_bytes : half;
	char hint[160], size[LIMIT_TEXT];

	(void)snprintf(hint, sizeof(hint),
		       "the %s of /tmp, /run and /dev/shm are full; they are half of the memory: "
		       "raise it with --memory, or write elsewhere",
		       limit_size(bytes, size));
	set_limit(run, "disk", bytes, "bytes", hint);
}

/* Of a workspace: where no limit of ours was reached and there is no room, the host's disk is full. */
static void limit_disk(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	char hint[160], size[LIMIT_TEXT];

	if (run->upper && !run->room_full)
		(void)snprintf(hint, sizeof(hint),
			       "the disk with the data directory is full; pinfold rm and pinfold "
			       "gc give room back");
	else if (run->upper && run->room_of_all)
		(void)snprintf(hint, sizeof(hint),
			       "all workspaces together have what they may; raise it with pinfold "
			       "limit --total --disk");
	else if (run->upper)
		(void)snprintf(
			hint, sizeof(hint),
			"the %s of disk are full; raise it with pinfold limit --disk SIZE %s",
			limit_size(l->disk_bytes, size), run->upper->w.name);
	else
		(void)snprintf(hint, sizeof(hint), "the %s of disk are full; raise it with --disk",
			       limit_size(l->disk_bytes, size));
	set_limit(run, "disk", l->disk_bytes, "bytes", hint);
}

static void judge_soft_limits(struct pinfold_run *run)
{
	const struct sandbox_limits *l = &run->req.spec.limits;
	char hint[160], size[LIMIT_TEXT];

	if (run->usage.oom_kills)
		limit_memory(run);
	if (run->usage.pids_refused || run->pids_full) {
		(void)snprintf(hint, sizeof(hint),
			       "no more than %llu process%s; raise it with --pids",
			       (unsigned long long)l->pids, l->pids == 1 ? "" : "es");
		set_limit(run, "pids", l->pids, "processes", hint);
	}
	run_judge_quota(run);
	if (run->req.held.disk != HELD_ABSENT && run->disk_full)
		limit_disk(run);
	if (run->tmp_full)
		limit_tmp(run);
	if (run->files_full && run->upper)
		set_limit(run, "disk", run->upper->w.inodes, "files",
			  "the workspace has as many files as it may; allow it more with "
			  "pinfold limit --inodes");
	for (int i = 0; i < 2; i++)
		if (capture_truncated(&run->capture[i]) && (run->req.flags & PINFOLD_CAPTURE)) {
			(void)snprintf(
				hint, sizeof(hint),
				run->capture[i].total > CAPTURE_ARTIFACT_MAX
					? "output beyond %s is in the artifact, the first 64M of it; "
					  "raise it with --output, or write to a file"
					: "output beyond %s is in the artifact; raise it with --output",
				limit_size(run->req.output_bytes, size));
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
	if (run->req.git.note)
		note(run, run->req.git.note);
	if (run->req.rough && !run->req.spec.on_volume && run->exit_status != 0)
		note(run,
		     "before Linux 6.6 a directory that the host has cannot be removed inside");
	if (run->missing.module[0]) {
		deps_hint(run, line, sizeof(line));
		note(run, line);
	}
	if (run->limit_kind) {
		(void)snprintf(line, sizeof(line), "limit %s: %s", run->limit_kind,
			       run->limit_hint);
		note(run, line);
	}
	for (unsigned i = 0; i < run->alerts.n && i < 8; i++) {
		const struct run_alert *a = &run->alerts.list[i];

		(void)snprintf(line, sizeof(line), "alert %s: %s%s", alert_name(a->rule), a->what,
			       a->action == ALERT_KILL	  ? "; it was killed for that"
			       : a->action == ALERT_PAUSE ? "; it was paused for that"
							  : "");
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
	deps_of_live(&run->req.deps, &run->layered_on); /* where nothing tells what was imported */
	if (run->stop != STOP_NONE)
		judge_stop(run);
	else
		judge_exit(run);
	judge_soft_limits(run);
	if (strcmp(run->status, "exited") == 0 && run->exit_status != 0 && !run->follows)
		run_hidden_arguments(run);
	if (strcmp(run->status, "exited") == 0 && run->exit_status != 0 && !run->req.spec.tool) {
		deps_find_missing(run);
		run_refused_rename(run);
	}
	write_notes(run);
}
