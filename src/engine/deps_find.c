/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run needs: the lock of its directory, else its manifest, else what its programs import.
 * Names become packages here; versions and hashes come from the index, by deps_resolve().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hold.h"
#include "engine/deps_index.h"
#include "engine/deps_int.h"
#include "engine/deps_kind.h"
#include "engine/deps_layer.h"
#include "engine/deps_run.h"

int deps_refuse_typo(enum deps_lang lang, const char *package, const char *where, struct err *e)
{
	const char *meant = deps_meant(lang, package);

	if (!meant || !HOLD_PACKAGE_TYPO)
		return 0;
	(void)err_set(e, ERR_DENIED, "%s%s%s may be a typing error of %s, so nothing was installed",
		      where ? where : "", where ? ": " : "", package, meant);
	(void)err_detail(e, "name");
	return err_remedy(e,
			  "write %s if that is meant; if not, lock it by hand: "
			  "pinfold deps add --yes %s",
			  meant, package);
}

static bool has_name(enum deps_lang lang, const struct value *part, const char *package)
{
	char name[DEPS_NAME_SIZE], normal[DEPS_NAME_SIZE];

	deps_asked_name(lang, package, name);
	deps_normal(lang, name, normal);
	for (size_t i = 0; i < lock_count(part); i++)
		if (strcmp(lock_at(part, i).name, normal) == 0)
			return true;
	return false;
}

/* Did somebody say which of these it is: --package, or the lock? */
static bool is_said(const struct deps_ask *ask, const struct value *part, const struct value *list)
{
	for (size_t i = 0; i < value_len(list); i++) {
		const char *one = value_str(value_at(list, i));

		for (const char *const *p = ask->packages; p && *p; p++)
			if (deps_is_same(ask->lang, *p, one))
				return true;
		if (has_name(ask->lang, part, one))
			return true;
	}
	return false;
}

/* Several packages have a module of that name. */
static int refuse_many(const struct value *need, const char *where, struct err *e)
{
	const struct value *list = value_get(need, "candidates");
	const char *module = value_str(value_get(need, "import"));
	const char *why = value_str(value_get(need, "why"));
	const char *first = value_str(value_at(list, 0));
	char names[300] = "";

	for (size_t i = 0, n = 0; i < value_len(list) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%.80s", i ? " or " : "",
				      value_str(value_at(list, i)));
	(void)err_set(e, ERR_DENIED,
		      "%s: the module %s may be that of %s (%s), so nothing was installed", where,
		      module, names, why);
	(void)err_detail(e, "name");
	return err_remedy(e, "say which, with --package %s, or in deps.names: %s %s", first, module,
			  first);
}

static struct value *imported_by(const struct value *need)
{
	struct value *v = value_object();

	value_set(v, "import", value_copy(value_get(need, "import")));
	if (value_str(value_get(need, "how")))
		value_set(v, "how", value_copy(value_get(need, "how")));
	value_set(v, "package", value_copy(value_get(need, "package")));
	value_set(v, "file", value_copy(value_get(need, "file")));
	value_set(v, "line", value_copy(value_get(need, "line")));
	return v;
}

struct found {
	struct value *manifest, *lock, *asked, *imports;
	const struct value *part; /* of the lock, borrowed; NULL: it has none */
};

static int refuse_left(const char *file, const char *what, struct err *e)
{
	if (what && strchr("-./", what[0])) {
		(void)err_set(e, ERR_UNSUPPORTED, "%s: \"%.200s\" is no package of an index", file,
			      what);
		return err_remedy(e, "take the line out: a directory of --dir is found as it is, "
				     "with PYTHONPATH if it is not that of the program");
	}
	(void)err_set(e, ERR_UNSUPPORTED, "%s: %.200s comes from no index", file,
		      what ? what : "something");
	return err_remedy(e, "name a package of the index instead, or bring it in with --dir");
}

