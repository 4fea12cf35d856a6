/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define COMMAND(name, lang, module, takes) {name, DEPS_##lang, module, takes},
static const struct row {
	const char *name;
	enum deps_lang lang;
	const char *module;
	bool takes;
} rows[] = {
#include "deps/command_names.def"
};

static int by_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct row *)row)->name);
}

static bool take(const char *name, const char *const *rest, struct deps_command *ret)
{
	const struct row *r = bsearch(name, rows, COUNT(rows), sizeof(rows[0]), by_name);

	if (!r)
		return false;
	*ret = (struct deps_command){.lang = r->lang, .takes = r->takes, .rest = rest};
	(void)snprintf(ret->module, sizeof(ret->module), "%s", r->module);
	return true;
}

/* npx [-y] [--package=NAME] COMMAND: npx asks the index for what is nowhere. A version behind the
 * name is for the index alone. */
static bool take_npx(const char *const *w, struct deps_command *ret)
{
	const char *package = NULL;

	for (; *w && **w == '-'; w++) {
		bool next = strcmp(*w, "-p") == 0 || strcmp(*w, "--package") == 0;

		if (next && !w[1])
			return false;
		if (next)
			package = *++w;
		else if (strncmp(*w, "--package=", 10) == 0)
			package = *w + 10;
		else if (strcmp(*w, "-y") != 0 && strcmp(*w, "--yes") != 0 && strcmp(*w, "--") != 0)
			return false;
	}
	if (!*w)
		return false;
	if (!package && take(*w, w + 1, ret))
		return ret->lang == DEPS_NODE;
	bool takes = package && take(*w, w + 1, ret) && ret->takes;
	*ret = (struct deps_command){.lang = DEPS_NODE, .takes = takes, .rest = w + 1};
	deps_asked_name(DEPS_NODE, package ? package : *w, ret->module);
	return deps_is_name(DEPS_NODE, ret->module);
}

bool deps_command(const char *const *words, struct deps_command *ret)
{
	return strcmp(words[0], "npx") == 0 ? take_npx(words + 1, ret)
					    : take(words[0], words + 1, ret);
}
