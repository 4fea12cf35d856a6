/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/said.h"

#include <stdio.h>
#include <string.h>

static int too_many(struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "--hide, --show: more than %u patterns, or %u bytes of them",
		      SAID_MAX, STORE_SAID_MAX - 1);
	return err_remedy(e, "hide a directory, or use patterns that say more");
}

static int put(const char **list, const char *pattern, struct err *e)
{
	unsigned n = 0;

	while (list[n])
		n++;
	if (n == SAID_MAX)
		return too_many(e);
	list[n] = pattern;
	return 0;
}

int said_read(const char *text, const struct secrets_said *more, struct said *ret, struct err *e)
{
	int r = 0;

	*ret = (struct said){.lists = {ret->hide, ret->show}};
	(void)snprintf(ret->text, sizeof(ret->text), "%s", text);
	char *rest = ret->text;
	for (char *line; r >= 0 && (line = strsep(&rest, "\n"));)
		if (*line && line[1])
			r = put(*line == '+' ? ret->show : ret->hide, line + 1, e);
	for (const char *const *p = more ? more->hide : NULL; r >= 0 && p && *p; p++)
		r = put(ret->hide, *p, e);
	for (const char *const *p = more ? more->show : NULL; r >= 0 && p && *p; p++)
		r = put(ret->show, *p, e);
	return r;
}

/* As paths below the directory are: names, and nothing between them but one slash. */
static bool may_fit(const char *pattern)
{
	while (strncmp(pattern, "./", 2) == 0)
		pattern += 2;
	size_t len = strlen(pattern);
	while (len > 1 && pattern[len - 1] == '/')
		len--;
	for (size_t at = 0, n; at <= len; at += n + 1) {
		for (n = 0; at + n < len && pattern[at + n] != '/';)
			n++;
		if (n == 0 || (n <= 2 && memcmp(pattern + at, "..", n) == 0))
			return false;
	}
	return true;
}

static int check(const char *const *list, const char *option, struct err *e)
{
	for (; list && *list; list++) {
		if (may_fit(*list))
			continue;
		(void)err_set(e, ERR_INVALID, "%s %s: no path below the directory that is shown",
			      option, *list);
		return err_remedy(e, "name it from there on, such as etc/key, or by '*.key'");
	}
	return 0;
}

int said_check(const struct secrets_said *said, struct err *e)
{
	int r = check(said->hide, "--hide", e);

	return r < 0 ? r : check(said->show, "--show", e);
}

static int add(char text[STORE_SAID_MAX], char sign, const char *pattern, struct err *e)
{
	char line[STORE_SAID_MAX];
	size_t used = strlen(text);
	int n = snprintf(line, sizeof(line), "%c%s\n", sign, pattern);

	if (!*pattern || strchr(pattern, '\n')) {
		(void)err_set(e, ERR_INVALID, "%s: not a pattern that can be remembered",
			      sign == '-' ? "--hide" : "--show");
		return err_remedy(e, "write one that is a single line, such as '*.sql'");
	}
	if (n >= (int)sizeof(line))
		return too_many(e);
	for (const char *at = text; (at = strstr(at, line)); at++)
		if (at == text || at[-1] == '\n')
			return 0;
	if (used + (size_t)n >= STORE_SAID_MAX)
		return too_many(e);
	memcpy(text + used, line, (size_t)n + 1);
	return 0;
}

int said_add(char text[STORE_SAID_MAX], const struct secrets_said *more, struct err *e)
{
	int r = said_check(more, e);

	for (const char *const *p = more->hide; r >= 0 && p && *p; p++)
		r = add(text, '-', *p, e);
	for (const char *const *p = more->show; r >= 0 && p && *p; p++)
		r = add(text, '+', *p, e);
	return r;
}
