/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All layers are walked side by side, and the new one is made as we go. For every name the topmost
 * layer that has it decides; a directory is merged with those of the same name below it, down to
 * the first layer that hides what is further below: it is opaque there, or something else. What is
 * hidden from us must be hidden from what lies below the stack, too, and only that.
 */
#include "tree/merge.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/attr.h"
#include "tree/copy.h"
#include "tree/links.h"
#include "tree/stream.h"
#include "tree/walk.h"

/* The mark of a directory: which layers have a part in it, and whether what lies below may. */
#define BELOW 1u
#define LAYER(i) (UINT64_C(1) << (8 + (i)))

struct merge {
	int root;
	unsigned n, below;
	struct tree_cursor out, layers[TREE_LAYERS_MAX];
	bool no_links[TREE_LAYERS_MAX]; /* it lies on another mount */
	struct tree_links copies;	/* of files with several names: where the first one is */
	struct tree_merge_stats stats;
};

static int merge_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	struct merge *m = w->ctx;
	struct tree_shown s;
	int r = 0;

	for (unsigned i = m->below; i < m->n && r >= 0; i++)
		if (w->mark & LAYER(i))
			r = tree_names_add(names, m->layers[i].fd, e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

/* The topmost layer below `top` that has the name; -ENOENT: none has. */
static int find(const struct merge *m, uint64_t mark, unsigned top, const char *name,
		struct stat *st, struct err *e)
{
	for (unsigned i = top; i-- > 0;) {
		if (!(mark & LAYER(i)))
			continue;
		if (fstatat(m->layers[i].fd, name, st, AT_SYMLINK_NOFOLLOW) == 0)
			return (int)i;
		if (errno != ENOENT && i >= m->below)
			return err_sys(e, "look at it");
	}
	return -ENOENT;
}

/* 1: it is there; 0: it must be copied. */
static int link_to(struct merge *m, unsigned i, const char *name, struct err *e)
{
	if (m->no_links[i])
		return 0;
	if (linkat(m->layers[i].fd, name, m->out.fd, name, 0) == 0) {
		m->stats.linked++;
		return 1;
	}
	switch (errno) {
	case EXDEV: m->no_links[i] = true; return 0;
	case EMLINK: /* as many names as the filesystem can count */
	case EPERM:  /* not ours, or a filesystem without links */
	case EACCES:
	case EOPNOTSUPP: return 0;
	default: return err_sys(e, "link");
	}
}

static int make_whiteout(struct merge *m, unsigned i, const char *name, const struct stat *st,
			 struct err *e)
{
	m->stats.whiteouts++;
	if (S_ISCHR(st->st_mode)) {
		int r = link_to(m, i, name, e);
		if (r != 0) {
			m->stats.linked -= r > 0;
			return r < 0 ? r : 0;
		}
	}
	/* Device 0:0 is no device: everybody may make it. */
	if (mknodat(m->out.fd, name, S_IFCHR, makedev(0, 0)) < 0)
		return err_sys(e, "make a whiteout");
	return 0;
}

/* Another name of a file that was copied is another name of the copy. 1: it is. */
static int link_copy(struct merge *m, const char *name, const struct stat *st, struct err *e)
{
	const char *first = tree_links_find(&m->copies, st->st_dev, st->st_ino, NULL), *other;
	auto_close int dir = FD_NONE;

	if (!first)
		return 0;
	int r = tree_open_parent(m->root, first, &dir, &other, e);
	if (r < 0)
		return r;
	if (linkat(dir, other, m->out.fd, name, 0) == 0)
		return 1;
	return errno == EMLINK ? 0 : err_sys(e, "link");
}

static int make_node(struct merge *m, const struct tree_walk *w, unsigned i, const char *name,
		     struct stat *st, struct err *e)
{
	bool many = S_ISREG(st->st_mode) && st->st_nlink > 1;
	int r = link_to(m, i, name, e);

	if (r == 0 && many)
		r = link_copy(m, name, st, e);
	if (r != 0)
		return r;
	m->stats.copied++;
	r = tree_copy(m->layers[i].fd, name, st, m->out.fd, &m->stats.bytes, &m->stats.attrs_lost,
		      e);
	if (r >= 0 && many && w->path_len <= TREE_PATH_MAX)
		r = tree_links_note(&m->copies, st->st_dev, st->st_ino, w->path, 0, e);
	return r;
}

/*
 * Which layers have a part in a directory that begins in layer `top`; their cursors go down. The
 * result has no BELOW when one of them hides what is below it (1 is returned), or nothing is.
 */
static int take_parts(struct merge *m, const struct tree_walk *w, unsigned top, const char *name,
		      uint64_t *ret_mark, struct err *e)
{
	uint64_t mark = w->mark & BELOW;
	bool hides = false, found = m->below == 0;
	struct err ignored = ERR_INIT;
	struct stat st;
	int i = (int)top;

	for (; i >= 0 && !hides; i = find(m, w->mark, (unsigned)i, name, &st, e)) {
		hides = i != (int)top && !S_ISDIR(st.st_mode);
		if (hides)
			break;
		bool looks = (unsigned)i < m->below;
		int r = tree_cursor_down(&m->layers[i], name, looks ? &ignored : e);
		if (r < 0 && !looks)
			return r;
		found = found || looks;
		if (r < 0)
			break; /* there is something, and it is not ours to see */
		mark |= LAYER(i);
		hides = tree_is_opaque(m->layers[i].fd);
		if (hides)
			break;
	}
	if (i < 0 && i != -ENOENT)
		return i;
	/* What hides within what lies below is not ours to repeat. */
	hides = hides && (unsigned)i >= m->below;
	*ret_mark = hides || !found ? mark & ~(uint64_t)BELOW : mark;
	return hides;
}

static int make_dir(struct merge *m, const struct tree_walk *w, unsigned top, const char *name,
		    uint64_t *ret_mark, struct err *e)
{
	int r = take_parts(m, w, top, name, ret_mark, e);
	bool hides = r > 0;

	if (r < 0)
		return r;
	if (mkdirat(m->out.fd, name, 0700) < 0)
		return err_sys(e, "make a directory");
	m->stats.dirs++;
	r = tree_cursor_down(&m->out, name, e);
	if (r < 0)
		return r;
	if ((w->mark & BELOW) && hides &&
	    fsetxattr(m->out.fd, "user.overlay.opaque", "y", 1, 0) < 0)
		return err_sys(e, "mark a directory as opaque");
	return 1;
}

static int merge_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct merge *m = w->ctx;
	struct tree_shown s;
	struct stat st;
	int r, i = find(m, w->mark, m->n, name, &st, e);

	if (i == -ENOENT)
		return 0; /* frozen layers do not change; if one does, it is gone */
	if (i < 0)
		r = i;
	else if (S_ISDIR(st.st_mode))
		r = make_dir(m, w, (unsigned)i, name, ret_mark, e);
	else if (!tree_is_whiteout(m->layers[i].fd, name, &st))
		r = make_node(m, w, (unsigned)i, name, &st, e);
	else
		r = w->mark & BELOW ? make_whiteout(m, (unsigned)i, name, &st, e) : 0;
	if (r < 0)
		return err_wrap(e, "%s", tree_walk_show(w, &s));
	return r > 0 && S_ISDIR(st.st_mode);
}

