/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/walk.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LIST_BYTES_MAX ((size_t)128 << 20)

struct tree_level {
	struct tree_names names;
	size_t next;
	size_t path_len;
	uint64_t mark;
};

/* Room for one more of `size` bytes each; doubles. */
static int grow(void *array, size_t *room, size_t need, size_t size, struct err *e)
{
	size_t want = *room ? *room : 16;

	if (need <= *room)
		return 0;
	while (want < need)
		want *= 2;
	void *p = reallocarray(*(void **)array, want, size);
	if (!p)
		return err_sys(e, "walk a tree");
	*(void **)array = p;
	*room = want;
	return 0;
}

static int names_put(struct tree_names *names, const char *name, struct err *e)
{
	size_t len = strlen(name) + 1;

	if (names->bytes_len + len > LIST_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "a directory has more names than fit into %zu MiB",
			       LIST_BYTES_MAX >> 20);
	if (grow(&names->bytes, &names->bytes_room, names->bytes_len + len, 1, e) < 0 ||
	    grow(&names->at, &names->n_room, names->n + 1, sizeof(*names->at), e) < 0)
		return -ENOMEM;
	memcpy(names->bytes + names->bytes_len, name, len);
	names->at[names->n++] = (uint32_t)names->bytes_len;
	names->bytes_len += len;
	return 0;
}

int tree_names_add(struct tree_names *names, int fd, struct err *e)
{
	char buf[32768] __attribute__((aligned(8)));
	ssize_t have;

	/* Whoever listed it before us left the position at its end. */
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "list a directory");
	while ((have = getdents64(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t pos = 0; pos < have;) {
			const struct dirent64 *d = (const struct dirent64 *)(void *)(buf + pos);

			pos += d->d_reclen;
			if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
				continue;
			if (names_put(names, d->d_name, e) < 0)
				return err_wrap(e, "list a directory");
		}
	}
	return have < 0 ? err_sys(e, "list a directory") : 0;
}

static int name_cmp(const void *a, const void *b, void *bytes)
{
	const char *all = bytes;

	return strcmp(all + *(const uint32_t *)a, all + *(const uint32_t *)b);
}

void tree_names_sort(struct tree_names *names)
{
	size_t kept = 0;

	if (names->n < 2)
		return;
	qsort_r(names->at, names->n, sizeof(*names->at), name_cmp, names->bytes);
	for (size_t i = 1; i < names->n; i++)
		if (strcmp(tree_names_get(names, kept), tree_names_get(names, i)) != 0)
			names->at[++kept] = names->at[i];
	names->n = kept + 1;
}

void tree_names_done(struct tree_names *names)
{
	free(names->bytes);
	free(names->at);
	*names = (struct tree_names){0};
}

int tree_cursor_init(struct tree_cursor *c, int dirfd, struct err *e)
{
	*c = (struct tree_cursor)TREE_CURSOR_INIT;
	/* Not dup: the position in the directory shall be ours alone. */
	c->fd = openat(dirfd, ".", DIR_FLAGS);
	return c->fd < 0 ? err_sys(e, "open a directory") : 0;
}

void tree_cursor_done(struct tree_cursor *c)
{
	fd_close(&c->fd);
	free(c->above);
	*c = (struct tree_cursor)TREE_CURSOR_INIT;
}

int tree_cursor_down(struct tree_cursor *c, const char *name, struct err *e)
{
	struct tree_shown s;
	struct stat st;

	if (c->depth >= TREE_DEPTH_MAX)
		return err_set(e, ERR_LIMIT, "a tree is deeper than %u", TREE_DEPTH_MAX);
	if (grow(&c->above, &c->room, c->depth + 1, sizeof(*c->above), e) < 0)
		return -ENOMEM;
	if (fstat(c->fd, &st) < 0)
		return err_sys(e, "look at a directory");
	int fd = openat(c->fd, name, DIR_FLAGS);
	if (fd < 0) {
		if (errno == ELOOP)
			errno = ENOTDIR;
		return err_sys(e, "open %s", tree_show(&s, name, strlen(name)));
	}
	c->above[c->depth++] = (struct tree_above){st.st_dev, st.st_ino};
	fd_close(&c->fd);
	c->fd = fd;
	return 0;
}

int tree_cursor_up(struct tree_cursor *c, struct err *e)
{
	assert(c->depth > 0);
	const struct tree_above *above = &c->above[c->depth - 1];
	struct stat st;
	int fd = openat(c->fd, "..", DIR_FLAGS);

	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)err_sys(e, "go up");
		fd_close(&fd);
		return e->num ? -e->num : -EIO;
	}
	if (st.st_dev != above->dev || st.st_ino != above->ino) {
		fd_close(&fd);
		return err_set(e, ERR_BUSY, "a directory was moved meanwhile");
	}
	c->depth--;
	fd_close(&c->fd);
	c->fd = fd;
	return 0;
}

