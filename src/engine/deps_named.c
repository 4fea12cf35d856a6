/* SPDX-License-Identifier: Apache-2.0 */
/* Packages that somebody names: NAME as the index knows it, of the program's language, or
 * LANGUAGE:NAME. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "engine/deps_int.h"
#include "engine/deps_kind.h"
#include "engine/deps_run.h"

/* python:NAME; a name itself has no colon. */
static int take_language(const char **text, enum deps_lang *ret, struct err *e)
{
	size_t n = strcspn(*text, ":@/<>=!~ ");
	char lang[16];

	if ((*text)[n] != ':')
		return 0;
	(void)snprintf(lang, sizeof(lang), "%.*s", n < sizeof(lang) ? (int)n : 0, *text);
	if (deps_lang_of(lang, ret) < 0 || *ret > DEPS_R) {
		(void)err_set(e, ERR_INVALID, "\"%.100s\": packages of what?", *text);
		return err_remedy(e, "write NAME, or python:NAME, node:NAME, r:NAME");
	}
	*text += n + 1;
	return 0;
}

int deps_take_named(const char *const *names, enum deps_lang standard, struct deps_named *ret,
		    struct err *e)
{
	for (; names && *names; names++) {
		enum deps_lang lang = standard;
		const char *text = *names;
		char name[DEPS_NAME_SIZE];

		if (take_language(&text, &lang, e) < 0)
			return -EINVAL;
		if (ret->n[lang] == DEPS_NAMED_MAX)
			return err_set(e, ERR_LIMIT, "more than %u packages", DEPS_NAMED_MAX);
		if (!deps_is_asked(lang, text)) {
			(void)err_set(e, ERR_INVALID, "\"%.100s\" is no name of a package", text);
			return err_remedy(e, "write NAME, or NAME and versions: 'pandas>=2', "
					     "'node:express@^4'");
		}
		deps_asked_name(lang, text, name);
		if (deps_refuse_typo(lang, name, NULL, e) < 0)
			return -EACCES;
		ret->list[lang][ret->n[lang]++] = text;
	}
	return 0;
}

int deps_have_named(struct run_deps *d, enum deps_lang lang, const struct deps_named *named,
		    struct err *e)
{
	struct deps_ask ask = {
		.mode = "named",
		.lang = lang,
		.store = d->store,
		.packages = named->list[lang],
		.age_hours = deps_age_hours(),
	};

	return named->n[lang] ? deps_have(d, &ask, e) : 0;
}
