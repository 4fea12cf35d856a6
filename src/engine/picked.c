/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/picked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/path.h"

struct apply_item *picked_add(struct picked *p, const char *path, struct picked_more **ret_more,
			      struct err *e)
{
	if (p->set.n == p->room) {
		size_t room = p->room ? p->room * 2 : 32;
		void *more = reallocarray(p->more, room, sizeof(*p->more));

		if (!more) {
			(void)err_sys(e, "list changes");
			return NULL;
		}
		p->more = more;
		p->room = room;
	}
	struct apply_item *item = apply_set_add(&p->set, path, e);
	if (item) {
		*ret_more = &p->more[p->set.n - 1];
		**ret_more = (struct picked_more){0};
	}
	return item;
}

void picked_done(struct picked *p)
{
	apply_set_done(&p->set);
	free_ptr(&p->more);
	p->room = 0;
}

static void take_old(struct apply_item *item, struct picked_more *m, const struct tree_change *c)
{
	item->old = review_type(c->type_old);
	item->old_exec = item->old == APPLY_FILE && (c->mode_old & 0100);
	m->size_old = c->size_old;
	m->mode_old = c->mode_old;
	if (c->flags & TREE_DIFF_HASH_OLD)
		hash_text(c->hash_old, item->old_hash);
}

static void take_new(struct apply_item *item, struct picked_more *m, const struct tree_change *c)
{
	item->new = review_type(c->type_new);
	item->new_exec = item->new == APPLY_FILE && (c->mode_new & 0100);
	item->mode = c->mode_new & 0777;
	m->size_new = c->size_new;
	m->mode_new = c->mode_new;
	if (c->flags & TREE_DIFF_HASH_NEW)
		hash_text(c->hash_new, item->new_hash);
}

static int collect(const struct judged *j, void *arg, struct err *e)
{
	struct picked *p = arg;
	const struct tree_change *c = j->change;
	struct apply_item *item = p->set.n ? &p->set.items[p->set.n - 1] : NULL;
	struct picked_more *m = p->set.n ? &p->more[p->set.n - 1] : NULL;
	/* What went comes again as something else. */
	bool again = item && c->kind == TREE_ADDED &&
		     item->new == APPLY_NONE &&strcmp(item->path, c->path) == 0;

	if (!again) {
		item = picked_add(p, c->path, &m, e);
		if (!item)
			return -ENOMEM;
		item->seen = j->seen;
	}
	if (c->kind != TREE_ADDED)
		take_old(item, m, c);
	if (c->kind != TREE_DELETED)
		take_new(item, m, c);
	m->runs = j->runs;
	m->merges = j->merges;
	m->origin = j->origin;
	item->old_known = j->known;
	if (!m->conflict) {
		m->conflict = j->conflict;
		m->unless_named = j->unless_named;
	}
	m->skipped = m->skipped ? m->skipped : j->skipped;
	/* Somebody made the same directory meanwhile. */
	if (!m->conflict && !m->skipped && item->old == APPLY_NONE && S_ISDIR(item->seen.st_mode))
		m->skipped = "it is there";
	return 0;
}

int picked_collect(struct picked *p, struct host_dir *d, struct err *e)
{
	uint64_t omitted = 0;
	int r = review_each(d, collect, p, &omitted, e);

	if (r >= 0 && omitted)
		return err_set(e, ERR_LIMIT, "%llu changes have paths that are too long",
			       (unsigned long long)omitted);
	return r;
}

/* "./a//b/" as "a/b"; "" is the directory itself. */
static int clean(const char *path, char to[TREE_PATH_MAX + 1], struct err *e)
{
	size_t n = 0;

	for (const char *at = path; *at && path[0] != '/';) {
		size_t len = strcspn(at, "/");
		bool dot = len == 1 && at[0] == '.';

		if (len > 0 && !dot) {
			if (n + len + 1 > TREE_PATH_MAX)
				return err_set(e, ERR_INVALID, "the path is too long");
			if (n > 0)
				to[n++] = '/';
			memcpy(to + n, at, len);
			n += len;
		}
		at += len + (at[len] == '/');
	}
	to[n] = '\0';
	if (path[0] == '/' || !path[0] || (n > 0 && tree_path_check(to, n, e) < 0)) {
		(void)err_set(e, ERR_INVALID, "\"%.200s\" is not a path in the directory", path);
		return err_remedy(e, "write it relative to the directory, without ..");
	}
	return 0;
}