static bool wants_imports(const struct deps_ask *ask)
{
	return strcmp(ask->mode, "auto") == 0;
}

/* Packages that programs import, or say that they need, and nobody has yet. */
static int from_scan(const struct deps_ask *ask, const struct value *scanned, struct found *f,
		     struct err *e)
{
	const struct value *needs = value_get(scanned, "needs");
	char where[300];

	for (size_t i = 0; i < value_len(needs); i++) {
		const struct value *n = value_at(needs, i);
		const char *file = value_str(value_get(n, "file"));

		const struct value *words = value_get(n, "asked"), *left = value_get(n, "left");

		if (value_true(value_get(n, "optional")) || value_str(value_get(n, "installed")) ||
		    value_true(value_get(n, "own")) || (!words && !left && !wants_imports(ask)) ||
		    is_said(ask, f->part, value_get(n, "candidates")))
			continue;
		(void)snprintf(where, sizeof(where), "%.250s:%lld", file ? file : "?",
			       (long long)value_int(value_get(n, "line")));
		if (left)
			return refuse_left(where, value_str(left), e);
		if (value_len(value_get(n, "candidates")))
			return refuse_many(n, where, e);
		if (!value_str(value_get(n, "why")) &&
		    deps_refuse_typo(ask->lang, value_str(value_get(n, "package")), where, e) < 0)
			return -EACCES;
		value_add(f->asked, value_copy(words ? words : value_get(n, "package")));
		value_add(f->imports, imported_by(n));
	}
	return 0;
}

/* Whoever wrote the file does not say where packages come from; nor are they taken from elsewhere
 * in silence. */
static int check_indexes(enum deps_lang lang, const char *file, const struct value *named,
			 struct err *e)
{
	auto_index index = {.doc = NULL};
	int r = value_len(named) ? deps_index_find(lang, &index, e) : 0;

	for (size_t i = 0; r >= 0 && i < value_len(named); i++) {
		const char *url = value_str(value_at(named, i));

		if ((url && deps_index_is_one(&index, url)) || !HOLD_PACKAGE_INDEX)
			continue;
		(void)err_set(e, ERR_DENIED,
			      "%s names the index %.200s, which pip's configuration does not", file,
			      url ? url : "?");
		(void)err_detail(e, "index");
		r = err_remedy(e,
			       "name it in pip's configuration (index-url, extra-index-url) if it "
			       "is to be trusted, or take the line out");
	}
	return r;
}

/* A name that somebody locked with its hash was asked of an index before. */
static bool is_known(const struct value *m, enum deps_lang lang, const char *name)
{
	char normal[DEPS_NAME_SIZE];

	deps_normal(lang, name, normal);
	return value_true(value_get(m, "locked")) ||
	       value_get(value_get(value_get(m, "given"), "hashes"), normal);
}

static int from_manifest(enum deps_lang lang, const struct value *m, struct value *asked,
			 struct err *e)
{
	const struct value *list = value_get(m, "asked"), *left = value_get(m, "left");
	const char *file = value_str(value_get(m, "file")), *why = value_str(value_get(m, "why"));
	char name[DEPS_NAME_SIZE];

	if (why) {
		(void)err_set(e, ERR_INVALID, "%s: %.200s", file, why);
		return err_remedy(e, "correct %s, or run with --deps off", file);
	}
	if (value_len(left))
		return refuse_left(file, value_str(value_at(left, 0)), e);
	if (check_indexes(lang, file, value_get(m, "indexes"), e) < 0)
		return -EACCES;
	for (size_t i = 0; i < value_len(list); i++) {
		const char *line = value_str(value_at(list, i));

		if (!line)
			continue;
		deps_asked_name(lang, line, name);
		if (!is_known(m, lang, name) && deps_refuse_typo(lang, name, file, e) < 0)
			return -EACCES;
		value_add(asked, value_of_str(line));
	}
	return 0;
}

