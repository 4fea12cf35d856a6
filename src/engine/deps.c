/* SPDX-License-Identifier: Apache-2.0 */
/* What programs need: a scanner of ours reads them in a sandbox, names become packages here. */
#include <assert.h>
#include <pinfold/deps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/value.h"
#include "deps/names.h"
#include "engine/deps_int.h"
#include "engine/deps_run.h"
#include "store/depset.h"
#include "engine/deps_kind.h"

#define SCAN_MS (60u * 1000)
#define OUTPUT_MAX (8u << 20) /* of a scanner */
#define FILES_NAMED_MAX 256u
#define NAMES_MAX 4096u
#define REMEMBERED_MAX (1u << 20)
#define PARTS_MAX 64u  /* of a module, that a program uses */
#define TEXT_MAX 4096u /* of one text in what it prints */

struct output {
	char *data;
	size_t len, room;
	char complaint[400]; /* the end of what it says went wrong */
};

static void output_done(struct output *o)
{
	free(o->data);
}

static int keep(struct output *o, const struct pinfold_event *ev, struct err *e)
{
	if (o->len + ev->len > OUTPUT_MAX)
		return err_set(e, ERR_LIMIT, "the programs import too much to be listed");
	if (o->len + ev->len + 1 > o->room) {
		size_t room = (o->len + ev->len + 1) * 2;
		char *more = realloc(o->data, room);

		if (!more)
			return err_sys(e, "scan");
		o->data = more;
		o->room = room;
	}
	memcpy(o->data + o->len, ev->data, ev->len);
	o->len += ev->len;
	return 0;
}

static void keep_complaint(struct output *o, const struct pinfold_event *ev)
{
	size_t n = ev->len < sizeof(o->complaint) - 1 ? ev->len : sizeof(o->complaint) - 1;

	memcpy(o->complaint, (const char *)ev->data + ev->len - n, n);
	o->complaint[n] = '\0';
}

/* The text of a program that is no file goes in by standard input. */
static int feed(struct pinfold_run *run, const struct deps_script *script, struct err *e)
{
	sigset_t before;
	int r = 0;

	if (!script->text)
		return 0;
	reader_hush(&before);
	r = fd_write_all(pinfold_run_stdin_fd(run), script->text, script->text_len);
	reader_unhush(&before);
	pinfold_run_stdin_close(run);
	errno = -r;
	return r < 0 && r != -EPIPE ? err_sys(e, "scan") : 0;
}

static int start(const struct deps_place *place, bool keeps, struct pinfold_run_options *o,
		 struct pinfold_run **ret, struct err *e)
{
	struct workspace_how how = {
		.use = keeps ? USE_ALONE : USE_SHARED,
		.kind = "deps",
		.command = keeps ? LOCK_NAME : NULL,
		.drops = !keeps,
	};
	struct pinfold_error failure;

	if (place->workspace)
		return workspace_start(place->store, place->workspace, o, &how, ret, e);
	o->dir = place->dir;
	if (pinfold_run_start(o, ret, &failure) >= 0)
		return 0;
	(void)err_set(e, ERR_INTERNAL, "%s", failure.message);
	return err_remedy(e, "%s", failure.remedy);
}

static int run_script(const struct deps_place *place, const struct deps_script *script,
		      struct output *o, struct err *e)
{
	struct pinfold_run_options options = PINFOLD_RUN_OPTIONS_INIT;
	struct pinfold_run *run = NULL;
	struct pinfold_event ev;

	options.lang = script->lang;
	options.code = script->code;
	options.code_len = script->code ? strlen(script->code) : 0;
	options.code_name = script->code ? "scan" : NULL;
	options.workdir = script->code ? NULL : place->root;
	options.argv = script->words;
	options.deps = "off";
	options.limits = "best-effort"; /* it reads, and has no network */
	options.time_ms = SCAN_MS;
	options.flags = script->text ? 0 : PINFOLD_NO_STDIN;
	int r = start(place, script->keeps, &options, &run, e);
	if (r < 0)
		return r;
	r = feed(run, script, e);
	while (r >= 0 && pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT) {
		if (ev.kind == PINFOLD_EVENT_STDOUT)
			r = keep(o, &ev, e);
		else if (ev.kind == PINFOLD_EVENT_STDERR)
			keep_complaint(o, &ev);
	}
	if (r >= 0 && pinfold_run_exit_status(run) != 0)
		r = err_set(e, ERR_INTERNAL, "the programs could not be read: %s%s%s",
			    pinfold_run_status(run), *o->complaint ? ": " : "", o->complaint);
	pinfold_run_free(run);
	return r;
}

