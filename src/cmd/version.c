/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {"Prints the version of Pinfold.", NULL};

const struct verb_doc version_doc = {
	.usage = {"[--json]"},
	.paragraphs = paragraphs,
	.examples = {{"Which version is this?", "pinfold version"}},
};

int cmd_version(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	if (r.json)
		printf("{\"version\": \"%s\"}\n", pinfold_version());
	else
		printf("pinfold %s\n", pinfold_version());
	return help_flush();
}
