/* SPDX-License-Identifier: Apache-2.0 */
/* Locks by name: changed, had, printed; and the layers that there are. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "deps/sbom.h"
#include "engine/deps_int.h"
#include "engine/deps_layer.h"
#include "pinfold/deps.h"
#include "store/blob.h"
#include "warden/place.h"

int deps_open_store(struct store **ret, struct err *e)
{
	char home[512];
	int r = place_data(home, sizeof(home), e);

	if (r >= 0)
		r = place_make(home, e);
	return r < 0 ? r : store_open(home, ret, e);
}

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

static bool names(enum deps_lang lang, const char *const *list, const char *asked)
{
	for (; list && *list; list++)
		if (deps_is_same(lang, *list, asked))
			return true;
	return false;
}

static bool asks_for(enum deps_lang lang, const struct value *part, const char *name)
{
	const struct value *asked = value_get(part, "asked");

	for (size_t i = 0; i < value_len(asked); i++)
		if (deps_is_same(lang, name, value_str(value_at(asked, i))))
			return true;
	return false;
}

/* What was asked for, without what goes or is asked for otherwise, and what comes. */
static int change_asked(enum deps_lang lang, const struct value *part,
			const struct pinfold_deps_change *c, struct value *asked, struct err *e)
{
	const struct value *old = value_get(part, "asked");
	char name[DEPS_NAME_SIZE];

	for (size_t i = 0; i < value_len(old); i++) {
		const char *text = value_str(value_at(old, i));

		if (!names(lang, c->remove, text) && !names(lang, c->add, text))
			value_add(asked, value_of_str(text));
	}
	for (const char *const *p = c->remove; p && *p; p++) {
		if (!asks_for(lang, part, *p)) {
			(void)err_set(e, ERR_MISSING, "nobody asked for %.100s", *p);
			return err_remedy(e, "pinfold deps lists what is locked, and why");
		}
	}
	for (const char *const *p = c->add; p && *p; p++) {
		if (!deps_is_asked(lang, *p)) {
			(void)err_set(e, ERR_INVALID, "\"%.100s\" is no name of a package", *p);
			return err_remedy(e, "write NAME, or NAME and versions: %s",
					  lang == DEPS_NODE
						  ? "'express@^4'"
						  : "'pandas>=2'; with --lang node 'express@^4'");
		}
		deps_asked_name(lang, *p, name);
		if (!(c->flags & PINFOLD_DEPS_YES) && deps_refuse_typo(lang, name, NULL, e) < 0)
			return -EACCES;
		value_add(asked, value_of_str(*p));
	}
	return 0;
}

/* What is locked beside what is asked for otherwise: that keeps its versions. To be freed. */
static struct value *others_of(enum deps_lang lang, const struct value *part,
			       const char *const *named)
{
	const struct value *all = value_get(part, "packages");
	struct value *v = value_object(), *list = value_array();

	for (size_t i = 0; i < value_len(all); i++)
		if (!names(lang, named, lock_at(part, i).name))
			value_add(list, value_copy(value_at(all, i)));
	value_set(v, "packages", list);
	return v;
}

static int add_remedy(int r, struct err *e)
{
	if (r >= 0 || e->kind != ERR_CONFLICT || strcmp(e->detail, "versions") != 0)
		return r;
	e->remedy[0] = '\0';
	(void)err_remedy(e, "what is locked keeps its version: name it, too, if it may be another "
			    "(pinfold deps add NEW LOCKED), or move all with pinfold deps update");
	return r;
}

static int lock_anew(struct store *s, enum deps_lang lang, struct value *lock,
		     const struct pinfold_deps_change *c, struct err *e)
{
	const struct value *part = value_get(lock, lock_part_name(lang));
	auto_value *asked = value_array(), *found = NULL;
	bool anew = c->flags & PINFOLD_DEPS_UPDATE, all = anew && !c->update;
	int r = change_asked(lang, part, c, asked, e);

	if (r < 0)
		return r;
	if (value_len(asked) == 0) {
		value_del(lock, lock_part_name(lang));
		return 0;
	}
	auto_value *others = others_of(lang, part, anew ? c->update : c->add);
	struct deps_want want = {
		.asked = asked,
		.part = all ? NULL : others,
		.source = c->flags & PINFOLD_DEPS_SOURCE,
		.age_hours = c->age_hours < 0 ? deps_age_hours() : (unsigned)c->age_hours,
	};
	r = deps_resolve(s, lang, &want, &found, e);
	if (r < 0)
		return all ? r : add_remedy(r, e);
	if (value_get(part, "imports"))
		value_set(found, "imports", value_copy(value_get(part, "imports")));
	if (anew && value_get(part, "from"))
		value_set(found, "from", value_copy(value_get(part, "from")));
	value_set(lock, lock_part_name(lang), take_ptr(&found));
	return 0;
}

