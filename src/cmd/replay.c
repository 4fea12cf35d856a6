/* SPDX-License-Identifier: Apache-2.0 */
/* replay: the same run once more, and whether the same came of it. */
#include <pinfold/replay.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/escape.h"
#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Repeats a run, in a sandbox of its own: the same command, program text, variables, "
	"standard input, limits and image; in a workspace like the one that it was in, in the "
	"same state; with --dir only if the files there are still the same. What --record kept "
	"stands in for the network. Compares exit status, output and changed files.",
	"Everything that this needs is kept for runs with --deterministic or --record, for an "
	"hour or as long as their --keep says. Others are repeated from what the ledger has, if "
	"they had no variables, input, program text, directory or network. --deterministic pins a "
	"run that was recorded without it. docs/replay.md lists what is pinned and what cannot "
	"be.",
	"Exit status 0: the result is the same; 1: it is not, and the first difference of each "
	"kind is shown; 125: it could not be run again.",
	NULL,
};

const struct verb_doc replay_doc = {
	.usage = {"[options] RUN"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"A run that can be repeated:",
			 "pinfold run --deterministic --json -- make test"},
			{"The same once more:", "pinfold replay run23obm6odpiuefilepsinpumc3g"},
		},
};

struct shown {
	bool json, any;
	struct json j;
};

/* Bytes that a sandbox chose. */
static void print_text(const char *mark, const char *data, size_t len)
{
	struct escape escape = {.one_line = true};
	char text[4096];
	size_t used = 0;

	size_t n = escape_feed(&escape, data, len, &used, text, sizeof(text) - ESCAPE_ROOM);
	n += escape_end(&escape, text + n, ESCAPE_ROOM);
	printf("%s%.*s", mark, (int)n, text);
}

static void print_difference(const struct pinfold_replay_difference *d)
{
	printf("%s", d->what);
	if (d->path)
		print_text(" ", d->path, strlen(d->path));
	if (d->line)
		printf(", line %llu", (unsigned long long)d->line);
	else if (d->offset)
		printf(", behind byte %llu", (unsigned long long)d->offset);
	print_text(":\n  - ", d->before, d->before_len);
	print_text("\n  + ", d->after, d->after_len);
	printf("\n");
}

static void put_difference(struct json *j, const struct pinfold_replay_difference *d)
{
	json_open(j, NULL, '{');
	json_str(j, "what", d->what);
	if (d->path)
		json_bytes(j, "path", d->path, strlen(d->path));
	else
		json_none(j, "path");
	if (d->line)
		json_u64(j, "line", d->line);
	else
		json_none(j, "line");
	json_u64(j, "offset", d->offset);
	json_bytes(j, "before", d->before, d->before_len);
	json_bytes(j, "after", d->after, d->after_len);
	json_close(j, '}');
}

static void begin(struct shown *s)
{
	if (!s->any && s->json) {
		json_init(&s->j, STDOUT_FILENO);
		json_open(&s->j, NULL, '{');
		json_open(&s->j, "differences", '[');
	}
	s->any = true;
}

static void on_difference(const struct pinfold_replay_difference *d, void *arg)
{
	struct shown *s = arg;

	begin(s);
	if (s->json)
		put_difference(&s->j, d);
	else
		print_difference(d);
}

static int put_result(struct shown *s, const struct pinfold_replay_result *r)
{
	begin(s);
	json_close(&s->j, ']');
	json_str(&s->j, "run", r->run);
	json_str(&s->j, "replay", r->replay);
	json_bool(&s->j, "identical", r->identical);
	json_u64(&s->j, "exit_status", (uint64_t)r->exit_status);
	json_u64(&s->j, "stdout_bytes", r->stdout_bytes);
	json_u64(&s->j, "stderr_bytes", r->stderr_bytes);
	json_u64(&s->j, "files", r->files);
	json_close(&s->j, '}');
	return show_end(&s->j) < 0 ? EXIT_PINFOLD : !r->identical;
}

static int print_result(const struct pinfold_replay_result *r)
{
	printf("%s: exit status %d, %llu bytes of output, %llu of errors, %llu files changed\n",
	       r->identical ? "identical" : "NOT IDENTICAL", r->exit_status,
	       (unsigned long long)r->stdout_bytes, (unsigned long long)r->stderr_bytes,
	       (unsigned long long)r->files);
	int status = help_flush();
	return status ? status : !r->identical;
}

int cmd_replay(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_replay_result result;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	struct shown s = {.json = r.json};
	if (argc == used) {
		(void)err_set(&e, ERR_INVALID, "RUN: is missing");
		(void)err_remedy(&e, "pinfold audit --kind run lists them");
		return say_failure(&e, r.json);
	}
	if (request_end(argc - used - 1, argv + used + 1, &e) < 0)
		return say_failure(&e, r.json);
	if (pinfold_replay_as(argv[used], r.deterministic ? PINFOLD_DETERMINISTIC : 0,
			      on_difference, &s, &result, &error) < 0)
		return say_library_failure(&error, r.json);
	return r.json ? put_result(&s, &result) : print_result(&result);
}
