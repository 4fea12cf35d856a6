/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree at rest as an archive. It is walked as every tree is (tree/walk.h); nothing changes
 * under us here, and a file that is not as long as it was is an error, since its header has been
 * written.
 */
#include "archive/export.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/name.h"
#include "base/fd.h"
#include "tree/attr.h"
#include "tree/file.h"
#include "tree/links.h"
#include "tree/stream.h"
#include "tree/walk.h"

#define EXTENTS_MAX (1u << 18)

struct export
{
	struct export_opts opts;
	struct pax_out out;
	struct archive_stats stats;
	struct tree_cursor at;
	struct tree_links links;
	struct pax_extent *extents;
	size_t extents_room;
	uint8_t *buf;
	char path[TREE_PATH_MAX + 2]; /* with a slash at the end of a directory */
};

int export_open(struct export **ret, const struct export_opts *opts, pax_write_fn *write,
		void *context, struct err *e)
{
	struct export *x = calloc(1, sizeof(*x));

	if (!x)
		return err_sys(e, "export");
	x->opts = *opts;
	x->at = (struct tree_cursor)TREE_CURSOR_INIT;
	x->buf = malloc(TREE_CHUNK_MAX);
	pax_init(&x->out, write, context);
	tree_links_init(&x->links, TREE_LINKED_MAX, TREE_LINKED_BYTES_MAX);
	if (!x->buf) {
		export_close(x);
		return err_sys(e, "export");
	}
	int r = pax_begin(&x->out, e);
	if (r < 0) {
		export_close(x);
		return r;
	}
	*ret = x;
	return 0;
}

void export_close(struct export *x)
{
	if (!x)
		return;
	pax_done(&x->out);
	tree_links_done(&x->links);
	tree_cursor_done(&x->at);
	free(x->extents);
	free(x->buf);
	free(x);
}

static struct tar_entry entry_of(const struct export *x, enum tar_kind kind, const struct stat *st,
				 const char *path)
{
	bool known = x->opts.owner < 0;

	return (struct tar_entry){
		.kind = kind,
		.mode = kind == TAR_SYMLINK ? 0777 : st->st_mode & 01777,
		.uid = known ? st->st_uid : x->opts.owner,
		.gid = known ? st->st_gid : x->opts.owner,
		.mtime = st->st_mtim,
		.path = path,
	};
}

static int put(struct export *x, const struct tar_entry *en, const struct tree_attrs *attrs,
	       size_t n_extents, struct err *e)
{
	struct pax_file f = {.entry = en, .extents = x->extents, .n_extents = n_extents};

	if (attrs) {
		f.attrs = attrs->bytes;
		f.attrs_len = attrs->len;
	}
	return pax_entry(&x->out, &f, e);
}

static int room_for_extent(struct export *x, size_t n, struct err *e)
{
	if (n < x->extents_room)
		return 0;
	size_t room = x->extents_room ? x->extents_room * 2 : 64;
	void *more = reallocarray(x->extents, room, sizeof(*x->extents));

	if (!more)
		return err_sys(e, "export");
	x->extents = more;
	x->extents_room = room;
	return 0;
}

/* Where its data are; past a number that nobody needs, the rest is data. Returns how many. */
static int find_extents(struct export *x, int fd, uint64_t size, struct err *e)
{
	uint64_t at = 0, start, end;
	size_t n = 0;

	while (at < size && tree_file_extent(fd, at, size, &start, &end)) {
		int r = room_for_extent(x, n, e);

		if (r < 0)
			return r;
		if (n == EXTENTS_MAX - 1)
			end = size;
		/* Two that touch are one, whatever the filesystem makes of them. */
		if (n > 0 && x->extents[n - 1].offset + x->extents[n - 1].len == start)
			x->extents[n - 1].len += end - start;
		else
			x->extents[n++] = (struct pax_extent){start, end - start};
		at = end;
	}
	return (int)n;
}

static int put_extent(struct export *x, int fd, struct pax_extent where, struct err *e)
{
	int r = 0;

	while (where.len > 0 && r >= 0) {
		size_t want = where.len < TREE_CHUNK_MAX ? where.len : TREE_CHUNK_MAX;
		ssize_t n = tree_file_read(fd, x->buf, want, where.offset);

		if (n < 0) {
			errno = (int)-n;
			return err_sys(e, "read");
		}
		if ((size_t)n < want)
			return err_set(e, ERR_BUSY, "it changed while it was read");
		r = pax_data(&x->out, x->buf, want, e);
		where.offset += want;
		where.len -= want;
		x->stats.bytes += want;
	}
	return r;
}

static int put_open_file(struct export *x, int fd, const struct stat *st, const char *path,
			 struct err *e)
{
	struct tar_entry en = entry_of(x, TAR_FILE, st, path);
	struct tree_attrs attrs;

	en.size = (uint64_t)st->st_size;
	int n = find_extents(x, fd, en.size, e);
	if (n < 0)
		return n;
	en.sparse = en.size > 0 &&
		    !(n == 1 && x->extents[0].offset == 0 && x->extents[0].len == en.size);
	int r = tree_attrs_read(fd, false, &attrs, e);
	if (r >= 0)
		r = put(x, &en, &attrs, (size_t)n, e);
	tree_attrs_done(&attrs);
	for (int i = 0; i < n && r >= 0; i++)
		r = put_extent(x, fd, x->extents[i], e);
	x->stats.files++;
	return r;
}

