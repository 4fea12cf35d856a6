/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/detach.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/session.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Runs a COMMAND, or with --lang a program, in a sandbox made for it and removed with it: "
	"no network, no files of the host but its /usr, no capabilities, and the limits below.",
	"Output streams through as it comes, byte for byte; on a terminal control sequences are "
	"shown escaped unless --pty or --raw. Standard input is the caller's: in a loop that "
	"reads, give --stdin /dev/null.",
	"With --lang the program is CODE, a FILE of the host or, with - or nothing, standard "
	"input; the words after it are its arguments.",
	"With --detach the command runs in the daemon and the id of its sandbox is printed; ps, "
	"logs, attach, exec and kill take it. Without a COMMAND the sandbox just stays there, for "
	"exec.",
	"With --name, what it changes is kept as a new workspace, in which pinfold exec can go "
	"on.",
	"Options end at -- or at the first word that is not an option.",
	NULL,
};

const struct verb_doc run_doc = {
	.usage = {"[options] [--] COMMAND [ARG...]",
		  "[options] --lang LANG [-c CODE | FILE | -] [ARG...]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"A command:", "pinfold run -- python3 -c 'print(6*7)'"},
			{"A program, with limits:",
			 "pinfold run --lang python --time 5s --memory 1G job.py"},
			{"The result as JSON:", "pinfold run --json --lang bash -c 'echo hello'"},
			{"A directory, which is never written:",
			 "pinfold run --dir . --workdir /work -- make test"},
			{"In the background:", "pinfold run --detach -- python3 -m http.server"},
		},
};

int cmd_run(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	bool idle = r.detach && !r.run.lang && argc == used;
	if (!idle && request_program(&r, argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	if (r.detach)
		return detach_run(&r);
	if (detach_check_attached(&r, &e) < 0)
		return say_failure(&e, r.json);
	return r.run.name ? session_workspace(&r, r.run.name, 0, true) : session_run(&r);
}