static bool locks(enum deps_lang lang, const struct value *part, const char *name)
{
	for (size_t i = 0; i < lock_count(part); i++)
		if (deps_is_same(lang, name, lock_at(part, i).name))
			return true;
	return false;
}

static bool locks_any(enum deps_lang lang, const struct value *part, const char *const *list)
{
	for (; list && *list; list++)
		if (locks(lang, part, *list))
			return true;
	return false;
}

/* What is to be newer has to be there, in the language that was named or in any. */
static int check_update(const struct value *lock, const struct pinfold_deps_change *c,
			enum deps_lang named, struct err *e)
{
	for (const char *const *p = c->update; p && *p; p++) {
		bool any = false;

		if (!deps_is_name(DEPS_NODE, *p) && !deps_is_name(DEPS_PYTHON, *p)) {
			(void)err_set(e, ERR_INVALID, "\"%.100s\" is no name of a package", *p);
			return err_remedy(e,
					  "update takes names alone; other versions are asked for "
					  "with pinfold deps add");
		}
		for (enum deps_lang lang = DEPS_PYTHON; lang <= DEPS_R; lang++)
			any = any || ((!c->lang || lang == named) &&
				      locks(lang, value_get(lock, lock_part_name(lang)), *p));
		if (any)
			continue;
		(void)err_set(e, ERR_MISSING, "%.100s is not locked", *p);
		return err_remedy(e,
				  "pinfold deps lists what is; a workspace is named with --name");
	}
	return 0;
}

/* Nobody said which language: versions anew are for all, and what goes, goes from where it was
 * asked for. */
static int lock_all(struct store *s, struct value *lock, const struct pinfold_deps_change *c,
		    struct err *e)
{
	const char *gone = c->remove ? c->remove[0] : NULL;
	bool any = false;
	int r = 0;

	for (enum deps_lang lang = DEPS_PYTHON; lang <= DEPS_R && r >= 0; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));

		if (!part || (gone && !asks_for(lang, part, gone)) ||
		    (c->update && !locks_any(lang, part, c->update)))
			continue;
		any = true;
		r = lock_anew(s, lang, lock, c, e);
	}
	return any ? r : lock_anew(s, DEPS_PYTHON, lock, c, e);
}

static int parse(const char *text, struct value **ret, struct err *e)
{
	if (text)
		return lock_parse(text, strlen(text), ret, e);
	*ret = value_object();
	value_set(*ret, "version", value_of_int(1));
	return 0;
}

int pinfold_deps_lock(const char *lock, const struct pinfold_deps_change *change, char **ret_lock,
		      struct pinfold_error *ret_error)
{
	auto_store *s = NULL;
	auto_value *doc = NULL;
	struct err e = ERR_INIT;
	enum deps_lang lang = DEPS_PYTHON;

	assert(change && change->size >= sizeof(*change) && ret_lock && ret_error);
	int r = parse(lock, &doc, &e);
	if (r >= 0 && change->lang && deps_lang_of(change->lang, &lang) < 0)
		r = err_set(&e, ERR_INVALID, "--lang: \"%.40s\" has no packages", change->lang);
	if (r >= 0)
		r = check_update(doc, change, lang, &e);
	if (r >= 0)
		r = deps_open_store(&s, &e);
	if (r >= 0)
		r = change->lang || change->add ? lock_anew(s, lang, doc, change, &e)
						: lock_all(s, doc, change, &e);
	if (r >= 0) {
		*ret_lock = lock_text(doc);
		r = *ret_lock ? 0 : err_sys(&e, "deps");
	}
	return result(r, &e, ret_error);
}

