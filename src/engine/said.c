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
	int r = 0;

	for (const char *const *p = more->hide; r >= 0 && p && *p; p++)
		r = add(text, '-', *p, e);
	for (const char *const *p = more->show; r >= 0 && p && *p; p++)
		r = add(text, '+', *p, e);
	return r;
}
