/* SPDX-License-Identifier: Apache-2.0 */
/* Packages of the distribution (--apt), had as those of a language are. */
#include <string.h>

#include "base/fd.h"
#include "engine/deps_int.h"
#include "engine/deps_run.h"

#define NAMES_MAX 64u

struct names {
	char *text[NAMES_MAX + 1];
	unsigned n;
};

static void names_done(struct names *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free_ptr(&l->text[i]);
}

/* NAME or NAME=VERSION; nothing that apt takes for an option, a path, or a wish to remove. */
static bool is_asked(const char *text)
{
	static const char in_name[] = "abcdefghijklmnopqrstuvwxyz0123456789+.-";
	static const char in_version[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+:~-";
	size_t n = strspn(text, in_name);

	/* NAME- would be removed, NAME+ is taken for NAME where there is none of that name. */
	if (n < 2 || n >= DEPS_NAME_SIZE || strchr("+.-", text[0]) || text[n - 1] == '-')
		return false;
	return !text[n] || (text[n] == '=' && text[n + 1] && strlen(text + n) < LOCK_VERSION_SIZE &&
			    !text[n + 1 + strspn(text + n + 1, in_version)]);
}

static int add(struct names *to, const char *text, size_t len, struct err *e)
{
	if (to->n == NAMES_MAX)
		return err_set(e, ERR_LIMIT, "--apt: more than %u packages", NAMES_MAX);
	to->text[to->n] = strndup(text, len);
	if (!to->text[to->n])
		return err_sys(e, "--apt");
	if (is_asked(to->text[to->n++]))
		return 0;
	(void)err_set(e, ERR_INVALID, "--apt: \"%.100s\" is no name of a package",
		      to->text[to->n - 1]);
	return err_remedy(e, "write NAME or NAME=VERSION; commas stand between several");
}

int deps_have_apt(struct run_deps *d, const char *const *names, struct err *e)
{
	__attribute__((cleanup(names_done))) struct names list = {.n = 0};
	struct deps_ask ask = {
		.mode = "named",
		.lang = DEPS_APT,
		.store = d->store,
		.packages = (const char *const *)list.text,
	};
	int r = 0;

	for (; *names && r >= 0; names++) {
		const char *p = *names;

		do {
			size_t n = strcspn(p, ",");

			r = add(&list, p, n, e);
			p += n + (p[n] == ',');
		} while (r >= 0 && *p);
	}
	if (r >= 0 && (r = deps_have(d, &ask, e)) < 0)
		(void)err_wrap(e, "--apt");
	return r;
}
