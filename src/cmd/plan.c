/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Takes the command line of pinfold run, checks it, and prints what would be done, in "
	"order, without doing any of it.",
	NULL,
};

const struct verb_doc plan_doc = {
	.usage = {"[options] [--] COMMAND [ARG...]",
		  "[options] --lang LANG [-c CODE | FILE | -] [ARG...]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"What a run does:", "pinfold plan --dir . -- make"},
			{"As JSON:", "pinfold plan --json -- true"},
		},
};

int cmd_plan(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error error = {.code = ""};
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_program(&r, argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	if (r.pty)
		r.run.flags |= PINFOLD_PTY;
	if (pinfold_plan_write(&r.run, r.json, STDOUT_FILENO, &error) < 0)
		return say_library_failure(&error, r.json);
	return 0;
}