int deps_run_script(const struct deps_place *place, const struct deps_script *script,
		    struct value **ret, struct err *e)
{
	__attribute__((cleanup(output_done))) struct output output = {0};
	int r = run_script(place, script, &output, e);

	if (r >= 0)
		r = value_parse(output.data ? output.data : "", output.len, ret, e);
	return r < 0 ? err_wrap(e, "what the programs need") : 0;
}

static void set_text(struct value *to, const char *key, const struct value *from, const char *name)
{
	const struct value *v = value_get(from, name);

	value_set(to, key,
		  value_str(v) && value_len(v) <= TEXT_MAX ? value_of_str(value_str(v))
							   : value_of_null());
}

/* Which package is it, by what the program uses of the module? */
static bool tell(enum deps_lang lang, const char *module, const struct value *parts,
		 char package[DEPS_NAME_SIZE], const char **ret_why)
{
	for (size_t i = 0; i < value_len(parts) && i < PARTS_MAX; i++) {
		const char *part = value_str(value_at(parts, i));

		if (part && deps_told(lang, module, part, package, ret_why))
			return true;
	}
	return false;
}

/* "a, b" as a list; the first is what is likeliest. */
static struct value *candidates(const char *many, char package[DEPS_NAME_SIZE])
{
	struct value *list = value_array();
	char name[DEPS_NAME_SIZE];

	for (bool first = true; *many; first = false) {
		size_t n = strcspn(many, ",");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, many);
		value_add(list, value_of_str(name));
		if (first)
			(void)snprintf(package, DEPS_NAME_SIZE, "%s", name);
		many += n + strspn(many + n, ", ");
	}
	return list;
}

static struct value *need(enum deps_lang lang, const struct value *i)
{
	const char *module = value_str(value_get(i, "name")), *why = NULL;
	char package[DEPS_NAME_SIZE];

	const char *asked = value_str(value_get(i, "asked"));
	bool left = asked && !deps_is_asked(lang, asked); /* a URL, a path */

	if (!asked && (!module || deps_package(lang, module, package, &why) < 0))
		return NULL;
	if (asked)
		deps_asked_name(lang, asked, package);
	bool told = !asked && tell(lang, module, value_get(i, "parts"), package, &why);
	bool is_near = value_str(value_get(i, "near")) && !deps_is_popular(lang, package);
	bool own = !asked && ((is_near && (!why || told)) || (!why && deps_is_own(lang, module)));
	const char *about = NULL,
		   *many = asked || told || own || why ? NULL : deps_many(lang, module, &about);
	struct value *v = value_object(), *list = many ? candidates(many, package) : NULL;
	const char *meant = why || own || many ? NULL : deps_meant(lang, package);
	value_set(v, "import", value_of_str(asked ? NULL : module));
	if (asked)
		set_text(v, left ? "left" : "asked", i, "asked");
	value_set(v, "package", value_of_str(package));
	value_set(v, "why", value_of_str(many ? about : why));
	value_set(v, "candidates", list ? list : value_of_null());
	set_text(v, "file", i, "file");
	value_set(v, "line", value_of_int(value_int(value_get(i, "line"))));
	value_set(v, "optional", value_of_bool(value_true(value_get(i, "optional"))));
	set_text(v, "installed", i, "there");
	set_text(v, "how", i, "how");
	value_set(v, "meant", value_of_str(meant));
	value_set(v, "own", value_of_bool(own));
	return v;
}

static struct value *unread_of(const struct value *all)
{
	struct value *list = value_array();

