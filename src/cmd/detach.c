/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs for sandboxes that live: run --detach, exec, logs, attach, kill, pause, resume,
 * extend. */
#include "cmd/detach.h"

#include <ctype.h>
#include <pinfold/policy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/parse.h"
#include "cmd/allow.h"
#include "cmd/help.h"
#include "cmd/job.h"
#include "cmd/noted.h"
#include "cmd/say.h"
#include "cmd/session.h"
#include "cmd/term.h"
#include "cmd/verb.h"

bool is_sandbox_id(const char *word)
{
	return strlen(word) == 29 && strncmp(word, "sbx", 3) == 0;
}

/* Nothing of the caller's goes inside a command that outlives the call, and its output is kept by
 * the daemon, in its way. */
static int check_detached(const struct request *r, bool in_workspace, struct err *e)
{
	const char *what = r->stdin_path		   ? "--stdin"
			   : r->no_daemon && !in_workspace ? "--no-daemon"
			   : r->raw			   ? "--raw"
			   : r->record			   ? "--record"
			   : r->run.replay		   ? "--answers"
			   : r->run.output_bytes	   ? "--output"
			   : r->run.keep_ms		   ? "--keep"
							   : NULL;

	if (!what)
		return 0;
	(void)err_set(e, ERR_INVALID, "%s: not with --detach", what);
	return err_remedy(e, "leave one of the two out");
}

static void set_terminal(struct request *r)
{
	const char *term = getenv("TERM");

	r->run.flags |= PINFOLD_NO_STDIN | (r->pty ? PINFOLD_PTY : 0) |
			(r->open_stdin ? PINFOLD_SPAWN_STDIN : 0);
	r->run.metadata = (const char *const *)r->metadata.items;
	r->run.term = term && *term ? term : "xterm-256color";
}

/* As a run that could not be executed ends. */
static int not_started(const struct request *r, const struct pinfold_error *error)
{
	int status = say_library_failure(error, r->json);

	if (strcmp(error->code, "not_found.command") == 0)
		return 127;
	return strcmp(error->code, "denied.command") == 0 ? 126 : status;
}

int detach_run(struct request *r)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	char id[PINFOLD_ID_SIZE];

	if (check_detached(r, r->run.name, &e) < 0)
		return say_failure(&e, r->json);
	if (r->run.name)
		return job_start(r, r->run.name, 0, true);
	set_terminal(r);
	pinfold_policy_attend();
	if (pinfold_sandbox_create(&r->run, id, &error) < 0)
		return not_started(r, &error);
	printf(r->json ? "{\"sandbox\": \"%s\"}\n" : "%s\n", id);
	int status = help_flush();
	allow_stay();
	return status;
}

/* The words of a verb about one sandbox. */
static int take_id(int argc, char **argv, const char **ret_id, struct err *e)
{
	if (argc == 0) {
		(void)err_set(e, ERR_INVALID, "ID: is missing");
		return err_remedy(e, "pinfold ps lists the sandboxes that live, pinfold ls the "
				     "workspaces");
	}
	if (!is_sandbox_id(argv[0])) {
		(void)err_set(e, ERR_INVALID, "ID: \"%.80s\" is not the id of a sandbox", argv[0]);
		return err_remedy(e, "pinfold ps lists them: sbx and 26 characters");
	}
	*ret_id = argv[0];
	return 0;
}

static const char *const exec_paragraphs[] = {
	"Runs a COMMAND in a workspace: a fresh sandbox on the files that are there. What it changed "
	"is kept as a layer of its own, which pinfold log shows and pinfold undo takes back. While it "
	"runs, a second one is refused with the code busy, unless it has --share.",
	"In a workspace the FILE of --lang is one of the workspace's, in its working directory; in a sandbox "
	"that lives it is one of the host, whose text is sent.",
	"With the ID of a sandbox that lives in the daemon: one more command beside what runs there, with "
	"the same files and the same limits; its time limit is its own. When it ends, what it started in "
	"the background goes on until the sandbox ends. With --detach it runs in the background and its "
	"number inside is printed, for logs.",
	"With --detach in a workspace the command goes on in the background, minded by a process of the "
	"caller's, and its sandbox's ID is printed, for ps, logs, attach and kill. What it changed is kept when it "
	"ends; until then the workspace is busy.",
	NULL,
};

