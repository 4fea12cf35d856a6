/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive is hostile, and so may be the tree that it goes into: what a command left there
 * before. No path is resolved: each component is opened from its parent, and a link is no
 * directory. What is made is made new (O_EXCL), never by opening what is there.
 */
#include "archive/plant.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "archive/name.h"
#include "base/fd.h"
#include "base/hold.h"
#include "tree/walk.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | (HOLD_ARCHIVE_LINKS ? O_NOFOLLOW : 0))
#define LATER_BYTES_MAX ((size_t)256 << 20)
/* Times of more than this are somebody's joke, or an attack on whoever computes with them. */
#define TIME_MIN (-(INT64_C(1) << 31))
#define TIME_MAX ((INT64_C(1) << 34) - 1)
#define USER_ID 1000
#define LARGER "make a workspace with more room: pinfold new NAME --disk SIZE"
#define ID_MAX 65535

struct plant_later {
	char *path;
	size_t order;
	uint32_t mode, uid, gid;
	struct timespec mtime;
	bool was_there;
};

void plant_init(struct plant *p, int root, const struct plant_limits *limits)
{
	assert(root >= 0);
	*p = (struct plant){.root = root, .limits = *limits, .dir = FD_NONE};
}

void plant_done(struct plant *p)
{
	for (size_t i = 0; i < p->n_later; i++)
		free(p->later[i].path);
	free(p->later);
	fd_close(&p->dir);
	p->later = NULL;
	p->n_later = 0;
}

static int fail(struct err *e, const char *what, const char *path)
{
	struct tree_shown s;
	int num = errno;

	(void)err_sys(e, "%s %s", what, tree_show(&s, path, strlen(path)));
	if (num == ENOSPC || num == EDQUOT)
		(void)err_detail(e, "disk");
	return -num;
}

static int blocked(struct err *e, const char *path)
{
	struct tree_shown s;

	(void)err_set(e, ERR_CONFLICT,
		      "%s: on the way to it is something that is no directory, maybe a link",
		      tree_show(&s, path, strlen(path)));
	return err_remedy(e, "nothing is written through a link; remove it first, or import to "
			     "another place with --to");
}

/* One step down; -ENOENT where it is not there and not to be made. */
static int step(struct plant *p, int from, const char *name, bool make, const char *path,
		struct err *e)
{
	int fd = openat(from, name, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT && make) {
		if (mkdirat(from, name, 0755) < 0 && errno != EEXIST)
			return fail(e, "make the directory of", path);
		p->stats.dirs++;
		fd = openat(from, name, DIR_FLAGS);
	}
	if (fd >= 0)
		return fd;
	if (errno == ELOOP || errno == ENOTDIR)
		return blocked(e, path);
	return fail(e, "open the directory of", path);
}

/* p->dir becomes the directory that holds `path`. */
static int go_to(struct plant *p, const char *path, bool make, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	char name[TREE_NAME_MAX + 1];

	*ret_name = slash ? slash + 1 : path;
	if (p->dir >= 0 && strlen(p->dir_path) == len && memcmp(p->dir_path, path, len) == 0)
		return 0;
	fd_close(&p->dir);
	auto_close int at = openat(p->root, ".", DIR_FLAGS);
	if (at < 0)
		return fail(e, "open the directory of", path);
	for (size_t from = 0; from < len;) {
		size_t n = strcspn(path + from, "/");

		memcpy(name, path + from, n);
		name[n] = '\0';
		int next = step(p, at, name, make, path, e);
		if (next < 0)
			return next;
		fd_close(&at);
		at = next;
		from += n + 1;
	}
	memcpy(p->dir_path, path, len);
	p->dir_path[len] = '\0';
	p->dir = take_fd(&at);
	return 0;
}

