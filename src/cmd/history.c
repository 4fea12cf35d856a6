/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a workspace: snap, log, undo, rollback, fork. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"
#include "cmd/workspace.h"

static void put_optional(struct json *j, const char *key, const char *text)
{
	if (text[0])
		json_bytes(j, key, text, strlen(text));
	else
		json_none(j, key);
}

static void put_snapshot(struct json *j, const struct pinfold_snapshot *s)
{
	json_open(j, NULL, '{');
	json_u64(j, "snapshot", s->number);
	json_str(j, "kind", s->kind);
	put_optional(j, "label", s->label);
	json_bool(j, "current", s->current);
	json_bool(j, "undone", s->undone);
	show_time(j, "time", s->made_ms);
	put_optional(j, "run", s->run);
	put_optional(j, "command", s->command);
	put_optional(j, "status", s->status);
	if (s->status[0])
		json_u64(j, "exit_status", (uint64_t)s->exit_status);
	else
		json_none(j, "exit_status");
	json_ms(j, "wall_ms", s->wall_us);
	json_u64(j, "files_changed", s->files);
	json_u64(j, "bytes_changed", s->bytes);
	if (s->while_running)
		json_ms(j, "stopped_ms", s->stopped_us);
	json_close(j, '}');
}

/* Where the workspace stands after a verb that moved it. */
static int stands(const struct named *n, const struct pinfold_snapshot *s)
{
	struct json j;

	if (!n->r.json) {
		printf("%llu\n", (unsigned long long)s->number);
		return help_flush();
	}
	json_init(&j, STDOUT_FILENO);
	put_snapshot(&j, s);
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

static const char *const snap_paragraphs[] = {
	"Marks the present state of a workspace, so that pinfold rollback can return to it, and "
	"prints its number. It is on disk when this returns. Every command is a snapshot by "
	"itself; a label makes one easier to find, and it is never forgotten.",
	NULL,
};

const struct verb_doc snap_doc = {
	.usage = {"[--json] NAME [LABEL]"},
	.paragraphs = snap_paragraphs,
	.examples = {{"Before something bold:", "pinfold snap demo before-upgrade"}},
};

int cmd_snap(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_snapshot s;
	struct pinfold_error error;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 1, &status))
		return status;
	if (pinfold_workspace_snap(n.store, n.name, n.word[0], &s, &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (s.while_running)
		say("a command is running: it stood still for %.1f ms, while what it has changed was "
		    "copied",
		    (double)s.stopped_us / 1e3);
	return stands(&n, &s);
}

static const char *const undo_paragraphs[] = {
	"Takes back the last command, or the last N, and prints the number of the snapshot that "
	"is current then. A rollback counts as a command. What was taken back is kept for an "
	"hour: pinfold rollback can return to it by its number.",
	NULL,
};

const struct verb_doc undo_doc = {
	.usage = {"[--json] NAME [N]"},
	.paragraphs = undo_paragraphs,
	.examples = {{"That was wrong:", "pinfold undo demo"}},
};

int cmd_undo(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_snapshot s;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	uint64_t count = 1;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 1, &status))
		return status;
	if (n.word[0] && (parse_count(n.word[0], &count, &e) < 0 || count == 0)) {
		(void)err_set(&e, ERR_INVALID, "N: \"%.40s\" is not a number of commands",
			      n.word[0]);
		return say_failure(&e, n.r.json);
	}
	if (pinfold_workspace_undo(n.store, n.name, count, &s, &error) < 0)
		return say_library_failure(&error, n.r.json);
	return stands(&n, &s);
}

static const char *const rollback_paragraphs[] = {
	"Brings a workspace back to a snapshot, by its number in pinfold log or its label. It takes no "
	"time, whatever the size, and pinfold undo takes it back.",
	NULL,
};

const struct verb_doc rollback_doc = {
	.usage = {"[--json] NAME SNAPSHOT"},
	.paragraphs = rollback_paragraphs,
	.examples = {{"As it was:", "pinfold rollback demo before-upgrade"}},
};