static bool fits(const struct value *part, const struct value *here)
{
	static const char *const keys[] = {"interpreter", "platform"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *a = value_str(value_get(part, keys[i]));
		const char *b = value_str(value_get(here, keys[i]));

		if (!a || !b || strcmp(a, b) != 0)
			return false;
	}
	return true;
}

/* Beside what was found: by name. True: the part has all of these. */
static bool add_packages(const struct deps_ask *ask, const struct value *part, struct value *asked)
{
	bool has = true;

	for (const char *const *p = ask->packages; p && *p; p++) {
		has = has && part && has_name(ask->lang, part, *p);
		value_add(asked, value_of_str(*p));
	}
	return has;
}

static void found_done(struct found *f)
{
	value_free(f->manifest);
	value_free(f->lock);
	value_free(f->asked);
	value_free(f->imports);
}

static int read_manifest(const struct deps_ask *ask, const struct deps_place *place,
			 struct found *f, struct err *e)
{
	const char *words[] = {place->root, NULL};
	const struct deps_kind *kind = deps_kind(ask->lang);
	struct deps_script script = {
		.lang = kind->manifest_lang, .code = kind->manifest, .words = words};

	if (!kind->manifest || (!place->dir && !place->workspace))
		return 0;
	int r = deps_run_script(place, &script, &f->manifest, e);
	const char *text = r < 0 ? NULL : value_str(value_get(f->manifest, "lock"));
	if (text)
		r = lock_parse(text, strlen(text), &f->lock, e);
	f->part = value_get(f->lock, lock_part_name(ask->lang));
	return r;
}

static int ask_all(const struct deps_ask *ask, const struct deps_place *place, struct found *f,
		   struct err *e)
{
	const char *files[] = {ask->file, NULL};
	struct deps_program program = {
		.files = ask->file ? files : NULL,
		.is_guess = ask->file && ask->lang != DEPS_R,
		.is_more = ask->is_more,
		.text = ask->text,
		.text_len = ask->text_len,
		.name = deps_kind(ask->lang)->text_name,
	};
	auto_value *found = NULL;

	if (value_str(value_get(f->manifest, "file")))
		return from_manifest(ask->lang, f->manifest, f->asked, e);
	if (!ask->text && !place->dir && !place->workspace)
		return 0;
	/* A program of Python's may have a manifest of its own, in itself. */
	if (!wants_imports(ask) && (ask->lang != DEPS_PYTHON || (!ask->text && !ask->file)))
		return 0;
	int r = deps_scan(place, ask->lang, &program, &found, e);
	return r < 0 ? r : from_scan(ask, found, f, e);
}

/* Everything that a part was asked for goes on being asked for. */
static void ask_again(const struct value *part, struct value *asked)
{
	const struct value *locked = value_get(part, "asked");

	for (size_t i = 0; i < value_len(locked); i++)
		value_add(asked, value_copy(value_at(locked, i)));
}

static bool is_same_list(const struct value *a, const struct value *b)
{
	auto_free char *x = value_text(a, NULL), *y = value_text(b, NULL);

	return x && y && strcmp(x, y) == 0;
}

/* A lock that we made of imports is of those programs: they may import more by now. */
static int imports_more(const struct deps_ask *ask, const struct deps_place *place, struct found *f,
			bool *ret, struct err *e)
{
	struct found now = {.asked = value_array(), .imports = value_array(), .part = f->part};
	int r = strcmp(ask->mode, "auto") == 0 ? ask_all(ask, place, &now, e) : 0;

	*ret = false;
	f->imports = (value_free(f->imports), value_copy(value_get(f->part, "imports")));
	for (size_t i = 0; r >= 0 && i < value_len(now.asked); i++) {
		if (has_name(ask->lang, f->part, value_str(value_at(now.asked, i))))
			continue;
		value_add(f->asked, value_copy(value_at(now.asked, i)));
		value_add(f->imports, value_copy(value_at(now.imports, i)));
		*ret = true;
	}
	found_done(&now);
	return r;
}

