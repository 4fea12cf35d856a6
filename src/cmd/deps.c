/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/value.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Says which packages the programs in DIR need, or a FILE and what it imports of its directory. "
	"They are read by the language's own parser in a sandbox, never executed, and nothing is "
	"fetched.",
	"? marks what the program can do without, + what a sandbox has already, ! a name that may be a "
	"typing error of a well-known one.",
	NULL,
};

const struct verb_doc deps_doc = {
	.usage = {"scan [--lang LANG] [--json] [DIR | FILE]"},
	.paragraphs = paragraphs,
	.examples = {{"What does this project need?", "pinfold deps scan ."},
		     {"One program, for another program:", "pinfold deps scan --json main.py"}},
};

static const char *text_of(const struct value *v, const char *key)
{
	const char *s = value_str(value_get(v, key));

	return s ? s : "";
}

static void print_need(const struct value *v)
{
	const char *installed = value_str(value_get(v, "installed"));
	const char *meant = value_str(value_get(v, "meant"));
	char line[1024];

	(void)snprintf(line, sizeof(line), "%c %-28s %s:%lld import %s%s%s%s%s",
		       meant				      ? '!'
		       : installed			      ? '+'
		       : value_true(value_get(v, "optional")) ? '?'
							      : ' ',
		       text_of(v, "package"), text_of(v, "file"),
		       (long long)value_int(value_get(v, "line")), text_of(v, "import"),
		       installed && *installed ? ", installed " : "", installed ? installed : "",
		       meant ? ": did somebody mean " : "", meant ? meant : "");
	show_text(line);
}

static int print_all(const char *json)
{
	auto_value *v = NULL;
	struct err e = ERR_INIT;

	if (value_parse(json, strlen(json), &v, &e) < 0)
		return say_failure(&e, false);
	const struct value *needs = value_get(v, "needs"), *unread = value_get(v, "unread");
	for (size_t i = 0; i < value_len(needs); i++)
		print_need(value_at(needs, i));
	for (size_t i = 0; i < value_len(unread); i++)
		say("%s:%lld: %s", text_of(value_at(unread, i), "file"),
		    (long long)value_int(value_get(value_at(unread, i), "line")),
		    text_of(value_at(unread, i), "why"));
	return 0;
}

static const char *lang_of(const char *file)
{
	static const struct {
		const char *ending, *lang;
	} rows[] = {{".js", "node"},  {".mjs", "node"}, {".cjs", "node"}, {".ts", "node"},
		    {".jsx", "node"}, {".tsx", "node"}, {".R", "r"},	  {".r", "r"},
		    {".Rmd", "r"},    {".qmd", "r"}};
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(dot, rows[i].ending) == 0)
			return rows[i].lang;
	return "python";
}

/* A file is read with its directory around it: what it imports may lie there. */
static int scan(const char *path, const char *lang, bool json)
{
	struct pinfold_deps_options o = {.size = sizeof(o), .dir = path, .lang = lang};
	const char *files[2] = {NULL, NULL};
	struct pinfold_error failure;
	auto_free char *dir = strdup(path);
	auto_free char *text = NULL;
	struct stat st;

	if (dir && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		char *slash = strrchr(dir, '/');

		files[0] = slash ? slash + 1 : dir;
		o.files = files;
		o.lang = lang ? lang : lang_of(path);
		o.dir = slash == dir ? "/" : slash ? dir : ".";
		if (slash)
			*slash = '\0';
	}
	if (pinfold_deps_scan(&o, &text, &failure) < 0)
		return say_library_failure(&failure, json);
	return json ? (printf("%s\n", text) < 0 ? EXIT_PINFOLD : 0) : print_all(text);
}

int cmd_deps(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	int used = 0, status = 0;

	/* The word that says what to do stands first; only --help may stand instead. */
	if (argc < 1 || (strcmp(argv[0], "scan") != 0 && argv[0][0] != '-')) {
		(void)err_set(&e, ERR_INVALID,
			      "deps: what is to be done is missing, or not in this version");
		(void)err_remedy(&e, "use pinfold deps scan [DIR | FILE]");
		return say_failure(&e, false);
	}
	bool named = argv[0][0] != '-';
	if (!request_begin(&r, v, argc - named, argv + named, &used, &status))
		return status;
	used += named;
	if (argc - used > 1 && request_end(argc - used - 1, argv + used + 1, &e) < 0)
		return say_failure(&e, r.json);
	return scan(used < argc ? argv[used] : ".", r.run.lang, r.json);
}
