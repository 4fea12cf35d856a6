/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Says, level by level, what this host can enforce, what is missing, and the command or "
	"setting that would give it.",
	"Exit status: 0 when level strict holds with all limits, 1 when something is missing.",
	NULL,
};

const struct verb_doc doctor_doc = {
	.usage = {"[--json]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"What does this host enforce?", "pinfold doctor"},
			{"In a script:", "pinfold doctor --json"},
		},
};

int cmd_doctor(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	int missing = pinfold_doctor_write(r.json, STDOUT_FILENO);
	if (missing >= 0)
		return missing;
	(void)err_sys(&e, "cannot write the report");
	return say_failure(&e, false);
}
