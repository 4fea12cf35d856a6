/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream as a tree. One directory is open: the one that the record's path lies in. We get there
 * from the one before by the components that differ, each opened from its parent's descriptor and
 * never through a link, so a directory that somebody swaps for a link is an error and no way out.
 * A directory gets its mode and time when we leave it: until then we must be able to write there,
 * and every name that we make in it changes its time.
 */
#include "tree/unpack.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "tree/links.h"
#include "tree/walk.h"

/* Newer than the oldest headers we build with; the same on every architecture. */
#define SYS_FCHMODAT2 452
#define FILE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

/* What a directory is to be when we leave it. */
struct later {
	bool set;
	uint32_t mode, uid, gid;
	struct timespec mtime;
};

struct unpack {
	const struct tree_unpack_opts *opts;
	struct tree_unpack_stats stats;
	struct tree_dec dec;
	struct tree_cursor at;
	int root;
	char path[2 * TREE_PATH_MAX]; /* of the directory that `at` is in */
	size_t path_len;
	bool parents;	     /* what is missing on the way to this record is made */
	struct later *later; /* by depth */
	size_t later_room;
	struct tree_links made; /* files that links may follow to, by their path's hash */
	char temp[32];
};

static int fail(struct err *e, const char *what, const char *path)
{
	struct tree_shown s;
	int num = errno;

	(void)err_sys(e, "%s %s", what, tree_show(&s, path, strlen(path)));
	if (num == ENOSPC || num == EDQUOT)
		(void)err_detail(e, "disk");
	return -num;
}

static int conflict(struct err *e, const char *path, const char *is)
{
	struct tree_shown s;

	return err_set(e, ERR_CONFLICT, "%s is %s there", tree_show(&s, path, strlen(path)), is);
}

/* A name that nobody can have guessed. */
static int temp_name(struct unpack *u, struct err *e)
{
	uint64_t n;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		return err_sys(e, "find a name");
	(void)snprintf(u->temp, sizeof(u->temp), ".pinfold-%016llx", (unsigned long long)n);
	return 0;
}

/* Mode last: a change of owner takes bits away. */
static int set_meta(const struct unpack *u, int fd, const struct later *l, const char *path,
		    struct err *e)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, l->mtime};

	if (u->opts->owners && fchown(fd, l->uid, l->gid) < 0)
		return fail(e, "set the owner of", path);
	if (fchmod(fd, l->mode & 01777) < 0)
		return fail(e, "set the mode of", path);
	if (futimens(fd, times) < 0)
		return fail(e, "set the time of", path);
	return 0;
}

static struct later later_of(const struct tree_entry *en)
{
	return (struct later){true, en->mode, en->uid, en->gid, en->mtime};
}

static int leave(struct unpack *u, struct err *e)
{
	struct later *l = &u->later[u->at.depth];
	int r = 0;

	if (l->set)
		r = set_meta(u, u->at.fd, l, u->path, e);
	l->set = false;
	if (r < 0 || u->at.depth == 0)
		return r;
	while (u->path_len > 0 && u->path[--u->path_len] != '/')
		;
	u->path[u->path_len] = '\0';
	return tree_cursor_up(&u->at, e);
}

static int room_for_later(struct unpack *u, struct err *e)
{
	size_t want = u->at.depth + 2;

	if (want <= u->later_room)
		return 0;
	want *= 2;
	struct later *p = reallocarray(u->later, want, sizeof(*p));
	if (!p)
		return err_sys(e, "unpack a tree");
	memset(p + u->later_room, 0, (want - u->later_room) * sizeof(*p));
	u->later = p;
	u->later_room = want;
	return 0;
}

static int enter(struct unpack *u, const char *name, struct err *e)
{
	size_t n = strlen(name);
	int r = room_for_later(u, e);

	if (r >= 0)
		r = tree_cursor_down(&u->at, name, e);
	if (r < 0)
		return r;
	assert(u->path_len + 1 + n < sizeof(u->path));
	if (u->path_len > 0)
		u->path[u->path_len++] = '/';
	memcpy(u->path + u->path_len, name, n + 1);
	u->path_len += n;
	u->later[u->at.depth].set = false;
	return 0;
}