const struct verb_doc exec_doc = {
	.usage = {"[options] NAME|ID [--] COMMAND [ARG...]",
		  "[options] NAME|ID --lang LANG [-c CODE | FILE | -] [ARG...]"},
	.paragraphs = exec_paragraphs,
	.examples =
		{
			{"In a workspace:", "pinfold exec demo -- python3 main.py"},
			{"The same:", "pinfold exec demo --lang python main.py"},
			{"A command in a sandbox that lives:",
			 "id=$(pinfold run --detach); pinfold exec $id -- ls"},
			{"A program in it:", "pinfold exec $id --lang python -c 'print(6*7)'"},
		},
};

/* What a sandbox that lives has already. */
static int check_live(const struct request *r, struct err *e)
{
	const struct pinfold_run_options *o = &r->run;
	const char *what = o->memory_bytes  ? "--memory"
			   : o->cpus_milli  ? "--cpus"
			   : o->pids	    ? "--pids"
			   : o->disk_bytes  ? "--disk"
			   : o->nofile	    ? "--nofile"
			   : o->cpu_time_ms ? "--cpu-time"
			   : o->limits	    ? "--limits"
			   : r->share	    ? "--share"
			   : o->egress_bytes || o->egress_connections || o->egress_requests
				   ? "--egress-..."
			   : r->record ? "--record"
			   : o->replay ? "--answers"
				       : NULL;

	if (r->allow.len || r->policy_file) {
		(void)err_set(e, ERR_INVALID, "%s: a sandbox that lives has its own",
			      r->allow.len ? "--allow" : "--policy");
		return err_remedy(e, "pinfold allow ID changes what it may reach");
	}
	if (!what)
		return 0;
	(void)err_set(e, ERR_INVALID, "%s: a sandbox that lives has its own", what);
	return err_remedy(e, "say it when the sandbox is made, with pinfold run --detach");
}

/* There is nobody yet who could write to it. */
int detach_check_attached(const struct request *r, struct err *e)
{
	const char *what = r->open_stdin ? "--stdin-open" : r->metadata.len ? "--metadata" : NULL;

	if (!what)
		return 0;
	(void)err_set(e, ERR_INVALID, "%s: only with --detach", what);
	return err_remedy(e, "leave it out, or add --detach");
}

static int exec_detached(struct request *r, const char *id)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	uint32_t pid = 0;

	if (check_detached(r, false, &e) < 0)
		return say_failure(&e, r->json);
	set_terminal(r);
	if (pinfold_sandbox_spawn(id, &r->run, &pid, &error) < 0)
		return not_started(r, &error);
	printf(r->json ? "{\"pid\": %u}\n" : "%u\n", pid);
	return help_flush();
}

static int exec_workspace(struct request *r, const char *name)
{
	struct err e = ERR_INIT;

	uint32_t flags = r->share ? PINFOLD_WORKSPACE_SHARE : 0;

	if (r->detach && check_detached(r, true, &e) < 0)
		return say_failure(&e, r->json);
	return r->detach ? job_start(r, name, flags, false)
			 : session_workspace(r, name, flags, false);
}

/* Options may stand before the name or id and behind it. */
int cmd_exec(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	const char *id = NULL;
	int used = 0, more = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	bool live = argc == 0 || is_sandbox_id(argv[0]);
	if (live && take_id(argc, argv, &id, &e) < 0)
		return say_failure(&e, r.json);
	if (!request_begin(&r, v, argc - 1, argv + 1, &more, &status))
		return status;
	r.file_is_inside = !live;
	if ((live && check_live(&r, &e) < 0) ||
	    request_program(&r, argc - 1 - more, argv + 1 + more, &e) < 0)
		return say_failure(&e, r.json);
	if (!r.detach && detach_check_attached(&r, &e) < 0)
		return say_failure(&e, r.json);
	if (!live)
		return exec_workspace(&r, argv[0]);
	return r.detach ? exec_detached(&r, id) : session_exec(&r, id);
}

static const char *const logs_paragraphs[] = {
	"Prints what the command of a detached run printed, or with a PID that of a background command "
	"of exec. The first 64 KiB and the last 8 MiB are kept, for an hour after its end; of a command in a "
	"workspace the first 64 MiB of each stream. With the id of a RUN: what did not fit into its result and is "
	"kept as an artifact.",
	NULL,
};