static int fetch_all(struct store *s, const struct value *lock, bool offline, struct err *e)
{
	int r = 0;

	for (enum deps_lang lang = DEPS_PYTHON; lang < DEPS_LANGS && r >= 0; lang++) {
		const struct value *part = value_get(lock, lock_part_name(lang));
		auto_depset set = {.lock = NULL};
		auto_close int held = FD_NONE;

		if (lock_count(part) == 0)
			continue;
		r = deps_fetch(s, lang, part, offline, e);
		if (r >= 0)
			r = deps_install(s, lang, part, &set, &held, e);
	}
	return r;
}

int pinfold_deps_fetch(const char *lock, uint32_t flags, struct pinfold_error *ret_error)
{
	auto_store *s = NULL;
	auto_value *doc = NULL;
	struct err e = ERR_INIT;

	assert(lock && ret_error);
	int r = parse(lock, &doc, &e);
	if (r >= 0)
		r = deps_open_store(&s, &e);
	if (r >= 0)
		r = fetch_all(s, doc, flags & PINFOLD_DEPS_OFFLINE, &e);
	return result(r, &e, ret_error);
}

int pinfold_deps_print(const char *lock, const char *format, char **ret_json,
		       struct pinfold_error *ret_error)
{
	auto_value *doc = NULL, *bill = NULL;
	struct err e = ERR_INIT;

	assert(lock && ret_json && ret_error);
	int r = parse(lock, &doc, &e);
	if (r >= 0 && format) {
		bill = sbom_of(doc, format, (uint64_t)store_now_ms());
		if (!bill) {
			(void)err_set(&e, ERR_INVALID, "--sbom: \"%.40s\" is no format", format);
			r = err_remedy(&e, "use cyclonedx or spdx");
		}
	}
	if (r >= 0) {
		*ret_json = value_text(bill ? bill : doc, NULL);
		r = *ret_json ? 0 : err_sys(&e, "deps");
	}
	return result(r, &e, ret_error);
}

static int show_set(const struct depset *set, void *arg)
{
	struct value *list = arg, *v = value_object();
	struct value *part = NULL;
	struct err none = ERR_INIT;

	if (strcmp(set->lang, DEPSET_GROUND) == 0) {
		value_free(v);
		return 0;
	}
	value_set(v, "key", value_of_str(set->key));
	value_set(v, "language", value_of_str(set->lang));
	if (value_parse(set->lock, strlen(set->lock), &part, &none) >= 0)
		value_set(v, "packages", value_copy(value_get(part, "packages")));
	value_free(part);
	value_set(v, "bytes", value_of_u64(set->bytes));
	value_set(v, "files", value_of_u64(set->files));
	value_set(v, "created", value_of_instant((uint64_t)set->made_ms));
	value_set(v, "used", value_of_instant((uint64_t)set->used_ms));
	value_add(list, v);
	return 0;
}

int pinfold_deps_list(char **ret_json, struct pinfold_error *ret_error)
{
	auto_store *s = NULL;
	auto_value *doc = value_object();
	struct value *list = value_array();
	struct err e = ERR_INIT;
	int r = deps_open_store(&s, &e);

	value_set(doc, "items", list);
	if (r >= 0)
		r = depset_each(s, show_set, list, &e);
	value_set(doc, "next", value_of_null());
	if (r >= 0) {
		*ret_json = value_text(doc, NULL);
		r = *ret_json ? 0 : err_sys(&e, "deps");
	}
	return result(r, &e, ret_error);
}

int pinfold_deps_collect(uint64_t unused_ms, uint64_t *ret_layers, uint64_t *ret_files,
			 struct pinfold_error *ret_error)
{
	auto_store *s = NULL;
	struct err e = ERR_INIT;
	unsigned sets = 0, files = 0;
	uint64_t bytes = 0;
	/* All: also what came to be in this very moment. */
	int64_t ms = unused_ms ? (int64_t)unused_ms : -1000;
	int r = deps_open_store(&s, &e);

	if (r >= 0)
		r = depset_forget(s, ms, &sets, &e);
	if (r >= 0)
		r = store_collect(s, &bytes, &e);
	if (r >= 0)
		r = blob_collect(s, ms, &files, &bytes, &e);
	*ret_layers = sets;
	*ret_files = files;
	return result(r, &e, ret_error);
}