/* One directory down on the way to a record that is not this directory's own. */
static int enter_parent(struct unpack *u, const char *name, const char *path, struct err *e)
{
	int r = enter(u, name, e);

	if (r == -ENOENT && u->parents) {
		if (mkdirat(u->at.fd, name, 0755) < 0 && errno != EEXIST)
			return fail(e, "make the directory of", path);
		u->stats.dirs++;
		r = enter(u, name, e);
	}
	if (r == -ENOTDIR)
		return conflict(e, path, "below something that is no directory");
	return r;
}

/* Go to the directory that holds `path`; *ret_name is its last component. */
static int go_to(struct unpack *u, const char *path, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t dir_len = slash ? (size_t)(slash - path) : 0;
	char name[TREE_NAME_MAX + 1];
	int r = 0;

	*ret_name = slash ? slash + 1 : path;
	/* Up to what the two have in common. */
	while (r >= 0 && u->at.depth > 0 &&
	       !(u->path_len <= dir_len && memcmp(u->path, path, u->path_len) == 0 &&
		 (path[u->path_len] == '/')))
		r = leave(u, e);
	while (r >= 0 && u->path_len < dir_len) {
		const char *from = path + u->path_len + (u->path_len > 0);
		size_t n = strcspn(from, "/");

		memcpy(name, from, n);
		name[n] = '\0';
		r = enter_parent(u, name, path, e);
	}
	return r;
}

/* The finished thing at our name becomes `name`. */
static int place(struct unpack *u, const char *name, const char *path, struct err *e)
{
	int r = renameat(u->at.fd, u->temp, u->at.fd, name);

	if (r < 0 && (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST)) {
		if (!u->opts->replace)
			return conflict(e, path, "a directory");
		r = tree_remove(u->at.fd, name, e);
		if (r < 0)
			return r;
		r = renameat(u->at.fd, u->temp, u->at.fd, name);
	}
	return r < 0 ? fail(e, "make", path) : 0;
}

static int write_data(struct unpack *u, int fd, uint64_t size, const char *path, struct err *e)
{
	const void *data;
	uint64_t at = 0;
	size_t len;
	int r;

	while ((r = tree_dec_data(&u->dec, &at, &data, &len, e)) > 0) {
		if (fd_pwrite_all(fd, data, len, at) < 0)
			return fail(e, "write", path);
		at += len;
		u->stats.bytes += len;
	}
	/* A hole at the end. */
	if (r >= 0 && at != size && ftruncate(fd, (off_t)size) < 0)
		return fail(e, "write", path);
	return r;
}

static int make_file(struct unpack *u, const struct tree_entry *en, const char *name,
		     const char *path, struct err *e)
{
	auto_close int fd = openat(u->at.fd, u->temp, FILE_FLAGS, 0600);
	struct later meta = later_of(en);
	struct stat st;
	int r = 0;

	if (fd < 0)
		return fail(e, "make", path);
	/* `en` points into the decoder, which goes on with the data. */
	if (en->linked) {
		if (fstat(fd, &st) < 0)
			r = fail(e, "look at", path);
		else
			r = tree_links_note(&u->made, st.st_dev, st.st_ino, en->path, 0, e);
	}
	u->stats.attrs_lost += tree_attrs_write(fd, en->attrs, en->attrs_len);
	if (r >= 0)
		r = write_data(u, fd, en->size, path, e);
	if (r >= 0)
		r = set_meta(u, fd, &meta, path, e);
	if (r >= 0)
		r = place(u, name, path, e);
	u->stats.files += r >= 0;
	return r;
}

