/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/value.h"
#include "cmd/deps.h"
#include "cmd/help.h"
#include "cmd/noted.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Packages that programs need, and the lock that says exactly which (pinfold.lock). Without a "
	"word: what the lock has, with size, who asked for it, and where it came from.",
	"scan says which packages the programs in DIR need, or a FILE and what it imports of its "
	"directory. They are read by the language's own parser in a sandbox, never executed, and "
	"nothing is fetched. ? marks what the program can do without, + what a sandbox has already, ! a "
	"name that may be a typing error of a well-known one, ~ one that programs give to modules of their own.",
	"add and rm change the lock, and keep the versions of what is not named; update takes the newest, of all or of those named. "
	"Versions and hashes come from the index that the package manager's configuration names. fetch has all of a lock in the cache and as a layer. ls lists "
	"layers, gc removes those that nobody used for 30 days.",
	"A workspace has a lock, too: exec --deps auto writes it, WORKSPACE shows it, and --name WORKSPACE is "
	"for add, rm, update, fetch and scan.",
	NULL,
};

const struct verb_doc deps_doc = {
	.usage = {"[--lock FILE | WORKSPACE] [--sbom FORMAT] [--json]",
		  "scan [--lang LANG] [--json] [DIR | FILE | --name WORKSPACE]",
		  "add NAME... | rm NAME... | update [NAME...]", "fetch | ls | gc"},
	.paragraphs = paragraphs,
	.examples = {{"What does this project need?", "pinfold deps scan ."},
		     {"Lock a package:", "pinfold deps add 'pandas>=2'"},
		     {"What is locked, for other tools:", "pinfold deps --sbom cyclonedx"}},
};

static const char *text_of(const struct value *v, const char *key)
{
	const char *s = value_str(value_get(v, key));

	return s ? s : "";
}

static void print_need(const struct value *v, const char *prefix)
{
	const char *installed = value_str(value_get(v, "installed"));
	const char *meant = value_str(value_get(v, "meant"));
	const struct value *many = value_get(v, "candidates");
	const char *asked = value_str(value_get(v, value_get(v, "left") ? "left" : "asked"));
	const char *how = value_str(value_get(v, "how"));
	bool own = value_true(value_get(v, "own"));
	char line[1024], package[160];

	(void)snprintf(package, sizeof(package), "%s%s", prefix, text_of(v, "package"));
	(void)snprintf(line, sizeof(line), "%c %-28s %s:%lld %s%s%s%s%s%s%s%s",
		       meant || value_len(many)		      ? '!'
		       : own				      ? '~'
		       : installed			      ? '+'
		       : value_true(value_get(v, "optional")) ? '?'
							      : ' ',
		       package, text_of(v, "file"), (long long)value_int(value_get(v, "line")),
		       asked ? "asks for "
		       : how ? how
			     : "import ",
		       how ? " uses " : "", asked ? asked : text_of(v, "import"),
		       installed && *installed ? ", installed " : "", installed ? installed : "",
		       meant ? ": did somebody mean " : "", meant ? meant : "",
		       own ? ": a module of its own?" : "");
	for (size_t i = 0, n = strlen(line); i < value_len(many) && n < sizeof(line); i++)
		n += (size_t)snprintf(
			line + n, sizeof(line) - n, "%s%.100s",
			i ? " or " : ": several have it: ", value_str(value_at(many, i)));
	show_text(line);
}

/* `prefix`: of which language, as --package has it. */
static void print_language(const struct value *v, const char *prefix)
{
	const struct value *needs = value_get(v, "needs"), *unread = value_get(v, "unread");

	for (size_t i = 0; i < value_len(needs); i++)
		print_need(value_at(needs, i), prefix);
	for (size_t i = 0; i < value_len(unread); i++)
		say("%s:%lld: %s", text_of(value_at(unread, i), "file"),
		    (long long)value_int(value_get(value_at(unread, i), "line")),
		    text_of(value_at(unread, i), "why"));
}