/* Whatever has this name is gone then. */
static int clear(struct plant *p, const char *name, const char *path, struct err *e)
{
	struct tree_shown s;
	struct stat st;

	if (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(e, "look at", path);
	p->stats.replaced++;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(p->dir, name, 0) < 0 ? fail(e, "replace", path) : 0;
	if (!p->layers)
		return err_set(e, ERR_CONFLICT, "%s is a directory there",
			       tree_show(&s, path, strlen(path)));
	return tree_remove(p->dir, name, e);
}

/* The owner that it gets, as far as there is one. */
static uint32_t owner(struct plant *p, int64_t id, bool *changed)
{
	bool keep = p->owners && id >= 0 && id <= ID_MAX;

	*changed |= !keep && id != USER_ID;
	return keep ? (uint32_t)id : USER_ID;
}

static struct plant_later meta_of(struct plant *p, const struct tar_entry *en)
{
	bool changed = false;
	struct plant_later m = {.mode = en->mode & (HOLD_ARCHIVE_MODES ? 01777 : 07777),
				.mtime = en->mtime};

	m.uid = owner(p, en->uid, &changed);
	m.gid = owner(p, en->gid, &changed);
	p->stats.owners += changed;
	p->stats.setid += (en->mode & 06000) != 0 && en->kind != TAR_SYMLINK;
	if (m.mtime.tv_sec < TIME_MIN || m.mtime.tv_sec > TIME_MAX || m.mtime.tv_nsec < 0 ||
	    m.mtime.tv_nsec > 999999999) {
		m.mtime = (struct timespec){0};
		p->stats.times++;
	}
	return m;
}

/* Mode after owner: a change of owner takes bits away. */
static int set_meta(const struct plant *p, int fd, const struct plant_later *m, const char *path,
		    struct err *e)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, m->mtime};

	if (p->owners && fchown(fd, m->uid, m->gid) < 0)
		return fail(e, "set the owner of", path);
	if (fchmod(fd, m->mode) < 0)
		return fail(e, "set the mode of", path);
	return futimens(fd, times) < 0 ? fail(e, "set the time of", path) : 0;
}

/* user.* alone, and of those not what overlayfs would act on. */
static bool may_be(const char *name)
{
	return strncmp(name, "user.", 5) == 0 && name[5] && strlen(name) <= TREE_NAME_MAX &&
	       strncmp(name, "user.overlay.", strlen("user.overlay.")) != 0;
}

static void set_attrs(struct plant *p, struct tar_in *t, int fd)
{
	const char *name;
	const void *value;
	size_t len;

	while (tar_in_attr(t, &name, &value, &len) > 0)
		if (fd < 0 || !name || !may_be(name) || fsetxattr(fd, name, value, len, 0) < 0)
			p->stats.attrs++;
}

static int write_block(struct plant *p, int fd, const char *data, size_t len, uint64_t at,
		       const char *path, struct err *e)
{
	if (len > p->limits.bytes - p->stats.bytes) {
		(void)err_set(e, ERR_LIMIT,
			      "the archive holds more than the %llu MiB that are left",
			      (unsigned long long)(p->limits.bytes >> 20));
		(void)err_remedy(e, LARGER);
		return err_detail(e, "disk");
	}
	if (fd_pwrite_all(fd, data, len, at) < 0)
		return fail(e, "write", path);
	p->stats.bytes += len;
	return 0;
}

static int write_data(struct plant *p, struct tar_in *t, int fd, const struct tar_entry *en,
		      const char *path, struct err *e)
{
	struct tree_shown s;
	const void *data;
	uint64_t at, end = 0;
	size_t len;
	int r;

	while ((r = tar_in_data(t, &at, &data, &len, e)) > 0) {
		if (at > en->size || len > en->size - at)
			return err_set(e, ERR_INVALID, "%s has more bytes than it says",
				       tree_show(&s, path, strlen(path)));
		r = write_block(p, fd, data, len, at, path, e);
		if (r < 0)
			return r;
		end = len > 0 ? at + len : end;
	}
	/* A hole at its end. */
	if (r >= 0 && end != en->size && ftruncate(fd, (off_t)en->size) < 0)
		return fail(e, "write", path);
	return r;
}