/* All of the directory is made: it becomes what it is in the topmost layer. */
static int merge_leave(struct tree_walk *w, struct err *e)
{
	struct merge *m = w->ctx;
	unsigned top = m->n;
	struct tree_shown s;
	struct stat st;
	int r;

	while (!(w->mark & LAYER(--top)))
		assert(top > 0);
	if (fstat(m->layers[top].fd, &st) < 0)
		r = err_sys(e, "look at it");
	else
		r = tree_copy_meta(m->layers[top].fd, &st, m->out.fd, &m->stats.attrs_lost, e);
	if (r >= 0 && w->depth > 0)
		r = tree_cursor_up(&m->out, e);
	for (unsigned i = 0; i < m->n && r >= 0 && w->depth > 0; i++)
		if (w->mark & LAYER(i))
			r = tree_cursor_up(&m->layers[i], e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

int tree_merge(int out_fd, const struct tree_merge_in *in, struct tree_merge_stats *ret,
	       struct err *e)
{
	unsigned n = in->n;
	static const struct tree_walk_ops ops = {merge_list, merge_visit, merge_leave};
	struct merge m = {.root = out_fd, .n = n, .below = in->below};
	uint64_t mark = in->bottom ? 0 : BELOW;

	if (n <= in->below || n > TREE_LAYERS_MAX)
		return err_set(e, ERR_LIMIT, "%u layers, it must be 1 to %d", n, TREE_LAYERS_MAX);
	for (unsigned i = 0; i < n; i++)
		m.layers[i] = (struct tree_cursor)TREE_CURSOR_INIT;
	tree_links_init(&m.copies, TREE_LINKED_MAX, TREE_LINKED_BYTES_MAX);
	int r = tree_cursor_init(&m.out, out_fd, e);
	for (unsigned i = 0; i < n && r >= 0; i++) {
		r = tree_cursor_init(&m.layers[i], in->layers[i], e);
		mark |= LAYER(i);
	}
	if (r >= 0)
		r = tree_walk(&ops, &m, mark, "", e);
	tree_cursor_done(&m.out);
	for (unsigned i = 0; i < n; i++)
		tree_cursor_done(&m.layers[i]);
	tree_links_done(&m.copies);
	*ret = m.stats;
	return r < 0 ? r : 0;
}
