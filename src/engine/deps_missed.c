/* SPDX-License-Identifier: Apache-2.0 */
/* A program that ended because a module was not there: what to do, and that it was done. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "deps/lock.h"
#include "engine/deps_int.h"
#include "engine/run_int.h"
#include "pinfold/deps.h"

/* Is it a typing error, or one of several? */
static bool is_unsure(const struct deps_missing *m)
{
	const char *why;

	return deps_many(m->lang, m->module, &why) || deps_meant(m->lang, m->package);
}

void deps_find_missing(struct pinfold_run *run)
{
	struct deps_missing *m = &run->missing;
	struct err none = ERR_INIT; /* a table that is wrong is said by who asks for packages */
	bool any = deps_missing_in(run->tail, run->tail_len, m);

	if (any && deps_table(NULL, &none) >= 0)
		any = deps_missing_in(run->tail, run->tail_len, m);
	if (!any)
		m->module[0] = '\0';
	if (any && !deps_is_own(m->lang, m->module) && !is_unsure(m))
		(void)snprintf(run->missing_asked, sizeof(run->missing_asked), "%s:%s",
			       lock_part_name(m->lang), m->package);
}

void deps_hint(const struct pinfold_run *run, char *to, size_t size)
{
	const struct deps_missing *m = &run->missing;
	const char *meant = deps_meant(m->lang, m->package);

	const char *none = deps_none(m->lang, m->module), *why = NULL;
	const char *many = deps_many(m->lang, m->module, &why);
	if (none)
		(void)snprintf(to, size, "no module %s: %s", m->module, none);
	else if (many)
		(void)snprintf(to, size, "no module %s: of %s (%s)? name the one with --package",
			       m->module, many, why);
	else if (deps_is_own(m->lang, m->module))
		(void)snprintf(to, size,
			       "no module %s: a file of the program's own? bring it in with --dir, "
			       "and run in its directory (--workdir /work)",
			       m->module);
	else if (meant)
		(void)snprintf(to, size, "no module %s: a typing error of %s?", m->module, meant);
	else
		(void)snprintf(
			to, size, "no module %s: package %s would have it; %s", m->module,
			m->package,
			run->exec
				? "name it when the sandbox is made: --package, over HTTP \"packages\""
			: run->req.deps.packages ? "run again with --deps retry"
						 : "run again with --deps auto");
}

int pinfold_deps_missing(const char *text, size_t len, char ret_package[PINFOLD_PACKAGE_SIZE])
{
	struct deps_missing m;

	assert(text && ret_package);
	if (!deps_missing_in(text, len, &m) || is_unsure(&m))
		return 0;
	(void)snprintf(ret_package, PINFOLD_PACKAGE_SIZE, "%s%s%s",
		       m.lang == DEPS_PYTHON ? "" : lock_part_name(m.lang),
		       m.lang == DEPS_PYTHON ? "" : ":", m.package);
	return 1;
}

const char *pinfold_run_missing(const struct pinfold_run *run)
{
	return run->missing_asked[0] ? run->missing_asked : NULL;
}

char *pinfold_run_missing_json(const struct pinfold_run *run)
{
	const struct deps_missing *m = &run->missing;
	auto_value *v = value_object();
	char why[DEPS_NAME_SIZE + 80];

	if (!run->missing_asked[0])
		return NULL;
	(void)snprintf(why, sizeof(why), "the program ended because there was no module %s",
		       m->module);
	value_set(v, "package", value_of_str(m->package));
	value_set(v, "language", value_of_str(lock_part_name(m->lang)));
	value_set(v, "module", value_of_str(m->module));
	value_set(v, "why", value_of_str(why));
	value_set(v, "run", value_of_str(run->id));
	return value_text(v, NULL);
}

void pinfold_run_set_retried(struct pinfold_run *run, const char *missing_json)
{
	struct err none = ERR_INIT; /* it is our own text */

	assert(run && missing_json);
	value_free_ptr(&run->retried);
	(void)value_parse(missing_json, strlen(missing_json), &run->retried, &none);
}
