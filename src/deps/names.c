/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/names.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *module, *package, *why;
};

#define PY(module, package, why) {module, package, why},
static const struct row python_names[] = {
#include "deps/python_names.def"
};
#undef PY

#define POPULAR(name) name,
static const char *const python_popular[] = {
#include "deps/python_popular.def"
};
static const char *const node_popular[] = {
#include "deps/node_popular.def"
};
#undef POPULAR

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

int deps_lang_of(const char *name, enum deps_lang *ret)
{
	static const char *const names[] = {
		[DEPS_PYTHON] = "python", [DEPS_NODE] = "node", [DEPS_R] = "r"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum deps_lang)i;
			return 0;
		}
	return -1;
}

static int by_module(const void *key, const void *row)
{
	return strcmp(key, ((const struct row *)row)->module);
}

/* The longest name in the table that the module's is, or is below. */
static const struct row *find_row(const char *module)
{
	char name[DEPS_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s", module);
	for (;;) {
		const struct row *r = bsearch(name, python_names, COUNT(python_names),
					      sizeof(python_names[0]), by_module);
		char *dot = strrchr(name, '.');

		if (r || !dot)
			return r;
		*dot = '\0';
	}
}

/* Letters, digits, - _ . inside; node's may have a scope. What else stands there goes to no index. */
static bool is_name(enum deps_lang lang, const char *name)
{
	size_t n = strlen(name);
	bool scoped = lang == DEPS_NODE && name[0] == '@';
	unsigned slashes = 0;

	if (n == 0 || n >= DEPS_NAME_SIZE ||
	    (!isalnum((unsigned char)name[0]) && !scoped &&
	     !(lang == DEPS_PYTHON && name[0] == '_')))
		return false;
	for (const char *p = name + scoped; *p; p++) {
		slashes += *p == '/';
		if (!isalnum((unsigned char)*p) && !strchr("-_.", *p) && !(*p == '/' && scoped))
			return false;
	}
	return slashes == scoped && !strstr(name, "..");
}

int deps_package(enum deps_lang lang, const char *module, char ret[DEPS_NAME_SIZE],
		 const char **ret_why)
{
	assert(module && ret_why);
	*ret_why = NULL;
	if (!is_name(lang, module))
		return -1;
	const struct row *r = lang == DEPS_PYTHON ? find_row(module) : NULL;
	if (r) {
		(void)snprintf(ret, DEPS_NAME_SIZE, "%s", r->package);
		*ret_why = r->why;
		return 0;
	}
	/* A part of a namespace that nobody wrote down: packages there are named by the parts. */
	(void)snprintf(ret, DEPS_NAME_SIZE, "%s", module);
	if (lang == DEPS_PYTHON && strchr(module, '.')) {
		for (char *p = ret; *p; p++)
			if (*p == '.')
				*p = '-';
		*ret_why = "packages of this namespace are named by their parts";
	}
	return 0;
}

void deps_normal(enum deps_lang lang, const char *package, char ret[DEPS_NAME_SIZE])
{
	size_t n = 0;

	for (const char *p = package; *p && n + 1 < DEPS_NAME_SIZE; p++) {
		bool joint = lang == DEPS_PYTHON && strchr("-_.", *p);

		if (joint && n > 0 && ret[n - 1] == '-')
			continue;
		ret[n++] = (char)(joint ? '-' : lang == DEPS_R ? *p : tolower((unsigned char)*p));
	}
	ret[n] = '\0';
}

/* One letter added, left out, changed, or two that changed places: 1; more: 2 stands for all. */
static unsigned distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), i = 0;

	if (la > lb + 1 || lb > la + 1)
		return 2;
	while (a[i] && a[i] == b[i])
		i++;
	if (!a[i] && !b[i])
		return 0;
	if (la == lb)
		return strcmp(a + i + 1, b + i + 1) == 0 ||
				       (a[i] == b[i + 1] && b[i] == a[i + 1] && a[i + 1] &&
					strcmp(a + i + 2, b + i + 2) == 0)
			       ? 1
			       : 2;
	return strcmp(la > lb ? a + i + 1 : a + i, la > lb ? b + i : b + i + 1) == 0 ? 1 : 2;
}

const char *deps_meant(enum deps_lang lang, const char *package)
{
	const char *const *list = lang == DEPS_PYTHON ? python_popular : node_popular;
	size_t n = lang == DEPS_PYTHON ? COUNT(python_popular) : COUNT(node_popular);
	char name[DEPS_NAME_SIZE];
	const char *near = NULL;

	if (lang == DEPS_R)
		return NULL;
	deps_normal(lang, package, name);
	for (size_t i = 0; i < n; i++) {
		/* Short names are all near to each other. */
		unsigned d = strlen(list[i]) < 5 ? (strcmp(list[i], name) != 0) * 2u
						 : distance(list[i], name);

		if (d == 0)
			return NULL;
		if (d == 1 && !near)
			near = list[i];
	}
	return near;
}
