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
#include "deps/scanners.h"
#include "engine/run_int.h"

#define SCAN_MS (60u * 1000)
#define OUTPUT_MAX (8u << 20) /* of a scanner */
#define FILES_NAMED_MAX 256u
#define NAMES_MAX 4096u
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

static int run_scanner(const struct pinfold_run_options *options, struct output *o, struct err *e)
{
	struct pinfold_run *run = NULL;
	struct pinfold_error failure;
	struct pinfold_event ev;
	int r = 0;

	if (pinfold_run_start(options, &run, &failure) < 0) {
		(void)err_set(e, ERR_INTERNAL, "%s", failure.message);
		return err_remedy(e, "%s", failure.remedy);
	}
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

static void set_text(struct value *to, const char *key, const struct value *from, const char *name)
{
	const struct value *v = value_get(from, name);

	value_set(to, key,
		  value_str(v) && value_len(v) <= TEXT_MAX ? value_of_str(value_str(v))
							   : value_of_null());
}

static struct value *need(enum deps_lang lang, const struct value *i)
{
	const char *module = value_str(value_get(i, "name")), *why = NULL;
	char package[DEPS_NAME_SIZE];

	if (!module || deps_package(lang, module, package, &why) < 0)
		return NULL;
	struct value *v = value_object();
	const char *meant = deps_meant(lang, package);
	value_set(v, "import", value_of_str(module));
	value_set(v, "package", value_of_str(package));
	value_set(v, "why", value_of_str(why));
	set_text(v, "file", i, "file");
	value_set(v, "line", value_of_int(value_int(value_get(i, "line"))));
	value_set(v, "optional", value_of_bool(value_true(value_get(i, "optional"))));
	set_text(v, "installed", i, "there");
	value_set(v, "meant", value_of_str(why ? NULL : meant));
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
static int translate(enum deps_lang lang, const struct output *o, char **ret, struct err *e)
{
	auto_value *from = NULL;
	auto_value *to = value_object();
	struct value *needs = value_array();

	if (value_parse(o->data ? o->data : "", o->len, &from, e) < 0)
		return err_wrap(e, "what the programs import");
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
	*ret = value_text(to, NULL);
	return *ret ? 0 : err_sys(e, "scan");
}

/* "/work", then the files; each stays below it. */
static int words_of(const struct pinfold_deps_options *o, const char **words, struct err *e)
{
	unsigned n = 0;

	words[n++] = "/work";
	for (const char *const *f = o->files; f && *f; f++) {
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

static int scan(const struct pinfold_deps_options *o, char **ret, struct err *e)
{
	static const char *const texts[] = {
		[DEPS_PYTHON] = scan_python, [DEPS_NODE] = scan_node, [DEPS_R] = scan_r};
	__attribute__((cleanup(output_done))) struct output output = {0};
	const char *words[FILES_NAMED_MAX + 2];
	struct pinfold_run_options run = PINFOLD_RUN_OPTIONS_INIT;
	enum deps_lang lang;

	if (deps_lang_of(o->lang ? o->lang : "python", &lang) < 0) {
		(void)err_set(e, ERR_INVALID, "--lang: \"%.40s\" has no imports that we read",
			      o->lang);
		return err_remedy(e, "use python, node or r");
	}
	if (words_of(o, words, e) < 0)
		return -EINVAL;
	run.lang = o->lang ? o->lang : "python";
	run.code = texts[lang];
	run.code_len = strlen(texts[lang]);
	run.code_name = "scan";
	run.argv = words;
	run.dir = o->dir;
	run.limits = "best-effort"; /* it reads, and has no network */
	run.time_ms = SCAN_MS;
	run.flags = PINFOLD_NO_STDIN;
	int r = run_scanner(&run, &output, e);
	return r < 0 ? r : translate(lang, &output, ret, e);
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