int tree_open_dir(int dirfd, const char *path, size_t len, int *ret_fd, struct err *e)
{
	auto_close int fd = openat(dirfd, ".", DIR_FLAGS);
	char name[TREE_NAME_MAX + 1];
	struct tree_shown s;

	if (len == 1 && path[0] == '.')
		len = 0;
	int r = len > 0 ? tree_path_check(path, len, e) : 0;
	if (r < 0)
		return r;
	for (size_t at = 0; fd >= 0 && at < len;) {
		const char *end = memchr(path + at, '/', len - at);
		size_t n = end ? (size_t)(end - path) - at : len - at;

		memcpy(name, path + at, n);
		name[n] = '\0';
		int next = openat(fd, name, DIR_FLAGS);
		fd_close(&fd);
		fd = next;
		at += n + 1;
	}
	if (fd < 0) {
		if (errno == ELOOP)
			errno = ENOTDIR;
		return err_sys(e, "open %s", tree_show(&s, path, len));
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

int tree_open_parent(int dirfd, const char *path, int *ret_fd, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	int r = tree_path_check(path, strlen(path), e);

	if (r < 0)
		return r;
	*ret_name = slash ? slash + 1 : path;
	return tree_open_dir(dirfd, path, slash ? (size_t)(slash - path) : 0, ret_fd, e);
}

static int walk_enter(struct tree_walk *w, uint64_t mark, struct err *e)
{
	if (grow(&w->levels, &w->room, w->depth + 1, sizeof(*w->levels), e) < 0)
		return -ENOMEM;
	struct tree_level *l = &w->levels[w->depth++];
	*l = (struct tree_level){.mark = mark, .path_len = w->path_len};
	w->mark = mark;
	int r = w->ops->list(w, &l->names, e);
	if (r < 0)
		return r;
	tree_names_sort(&l->names);
	return 0;
}

static void walk_name(struct tree_walk *w, const struct tree_level *l, const char *name)
{
	size_t at = l->path_len, n = strlen(name), sep = at > 0;

	w->path_len = at + sep + n;
	if (at < TREE_PATH_MAX) {
		size_t fits = TREE_PATH_MAX - at - sep;

		if (sep)
			w->path[at] = '/';
		memcpy(w->path + at + sep, name, n < fits ? n : fits);
	}
	w->path[w->path_len < TREE_PATH_MAX ? w->path_len : TREE_PATH_MAX] = '\0';
}

static int walk_step(struct tree_walk *w, struct err *e)
{
	struct tree_level *l = &w->levels[w->depth - 1];
	uint64_t mark = 0;

	w->mark = l->mark;
	if (l->next < l->names.n) {
		const char *name = tree_names_get(&l->names, l->next++);

		walk_name(w, l, name);
		int r = w->ops->visit(w, name, &mark, e);
		return r <= 0 ? r : walk_enter(w, mark, e);
	}
	w->path_len = l->path_len;
	if (w->path_len <= TREE_PATH_MAX)
		w->path[w->path_len] = '\0';
	tree_names_done(&l->names);
	w->depth--;
	return w->ops->leave(w, e);
}

int tree_walk(const struct tree_walk_ops *ops, void *ctx, uint64_t mark, const char *prefix,
	      struct err *e)
{
	struct tree_walk w = {.ops = ops, .ctx = ctx, .path_len = strlen(prefix)};

	assert(w.path_len <= TREE_PATH_MAX);
	memcpy(w.path, prefix, w.path_len + 1);
	int r = walk_enter(&w, mark, e);
	while (r >= 0 && w.depth > 0)
		r = walk_step(&w, e);
	while (w.depth > 0)
		tree_names_done(&w.levels[--w.depth].names);
	free(w.levels);
	return r < 0 ? r : 0;
}

const char *tree_walk_show(const struct tree_walk *w, struct tree_shown *s)
{
	return tree_show(s, w->path, w->path_len < TREE_PATH_MAX ? w->path_len : TREE_PATH_MAX);
}

/*
 * Removal: what cannot be unlinked is a directory; it is emptied, and removed by its name when the
 * walk has left it. The name is the mark's: the walk's own list is gone by then.
 */
struct removal {
	struct tree_cursor at;
	char *names; /* of the directories that we are in, one after the other */
	size_t names_len, names_room;
};

static int removal_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	return tree_names_add(names, ((struct removal *)w->ctx)->at.fd, e);
}

static int removal_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct removal *rm = w->ctx;
	struct tree_shown s;
	size_t len = strlen(name) + 1;

	if (unlinkat(rm->at.fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(e, "remove %s", tree_walk_show(w, &s));
	if (unlinkat(rm->at.fd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (grow(&rm->names, &rm->names_room, rm->names_len + len, 1, e) < 0 ||
	    tree_cursor_down(&rm->at, name, e) < 0)
		return err_wrap(e, "remove %s", tree_walk_show(w, &s));
	*ret_mark = rm->names_len;
	memcpy(rm->names + rm->names_len, name, len);
	rm->names_len += len;
	return 1;
}

static int removal_leave(struct tree_walk *w, struct err *e)
{
	struct removal *rm = w->ctx;
	struct tree_shown s;

	if (rm->at.depth == 0)
		return 0;
	rm->names_len = w->mark;
	if (tree_cursor_up(&rm->at, e) < 0)
		return err_wrap(e, "remove %s", tree_walk_show(w, &s));
	if (unlinkat(rm->at.fd, rm->names + rm->names_len, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "remove %s", tree_walk_show(w, &s));
	return 0;
}

int tree_remove(int dirfd, const char *name, struct err *e)
{
	static const struct tree_walk_ops ops = {removal_list, removal_visit, removal_leave};
	struct removal rm = {0};
	struct tree_shown s;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(e, "remove %s", tree_show(&s, name, strlen(name)));
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	auto_close int fd = openat(dirfd, name, DIR_FLAGS);
	if (fd < 0)
		return err_sys(e, "remove %s", tree_show(&s, name, strlen(name)));
	int r = tree_cursor_init(&rm.at, fd, e);
	if (r >= 0)
		r = tree_walk(&ops, &rm, 0, "", e);
	tree_cursor_done(&rm.at);
	free(rm.names);
	if (r >= 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		r = err_sys(e, "remove %s", tree_show(&s, name, strlen(name)));
	return r < 0 ? r : 0;
}