static int choose_path(struct picked *p, const char *path, struct err *e)
{
	char want[TREE_PATH_MAX + 1];
	bool found = false;
	int r = clean(path, want, e);

	for (size_t i = 0; r >= 0 && i < p->set.n; i++) {
		const char *at = p->set.items[i].path;
		bool itself = strcmp(at, want) == 0;

		if (!itself && !tree_path_below(at, strlen(at), want, strlen(want)))
			continue;
		found = true;
		p->more[i].chosen = true;
		if (itself && p->more[i].unless_named)
			p->more[i].conflict = NULL;
	}
	if (r < 0 || found || !*want)
		return r;
	(void)err_set(e, ERR_MISSING, "nothing changed at %.200s", path);
	return err_remedy(e, "pinfold review lists what did");
}

/* A child needs the directories that are new above it. Those of the item that we are at are a
 * stack, for a directory comes before what is in it. */
static int choose_parents(struct picked *p, struct err *e)
{
	auto_free size_t *above = calloc(p->set.n + 1, sizeof(*above));
	size_t depth = 0;

	if (!above)
		return err_sys(e, "list changes");
	for (size_t i = 0; i < p->set.n; i++) {
		const struct apply_item *item = &p->set.items[i];

		while (depth > 0) {
			const char *dir = p->set.items[above[depth - 1]].path;

			if (tree_path_below(item->path, strlen(item->path), dir, strlen(dir)))
				break;
			depth--;
		}
		for (size_t k = depth; p->more[i].chosen && k-- > 0;)
			p->more[above[k]].chosen = true;
		if (item->new == APPLY_DIR && item->old != APPLY_DIR)
			above[depth++] = i;
	}
	return 0;
}

static void keep_chosen(struct picked *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->set.n; i++) {
		if (!p->more[i].chosen || p->more[i].skipped) {
			free(p->set.items[i].path);
			continue;
		}
		p->set.items[n] = p->set.items[i];
		p->more[n++] = p->more[i];
	}
	p->set.n = n;
}

int picked_choose(struct picked *p, const char *const *paths, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < p->set.n; i++)
		p->more[i].chosen = !paths || !paths[0];
	for (; r >= 0 && paths && *paths; paths++)
		r = choose_path(p, *paths, e);
	if (r >= 0)
		r = choose_parents(p, e);
	if (r >= 0)
		keep_chosen(p);
	return r;
}

static const char *type_name(enum apply_type type)
{
	switch (type) {
	case APPLY_FILE: return "file";
	case APPLY_LINK: return "symlink";
	case APPLY_DIR: return "directory";
	case APPLY_NONE:
	case APPLY_OTHER: break;
	}
	return NULL;
}

static int tell_one(const struct picked *p, size_t i, pinfold_review_fn *each, void *arg)
{
	const struct apply_item *item = &p->set.items[i];
	const struct picked_more *m = &p->more[i];
	struct pinfold_review out = {
		.change =
			{
				.change = item->old == APPLY_NONE   ? "added"
					  : item->new == APPLY_NONE ? "deleted"
								    : "modified",
				.type_old = type_name(item->old),
				.type_new = type_name(item->new),
				.path = item->path,
				.path_len = strlen(item->path),
				.mode_old = m->mode_old,
				.mode_new = m->mode_new,
				.size_old = m->size_old,
				.size_new = m->size_new,
				.patch_head = "",
			},
		.runs_on_host = m->runs,
		.conflict = m->conflict,
		.skipped = m->skipped,
		.merges = m->conflict ? NULL : m->merges,
	};

	(void)snprintf(out.change.sha256_old, sizeof(out.change.sha256_old), "%s", item->old_hash);
	(void)snprintf(out.change.sha256_new, sizeof(out.change.sha256_new), "%s", item->new_hash);
	return each(&out, arg);
}

void picked_tell(const struct picked *p, pinfold_review_fn *each, void *arg)
{
	for (size_t i = 0; i < p->set.n; i++)
		if (tell_one(p, i, each, arg))
			break;
}

int picked_refuse(struct picked *p, pinfold_review_fn *each, void *arg, struct err *e)
{
	size_t count = 0, first = 0;
	struct tree_shown s;

	for (size_t i = 0; i < p->set.n; i++)
		if (p->more[i].conflict) {
			first = count++ ? first : i;
			(void)tell_one(p, i, each, arg); /* all of them, or as many as he wants */
		}
	if (!count)
		return 0;
	const char *path = p->set.items[first].path;
	(void)err_set(e, ERR_CONFLICT, "%zu %s cannot be written: %s%s", count,
		      count > 1 ? "changes" : "change", tree_show(&s, path, strlen(path)),
		      count > 1 ? " and others" : "");
	return err_remedy(
		e, "nothing was written; name the paths that are to be, or copy one out with "
		   "pinfold cp and merge it by hand");
}
