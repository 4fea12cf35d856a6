/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/help.h"
#include "cmd/job.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Lists the sandboxes that live in the daemon: detached ones, those that runs of other "
	"callers wait for, and for an hour those that have ended. Everybody sees their own, root "
	"sees all. Commands of exec --detach in workspaces are listed for their own data "
	"directory.",
	"With the ID of one that lives by itself: the processes in it. * marks commands of exec.",
	NULL,
};

const struct verb_doc ps_doc = {
	.usage = {"[--json] [ID]"},
	.paragraphs = paragraphs,
	.examples = {{"What runs?", "pinfold ps"}, {"In a script:", "pinfold ps --json"}},
};

static const char *state(const struct pinfold_sandbox_info *s, char *text, size_t size)
{
	if (s->exit_code >= 0)
		(void)snprintf(text, size, "%s %d", s->status, s->exit_code);
	else if (s->signal)
		(void)snprintf(text, size, "%s %d", s->status, s->signal);
	else
		(void)snprintf(text, size, "%s", s->status);
	return text;
}

static void print_table(const struct pinfold_sandbox_info *list, size_t n)
{
	char age[24], left[24], status[32];
	uint64_t now = show_now_ms();

	printf("%-29s  %-12s  %-5s  %-5s  %s\n", "ID", "STATUS", "AGE", "LEFT", "COMMAND");
	for (size_t i = 0; i < n; i++) {
		const struct pinfold_sandbox_info *s = &list[i];

		(void)show_span(now > s->created_ms ? now - s->created_ms : 0, age, sizeof(age));
		(void)snprintf(left, sizeof(left), "-");
		if (s->expires_ms && !s->ended_ms)
			(void)show_span(s->expires_ms > now ? s->expires_ms - now : 0, left,
					sizeof(left));
		printf("%-29s  %-12s  %-5s  %-5s  ", s->id, state(s, status, sizeof(status)), age,
		       left);
		show_text(s->command);
	}
}

static void put_numbers(struct json *j, const struct pinfold_sandbox_info *s)
{
	json_open(j, "limits", '{');
	json_u64(j, "memory", s->memory_limit);
	json_u64(j, "pids", s->pids_limit);
	json_u64(j, "disk", s->disk_limit);
	json_u64(j, "cpus_milli", s->cpus_milli);
	json_u64(j, "nofile", s->nofile);
	json_close(j, '}');
	if (s->memory_bytes == UINT64_MAX) {
		json_none(j, "usage");
		return;
	}
	json_open(j, "usage", '{');
	json_u64(j, "memory_bytes", s->memory_bytes);
	json_u64(j, "cpu_ms", s->cpu_ms);
	json_u64(j, "processes", s->processes);
	json_close(j, '}');
}

static void put_metadata(struct json *j, const char *text)
{
	json_open(j, "metadata", '{');
	for (; *text; text += strlen(text) + 1) {
		char key[80];
		size_t n = strcspn(text, "=");

		(void)snprintf(key, sizeof(key), "%.*s", (int)n, text);
		json_str(j, key, text[n] ? text + n + 1 : "");
	}
	json_close(j, '}');
}

static void put_item(struct json *j, const struct pinfold_sandbox_info *s)
{
	json_open(j, NULL, '{');
	json_str(j, "id", s->id);
	json_str(j, "status", s->status);
	if (s->exit_code >= 0)
		json_u64(j, "exit_code", (uint64_t)s->exit_code);
	else
		json_none(j, "exit_code");
	if (s->signal)
		json_u64(j, "signal", (uint64_t)s->signal);
	else
		json_none(j, "signal");
	json_bool(j, "detached", s->detached);
	json_u64(j, "background", s->background);
	json_u64(j, "alerts", s->alerts);
	json_u64(j, "uid", s->uid);
	show_time(j, "created", s->created_ms);
	show_time(j, "expires", s->expires_ms);
	show_time(j, "ended", s->ended_ms);
	json_bytes(j, "command", s->command, strlen(s->command));
	json_str(j, "isolation", s->isolation);
	json_str(j, "image", s->image);
	put_numbers(j, s);
	put_metadata(j, s->metadata);
	json_close(j, '}');
}

static int print_json(const struct pinfold_sandbox_info *list, size_t n)
{
	struct json j;

	show_list_begin(&j);
	for (size_t i = 0; i < n; i++)
		put_item(&j, &list[i]);
	return show_list_end(&j);
}

static void print_processes(const struct pinfold_process *list, size_t n)
{
	char cpu[24];

	printf("%7s %7s %s %7s %9s   %s\n", "PID", "PARENT", "S", "CPU", "MEMORY", "COMMAND");
	for (size_t i = 0; i < n; i++) {
		const struct pinfold_process *p = &list[i];

		printf("%7u %7u %c %7s %8lluK %c ", p->pid, p->parent, p->state,
		       show_span(p->cpu_ms, cpu, sizeof(cpu)),
		       (unsigned long long)(p->memory_bytes >> 10), p->asked_for ? '*' : ' ');
		show_text(p->command);
	}
}

static void put_process(struct json *j, const struct pinfold_process *p)
{
	const char state[2] = {p->state, '\0'};

	json_open(j, NULL, '{');
	json_u64(j, "pid", p->pid);
	json_u64(j, "parent", p->parent);
	json_str(j, "state", state);
	json_bool(j, "asked_for", p->asked_for);
	json_u64(j, "threads", p->threads);
	json_u64(j, "cpu_ms", p->cpu_ms);
	json_u64(j, "memory_bytes", p->memory_bytes);
	json_bytes(j, "command", p->command, strlen(p->command));
	json_close(j, '}');
}

static int show_processes(const char *id, bool json)
{
	struct pinfold_process *list = NULL;
	struct pinfold_error error;
	struct json j;
	size_t n = 0;
	int bad = 0;

	if (pinfold_sandbox_processes(id, &list, &n, &error) < 0)
		return say_library_failure(&error, json);
	if (json) {
		show_list_begin(&j);
		for (size_t i = 0; i < n; i++)
			put_process(&j, &list[i]);
		bad = show_list_end(&j);
	} else {
		print_processes(list, n);
	}
	pinfold_processes_free(list);
	return json ? (bad < 0 ? EXIT_PINFOLD : 0) : help_flush();
}

static int show_sandboxes(bool json)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error error = {.code = "internal", .message = "out of memory"};
	size_t n = 0;
	int bad = 0;

	int k = pinfold_sandbox_list(&list, &n, &error);
	/* Commands in workspaces live without the daemon, too. */
	if (job_list(&list, &n) < 0 || (k < 0 && n == 0)) {
		pinfold_sandbox_list_free(list);
		return say_library_failure(&error, json);
	}
	if (json)
		bad = print_json(list, n);
	else
		print_table(list, n);
	pinfold_sandbox_list_free(list);
	return json ? (bad < 0 ? EXIT_PINFOLD : 0) : help_flush();
}

int cmd_ps(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	if (argc > 1 && request_end(argc - 1, argv + 1, &e) < 0)
		return say_failure(&e, r.json);
	return argc ? show_processes(argv[0], r.json) : show_sandboxes(r.json);
}
