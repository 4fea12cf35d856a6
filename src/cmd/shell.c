/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "cmd/detach.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/session.h"
#include "cmd/verb.h"

/* A person's session is not a job: the default of a run would end it in the middle of a line. */
#define SHELL_TIME_MS (UINT64_C(24) * 3600 * 1000)

static const char *const paragraphs[] = {
	"Starts bash in a fresh sandbox with a terminal of its own. What it changes is dropped "
	"when it ends. With the NAME of a workspace, it starts there and its changes are kept; with the "
	"ID of a sandbox that lives, in that one. Ctrl-C and all other keys go inside; exit or Ctrl-D "
	"ends it.",
	NULL,
};

const struct verb_doc shell_doc = {
	.usage = {"[options]", "[options] NAME", "[options] ID"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"Look around:", "pinfold shell"},
			{"Try something on a copy of this directory:",
			 "pinfold shell --dir . --workdir /work --memory 2G"},
		},
};

static int check(int argc, char **argv, struct err *e)
{
	if (argc > 1)
		return request_end(argc - 1, argv + 1, e);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		(void)err_set(e, ERR_INVALID, "standard %s is not a terminal",
			      isatty(STDIN_FILENO) ? "output" : "input");
		return err_remedy(e, "pinfold run -- bash reads commands from any standard input");
	}
	return 0;
}

/* The host has bash; an image has what it has. */
static const char *const *choose_shell(const struct request *r, const char *workspace)
{
	static const char *const bash[] = {"bash", "-l", NULL};
	static const char *const any[] = {
		"sh", "-c", "command -v bash >/dev/null && exec bash -l; exec sh -l", NULL};
	struct pinfold_workspace_info w = {.image = "host"};
	struct pinfold_store *store = NULL;
	struct pinfold_error ignored; /* whoever runs it says what is wrong */

	if (workspace && pinfold_store_open(NULL, &store, &ignored) == 0 &&
	    pinfold_workspace_get(store, workspace, &w, &ignored) < 0)
		memcpy(w.image, "host", sizeof("host"));
	pinfold_store_close(store);
	const char *image = r->run.image ? r->run.image : w.image;
	return strcmp(image, "host") == 0 ? bash : any;
}

int cmd_shell(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (check(argc - used, argv + used, &e) < 0)
		return say_failure(&e, false);
	r.pty = true;
	const char *name = argc > used && !is_sandbox_id(argv[used]) ? argv[used] : NULL;
	r.run.argv = choose_shell(&r, name);
	r.stdin_fd = STDIN_FILENO;
	if (!r.run.time_ms)
		r.run.time_ms = SHELL_TIME_MS;
	if (r.run.name)
		return session_workspace(&r, r.run.name, PINFOLD_WORKSPACE_SHELL, true);
	if (argc == used)
		return session_run(&r);
	return is_sandbox_id(argv[used])
		       ? session_exec(&r, argv[used])
		       : session_workspace(&r, argv[used],
					   PINFOLD_WORKSPACE_SHELL |
						   (r.share ? PINFOLD_WORKSPACE_SHARE : 0),
					   false);
}
