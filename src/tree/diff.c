/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both views and all layers are walked side by side, each with a cursor of its own that is in the
 * directory of that path wherever there is one. The layers say where to look, the views what is
 * there: so nothing here has to know how overlayfs stacks layers, but for the marks that hide what
 * is below them.
 */
#include "tree/diff.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/attr.h"
#include "tree/file.h"
#include "tree/walk.h"

#define BLOCK (128u << 10)

/* The mark of a directory: who is in it. */
#define IN_OLD 1u
#define IN_NEW 2u
#define ALL 4u /* compare everything, not only what layers name */
#define LAYER(i) (UINT64_C(1) << (8 + (i)))

struct diff {
	const struct tree_diff_in *in;
	tree_diff_fn *fn;
	void *ctx;
	uint64_t omitted;
	struct tree_cursor old, new, layers[TREE_LAYERS_MAX];
	char *buf; /* two blocks */
};

static int look(const struct tree_cursor *c, bool in, const char *name, struct stat *st,
		struct err *e)
{
	struct tree_shown s;

	*st = (struct stat){0};
	if (!in || fstatat(c->fd, name, st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	*st = (struct stat){0};
	if (errno == ENOENT)
		return 0;
	return err_sys(e, "look at %s", tree_show(&s, name, strlen(name)));
}

static int diff_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	struct diff *d = w->ctx;
	struct tree_shown s;
	int r = 0;

	if ((w->mark & ALL) && (w->mark & IN_OLD))
		r = tree_names_add(names, d->old.fd, e);
	if (r >= 0 && (w->mark & ALL) && (w->mark & IN_NEW))
		r = tree_names_add(names, d->new.fd, e);
	for (unsigned i = 0; i < d->in->n_layers && r >= 0; i++)
		if (w->mark & LAYER(i))
			r = tree_names_add(names, d->layers[i].fd, e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

/* 1: they differ; 0: byte for byte the same. Where both have holes nothing is read. */
static int bytes_differ(struct diff *d, int old, int new, uint64_t size, struct err *e)
{
	uint64_t at = 0, a, b, end_a, end_b;

	while (at < size) {
		int in_a = tree_file_extent(old, at, size, &a, &end_a);
		int in_b = tree_file_extent(new, at, size, &b, &end_b);

		if (!in_a && !in_b)
			return 0;
		at = !in_a ? b : !in_b ? a : a < b ? a : b;
		size_t want = size - at < BLOCK ? size - at : BLOCK;
		ssize_t n = tree_file_read(old, d->buf, want, at);
		ssize_t m = tree_file_read(new, d->buf + BLOCK, want, at);
		if (n < 0 || m < 0) {
			errno = (int)(n < 0 ? -n : -m);
			return err_sys(e, "read");
		}
		if (n != m || memcmp(d->buf, d->buf + BLOCK, (size_t)n) != 0)
			return 1;
		if ((size_t)n < want)
			return 0; /* both were cut meanwhile */
		at += want;
	}
	return 0;
}

static int attrs_differ(int old, int new, struct err *e)
{
	struct tree_attrs a, b = {0};
	int r = tree_attrs_read(old, false, &a, e);

	if (r >= 0)
		r = tree_attrs_read(new, false, &b, e);
	if (r >= 0)
		r = a.len != b.len || (a.len && memcmp(a.bytes, b.bytes, a.len) != 0);
	tree_attrs_done(&a);
	tree_attrs_done(&b);
	return r;
}

static int files_differ(struct diff *d, struct tree_change *c, const struct tree_diff_at *at,
			struct err *e)
{
	const struct stat *a = &at->old_st, *b = &at->new_st;
	struct stat old_st = *a, new_st = *b;
	auto_close int old = FD_NONE, new = FD_NONE;

	if (a->st_dev == b->st_dev && a->st_ino == b->st_ino)
		return 0;
	int r = tree_file_open(at->old_dir, at->name, &old_st, &old, e);
	if (r >= 0)
		r = tree_file_open(at->new_dir, at->name, &new_st, &new, e);
	if (r == -EACCES || r == -EPERM) {
		/* Its owner closed it to himself. */
		if (a->st_size != b->st_size || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
		    a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
			c->flags |= TREE_DIFF_CONTENT | TREE_DIFF_UNREADABLE;
		return 0;
	}
	if (r >= 0)
		r = attrs_differ(old, new, e);
	c->flags |= r > 0 ? TREE_DIFF_ATTRS : 0;
	if (r >= 0)
		r = a->st_size != b->st_size ? 1
					     : bytes_differ(d, old, new, (uint64_t)a->st_size, e);
	c->flags |= r > 0 ? TREE_DIFF_CONTENT : 0;
	return r < 0 ? r : 0;
}

static int targets_differ(struct tree_change *c, const struct tree_diff_at *at, struct err *e)
{
	char a[TREE_PATH_MAX + 1], b[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(at->old_dir, at->name, a, sizeof(a));
	ssize_t m = readlinkat(at->new_dir, at->name, b, sizeof(b));

	if (n < 0 || m < 0)
		return err_sys(e, "read a link");
	if (n != m || memcmp(a, b, (size_t)n) != 0)
		c->flags |= TREE_DIFF_CONTENT;
	return 0;
}

static uint64_t size_of(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) ? (uint64_t)st->st_size : 0;
}

/* All that two looks tell. */
static struct tree_change change_of(const struct tree_walk *w, const struct tree_diff_at *at)
{
	const struct stat *a = &at->old_st, *b = &at->new_st;
	struct tree_change c = {
		.kind = !a->st_mode   ? TREE_ADDED
			: !b->st_mode ? TREE_DELETED
				      : TREE_MODIFIED,
		.type_old = tree_type_of(a->st_mode),
		.type_new = tree_type_of(b->st_mode),
		.mode_old = a->st_mode & 07777,
		.mode_new = b->st_mode & 07777,
		.size_old = size_of(a),
		.size_new = size_of(b),
		.path = w->path,
		.path_len = w->path_len,
	};

	if (c.type_old != c.type_new)
		c.flags = TREE_DIFF_CONTENT;
	if (c.kind == TREE_MODIFIED) {
		c.flags |= c.mode_old != c.mode_new ? TREE_DIFF_MODE : 0;
		c.flags |= a->st_uid != b->st_uid || a->st_gid != b->st_gid ? TREE_DIFF_OWNER : 0;
	}
	return c;
}

/* What only a closer look tells; directories are open already. */
static int look_closer(struct diff *d, struct tree_change *c, const struct tree_diff_at *at,
		       struct err *e)
{
	int r = 0;

	if (c->type_old != c->type_new)
		return 0;
	switch (c->type_old) {
	case TREE_TYPE_FILE: return files_differ(d, c, at, e);
	case TREE_TYPE_SYMLINK: return targets_differ(c, at, e);
	case TREE_TYPE_DIR:
		r = attrs_differ(d->old.fd, d->new.fd, e);
		c->flags |= r > 0 ? TREE_DIFF_ATTRS : 0;
		return r < 0 ? r : 0;
	case TREE_TYPE_DEVICE:
		c->flags |= at->old_st.st_rdev != at->new_st.st_rdev ? TREE_DIFF_CONTENT : 0;
		return 0;
	case TREE_TYPE_NONE:
	case TREE_TYPE_FIFO:
	case TREE_TYPE_SOCKET:
	case TREE_TYPES: break;
	}
	return 0;
}

/* Both views go down; the layers too, unless one of them hides what is below it. */
static int go_down(struct diff *d, const struct tree_walk *w, const struct tree_diff_at *at,
		   uint64_t *ret_mark, struct err *e)
{
	bool in_old = S_ISDIR(at->old_st.st_mode), in_new = S_ISDIR(at->new_st.st_mode);
	uint64_t mark = (in_old ? IN_OLD : 0) | (in_new ? IN_NEW : 0), layers = 0;
	bool all = (w->mark & ALL) || !in_old || !in_new;
	struct stat st;
	int r = in_old ? tree_cursor_down(&d->old, at->name, e) : 0;

	if (r >= 0 && in_new)
		r = tree_cursor_down(&d->new, at->name, e);
	for (unsigned i = 0; i < d->in->n_layers && r >= 0 && !all; i++) {
		r = look(&d->layers[i], w->mark & LAYER(i), at->name, &st, e);
		if (r < 0 || !st.st_mode)
			continue;
		all = !S_ISDIR(st.st_mode);
		if (all)
			break;
		r = tree_cursor_down(&d->layers[i], at->name, e);
		layers |= r < 0 ? 0 : LAYER(i);
		all = r >= 0 && tree_is_opaque(d->layers[i].fd);
	}
	for (unsigned i = 0; i < d->in->n_layers && r >= 0 && all; i++)
		if (layers & LAYER(i))
			r = tree_cursor_up(&d->layers[i], e);
	*ret_mark = mark | (all ? ALL : layers);
	return r < 0 ? r : 1;
}

static int tell(struct diff *d, const struct tree_walk *w, const struct tree_diff_at *at,
		struct err *e)
{
	struct tree_change c = change_of(w, at);
	int r = look_closer(d, &c, at, e);

	if (r < 0 || c.flags == 0)
		return r;
	return d->fn(d->ctx, &c, at, e);
}

static int diff_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct diff *d = w->ctx;
	struct tree_shown s;
	bool in_old = w->mark & IN_OLD, in_new = w->mark & IN_NEW;
	struct tree_diff_at at = {.old_dir = in_old ? d->old.fd : FD_NONE,
				  .new_dir = in_new ? d->new.fd : FD_NONE,
				  .name = name};
	int r = look(&d->old, in_old, name, &at.old_st, e), down = 0;

	if (r >= 0)
		r = look(&d->new, in_new, name, &at.new_st, e);
	if (r >= 0 && !at.old_st.st_mode && !at.new_st.st_mode)
		return 0; /* it came and went in the layers */
	if (w->path_len > TREE_PATH_MAX) {
		d->omitted++;
		return r;
	}
	if (r >= 0 && (S_ISDIR(at.old_st.st_mode) || S_ISDIR(at.new_st.st_mode))) {
		r = down = go_down(d, w, &at, ret_mark, e);
		/* Whose cursor went down is not where the name is any more. */
		at.old_dir = S_ISDIR(at.old_st.st_mode) ? FD_NONE : at.old_dir;
		at.new_dir = S_ISDIR(at.new_st.st_mode) ? FD_NONE : at.new_dir;
	}
	if (r >= 0)
		r = tell(d, w, &at, e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : down;
}

static int diff_leave(struct tree_walk *w, struct err *e)
{
	struct diff *d = w->ctx;
	struct tree_shown s;
	int r = 0;

	if (w->depth == 0)
		return 0;
	if (w->mark & IN_OLD)
		r = tree_cursor_up(&d->old, e);
	if (r >= 0 && (w->mark & IN_NEW))
		r = tree_cursor_up(&d->new, e);
	for (unsigned i = 0; i < d->in->n_layers && r >= 0; i++)
		if (w->mark & LAYER(i))
			r = tree_cursor_up(&d->layers[i], e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

/* The two roots themselves, where they have a name. */
static int tell_root(struct diff *d, struct err *e)
{
	struct tree_walk w = {.path_len = strlen(d->in->prefix)};
	struct tree_diff_at at = {.old_dir = FD_NONE, .new_dir = FD_NONE, .name = ""};

	if (d->in->old_fd < 0 || d->in->new_fd < 0 || w.path_len == 0)
		return 0;
	memcpy(w.path, d->in->prefix, w.path_len + 1);
	if (fstat(d->old.fd, &at.old_st) < 0 || fstat(d->new.fd, &at.new_st) < 0)
		return err_sys(e, "look at %s", d->in->prefix);
	return tell(d, &w, &at, e);
}

static int start(struct diff *d, uint64_t *ret_mark, struct err *e)
{
	int r = d->in->old_fd >= 0 ? tree_cursor_init(&d->old, d->in->old_fd, e) : 0;

	if (r >= 0 && d->in->new_fd >= 0)
		r = tree_cursor_init(&d->new, d->in->new_fd, e);
	*ret_mark = (d->in->old_fd >= 0 ? IN_OLD : 0) | (d->in->new_fd >= 0 ? IN_NEW : 0);
	if (d->in->n_layers == 0)
		*ret_mark |= ALL;
	for (unsigned i = 0; i < d->in->n_layers && r >= 0; i++) {
		r = tree_cursor_init(&d->layers[i], d->in->layers[i], e);
		*ret_mark |= LAYER(i);
	}
	if (r >= 0)
		r = tell_root(d, e);
	return r;
}

int tree_diff(const struct tree_diff_in *in, tree_diff_fn *fn, void *ctx, uint64_t *ret_omitted,
	      struct err *e)
{
	static const struct tree_walk_ops ops = {diff_list, diff_visit, diff_leave};
	struct diff d = {.in = in,
			 .fn = fn,
			 .ctx = ctx,
			 .old = TREE_CURSOR_INIT,
			 .new = TREE_CURSOR_INIT,
			 .buf = malloc(2 * BLOCK)};
	uint64_t mark = 0;
	int r = d.buf ? 0 : err_sys(e, "compare trees");

	for (unsigned i = 0; i < TREE_LAYERS_MAX; i++)
		d.layers[i] = (struct tree_cursor)TREE_CURSOR_INIT;
	if (r >= 0 && in->n_layers > TREE_LAYERS_MAX)
		r = err_set(e, ERR_LIMIT, "%u layers, the most is %d", in->n_layers,
			    TREE_LAYERS_MAX);
	if (r >= 0 && *in->prefix)
		r = tree_path_check(in->prefix, strlen(in->prefix), e);
	if (r >= 0)
		r = start(&d, &mark, e);
	if (r >= 0)
		r = tree_walk(&ops, &d, mark, in->prefix, e);
	tree_cursor_done(&d.old);
	tree_cursor_done(&d.new);
	for (unsigned i = 0; i < TREE_LAYERS_MAX; i++)
		tree_cursor_done(&d.layers[i]);
	free(d.buf);
	*ret_omitted = d.omitted;
	return r < 0 ? r : 0;
}