static int print_all(const char *json)
{
	auto_value *v = NULL;
	struct err e = ERR_INIT;

	if (value_parse(json, strlen(json), &v, &e) < 0)
		return say_failure(&e, false);
	const struct value *more = value_get(v, "more");
	print_language(v, "");
	for (size_t i = 0; i < value_len(more); i++) {
		char prefix[16];

		(void)snprintf(prefix, sizeof(prefix),
			       "%.8s:", text_of(value_at(more, i), "language"));
		print_language(value_at(more, i), prefix);
	}
	if (value_int(value_get(v, "files")) == 0)
		say("no programs of python, node or R are there");
	return 0;
}

static const char *lang_of(const char *file)
{
	static const struct {
		const char *ending, *lang;
	} rows[] = {{".js", "node"},  {".mjs", "node"}, {".cjs", "node"}, {".ts", "node"},
		    {".jsx", "node"}, {".tsx", "node"}, {".mts", "node"}, {".cts", "node"},
		    {".R", "r"},      {".r", "r"},	{".Rmd", "r"},	  {".rmd", "r"},
		    {".qmd", "r"}};
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(dot, rows[i].ending) == 0)
			return rows[i].lang;
	return "python";
}

static int say_scan(const struct pinfold_deps_options *o, bool json)
{
	struct pinfold_error failure;
	auto_free char *text = NULL;

	if (pinfold_deps_scan(o, &text, &failure) < 0)
		return say_library_failure(&failure, json);
	return json ? (printf("%s\n", text) < 0 ? EXIT_PINFOLD : 0) : print_all(text);
}

/* Where `dir` (cut at `slash`) is inside a package, the file belongs to where that one lies: its
 * modules are imported by their whole name. */
static char *leave_packages(char *dir, char *slash)
{
	for (;;) {
		char *init = NULL;

		*slash = '\0';
		bool inside = asprintf(&init, "%s/__init__.py", dir) > 0 && access(init, F_OK) == 0;
		char *up = inside ? strrchr(dir, '/') : NULL;
		free(init);
		if (!up || up == dir)
			return slash;
		*slash = '/';
		slash = up;
	}
}

/* A file is read with its directory around it: what it imports may lie there. */
static int scan(const char *path, const char *lang, bool json)
{
	struct pinfold_deps_options o = {.size = sizeof(o), .dir = path, .lang = lang};
	const char *files[2] = {NULL, NULL};
	auto_free char *dir = NULL;
	struct err e = ERR_INIT;
	struct stat st;

	if (stat(path, &st) < 0) {
		(void)err_sys(&e, "%.300s", path);
		if (e.num == ENOENT || e.num == ENOTDIR)
			e.kind = ERR_MISSING;
		(void)err_remedy(&e, "name a directory or a program, or a workspace with --name");
		return say_failure(&e, json);
	}
	if (!S_ISDIR(st.st_mode) &&
	    asprintf(&dir, "%s%s", strchr(path, '/') ? "" : "./", path) > 0) {
		char *slash = leave_packages(dir, strrchr(dir, '/'));

		files[0] = slash + 1;
		o.files = files;
		o.lang = lang ? lang : lang_of(path);
		o.dir = slash == dir ? "/" : dir;
	}
	return say_scan(&o, json);
}

static int scan_words(struct request *r, int argc, char **argv)
{
	const char *const *files = (const char *const *)argv;
	struct pinfold_deps_options o = {
		.size = sizeof(o),
		.workspace = r->run.name,
		.lang = r->run.lang ? r->run.lang
			: argc	    ? lang_of(argv[0])
				    : NULL,
		.files = argc ? files : NULL,
	};
	struct err e = ERR_INIT;

	if (r->run.name)
		return say_scan(&o, r->json);
	if (argc > 1 && request_end(argc - 1, argv + 1, &e) < 0)
		return say_failure(&e, r->json);
	return scan(argc ? argv[0] : ".", r->run.lang, r->json);
}