/* Is the lock behind what it was made of? One that somebody made by hand never is. */
static int is_behind(const struct deps_ask *ask, const struct deps_place *place, struct found *f,
		     bool *ret, struct err *e)
{
	const char *from = value_str(value_get(f->part, "from"));
	const char *file = value_str(value_get(f->manifest, "file"));
	int r = 0;

	*ret = false;
	if (from && file && strcmp(from, file) == 0) {
		auto_value *now = value_array();

		r = from_manifest(ask->lang, f->manifest, now, e);
		*ret = r >= 0 && !is_same_list(now, value_get(f->part, "asked"));
		for (size_t i = 0; *ret && i < value_len(now); i++)
			value_add(f->asked, value_copy(value_at(now, i)));
	} else if (!from && value_len(value_get(f->part, "imports"))) {
		r = imports_more(ask, place, f, ret, e);
		if (*ret)
			ask_again(f->part, f->asked);
	}
	return r;
}

static int settle(const struct deps_ask *ask, struct found *f, struct value **ret, struct err *e)
{
	struct deps_want want = {
		.asked = f->asked,
		.part = f->part,
		.given = value_get(f->manifest, "given"),
		.source = ask->source,
		.age_hours = ask->age_hours,
		.recalls = true,
	};

	if (value_len(f->asked) == 0)
		return 0;
	if (ask->offline) {
		(void)err_set(e, ERR_MISSING, "%s is not locked, and there is no network",
			      value_str(value_at(f->asked, 0)));
		return err_remedy(e, "lock it where there is a network: pinfold deps fetch");
	}
	int r = deps_resolve(ask->store, ask->lang, &want, ret, e);
	if (r >= 0 && value_len(f->imports))
		value_set(*ret, "imports", value_copy(f->imports));
	else if (r >= 0 && value_str(value_get(f->manifest, "file")) && !ask->packages)
		value_set(*ret, "from", value_copy(value_get(f->manifest, "file")));
	return r;
}

/* The lock with the new part in it; parts of other languages stay. */
static struct value *lock_with(const struct deps_ask *ask, const struct found *f,
			       const struct value *part)
{
	struct value *lock = f->lock ? value_copy(f->lock) : value_object();

	value_set(lock, "version", value_of_int(1));
	value_set(lock, lock_part_name(ask->lang), value_copy(part));
	return lock;
}

static int find(const struct deps_ask *ask, const struct deps_place *place, struct found *f,
		struct value **ret, struct value **ret_lock, struct err *e)
{
	bool has = add_packages(ask, f->part, f->asked), behind = false;
	bool good = f->part && fits(f->part, f->manifest) && has;
	int r = good ? is_behind(ask, place, f, &behind, e) : 0;

	if (r < 0)
		return r;
	if (good && !behind) {
		*ret = value_copy(f->part);
		return *ret ? 0 : err_sys(e, "deps");
	}
	if (f->part && !good)
		ask_again(f->part, f->asked);
	if (!f->part)
		r = ask_all(ask, place, f, e);
	if (r >= 0)
		r = settle(ask, f, ret, e);
	if (r >= 0 && *ret)
		*ret_lock = lock_with(ask, f, *ret);
	return r;
}

int deps_find(const struct deps_ask *ask, struct value **ret, struct value **ret_lock,
	      struct err *e)
{
	struct deps_place place = {
		.dir = ask->dir,
		.store = ask->store,
		.workspace = ask->workspace,
		.root = ask->dir ? "/work" : "/home/user",
	};
	__attribute__((cleanup(found_done))) struct found f = {.asked = value_array(),
							       .imports = value_array()};
	int r = ask->workspace ? deps_root(ask->store, ask->workspace, &place.root, e) : 0;

	*ret = *ret_lock = NULL;
	if (r >= 0)
		r = read_manifest(ask, &place, &f, e);
	return r < 0 ? r : find(ask, &place, &f, ret, ret_lock, e);
}