/* Links and FIFOs have no descriptor to set things by; their names are ours alone until renamed. */
static int make_other(struct unpack *u, const struct tree_entry *en, const char *name,
		      const char *path, struct err *e)
{
	bool symlink = en->kind == TREE_SYMLINK;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, en->mtime};

	if ((symlink ? symlinkat(en->target, u->at.fd, u->temp)
		     : mknodat(u->at.fd, u->temp, S_IFIFO | (en->mode & 01777), 0)) < 0)
		return fail(e, "make", path);
	/* Against the umask; best effort, for older kernels cannot do it without following
	 * links. */
	if (!symlink)
		(void)syscall(SYS_FCHMODAT2, u->at.fd, u->temp, en->mode & 01777,
			      AT_SYMLINK_NOFOLLOW);
	if (u->opts->owners &&
	    fchownat(u->at.fd, u->temp, en->uid, en->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(e, "set the owner of", path);
	if (utimensat(u->at.fd, u->temp, times, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(e, "set the time of", path);
	u->stats.symlinks += symlink;
	u->stats.fifos += !symlink;
	return place(u, name, path, e);
}

/* The other name leads to what we made before, or to nothing. */
static int make_link(struct unpack *u, const struct tree_entry *en, const char *target,
		     const char *name, const char *path, struct err *e)
{
	auto_close int dir = FD_NONE;
	const char *other = NULL;
	struct tree_shown s;
	struct stat st;
	int r = tree_open_parent(u->root, target, &dir, &other, e);

	if (r < 0)
		return r;
	if (linkat(dir, other, u->at.fd, u->temp, 0) < 0)
		return fail(e, "link", path);
	if (fstatat(u->at.fd, u->temp, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(e, "look at", path);
	const char *made = tree_links_find(&u->made, st.st_dev, st.st_ino, NULL);
	if (!made || strcmp(made, en->target) != 0)
		return err_set(e, ERR_BUSY, "%s: the file that it links to was changed meanwhile",
			       tree_show(&s, path, strlen(path)));
	r = place(u, name, path, e);
	/* A rename from one name of a file to another name of it does nothing. */
	if (r >= 0)
		(void)unlinkat(u->at.fd, u->temp, 0);
	u->stats.links += r >= 0;
	return r;
}

static int empty(struct unpack *u, struct err *e)
{
	struct tree_names names = {0};
	int r = tree_names_add(&names, u->at.fd, e);

	for (size_t i = 0; i < names.n && r >= 0; i++)
		r = tree_remove(u->at.fd, tree_names_get(&names, i), e);
	tree_names_done(&names);
	return r;
}

/* We are in the directory `en`; it gets the rest when we leave it. */
static int open_up(struct unpack *u, const struct tree_entry *en, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(u->at.fd, &st) < 0)
		return fail(e, "look at", path);
	/* What was there may be closed to its own owner; where not ours, the next call tells. */
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(u->at.fd, (st.st_mode & 01777) | 0700);
	u->stats.attrs_lost += tree_attrs_write(u->at.fd, en->attrs, en->attrs_len);
	u->later[u->at.depth] = later_of(en);
	u->stats.dirs++;
	return en->opaque ? empty(u, e) : 0;
}

static int make_dir(struct unpack *u, const struct tree_entry *en, const char *name,
		    const char *path, struct err *e)
{
	int r = mkdirat(u->at.fd, name, 0700);

	if (r < 0 && errno != EEXIST)
		return fail(e, "make", path);
	r = enter(u, name, e);
	if (r == -ENOTDIR) {
		if (!u->opts->replace)
			return conflict(e, path, "no directory");
		r = tree_remove(u->at.fd, name, e);
		if (r >= 0 && mkdirat(u->at.fd, name, 0700) < 0)
			return fail(e, "make", path);
		if (r >= 0)
			r = enter(u, name, e);
	}
	return r < 0 ? r : open_up(u, en, path, e);
}

static int make_gone(struct unpack *u, const char *name, const char *path, struct err *e)
{
	struct stat st;

	if (fstatat(u->at.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(e, "look at", path);
	int r = tree_remove(u->at.fd, name, e);
	u->stats.gone += r >= 0;
	return r;
}

static int make_named(struct unpack *u, const struct tree_entry *en, const char *path,
		      const char *target, struct err *e)
{
	const char *name;

	u->parents = u->opts->parents && en->kind != TREE_GONE;
	int r = go_to(u, path, &name, e);
	if (en->kind == TREE_GONE)
		return r == -ENOENT ? 0 : r < 0 ? r : make_gone(u, name, path, e);
	if (r >= 0 && en->kind == TREE_DIR)
		return make_dir(u, en, name, path, e);
	if (r >= 0)
		r = temp_name(u, e);
	if (r < 0)
		return r;
	if (en->kind == TREE_FILE)
		r = make_file(u, en, name, path, e);
	else if (en->kind == TREE_LINK)
		r = make_link(u, en, target, name, path, e);
	else
		r = make_other(u, en, name, path, e);
	if (r < 0)
		(void)unlinkat(u->at.fd, u->temp, 0); /* may never have been made */
	return r;
}

/* `path` of the stream as one below `dirfd`. */
static const char *below(const struct unpack *u, const char *path, char *buf, size_t size)
{
	if (!u->opts->root_name)
		return path;
	(void)snprintf(buf, size, "%s%s%s", u->opts->root_name, *path ? "/" : "", path);
	return buf;
}

static int make(struct unpack *u, const struct tree_entry *en, struct err *e)
{
	char path[2 * TREE_PATH_MAX], target[2 * TREE_PATH_MAX];

	if (en->kind == TREE_SKIPPED) {
		u->stats.skipped++;
		return 0;
	}
	if (en->path_len > 0 || u->opts->root_name)
		return make_named(
			u, en, below(u, en->path, path, sizeof(path)),
			en->kind == TREE_LINK ? below(u, en->target, target, sizeof(target)) : NULL,
			e);
	if (en->kind != TREE_DIR)
		return err_set(e, ERR_CONFLICT, "the stream's root is no directory");
	return u->opts->root_meta ? open_up(u, en, ".", e) : en->opaque ? empty(u, e) : 0;
}

static int unpack_all(struct unpack *u, struct err *e)
{
	struct tree_entry en;
	int r;

	while ((r = tree_dec_next(&u->dec, &en, e)) > 0) {
		r = make(u, &en, e);
		if (r < 0)
			break;
	}
	/* After an error, too: nothing stays open to its owner only because we were there. */
	struct err other;
	struct err *out = r < 0 ? &other : e;
	int left = 0;
	for (unsigned depth = u->at.depth + 1; depth > 0 && left >= 0; depth--)
		left = leave(u, out);
	return r < 0 ? r : left;
}

int tree_unpack(int in_fd, int dirfd, const struct tree_unpack_opts *opts,
		struct tree_unpack_stats *ret, struct err *e)
{
	const char *name = opts->root_name;
	struct unpack u = {.opts = opts, .at = TREE_CURSOR_INIT, .root = dirfd};

	assert(in_fd >= 0 && dirfd >= 0);
	*ret = u.stats;
	if (name && (strchr(name, '/') || tree_path_check(name, strlen(name), e) < 0))
		return err_set(e, ERR_INVALID, "not a name for the root of a tree");
	tree_links_init(&u.made, TREE_LINKED_MAX, TREE_LINKED_BYTES_MAX);
	int r = tree_dec_init(&u.dec, in_fd, &opts->limits, e);
	if (r >= 0)
		r = tree_cursor_init(&u.at, dirfd, e);
	if (r >= 0)
		r = room_for_later(&u, e);
	if (r >= 0)
		r = unpack_all(&u, e);
	tree_dec_done(&u.dec);
	tree_cursor_done(&u.at);
	tree_links_done(&u.made);
	free(u.later);
	*ret = u.stats;
	return r;
}