	for (size_t i = 0; i < value_len(all) && i < 100; i++) {
		struct value *v = value_object();

		set_text(v, "file", value_at(all, i), "file");
		value_set(v, "line", value_of_int(value_int(value_get(value_at(all, i), "line"))));
		set_text(v, "why", value_at(all, i), "why");
		value_add(list, v);
	}
	return list;
}

/* What the scanner printed was printed beside hostile files: taken apart and put together anew. */
static struct value *translate(enum deps_lang lang, const struct value *from)
{
	struct value *to = value_object(), *needs = value_array();
	const struct value *imports = value_get(from, "imports");

	set_text(to, "language", from, "language");
	set_text(to, "version", from, "version");
	value_set(to, "files", value_of_int(value_int(value_get(from, "files"))));
	value_set(to, "needs", needs);
	for (size_t i = 0; i < value_len(imports) && i < NAMES_MAX; i++) {
		struct value *v = need(lang, value_at(imports, i));

		if (v)
			value_add(needs, v);
	}
	value_set(to, "unread", unread_of(value_get(from, "unread")));
	return to;
}

/* The directory, then the files; each stays below it. */
static int words_of(const struct deps_place *place, const struct deps_program *p,
		    const char **words, struct err *e)
{
	unsigned n = 0;

	words[n++] = place->root;
	if (p->text) {
		words[n++] = "--text";
		words[n++] = p->name;
	}
	if (p->text && p->is_more)
		words[n++] = "--all";
	else if (p->is_guess)
		words[n++] = "--maybe";
	for (const char *const *f = p->files; f && *f; f++) {
		if (**f == '/' || **f == '-' || **f == '\0' || strstr(*f, ".."))
			return err_set(e, ERR_INVALID, "%.200s: not a file below the directory",
				       *f);
		if (n > FILES_NAMED_MAX)
			return err_set(e, ERR_INVALID, "more than %u files", FILES_NAMED_MAX);
		words[n++] = *f;
	}
	words[n] = NULL;
	return 0;
}

int deps_scan(const struct deps_place *place, enum deps_lang lang, const struct deps_program *p,
	      struct value **ret, struct err *e)
{
	const char *words[FILES_NAMED_MAX + 4];
	struct deps_script script = {
		.lang = lock_part_name(lang),
		.code = deps_kind(lang)->scan,
		.words = words,
		.text = p->text,
		.text_len = p->text_len,
	};
	auto_value *found = NULL;

	if (words_of(place, p, words, e) < 0)
		return -EINVAL;
	int r = deps_run_script(place, &script, &found, e);
	if (r >= 0)
		*ret = translate(lang, found);
	return r;
}

#define ANY_LANG (~0u)

/* What was asked, and of what: the same print, the same answer. */
static int print_scan(const struct pinfold_deps_options *o, enum deps_lang lang,
		      char ret[HASH_TEXT_SIZE], unsigned *ret_langs, struct err *e)
{
	static const char kind[] = "pinfold scan 4";
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, kind, sizeof(kind));
	hash_add(&h, &lang, sizeof(lang));
	hash_add(&h, o->dir, strlen(o->dir) + 1);
	for (const char *const *f = o->files; f && *f; f++)
		hash_add(&h, *f, strlen(*f) + 1);
	deps_print_host(lang, &h);
	int r = deps_table(&h, e);
	if (r >= 0)
		r = deps_print_programs(o->dir, &h, ret_langs, e);
	for (const char *const *f = o->files; f && *f; f++)
		deps_print_file(o->dir, *f, &h);
	hash_done(&h, digest);
	hash_text(digest, ret);
	return r;
}

/* Programs that have not changed are not read again. Without a store they are, always. *ret_langs:
 * which languages there may be programs of. */
