/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/words.h"

#include <stdio.h>
#include <string.h>

/* Letters may stand together (python3 -uc TEXT), and what belongs to the last may follow at once
 * (-Wignore); node's stand alone. */
struct syntax {
	bool joined;
	const char *texts, *valued, *others; /* letters; others: what follows is no file */
	const char *const *long_texts, *const *long_valued, *const *endings;
	const char *const *modules; /* options whose value is a module that is imported first */
};

static const char *const none[] = {NULL};
static const char *const python_valued[] = {"check-hash-based-pycs", NULL};
static const char *const python_endings[] = {".py", ".pyw", NULL};
static const char *const node_texts[] = {"eval", "print", NULL};
static const char *const node_valued[] = {"require",
					  "import",
					  "loader",
					  "experimental-loader",
					  "conditions",
					  "input-type",
					  "env-file",
					  "env-file-if-exists",
					  "title",
					  "watch-path",
					  "disable-warning",
					  "unhandled-rejections",
					  "test-name-pattern",
					  "test-reporter",
					  "test-reporter-destination",
					  "dns-result-order",
					  "openssl-config",
					  "icu-data-dir",
					  NULL};
static const char *const node_endings[] = {".js", ".mjs", ".cjs", ".ts", ".mts", NULL};
static const char *const node_modules[] = {
	"-r", "--require", "--import", "--loader", "--experimental-loader", NULL};
static const char *const r_endings[] = {".R", ".r", NULL};

static const struct syntax syntaxes[] = {
	[DEPS_PYTHON] = {true, "c", "WX", "m", none, python_valued, python_endings, none},
	[DEPS_NODE] = {false, "ep", "rC", "", node_texts, node_valued, node_endings, node_modules},
	[DEPS_R] = {false, "e", "", "", none, none, r_endings, none},
	[DEPS_APT] = {false, "", "", "", none, none, none, none},
};

static bool is_one_of(const char *word, size_t len, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == len && strncmp(word, *list, len) == 0)
			return true;
	return false;
}

static bool has_ending(const char *word, const char *const *list)
{
	size_t n = strlen(word);

	for (; *list; list++)
		if (n > strlen(*list) && strcmp(word + n - strlen(*list), *list) == 0)
			return true;
	return false;
}

enum found { GO_ON, TEXT, SKIP, OTHER, UNKNOWN };

/* --name, --name=value: what is it, and is its value in the same word? */
static enum found look_long(const struct syntax *s, const char *word, const char **ret_rest)
{
	size_t n = strcspn(word, "=");

	*ret_rest = word[n] ? word + n + 1 : NULL;
	if (is_one_of(word, n, s->long_texts))
		return TEXT;
	if (is_one_of(word, n, s->long_valued))
		return SKIP;
	return *ret_rest ? GO_ON : UNKNOWN;
}

/* -u, -uc, -Wignore, -pe */
static enum found look_short(const struct syntax *s, const char *word, const char **ret_rest)
{
	*ret_rest = NULL;
	for (; *word; word++) {
		bool last = !word[1];

		if (strchr(s->others, *word)) {
			*ret_rest = last ? NULL : word + 1;
			return OTHER;
		}
		if (strchr(s->texts, *word) && (last || s->joined)) {
			*ret_rest = last ? NULL : word + 1;
			return TEXT;
		}
		if (strchr(s->valued, *word)) {
			*ret_rest = last ? NULL : word + 1;
			return SKIP;
		}
	}
	return GO_ON;
}

struct deps_words deps_words(enum deps_lang lang, const char *const *w)
{
	const struct syntax *s = &syntaxes[lang];
	struct deps_words nothing = {.text = NULL};
	const char *module = NULL;
	bool sure = true;

	for (; *w && **w == '-'; w++) {
		const char *rest = NULL;

		if (strcmp(*w, "--") == 0) {
			w++;
			break;
		}
		if (!(*w)[1])
			return nothing;
		enum found f =
			(*w)[1] == '-' ? look_long(s, *w + 2, &rest) : look_short(s, *w + 1, &rest);
		if (f == OTHER)
			return (struct deps_words){.module = rest ? rest : w[1]};
		if ((f == TEXT || f == SKIP) && !rest && !w[1])
			return nothing;
		if (f == TEXT)
			return (struct deps_words){.text = rest ? rest : w[1], .module = module};
		if (f == SKIP && is_one_of(*w, strcspn(*w, "="), s->modules))
			module = rest ? rest : w[1];
		if (f == SKIP && !rest)
			w++;
		sure = sure && f != UNKNOWN;
	}
	/* What stands behind an option that we do not know may belong to it. */
	if (!*w || !**w || (!sure && !has_ending(*w, s->endings)))
		return (struct deps_words){.module = module};
	return (struct deps_words){.file = *w, .module = module};
}

bool deps_words_import(enum deps_lang lang, const char *module, char ret[DEPS_IMPORT_SIZE])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.";
	const char *first = lang == DEPS_NODE && module[0] == '@' ? module + 1 : module;
	size_t n = strspn(first, letters);

	if (lang == DEPS_NODE)
		n = strspn(first,
			   "-/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	if (!*first || first[n] || strlen(module) > 200 || *first == '.' || *first == '/' ||
	    (lang != DEPS_PYTHON && lang != DEPS_NODE))
		return false;
	(void)snprintf(ret, DEPS_IMPORT_SIZE,
		       lang == DEPS_PYTHON ? "import %s\n" : "require(\"%s\");\n", module);
	return true;
}
