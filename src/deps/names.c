/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/names.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "deps/table.h"

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

#define KNOWN(name) name,
static const char *const python_known[] = {
#include "deps/python_known.def"
};
#undef KNOWN

#define OWN(name) name,
static const char *const own_names[] = {
#include "deps/own_names.def"
};
#undef OWN

#define NONE(module, why) {module, NULL, why},
static const struct row none_names[] = {
#include "deps/none_names.def"
};
#undef NONE

#define MANY(module, packages, why) {module, packages, why},
static const struct row many_names[] = {
#include "deps/many_names.def"
};
#undef MANY

#define MODULE_LETTERS 6u /* shorter names are all near to each other */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

int deps_lang_of(const char *name, enum deps_lang *ret)
{
	static const char *const names[] = {
		[DEPS_PYTHON] = "python", [DEPS_NODE] = "node", [DEPS_R] = "r", [DEPS_APT] = "apt"};

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

static const struct row *find_python(const char *module)
{
	return bsearch(module, python_names, COUNT(python_names), sizeof(python_names[0]),
		       by_module);
}

/* The longest name in the tables that the module's is, or is below; the user's before ours. */
static bool find_row(enum deps_lang lang, const char *module, struct row *ret)
{
	static const char own[] = "your own table says so (" TABLE_NAME ")";
	char name[DEPS_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s", module);
	for (;;) {
		const struct table_row *mine = table_find(lang, name);
		const struct row *r = lang == DEPS_PYTHON && !mine ? find_python(name) : NULL;
		char *dot = lang == DEPS_PYTHON ? strrchr(name, '.') : NULL;

		if (mine)
			*ret = (struct row){.package = mine->package, .why = own};
		else if (r)
			*ret = *r;
		if (mine || r || !dot)
			return mine || r;
		*dot = '\0';
	}
}

/* Modules whose packages are all named by one rule: what stands behind the prefix, after another. */
static const struct family {
	const char *prefix, *package;
} families[] = {
	{"adafruit_", "adafruit-circuitpython-"},
	{"airflow.providers.", "apache-airflow-providers-"},
	{"aliyunsdk", "aliyun-python-sdk-"},
	{"kiota_", "microsoft-kiota-"},
	{"livekit.plugins.", "livekit-plugins-"},
	{"llama_index.agent.", "llama-index-agent-"},
	{"llama_index.callbacks.", "llama-index-callbacks-"},
	{"llama_index.embeddings.", "llama-index-embeddings-"},
	{"llama_index.graph_stores.", "llama-index-graph-stores-"},
	{"llama_index.llms.", "llama-index-llms-"},
	{"llama_index.multi_modal_llms.", "llama-index-multi-modal-llms-"},
	{"llama_index.packs.", "llama-index-packs-"},
	{"llama_index.postprocessor.", "llama-index-postprocessor-"},
	{"llama_index.readers.", "llama-index-readers-"},
	{"llama_index.retrievers.", "llama-index-retrievers-"},
	{"llama_index.tools.", "llama-index-tools-"},
	{"llama_index.vector_stores.", "llama-index-vector-stores-"},
};

static bool by_family(const char *module, char ret[DEPS_NAME_SIZE], const char **ret_why)
{
	for (size_t i = 0; i < COUNT(families); i++) {
		size_t n = strlen(families[i].prefix);

		if (strncmp(module, families[i].prefix, n) != 0 || !module[n])
			continue;
		(void)snprintf(ret, DEPS_NAME_SIZE, "%s%s", families[i].package, module + n);
		for (char *p = ret; *p; p++)
			if (*p == '.' || *p == '_')
				*p = '-';
		*ret_why = "packages of this family are named by one rule";
		return true;
	}
	return false;
}

/* Letters, digits, - _ . inside; node's may have a scope, apt's a +. What else stands there goes to
 * no index. */
bool deps_is_name(enum deps_lang lang, const char *name)
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
		if (!isalnum((unsigned char)*p) && !strchr("-_.", *p) && !(*p == '/' && scoped) &&
		    !(*p == '+' && lang == DEPS_APT))
			return false;
	}
	return slashes == scoped && !strstr(name, "..");
}