static int scan_or_recall(const struct pinfold_deps_options *o, enum deps_lang lang, char **ret,
			  unsigned *ret_langs, struct err *e)
{
	struct deps_place place = {.dir = o->dir, .root = "/work"};
	struct deps_program program = {.files = o->files};
	char print[HASH_TEXT_SIZE];
	auto_store *s = NULL;
	auto_value *found = NULL;
	struct err none = ERR_INIT;
	int r = deps_open_store(&s, o->workspace ? e : &none);
	*ret_langs = ANY_LANG;
	bool known = !o->workspace && r >= 0 && print_scan(o, lang, print, ret_langs, &none) >= 0;

	if (o->workspace) {
		place = (struct deps_place){.store = s, .workspace = o->workspace};
		if (r < 0 || deps_root(s, o->workspace, &place.root, e) < 0)
			return -EINVAL;
	}
	if (known && depset_recall(s, print, ret, &none) > 0)
		return 0;
	r = deps_scan(&place, lang, &program, &found, e);
	if (r < 0)
		return r;
	*ret = value_text(found, NULL);
	if (!*ret)
		return err_sys(e, "scan");
	if (known && strlen(*ret) <= REMEMBERED_MAX)
		(void)depset_remember(s, print, *ret, &none); /* else it is read again */
	return 0;
}

static bool has_programs(const struct value *found)
{
	return value_int(value_get(found, "files")) > 0;
}

/* A language that this machine lacks: its programs are there, and nobody reads them. */
static void add_unread(struct value *doc, const struct err *why)
{
	const struct value *unread = value_get(doc, "unread");
	struct value *list = unread ? value_copy(unread) : value_array(), *v = value_object();

	value_set(v, "file", value_of_str("."));
	value_set(v, "line", value_of_int(0));
	value_set(v, "why", value_of_str(why->text));
	value_add(list, v);
	value_set(doc, "unread", list);
}

/* One language after the other: the first that has programs is the document, others are in `more`. */
static void add_language(const struct pinfold_deps_options *o, enum deps_lang lang, unsigned langs,
			 struct value **doc)
{
	bool sure = langs != ANY_LANG && (langs & (1u << lang));
	auto_free char *text = NULL;
	auto_value *found = NULL;
	struct err e = ERR_INIT;
	unsigned again;

	if (!(langs & (1u << lang)) && has_programs(*doc))
		return;
	if (scan_or_recall(o, lang, &text, &again, &e) < 0 ||
	    value_parse(text, strlen(text), &found, &e) < 0) {
		if (sure)
			add_unread(*doc, &e);
		return;
	}
	if (!has_programs(found))
		return;
	if (!has_programs(*doc)) {
		value_free(*doc);
		*doc = take_ptr(&found);
		return;
	}
	if (!value_get(*doc, "more"))
		value_set(*doc, "more", value_array());
	value_add(value_get(*doc, "more"), take_ptr(&found));
}

/* Of a whole directory: in all languages that it has programs in. */
static int scan_all(const struct pinfold_deps_options *o, char **ret, struct err *e)
{
	unsigned langs = ANY_LANG;
	auto_value *doc = NULL;
	int r = scan_or_recall(o, DEPS_PYTHON, ret, &langs, e);

	if (r < 0 || value_parse(*ret, strlen(*ret), &doc, e) < 0)
		return r < 0 ? r : -EINVAL;
	for (enum deps_lang lang = DEPS_NODE; lang <= DEPS_R; lang++)
		add_language(o, lang, langs, &doc);
	free(*ret);
	*ret = value_text(doc, NULL);
	return *ret ? 0 : err_sys(e, "scan");
}

static int scan(const struct pinfold_deps_options *o, char **ret, struct err *e)
{
	enum deps_lang lang;
	unsigned langs;

	if (deps_table(NULL, e) < 0)
		return -EINVAL;
	if (!o->lang && !o->files)
		return scan_all(o, ret, e);
	if (deps_lang_of(o->lang ? o->lang : "python", &lang) < 0) {
		(void)err_set(e, ERR_INVALID, "--lang: \"%.40s\" has no imports that we read",
			      o->lang);
		return err_remedy(e, "use python, node or r");
	}
	return scan_or_recall(o, lang, ret, &langs, e);
}

int pinfold_deps_scan(const struct pinfold_deps_options *options, char **ret_json,
		      struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(options && options->size >= sizeof(*options) && ret_json && ret_error);
	int r = scan(options, ret_json, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
