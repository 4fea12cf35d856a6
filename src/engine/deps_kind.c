/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_kind.h"

#include <string.h>

#include "deps/drivers.h"
#include "deps/lock.h"
#include "deps/scanners.h"

static const struct deps_kind kinds[] = {
	[DEPS_PYTHON] = {.driver_lang = "python",
			 .driver = deps_driver_python,
			 .manifest_lang = "python",
			 .manifest = deps_manifest_python,
			 .scan = scan_python,
			 .text_name = "program.py",
			 .interpreters = {"python"},
			 .tools = {"pytest", "ipython"}},
	[DEPS_NODE] = {.driver_lang = "node",
		       .driver = deps_driver_node,
		       .manifest_lang = "node",
		       .manifest = deps_manifest_node,
		       .scan = scan_node,
		       .text_name = "program.js",
		       .interpreters = {"node", "nodejs"},
		       .tools = {"npm", "npx"}},
	[DEPS_R] = {.driver_lang = "python",
		    .driver = deps_driver_r,
		    .manifest_lang = "python",
		    .manifest = deps_manifest_r,
		    .scan = scan_r,
		    .text_name = "program.R",
		    .interpreters = {"Rscript"},
		    .tools = {"R"}},
	[DEPS_APT] = {.driver_lang = "python", .driver = deps_driver_apt, .as_root = true},
};

const struct deps_kind *deps_kind(enum deps_lang lang)
{
	return &kinds[lang];
}

int deps_kind_check(enum deps_lang lang, struct err *e)
{
	if (kinds[lang].driver)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "packages of %s are not in this version",
		      lock_part_name(lang));
	return err_remedy(e, "bring them in with --dir");
}

/* python3.11 is python. */
static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++) {
		size_t n = strlen(*list);

		if (strncmp(name, *list, n) == 0 &&
		    strspn(name + n, "0123456789.") == strlen(name + n))
			return true;
	}
	return false;
}

bool deps_kind_of(const char *program, enum deps_lang *ret, bool *ret_takes_program)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS; lang++) {
		bool takes = is_one_of(name, kinds[lang].interpreters);

		if (!takes && !is_one_of(name, kinds[lang].tools))
			continue;
		*ret = lang;
		*ret_takes_program = takes;
		return true;
	}
	return false;
}