/* google.cloud.speech_v1p1beta1 is a version of google.cloud.speech, of the same package. */
static void cut_version(char *module)
{
	static const char google[] = "google.";
	char *v = strncmp(module, google, strlen(google)) == 0 ? strstr(module, "_v") : NULL;

	if (v && isdigit((unsigned char)v[2]))
		*v = '\0';
}

int deps_package(enum deps_lang lang, const char *module, char ret[DEPS_NAME_SIZE],
		 const char **ret_why)
{
	char plain[DEPS_NAME_SIZE];

	assert(module && ret_why);
	*ret_why = NULL;
	if (!deps_is_name(lang, module))
		return -1;
	(void)snprintf(plain, sizeof(plain), "%s", module);
	if (lang == DEPS_PYTHON)
		cut_version(plain);
	module = plain;
	struct row r;
	bool found = find_row(lang, module, &r);
	bool exact = found && (!r.module || strcmp(r.module, module) == 0);
	if (lang == DEPS_PYTHON && !exact && by_family(module, ret, ret_why))
		return 0;
	if (found) {
		(void)snprintf(ret, DEPS_NAME_SIZE, "%s", r.package);
		*ret_why = r.why;
		return strcmp(r.package, TABLE_NONE) == 0 ? -1 : 0;
	}
	/* A part of a namespace that nobody wrote down: packages there are named by the parts. */
	(void)snprintf(ret, DEPS_NAME_SIZE, "%s", module);
	if (lang == DEPS_PYTHON && strchr(module, '.')) {
		for (char *p = ret; *p; p++)
			if (*p == '.')
				*p = '-';
		if (!deps_none(lang, module))
			*ret_why = "packages of this namespace are named by their parts";
	}
	/* The index takes both, and writes -. */
	for (char *p = ret + 1; lang == DEPS_PYTHON && *ret && *p; p++)
		if (*p == '_' && isalnum((unsigned char)p[-1]) && isalnum((unsigned char)p[1]))
			*p = '-';
	return 0;
}

const char *deps_many(enum deps_lang lang, const char *module, const char **ret_why)
{
	const struct row *r = lang != DEPS_PYTHON || table_find(lang, module)
				      ? NULL
				      : bsearch(module, many_names, COUNT(many_names),
						sizeof(many_names[0]), by_module);

	if (r)
		*ret_why = r->why;
	return r ? r->package : NULL;
}

bool deps_told(enum deps_lang lang, const char *module, const char *part, char ret[DEPS_NAME_SIZE],
	       const char **ret_why)
{
	char name[DEPS_NAME_SIZE];

	if (lang != DEPS_PYTHON || table_find(lang, module) ||
	    snprintf(name, sizeof(name), "%s.%s", module, part) >= (int)sizeof(name))
		return false;
	const struct row *r = find_python(name);
	if (!r)
		return false;
	(void)snprintf(ret, DEPS_NAME_SIZE, "%s", r->package);
	*ret_why = r->why;
	return true;
}