static int plant_file(struct plant *p, struct tar_in *t, const struct tar_entry *en,
		      const char *name, const char *path, struct err *e)
{
	struct tree_shown s;

	/* What the header promises is refused at once; holes cost nothing. */
	if (!en->sparse && en->size > p->limits.bytes - p->stats.bytes) {
		(void)err_set(e, ERR_LIMIT, "%s: %llu bytes are more than is left",
			      tree_show(&s, path, strlen(path)), (unsigned long long)en->size);
		(void)err_remedy(e, LARGER);
		return err_detail(e, "disk");
	}
	auto_close int fd =
		openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(e, "make", path);
	int r = write_data(p, t, fd, en, path, e);
	if (r < 0)
		return r;
	set_attrs(p, t, fd);
	struct plant_later m = meta_of(p, en);
	p->stats.files++;
	return set_meta(p, fd, &m, path, e);
}

static int note_later(struct plant *p, const struct plant_later *m, const char *path, struct err *e)
{
	size_t size = strlen(path) + 1 + sizeof(*m);

	if (p->later_bytes + size > LATER_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "the archive has too many directories");
	if (p->n_later == p->later_room) {
		size_t room = p->later_room ? p->later_room * 2 : 64;
		void *more = reallocarray(p->later, room, sizeof(*m));

		if (!more)
			return err_sys(e, "import");
		p->later = more;
		p->later_room = room;
	}
	struct plant_later *to = &p->later[p->n_later];
	*to = *m;
	to->order = p->n_later;
	to->path = strdup(path);
	if (!to->path)
		return err_sys(e, "import");
	p->later_bytes += size;
	p->n_later++;
	return 0;
}

static int plant_dir(struct plant *p, struct tar_in *t, const struct tar_entry *en,
		     const char *name, const char *path, struct err *e)
{
	struct stat st;
	bool was_there = fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int r = was_there && !S_ISDIR(st.st_mode) ? clear(p, name, path, e) : 0;

	was_there = was_there && S_ISDIR(st.st_mode);
	if (r < 0)
		return r;
	if (!was_there && mkdirat(p->dir, name, 0700) < 0)
		return fail(e, "make", path);
	p->stats.dirs += !was_there;
	auto_close int fd = openat(p->dir, name, DIR_FLAGS);
	if (fd < 0)
		return fail(e, "open", path);
	set_attrs(p, t, fd);
	struct plant_later m = meta_of(p, en);
	m.was_there = was_there;
	/* Until the end we have to be able to write in it. */
	if (was_there && (st.st_mode & 0700) != 0700 && fchmod(fd, m.mode | 0700) < 0 &&
	    errno != EPERM)
		return fail(e, "set the mode of", path);
	return note_later(p, &m, path, e);
}