static const struct {
	const char *word;
	int (*alone)(struct request *r);
	int (*named)(struct request *r, const char *const *names);
	const char *event; /* its kind; NULL: it changes nothing */
} words[] = {
	{"update", NULL, deps_update, "deps.update"},
	{"fetch", deps_fetch, NULL, "deps.fetch"},
	{"ls", deps_ls, NULL, NULL},
	{"gc", deps_gc, NULL, "deps.collect"},
	{"add", NULL, deps_add, "deps.add"},
	{"rm", NULL, deps_rm, "deps.remove"},
};

/* What changes the lock or the layers is on record. */
static int do_noted(size_t i, struct request *r, const char *const *names)
{
	struct noted n = {.kind = words[i].event};
	struct err e = ERR_INIT;

	if (words[i].event) {
		noted_word(&n, "what", names ? names[0] : NULL);
		if (noted_begin(&n, &e) < 0)
			return say_failure(&e, r->json);
	}
	int status = words[i].named ? words[i].named(r, names) : words[i].alone(r);
	(void)noted_over(&n, status == 0 ? 0 : -1, "failed");
	return status;
}

static int refuse_word(const struct request *r, const char *word)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INVALID, "deps: \"%.40s\" is nothing that can be done", word);
	(void)err_remedy(&e,
			 "use scan, add, rm, update, fetch, ls or gc; or no word, to see the lock");
	return say_failure(&e, r->json);
}

static bool is_workspace(const char *word)
{
	struct pinfold_error ignored;
	struct pinfold_store *store = NULL;
	struct pinfold_workspace_info info;
	bool is = pinfold_store_open(NULL, &store, &ignored) >= 0 &&
		  pinfold_workspace_get(store, word, &info, &ignored) >= 0;

	pinfold_store_close(store);
	return is;
}

static bool is_sbom(const char *word)
{
	return strncmp(word, "cyclonedx", 3) == 0 || strncmp(word, "spdx", 3) == 0;
}

/* --sbom without a format has the usual one: at the end, in front of another option or the name of
 * a workspace. */
static void default_sbom(int argc, char **argv)
{
	static char usual[] = "--sbom=cyclonedx";

	for (int i = 0; i < argc; i++) {
		bool last = i + 1 == argc;

		if (strcmp(argv[i], "--sbom") == 0 && (last || !is_sbom(argv[i + 1])) &&
		    (last || argv[i + 1][0] == '-' || i + 2 == argc))
			argv[i] = usual;
	}
}

static int do_word(const struct verb *v, struct request *r, const char *word, int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (r->hold_fd)
		return deps_hold(r);
	if (word && strcmp(word, "scan") == 0)
		return scan_words(r, argc, argv);
	for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		if (words[i].named)
			return do_noted(i, r, (const char *const *)argv);
		return request_end(argc, argv, &e) < 0 ? say_failure(&e, r->json)
						       : do_noted(i, r, NULL);
	}
	if (word && strcmp(word, "help") == 0 && argc == 0 && !is_workspace(word))
		return help_verb(v);
	if (word && !is_workspace(word))
		return refuse_word(r, word);
	if (word)
		r->run.name = word;
	return request_end(argc, argv, &e) < 0 ? say_failure(&e, r->json) : deps_show(r);
}

/* Options stand in front of the word that says what to do, or behind it. */
int cmd_deps(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	const char *word = NULL;
	int used = 0, status = 0;

	default_sbom(argc, argv);
	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	argc -= used;
	argv += used;
	if (argc > 0) {
		word = *argv++;
		argc--;
		if (!request_begin(&r, v, argc, argv, &used, &status))
			return status;
		argc -= used;
		argv += used;
	}
	return do_word(v, &r, word, argc, argv);
}