void deps_normal(enum deps_lang lang, const char *package, char ret[DEPS_NAME_SIZE])
{
	size_t n = 0;

	for (const char *p = package; *p && n + 1 < DEPS_NAME_SIZE; p++) {
		bool joint = lang == DEPS_PYTHON && strchr("-_.", *p);

		if (joint && n > 0 && ret[n - 1] == '-')
			continue;
		ret[n++] = (char)(joint			? '-'
				  : lang == DEPS_PYTHON ? tolower((unsigned char)*p)
							: *p);
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

/* sklern: not the package's name but the module's was mistyped. `name` is in normal form. */
static const char *meant_module(enum deps_lang lang, const char *name)
{
	char module[DEPS_NAME_SIZE];
	const char *near = NULL;

	for (size_t i = 0; lang == DEPS_PYTHON && i < COUNT(python_names); i++) {
		if (strlen(python_names[i].module) < MODULE_LETTERS ||
		    strchr(python_names[i].module, '.'))
			continue;
		deps_normal(lang, python_names[i].module, module);
		unsigned d = distance(module, name);
		if (d == 0)
			return NULL;
		if (d == 1 && !near)
			near = python_names[i].package;
	}
	return near;
}

static int by_name(const void *key, const void *name)
{
	return strcmp(key, *(const char *const *)name);
}

/* A package that we know, if only as some module's; `name` is in normal form. */
static bool is_known(const char *name)
{
	char package[DEPS_NAME_SIZE];

	if (bsearch(name, python_known, COUNT(python_known), sizeof(python_known[0]), by_name))
		return true;
	for (size_t i = 0; i < COUNT(python_names); i++) {
		deps_normal(DEPS_PYTHON, python_names[i].package, package);
		if (strcmp(package, name) == 0)
			return true;
	}
	return false;
}

/* d3.js, expressjs: as people call them, and somebody may have taken that name. */
static const char *without_js(const char *name)
{
	static const struct {
		const char *end;
		size_t before; /* letters in front of it, or it is a word of its own */
	} ends[] = {{".js", 2}, {"-js", 2}, {"js", 4}};
	char plain[DEPS_NAME_SIZE];

	for (size_t i = 0; i < COUNT(ends); i++) {
		size_t n = strlen(name), len = strlen(ends[i].end);

		if (n < len + ends[i].before || strcmp(name + n - len, ends[i].end) != 0)
			continue;
		(void)snprintf(plain, sizeof(plain), "%.*s", (int)(n - len), name);
		for (size_t k = 0; k < COUNT(node_popular); k++)
			if (strcmp(node_popular[k], plain) == 0)
				return node_popular[k];
	}
	return NULL;
}

/* Short names are all near to each other; of four letters, two that changed places tell. */
static unsigned distance_of(const char *known, const char *name)
{
	size_t n = strlen(known);

	if (n >= 5 || strcmp(known, name) == 0)
		return distance(known, name);
	if (n != 4 || strlen(name) != 4 || distance(known, name) != 1)
		return 2;
	unsigned changed = 0;
	for (size_t i = 0; i < n; i++)
		changed += known[i] != name[i];
	return changed == 2 ? 1 : 2;
}

const char *deps_meant(enum deps_lang lang, const char *package)
{
	const char *const *list = lang == DEPS_PYTHON ? python_popular : node_popular;
	size_t n = lang == DEPS_PYTHON ? COUNT(python_popular) : COUNT(node_popular);
	char name[DEPS_NAME_SIZE];
	const char *near = NULL;

	if (lang != DEPS_PYTHON && lang != DEPS_NODE)
		return NULL;
	deps_normal(lang, package, name);
	if (lang == DEPS_PYTHON && is_known(name))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		unsigned d = distance_of(list[i], name);

		if (d == 0)
			return NULL;
		if (d == 1 && !near)
			near = list[i];
	}
	if (!near && lang == DEPS_NODE)
		near = without_js(name);
	return near ? near : meant_module(lang, name);
}

#define NEAREST_LETTERS 40u

/* Letters to change, add or leave out, or neighbours to swap. */
static unsigned steps(const char *a, const char *b)
{
	unsigned rows[3][NEAREST_LETTERS + 1];
	size_t la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = rows[i % 3], *one = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned best = one[j - 1] + (a[i - 1] != b[j - 1]);

			best = one[j] + 1 < best ? one[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[la % 3][lb];
}

static void nearest_of(const char *name, const char *const *list, size_t n, unsigned *best,
		       const char **near)
{
	for (size_t i = 0; i < n; i++) {
		if (strlen(list[i]) < 5 || strlen(list[i]) > NEAREST_LETTERS)
			continue;
		unsigned d = steps(name, list[i]);
		if (d < *best) {
			*best = d;
			*near = list[i];
		}
	}
}

const char *deps_nearest(enum deps_lang lang, const char *package)
{
	char name[DEPS_NAME_SIZE];
	const char *near = NULL;

	deps_normal(lang, package, name);
	/* Two of six letters are another word. */
	unsigned best = strlen(name) < 7 ? 2 : 3;
	if (strlen(name) > NEAREST_LETTERS)
		return NULL;
	if (lang == DEPS_NODE)
		nearest_of(name, node_popular, COUNT(node_popular), &best, &near);
	if (lang == DEPS_PYTHON) {
		nearest_of(name, python_popular, COUNT(python_popular), &best, &near);
		nearest_of(name, python_known, COUNT(python_known), &best, &near);
	}
	return near;
}

bool deps_is_popular(enum deps_lang lang, const char *package)
{
	const char *const *list = lang == DEPS_PYTHON ? python_popular : node_popular;
	size_t n = lang == DEPS_PYTHON ? COUNT(python_popular) : COUNT(node_popular);
	char name[DEPS_NAME_SIZE];

	deps_normal(lang, package, name);
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

const char *deps_none(enum deps_lang lang, const char *module)
{
	for (size_t i = 0; lang == DEPS_PYTHON && i < COUNT(none_names); i++) {
		size_t n = strlen(none_names[i].module);

		if (strncmp(none_names[i].module, module, n) == 0 &&
		    (module[n] == '\0' || (module[n] == '.' && strchr(none_names[i].module, '.'))))
			return none_names[i].why;
	}
	return NULL;
}

/* What a compiler of messages writes beside the program: protoc, and grpc's. */
static bool is_generated(const char *module)
{
	static const char *const ends[] = {"_pb2", "_pb2_grpc"};
	size_t len = strlen(module);

	for (size_t i = 0; i < COUNT(ends); i++)
		if (len > strlen(ends[i]) && strcmp(module + len - strlen(ends[i]), ends[i]) == 0)
			return !strchr(module, '.');
	return false;
}

bool deps_is_own(enum deps_lang lang, const char *module)
{
	if (deps_none(lang, module) || (lang == DEPS_PYTHON && is_generated(module)))
		return true;
	for (size_t i = 0; lang == DEPS_PYTHON && i < COUNT(own_names); i++)
		if (strcmp(own_names[i], module) == 0)
			return true;
	return false;
}

static void add_list(struct hash *h, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash_add(h, list[i], strlen(list[i]) + 1);
}

void deps_names_add(struct hash *h)
{
	for (size_t i = 0; i < COUNT(python_names); i++) {
		hash_add(h, python_names[i].module, strlen(python_names[i].module) + 1);
		hash_add(h, python_names[i].package, strlen(python_names[i].package) + 1);
	}
	for (size_t i = 0; i < COUNT(many_names); i++) {
		hash_add(h, many_names[i].module, strlen(many_names[i].module) + 1);
		hash_add(h, many_names[i].package, strlen(many_names[i].package) + 1);
	}
	for (size_t i = 0; i < COUNT(none_names); i++)
		hash_add(h, none_names[i].module, strlen(none_names[i].module) + 1);
	add_list(h, python_popular, COUNT(python_popular));
	add_list(h, python_known, COUNT(python_known));
	add_list(h, node_popular, COUNT(node_popular));
	add_list(h, own_names, COUNT(own_names));
}

static const char alias[] = "@npm:";

void deps_asked_name(enum deps_lang lang, const char *asked, char ret[DEPS_NAME_SIZE])
{
	const char *real = lang == DEPS_NODE ? strstr(asked, alias) : NULL;

	if (real)
		asked = real + strlen(alias);
	/* A scope begins with what begins versions elsewhere. */
	size_t scope = lang == DEPS_NODE && asked[0] == '@';
	size_t n = scope + strcspn(asked + scope, lang == DEPS_NODE ? "@ " : " [<>=!~;(@");
	(void)snprintf(ret, DEPS_NAME_SIZE, "%.*s", (int)(n < 200 ? n : 200), asked);
}

bool deps_is_same(enum deps_lang lang, const char *a, const char *b)
{
	char x[DEPS_NAME_SIZE], y[DEPS_NAME_SIZE], name[DEPS_NAME_SIZE];

	deps_asked_name(lang, a, name);
	deps_normal(lang, name, x);
	deps_asked_name(lang, b, name);
	deps_normal(lang, name, y);
	return strcmp(x, y) == 0;
}

bool deps_is_asked(enum deps_lang lang, const char *asked)
{
	static const char versions[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789.^~<>=*|+- ";
	char name[DEPS_NAME_SIZE];

	deps_asked_name(lang, asked, name);
	if (!deps_is_name(lang, name))
		return false;
	if (lang != DEPS_NODE)
		return !strpbrk(asked, "\n\r@");
	const char *real = strstr(asked, alias);
	if (real) {
		char first[DEPS_NAME_SIZE];

		(void)snprintf(first, sizeof(first), "%.*s",
			       (int)(real - asked < 200 ? real - asked : 200), asked);
		if (!deps_is_name(lang, first))
			return false;
		asked = real + strlen(alias);
	}
	asked += strlen(name);
	return !*asked ||
	       (*asked == '@' && asked[1] && strspn(asked + 1, versions) == strlen(asked + 1));
}