const struct verb_doc logs_doc = {
	.usage = {"[options] ID [PID]", "RUN"},
	.paragraphs = logs_paragraphs,
	.examples =
		{
			{"All so far:", "pinfold logs $id"},
			{"Until it ends:", "pinfold logs --follow $id"},
			{"The last 1000 bytes:", "pinfold logs --offset -1000 $id"},
		},
};

static int take_pid(int argc, char **argv, uint32_t *ret, struct err *e)
{
	uint64_t pid = 0;

	if (argc == 0)
		return 0;
	if (parse_count(argv[0], &pid, e) < 0 || pid > INT32_MAX)
		return err_set(e, ERR_INVALID, "PID: \"%.40s\" is not a number", argv[0]),
		       err_remedy(e, "give what pinfold exec --detach printed");
	*ret = (uint32_t)pid;
	return request_end(argc - 1, argv + 1, e);
}

static int parse_offset(const char *text, int64_t *ret, struct err *e)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (!errno && end != text && !*end && (isdigit((unsigned char)*text) || *text == '-'))
		return 0;
	(void)err_set(e, ERR_INVALID, "--offset: \"%.40s\" is not a number of bytes", text);
	return err_remedy(e, "give a number; with a minus it counts from the end");
}

static uint32_t as_logs(const struct request *r)
{
	return r->follow ? PINFOLD_FOLLOW_STAY : 0;
}

/* ID [PID], and then stay with it as `how` says of the request. */
static int follow(const struct verb *v, int argc, char **argv,
		  uint32_t (*how)(const struct request *r))
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	const char *id = NULL;
	uint32_t pid = 0;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argv += used;
	argc -= used;
	auto_close int job = argc > 0 ? job_open(argv[0]) : FD_NONE;
	bool run = argc > 0 && id_is("run", argv[0]) && how == as_logs;
	if (job >= 0 || run)
		id = argv[0];
	if ((!id && take_id(argc, argv, &id, &e) < 0) || take_pid(argc - 1, argv + 1, &pid, &e) < 0)
		return say_failure(&e, r.json);
	if (r.offset_text && parse_offset(r.offset_text, &r.offset, &e) < 0)
		return say_failure(&e, r.json);
	/* What it printed leaves the sandbox here. */
	struct noted n = {.kind = how == as_logs ? "sandbox.logs" : "sandbox.attach",
			  .sandbox = run ? NULL : id};
	if (noted_begin(&n, &e) < 0)
		return say_failure(&e, r.json);
	status = job >= 0 ? job_follow(&r, job, r.follow || how != as_logs, how != as_logs)
		 : run	  ? job_artifacts(id)
			  : session_follow(&r, id, pid, how(&r));
	(void)noted_over(&n, status == EXIT_PINFOLD ? -1 : 0, "failed");
	return status;
}

int cmd_logs(const struct verb *v, int argc, char **argv)
{
	int status = follow(v, argc, argv, as_logs);

	return status == EXIT_PINFOLD ? status : 0; /* printing it went well, however it ended */
}

static const char *const attach_paragraphs[] = {
	"Shows what a detached command prints from now on, until it ends; its exit status becomes ours. "
	"Where it has a terminal (--pty), keys go to it, and Ctrl-] leaves. Without one, Ctrl-C "
	"leaves. The command goes on. To one that was started with --stdin-open goes our standard input.",
	NULL,
};

const struct verb_doc attach_doc = {
	.usage = {"ID [PID]"},
	.paragraphs = attach_paragraphs,
	.examples = {{"Leave a shell and come back:",
		      "id=$(pinfold run --detach --pty -- bash); pinfold attach $id"}},
};

static uint32_t as_attach(const struct request *r)
{
	(void)r;
	return PINFOLD_FOLLOW_STAY | PINFOLD_FOLLOW_NOW | PINFOLD_FOLLOW_INPUT;
}

int cmd_attach(const struct verb *v, int argc, char **argv)
{
	return follow(v, argc, argv, as_attach);
}

static const char *const kill_paragraphs[] = {
	"Ends sandboxes at once, with all that runs in them, and returns when nothing is left of them. "
	"One that had ended is forgotten. With --signal its processes get that signal instead.",
	NULL,
};