int cmd_rollback(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_snapshot s;
	struct pinfold_error error;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
	if (pinfold_workspace_rollback(n.store, n.name, n.word[0], &s, &error) < 0)
		return say_library_failure(&error, n.r.json);
	return stands(&n, &s);
}

static const char *const fork_paragraphs[] = {
	"Makes a workspace NEW with the files of NAME as it stands, or of one of its snapshots. Nothing "
	"is copied; what happens in one of them is not seen in the other.",
	NULL,
};

const struct verb_doc fork_doc = {
	.usage = {"NAME NEW", "--at SNAPSHOT NAME NEW"},
	.paragraphs = fork_paragraphs,
	.examples = {{"Two ways to go on:", "pinfold fork demo demo-b"},
		     {"From an earlier point:", "pinfold fork --at 7 demo demo-c"}},
};

int cmd_fork(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_error error;
	struct json j;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 1, 1, &status))
		return status;
	if (pinfold_workspace_fork(n.store, n.name, n.r.at, n.word[0], &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (!n.r.json)
		return 0;
	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_str(&j, "name", n.word[0]);
	json_close(&j, '}');
	return show_end(&j) < 0 ? EXIT_PINFOLD : 0;
}

static const char *const log_paragraphs[] = {
	"Lists what happened in a workspace, the newest first: each command with how it ended, how long it "
	"took and how much it changed. * is where the workspace stands. --all also shows what was taken "
	"back, with - before it.",
	NULL,
};

const struct verb_doc log_doc = {
	.usage = {"[--json] [--all] NAME"},
	.paragraphs = log_paragraphs,
	.examples = {{"What did it do?", "pinfold log demo"}},
};

static const char *outcome(const struct pinfold_snapshot *s, char *text, size_t size)
{
	if (!s->status[0])
		return "-";
	if (strcmp(s->status, "exited") == 0 || strcmp(s->status, "signaled") == 0)
		(void)snprintf(text, size, "%d", s->exit_status);
	else
		(void)snprintf(text, size, "%s", s->status);
	return text;
}

static void print_log(const struct pinfold_snapshot *list, size_t n)
{
	char age[24], bytes[24], exit[24];
	uint64_t now = show_now_ms();

	printf("  %5s  %-8s  %5s  %8s  %8s  %6s  %8s  %s\n", "SNAP", "KIND", "AGE", "EXIT", "TOOK",
	       "FILES", "BYTES", "COMMAND");
	for (size_t i = 0; i < n; i++) {
		const struct pinfold_snapshot *s = &list[i];

		printf("%c %5llu  %-8s  %5s  %8s  %7.1fs  %6llu  %8s  ",
		       s->current  ? '*'
		       : s->undone ? '-'
				   : ' ',
		       (unsigned long long)s->number, s->kind,
		       show_span(now > s->made_ms ? now - s->made_ms : 0, age, sizeof(age)),
		       outcome(s, exit, sizeof(exit)), (double)s->wall_us / 1e6,
		       (unsigned long long)s->files, show_size(s->bytes, bytes, sizeof(bytes)));
		if (s->label[0])
			printf("[%s] ", s->label);
		show_text(s->command);
	}
}

int cmd_log(const struct verb *v, int argc, char **argv)
{
	auto_named struct named n = NAMED_INIT;
	struct pinfold_snapshot *list = NULL;
	struct pinfold_error error;
	struct json j;
	size_t count = 0;
	int status = 0;

	if (!named_begin(&n, v, argc, argv, 0, 0, &status))
		return status;
	if (pinfold_workspace_log(n.store, n.name, n.r.all ? PINFOLD_LOG_UNDONE : 0, &list, &count,
				  &error) < 0)
		return say_library_failure(&error, n.r.json);
	if (n.r.json) {
		show_list_begin(&j);
		for (size_t i = 0; i < count; i++)
			put_snapshot(&j, &list[i]);
		status = show_list_end(&j) < 0 ? EXIT_PINFOLD : 0;
	} else {
		print_log(list, count);
		status = help_flush();
	}
	pinfold_workspace_log_free(list);
	return status;
}
