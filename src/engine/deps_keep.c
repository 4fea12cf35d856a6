/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of a workspace: read and written by a command inside, as whatever a workspace holds.
 * What comes out is as hostile as a lock of anybody's; lock_parse() looks at it.
 */
#include <assert.h>
#include <pinfold/deps.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/deps_int.h"
#include "store/workspace.h"

int deps_root(struct store *s, const char *workspace, const char **ret, struct err *e)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));

	if (!w)
		return err_sys(e, "deps");
	int r = workspace_find(s, workspace, w, e);
	*ret = r >= 0 && w->dir[0] ? "/work" : "/home/user";
	return r;
}

int deps_read_lock(const struct deps_place *place, struct value **ret, struct err *e)
{
	static const char *const words[] = {"sh", "-c",
					    "if [ -f " LOCK_NAME " ]; then cat " LOCK_NAME
					    "; else echo null; fi",
					    NULL};
	struct deps_script script = {.words = words};
	auto_value *doc = NULL;
	int r = deps_run_script(place, &script, &doc, e);

	*ret = NULL;
	if (r < 0 || value_kind(doc) == VALUE_NULL)
		return r;
	auto_free char *text = value_text(doc, NULL);
	return text ? lock_parse(text, strlen(text), ret, e) : err_sys(e, "deps");
}

int deps_write_lock(const struct deps_place *place, const struct value *lock, struct err *e)
{
	static const char *const words[] = {"sh", "-c",
					    "cat >" LOCK_NAME ".new && mv -fT " LOCK_NAME
					    ".new " LOCK_NAME " && echo null",
					    NULL};
	auto_free char *text = lock_text(lock);
	struct deps_script script = {
		.words = words, .keeps = true, .text = text, .text_len = text ? strlen(text) : 0};
	auto_value *doc = NULL;

	if (!text)
		return err_sys(e, "deps");
	return deps_run_script(place, &script, &doc, e);
}

static int find_place(const char *workspace, struct store *s, struct deps_place *ret, struct err *e)
{
	*ret = (struct deps_place){.store = s, .workspace = workspace};
	return deps_root(s, workspace, &ret->root, e);
}

int pinfold_deps_read(const char *workspace, char **ret_lock, struct pinfold_error *ret_error)
{
	struct deps_place place;
	auto_store *s = NULL;
	auto_value *lock = NULL;
	struct err e = ERR_INIT;

	assert(workspace && ret_lock && ret_error);
	int r = deps_open_store(&s, &e);
	if (r >= 0)
		r = find_place(workspace, s, &place, &e);
	if (r >= 0)
		r = deps_read_lock(&place, &lock, &e);
	if (r >= 0) {
		*ret_lock = lock ? lock_text(lock) : NULL;
		r = lock && !*ret_lock ? err_sys(&e, "deps") : 0;
	}
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}

int pinfold_deps_write(const char *workspace, const char *lock, struct pinfold_error *ret_error)
{
	struct deps_place place;
	auto_store *s = NULL;
	auto_value *doc = NULL;
	struct err e = ERR_INIT;

	assert(workspace && lock && ret_error);
	int r = lock_parse(lock, strlen(lock), &doc, &e);
	if (r >= 0)
		r = deps_open_store(&s, &e);
	if (r >= 0)
		r = find_place(workspace, s, &place, &e);
	if (r >= 0)
		r = deps_write_lock(&place, doc, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