static int plant_other(struct plant *p, const struct tar_entry *en, const char *name,
		       const char *path, struct err *e)
{
	struct plant_later m = meta_of(p, en);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, m.mtime};
	bool link = en->kind == TAR_SYMLINK;

	if (link ? symlinkat(en->target, p->dir, name) < 0 : mkfifoat(p->dir, name, m.mode) < 0)
		return fail(e, "make", path);
	if (p->owners && fchownat(p->dir, name, m.uid, m.gid, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(e, "set the owner of", path);
	*(link ? &p->stats.symlinks : &p->stats.fifos) += 1;
	if (utimensat(p->dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(e, "set the time of", path);
	return 0;
}

/* The other name is one in the same tree, found like every name. */
static int plant_link(struct plant *p, const struct tar_entry *en, const char *path, struct err *e)
{
	char target[TREE_PATH_MAX + 1];
	const char *name = NULL, *from = NULL;
	struct tree_shown s;
	int r = name_clean(en->target, target, e);

	if (r < 0)
		return err_wrap(e, "hard link %s", tree_show(&s, path, strlen(path)));
	if (strcmp(target, path) == 0 || !*target)
		return err_set(e, ERR_INVALID, "%s is a hard link to itself",
			       tree_show(&s, path, strlen(path)));
	r = go_to(p, target, false, &from, e);
	if (r < 0)
		return err_wrap(e, "hard link %s", tree_show(&s, path, strlen(path)));
	auto_close int there = take_fd(&p->dir);
	r = go_to(p, path, true, &name, e);
	if (r >= 0)
		r = clear(p, name, path, e);
	if (r < 0)
		return r;
	if (linkat(there, from, p->dir, name, 0) < 0)
		return fail(e, "make the hard link", path);
	p->stats.links++;
	return 0;
}

static int plant_in_place(struct plant *p, struct tar_in *t, const struct tar_entry *en,
			  const char *path, struct err *e)
{
	const char *name = NULL;
	int r = go_to(p, path, true, &name, e);

	if (r >= 0 && en->kind == TAR_DIR)
		return plant_dir(p, t, en, name, path, e);
	if (r >= 0)
		r = clear(p, name, path, e);
	if (r < 0)
		return r;
	return en->kind == TAR_FILE ? plant_file(p, t, en, name, path, e)
				    : plant_other(p, en, name, path, e);
}

int plant_entry(struct plant *p, struct tar_in *t, const struct tar_entry *en, const char *path,
		struct err *e)
{
	int r = 0;

	if (p->entries++ >= p->limits.entries)
		return err_set(e, ERR_LIMIT, "the archive has more than %llu entries",
			       (unsigned long long)p->limits.entries);
	p->stats.attrs += en->acl;
	if (en->kind == TAR_DEVICE)
		p->stats.devices++;
	else if (!*path && en->kind != TAR_DIR)
		return err_set(e, ERR_INVALID, "the archive has an entry without a name");
	else if (en->kind == TAR_LINK)
		r = plant_link(p, en, path, e);
	else if (*path) /* the top itself stays as it is */
		r = plant_in_place(p, t, en, path, e);
	/* Those that were not looked at. */
	if (r >= 0 && (en->kind != TAR_FILE && en->kind != TAR_DIR))
		set_attrs(p, t, FD_NONE);
	return r;
}

int plant_gone(struct plant *p, const char *path, struct err *e)
{
	struct err none = ERR_INIT;
	const char *name = NULL;
	struct stat st;

	if (!*path || go_to(p, path, false, &name, &none) < 0 ||
	    fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* it is gone already */
	p->stats.removed++;
	return tree_remove(p->dir, name, e);
}

int plant_empty(struct plant *p, const char *path, struct err *e)
{
	struct tree_names names = {0};
	struct err none = ERR_INIT;
	auto_close int fd = FD_NONE;

	if (tree_open_dir(p->root, path, strlen(path), &fd, &none) < 0)
		return 0;
	fd_close(&p->dir);
	int r = tree_names_add(&names, fd, e);
	for (size_t i = 0; i < names.n && r >= 0; i++) {
		r = tree_remove(fd, tree_names_get(&names, i), e);
		p->stats.removed++;
	}
	tree_names_done(&names);
	return r;
}

/* What is below first, and of the same path what came last. */
static int by_path(const void *a, const void *b)
{
	const struct plant_later *x = a, *y = b;
	int order = strcmp(y->path, x->path);

	return order ? order : x->order < y->order ? 1 : -1;
}

static int finish_one(struct plant *p, const struct plant_later *m, struct err *e)
{
	struct err none = ERR_INIT;
	const char *name = NULL;

	if (go_to(p, m->path, false, &name, &none) < 0)
		return 0; /* something else has taken its place since */
	auto_close int fd = openat(p->dir, name, DIR_FLAGS);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENOTDIR
			       ? 0
			       : fail(e, "open", m->path);
	int r = set_meta(p, fd, m, m->path, e);
	/* A directory that was there and is not ours stays as it is. */
	return r == -EPERM && m->was_there ? 0 : r;
}

int plant_finish(struct plant *p, struct err *e)
{
	int r = 0;

	if (p->n_later)
		qsort(p->later, p->n_later, sizeof(*p->later), by_path);
	for (size_t i = 0; i < p->n_later && r >= 0; i++)
		if (i == 0 || strcmp(p->later[i].path, p->later[i - 1].path) != 0)
			r = finish_one(p, &p->later[i], e);
	return r;
}
