/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/docs.h"

#include <string.h>

#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Prints the man page or the completion of a shell, made from the same tables as --help.",
	NULL,
};

const struct verb_doc docs_doc = {
	.usage = {"man | bash | zsh | fish"},
	.paragraphs = paragraphs,
	.examples = {{"Complete in this shell:", "source <(pinfold docs bash)"}},
};

static const struct {
	const char *name;
	void (*print)(void);
} kinds[] = {
	{"man", docs_man},
	{"bash", docs_bash},
	{"zsh", docs_zsh},
	{"fish", docs_fish},
};

int cmd_docs(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	for (size_t i = 0; argc - used == 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(argv[used], kinds[i].name)) {
			kinds[i].print();
			return help_flush();
		}
	}
	(void)err_set(&e, ERR_INVALID, "%.80s: no such document",
		      used < argc ? argv[used] : "docs");
	(void)err_remedy(&e, "give one of: man bash zsh fish");
	return say_failure(&e, false);
}
