/* SPDX-License-Identifier: Apache-2.0 */
/* Where R's packages are: the variable CRAN, else what R's own configuration on this host says.
 * That is a program (Rprofile.site), so R says it, in a sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/deps_index_int.h"
#include "engine/deps_int.h"

static const char repos[] =
	"u <- getOption(\"repos\")\n"
	"u <- u[!is.na(u) & nzchar(u) & u != \"@CRAN@\"]\n"
	"u <- gsub(\"[^A-Za-z0-9:/._~%@-]\", \"\", u)\n"
	"cat(\"[\", paste0(\"\\\"\", u, \"\\\"\", recycle0 = TRUE, collapse = \", \"), \"]\\n\")\n";

static int ask_r(struct index_urls *to, struct err *e)
{
	static const char *const none[] = {NULL};
	struct deps_place place = {.root = "/home/user"};
	struct deps_script script = {.lang = "r", .code = repos, .words = none};
	auto_value *list = NULL;
	int r = deps_run_script(&place, &script, &list, e);

	for (size_t i = 0; r >= 0 && i < value_len(list); i++) {
		const char *url = value_str(value_at(list, i));

		if (url)
			(void)index_take_url(url, strlen(url),
					     to); /* no more than there is room for */
	}
	return r;
}

int index_find_r(struct deps_index *ret, struct err *e)
{
	static const char remedy[] =
		"name another in R's configuration (options(repos) in Rprofile.site), or "
		"in the variable CRAN";
	auto_free struct index_urls *urls = calloc(1, sizeof(*urls));
	auto_value *policy = value_object();
	struct value *rules = value_array(), *list = value_array();
	struct name host;
	bool is_tls;
	int r = 0;

	value_set(policy, "allow", rules);
	ret->doc = value_object();
	value_set(ret->doc, "urls", list);
	if (!urls)
		return err_sys(e, "deps");
	index_from_variable("CRAN", urls);
	if (!urls->n)
		r = ask_r(urls, e);
	if (r >= 0 && !urls->n) {
		(void)err_set(e, ERR_MISSING, "R's configuration names no repository of packages");
		return err_remedy(
			e, "set options(repos = ...) in Rprofile.site, or the variable CRAN");
	}
	for (unsigned i = 0; r >= 0 && i < urls->n; i++) {
		value_add(list, value_of_str(urls->list[i]));
		r = index_allow_url(rules, urls->list[i], remedy, &host, &is_tls, e);
	}
	if (r < 0)
		return r;
	ret->policy = value_text(policy, NULL);
	return ret->policy ? 0 : err_sys(e, "deps");
}