static int put_file(struct export *x, const char *name, struct stat *st, const char *path,
		    struct err *e)
{
	const char *first =
		st->st_nlink > 1 ? tree_links_find(&x->links, st->st_dev, st->st_ino, NULL) : NULL;
	auto_close int fd = FD_NONE;

	if (first) {
		struct tar_entry en = entry_of(x, TAR_LINK, st, path);

		en.target = first;
		x->stats.links++;
		return put(x, &en, NULL, 0, e);
	}
	int r = tree_file_open(x->at.fd, name, st, &fd, e);
	if (r >= 0 && st->st_nlink > 1)
		r = tree_links_note(&x->links, st->st_dev, st->st_ino, path, 0, e);
	return r < 0 ? r : put_open_file(x, fd, st, path, e);
}

static int put_symlink(struct export *x, const char *name, const struct stat *st, const char *path,
		       struct err *e)
{
	struct tar_entry en = entry_of(x, TAR_SYMLINK, st, path);
	char target[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(x->at.fd, name, target, sizeof(target));

	if (n < 0)
		return err_sys(e, "read the link");
	if (n == 0 || n > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "link with a target of %zd bytes", n);
	target[n] = '\0';
	en.target = target;
	x->stats.symlinks++;
	return put(x, &en, NULL, 0, e);
}

/* A file without content whose name says something about its directory, as OCI has it. */
static int put_mark(struct export *x, const char *path, const char *before, const char *after,
		    struct err *e)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash + 1 - path) : 0;
	char name[TREE_PATH_MAX + 32];
	static const struct stat none = {.st_mode = 0644};
	struct tar_entry en = entry_of(x, TAR_FILE, &none, name);

	(void)snprintf(name, sizeof(name), "%.*s%s%s", dir, path, before, after);
	return put(x, &en, NULL, 0, e);
}

/* The directory that we are in. */
static int put_dir(struct export *x, const char *path, struct err *e)
{
	struct tree_attrs attrs;
	struct stat st;

	if (fstat(x->at.fd, &st) < 0)
		return err_sys(e, "look at it");
	(void)snprintf(x->path, sizeof(x->path), "%s/", path);
	int r = tree_attrs_read(x->at.fd, false, &attrs, e);
	struct tar_entry en = entry_of(x, TAR_DIR, &st, x->path);
	if (r >= 0)
		r = put(x, &en, &attrs, 0, e);
	tree_attrs_done(&attrs);
	x->stats.dirs++;
	if (r >= 0 && x->opts.layer && tree_is_opaque(x->at.fd))
		r = put_mark(x, x->path, ".wh..wh..opq", "", e);
	return r;
}

static int put_name(struct export *x, const char *name, const char *path, struct err *e)
{
	struct tar_entry en;
	struct stat st;
	int r = 0;

	if (fstatat(x->at.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at it"); /* a whiteout in a view */
	if (x->opts.layer && tree_is_whiteout(x->at.fd, name, &st)) {
		x->stats.removed++;
		return put_mark(x, path, ".wh.", name, e);
	}
	if (x->opts.layer && name_is_mark(name))
		return err_set(e, ERR_UNSUPPORTED,
			       "in a layer this name would mean that something is gone");
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		r = tree_cursor_down(&x->at, name, e);
		if (r >= 0)
			r = put_dir(x, path, e);
		return r < 0 ? r : 1;
	case S_IFREG: return put_file(x, name, &st, path, e);
	case S_IFLNK: return put_symlink(x, name, &st, path, e);
	case S_IFIFO:
		en = entry_of(x, TAR_FIFO, &st, path);
		x->stats.fifos++;
		return put(x, &en, NULL, 0, e);
	default: x->stats.devices++; return 0;
	}
}

static int export_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	struct tree_shown s;
	int r = tree_names_add(names, ((struct export *)w->ctx)->at.fd, e);

	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : r;
}

static int export_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct tree_shown s;

	(void)ret_mark;
	if (w->path_len > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "a path has more than %d bytes: %s", TREE_PATH_MAX,
			       tree_walk_show(w, &s));
	int r = put_name(w->ctx, name, w->path, e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : r;
}

static int export_leave(struct tree_walk *w, struct err *e)
{
	struct export *x = w->ctx;

	return x->at.depth == 0 ? 0 : tree_cursor_up(&x->at, e);
}

int export_tree(struct export *x, int dirfd, const char *prefix, struct err *e)
{
	static const struct tree_walk_ops ops = {export_list, export_visit, export_leave};

	assert(dirfd >= 0);
	tree_cursor_done(&x->at);
	int r = tree_cursor_init(&x->at, dirfd, e);
	if (r >= 0 && *prefix)
		r = put_dir(x, prefix, e);
	return r < 0 ? r : tree_walk(&ops, x, 0, prefix, e);
}

int export_end(struct export *x, struct archive_stats *ret, struct err *e)
{
	*ret = x->stats;
	return pax_end(&x->out, e);
}