const struct verb_doc kill_doc = {
	.usage = {"[options] ID..."},
	.paragraphs = kill_paragraphs,
	.examples =
		{
			{"End it:", "pinfold kill $id"},
			{"Ask it to end:", "pinfold kill --signal TERM $id"},
		},
};

static int parse_signal(const char *text, int *ret, struct err *e)
{
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end = NULL;
	long number = strtol(text, &end, 10);

	if (isdigit((unsigned char)text[0]) && !*end && number > 0 && number < 65) {
		*ret = (int)number;
		return 0;
	}
	for (int i = 1; i < 65; i++)
		if (sigabbrev_np(i) && strcasecmp(sigabbrev_np(i), name) == 0) {
			*ret = i;
			return 0;
		}
	(void)err_set(e, ERR_INVALID, "--signal: there is no signal \"%.40s\"", text);
	return err_remedy(e, "give a name such as TERM, or a number");
}

/* Each of the words is a sandbox: all are looked at first, then all are tried. */
static int each(int argc, char **argv, int (*what)(const char *, int, struct pinfold_error *),
		int arg)
{
	struct err e = ERR_INIT;
	struct pinfold_error error;
	const char *id = NULL;
	int status = 0;

	for (int i = 0; i < argc || i == 0; i++)
		if (take_id(argc - i, argv + i, &id, &e) < 0)
			return say_failure(&e, false);
	for (int i = 0; i < argc; i++)
		if (what(argv[i], arg, &error) < 0)
			status = say_library_failure(&error, false);
	return status;
}

static int signal_one(const char *id, int signo, struct pinfold_error *error)
{
	auto_close int job = job_open(id);

	return job >= 0 ? job_signal(job, id, signo, error)
			: pinfold_sandbox_signal(id, signo, error);
}

int cmd_kill(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0, signo = SIGKILL;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (r.signal_name && parse_signal(r.signal_name, &signo, &e) < 0)
		return say_failure(&e, false);
	return each(argc - used, argv + used, signal_one, signo);
}

static const char *const pause_paragraphs[] = {
	"Stops every process of the sandbox where it is, until resume; it uses no processor. Its time "
	"goes on.",
	NULL,
};

const struct verb_doc pause_doc = {
	.usage = {"ID..."},
	.paragraphs = pause_paragraphs,
	.examples = {{"Stop it, look, let it go on:",
		      "pinfold pause $id; pinfold ps; pinfold resume $id"}},
};

static const char *const resume_paragraphs[] = {"Continues a paused sandbox.", NULL};

const struct verb_doc resume_doc = {
	.usage = {"ID..."},
	.paragraphs = resume_paragraphs,
	.examples = {{"Go on:", "pinfold resume $id"}},
};

static int pause_one(const char *id, int pause, struct pinfold_error *error)
{
	return pause ? pinfold_sandbox_pause(id, error) : pinfold_sandbox_resume(id, error);
}

static int pause_all(const struct verb *v, int argc, char **argv, int pause)
{
	auto_request struct request r = REQUEST_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	return each(argc - used, argv + used, pause_one, pause);
}

int cmd_pause(const struct verb *v, int argc, char **argv)
{
	return pause_all(v, argc, argv, 1);
}

int cmd_resume(const struct verb *v, int argc, char **argv)
{
	return pause_all(v, argc, argv, 0);
}

static const char *const extend_paragraphs[] = {
	"The sandbox lives for that long from now on, instead of what --time said.", NULL};

const struct verb_doc extend_doc = {
	.usage = {"ID DURATION"},
	.paragraphs = extend_paragraphs,
	.examples = {{"Half an hour more:", "pinfold extend $id 30m"}},
};

int cmd_extend(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	const char *id = NULL;
	uint64_t ms = 0;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	if (take_id(argc, argv, &id, &e) < 0)
		return say_failure(&e, false);
	if (argc != 2) {
		(void)err_set(&e, ERR_INVALID, "DURATION: is missing");
		(void)err_remedy(&e, "write pinfold extend ID 10m");
		return say_failure(&e, false);
	}
	if (parse_duration(argv[1], &ms, &e) < 0) {
		(void)err_wrap(&e, "DURATION");
		return say_failure(&e, false);
	}
	if (pinfold_sandbox_extend(id, ms, &error) < 0)
		return say_library_failure(&error, false);
	return 0;
}
