/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/missing.h"

#include <stdio.h>
#include <string.h>

/* What an interpreter says, and what stands behind the name. */
static const struct saying {
	enum deps_lang lang;
	const char *before, *after;
} sayings[] = {
	{DEPS_PYTHON, "ModuleNotFoundError: No module named '", "'"},
	{DEPS_PYTHON, "ImportError: Missing optional dependency '", "'"}, /* pandas */
	{DEPS_PYTHON, "Unable to find a usable engine; tried using: '", "'"},
	{DEPS_PYTHON, "a tree builder with the features you requested: ", ". Do you"}, /* bs4 */
	{DEPS_PYTHON, "Form data requires \"", "\" to be installed"},		       /* fastapi */
	{DEPS_PYTHON, "python3: No module named ", "\n"},
	{DEPS_PYTHON, "python: No module named ", "\n"},
	{DEPS_NODE, "Error: Cannot find module '", "'"},
	{DEPS_NODE, "Cannot find package '", "'"},
	{DEPS_R, "there is no package called \xe2\x80\x98", "\xe2\x80\x99"},
	{DEPS_R, "there is no package called '", "'"},
	{DEPS_R, "The package \"", "\" is required"}, /* rlang */
};

/* Of the standard library, but not everywhere: whatever an index has of that name is something
 * else. */
static const char *const no_package[] = {
	"tkinter", "_tkinter", "turtle",   "idlelib",  "distutils", "ensurepip", "venv",
	"lib2to3", "imp",      "asyncore", "asynchat", "smtpd",	    "_ctypes",	 "_sqlite3",
	"_curses", "readline", "__main__", "fs",       "path",	    "http",	 "https",
	"crypto",  "stream",   "util",	   "xml",      "lxml-xml",  "html",
};

static const char *find_last(const char *text, size_t len, const char *what)
{
	const char *found = NULL, *at = text;
	size_t n = strlen(what);

	while (len >= n && (at = memmem(at, len - (size_t)(at - text), what, n)) != NULL) {
		found = at;
		at += n;
	}
	return found;
}

/* node: what is a package of "a/b" and "@a/b/c"; a path is none. */
static void cut_node(char *module)
{
	char *slash = strchr(module, '/');

	if (slash && module[0] == '@')
		slash = strchr(slash + 1, '/');
	if (slash)
		*slash = '\0';
}

static bool take(const struct saying *s, const char *name, size_t len, struct deps_missing *ret)
{
	const char *why = NULL;

	if (len == 0 || len >= sizeof(ret->module) || memchr(name, '\0', len))
		return false;
	ret->lang = s->lang;
	memcpy(ret->module, name, len);
	ret->module[len] = '\0';
	if (s->lang == DEPS_NODE)
		cut_node(ret->module);
	for (size_t i = 0; i < sizeof(no_package) / sizeof(no_package[0]); i++)
		if (strcmp(no_package[i], ret->module) == 0)
			return false;
	if (deps_package(s->lang, ret->module, ret->package, &why) < 0)
		return false;
	/* a.b that is missing where a is there is no package a-b. */
	char first[DEPS_NAME_SIZE];
	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(ret->module, "."), ret->module);
	if (s->lang != DEPS_PYTHON || strcmp(first, ret->module) == 0)
		return true;
	const char *known = NULL;
	char of_first[DEPS_NAME_SIZE];
	return why && deps_package(s->lang, first, of_first, &known) >= 0 && known &&
	       strcmp(of_first, ret->package) == 0;
}

bool deps_missing_in(const char *text, size_t len, struct deps_missing *ret)
{
	const struct saying *last = NULL;
	const char *at = NULL;

	/* The last counts: what came before was handled. */
	for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++) {
		const char *found = find_last(text, len, sayings[i].before);

		if (found && (!at || found > at)) {
			at = found;
			last = &sayings[i];
		}
	}
	if (!last)
		return false;
	at += strlen(last->before);
	const char *end = memmem(at, len - (size_t)(at - text), last->after, strlen(last->after));
	return end && take(last, at, (size_t)(end - at), ret);
}
