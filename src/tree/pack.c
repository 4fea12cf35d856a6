/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as a stream. The tree may change under us: every name is looked at, opened, and looked at
 * again by its descriptor; if it has become something else in between, we begin anew with it.
 */
#include "tree/pack.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/file.h"
#include "tree/links.h"
#include "tree/stream.h"
#include "tree/walk.h"

#define TRIES 8

struct pack {
	const struct tree_pack_opts *opts;
	struct tree_pack_stats stats;
	struct tree_cursor at;
	struct tree_enc enc;
	struct tree_links links;
	uint8_t *buf;
};

static struct tree_entry entry_of(enum tree_kind kind, const struct stat *st, const char *path)
{
	return (struct tree_entry){
		.kind = kind,
		.mode = kind == TREE_SKIPPED ? st->st_mode & S_IFMT : st->st_mode & 01777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mtime = st->st_mtim,
		.path = path,
		.path_len = strlen(path),
	};
}

static int put(struct pack *p, const struct tree_entry *en, struct err *e)
{
	p->stats.entries++;
	return tree_enc_entry(&p->enc, en, e);
}

/* A file that has shrunk is as long as we said, with a hole where nothing is any more. */
static int put_data(struct pack *p, int fd, uint64_t size, bool *ret_short, struct err *e)
{
	uint64_t at = 0, start, end;
	int r = 0;

	while (r >= 0 && tree_file_extent(fd, at, size, &start, &end)) {
		for (at = start; at < end && r >= 0;) {
			size_t want = end - at < TREE_CHUNK_MAX ? end - at : TREE_CHUNK_MAX;
			ssize_t n = tree_file_read(fd, p->buf, want, at);

			if (n < 0) {
				errno = n == -ESTALE ? EIO : (int)-n;
				return err_sys(e, "read");
			}
			*ret_short |= (size_t)n < want;
			if (n == 0)
				break;
			r = tree_enc_data(&p->enc, at, p->buf, (size_t)n, e);
			at += (uint64_t)n;
			p->stats.bytes += (uint64_t)n;
		}
		if (*ret_short)
			break;
	}
	return r;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int put_open_file(struct pack *p, int fd, const struct stat *st, const char *path,
			 struct err *e)
{
	struct tree_entry en = entry_of(TREE_FILE, st, path);
	struct tree_attrs attrs;
	struct stat now;
	bool changed = false;

	en.size = (uint64_t)st->st_size;
	if (st->st_nlink > 1) {
		int r = tree_links_note(&p->links, st->st_dev, st->st_ino, path, 0, e);
		if (r < 0)
			return r;
		en.linked = r > 0;
	}
	int r = tree_attrs_read(fd, false, &attrs, e);
	en.attrs = attrs.bytes;
	en.attrs_len = attrs.len;
	if (r >= 0)
		r = put(p, &en, e);
	tree_attrs_done(&attrs);
	if (r >= 0)
		r = put_data(p, fd, en.size, &changed, e);
	if (r < 0)
		return r;
	if (fstat(fd, &now) < 0)
		return err_sys(e, "look again");
	changed |= now.st_size != st->st_size || !same_time(&now.st_mtim, &st->st_mtim);
	p->stats.changed += changed;
	if (changed && p->opts->strict)
		return err_set(e, ERR_BUSY, "it changed while it was read");
	return tree_enc_data_end(&p->enc, e);
}

static int put_file(struct pack *p, const char *name, struct stat *st, const char *path,
		    struct err *e)
{
	const char *first =
		st->st_nlink > 1 ? tree_links_find(&p->links, st->st_dev, st->st_ino, NULL) : NULL;

	if (first) {
		struct tree_entry en = entry_of(TREE_LINK, st, path);

		en.target = first;
		en.target_len = strlen(first);
		return put(p, &en, e);
	}
	auto_close int fd = FD_NONE;
	int r = tree_file_open(p->at.fd, name, st, &fd, e);
	return r < 0 ? r : put_open_file(p, fd, st, path, e);
}

static int put_symlink(struct pack *p, const char *name, const struct stat *st, const char *path,
		       struct err *e)
{
	struct tree_entry en = entry_of(TREE_SYMLINK, st, path);
	char target[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(p->at.fd, name, target, sizeof(target));

	if (n < 0 && (errno == EINVAL || errno == ENOENT))
		errno = ESTALE;
	if (n < 0)
		return err_sys(e, "read the link");
	if (n == 0 || n > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "link with a target of %zd bytes", n);
	en.mode = 0777;
	en.target = target;
	en.target_len = (size_t)n;
	return put(p, &en, e);
}

/* 1: we are in it. */
static int put_dir(struct pack *p, const char *name, const char *path, struct err *e)
{
	struct tree_attrs attrs;
	struct stat st;
	int r = name ? tree_cursor_down(&p->at, name, e) : 0;

	if (r == -ENOTDIR || r == -ENOENT)
		return -ESTALE;
	if (r < 0)
		return r;
	if (fstat(p->at.fd, &st) < 0)
		return err_sys(e, "look at it");
	r = tree_attrs_read(p->at.fd, false, &attrs, e);
	if (r < 0)
		return r;
	struct tree_entry en = entry_of(TREE_DIR, &st, path);
	en.attrs = attrs.bytes;
	en.attrs_len = attrs.len;
	en.opaque = p->opts->layer && tree_is_opaque(p->at.fd);
	r = put(p, &en, e);
	tree_attrs_done(&attrs);
	return r < 0 ? r : 1;
}

/* What is there now; -ESTALE when it has become something else since. */
static int put_name(struct pack *p, const char *name, const char *path, struct err *e)
{
	struct tree_entry en;
	struct stat st;

	if (fstatat(p->at.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at it");
	if (p->opts->layer && tree_is_whiteout(p->at.fd, name, &st)) {
		en = (struct tree_entry){.kind = TREE_GONE, .path = path, .path_len = strlen(path)};
		return put(p, &en, e);
	}
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR: return put_dir(p, name, path, e);
	case S_IFREG: return put_file(p, name, &st, path, e);
	case S_IFLNK: return put_symlink(p, name, &st, path, e);
	case S_IFIFO: en = entry_of(TREE_FIFO, &st, path); break;
	default: en = entry_of(TREE_SKIPPED, &st, path); p->stats.skipped++;
	}
	return put(p, &en, e);
}

static int put_tries(struct pack *p, const char *name, const char *path, struct err *e)
{
	struct tree_shown s;
	int r = -ESTALE;

	for (int i = 0; i < TRIES && r == -ESTALE; i++)
		r = put_name(p, name, path, e);
	if (r == -ESTALE)
		return err_set(e, ERR_BUSY, "%s changes all the time",
			       tree_show(&s, path, strlen(path)));
	return r < 0 ? err_wrap(e, "%s", tree_show(&s, path, strlen(path))) : r;
}

static int pack_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	struct tree_shown s;
	int r = tree_names_add(names, ((struct pack *)w->ctx)->at.fd, e);

	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : r;
}

static int pack_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct tree_shown s;

	(void)ret_mark;
	if (w->path_len > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "a path has more than %d bytes: %s", TREE_PATH_MAX,
			       tree_walk_show(w, &s));
	return put_tries(w->ctx, name, w->path, e);
}

static int pack_leave(struct tree_walk *w, struct err *e)
{
	struct pack *p = w->ctx;
	struct tree_shown s;

	if (p->at.depth == 0)
		return 0;
	int r = tree_cursor_up(&p->at, e);
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

static int pack_all(struct pack *p, int dirfd, const char *path, struct err *e)
{
	static const struct tree_walk_ops ops = {pack_list, pack_visit, pack_leave};
	bool itself = !*path || strcmp(path, ".") == 0;
	auto_close int fd = FD_NONE;
	const char *name = NULL;
	int r = itself ? tree_open_dir(dirfd, "", 0, &fd, e)
		       : tree_open_parent(dirfd, path, &fd, &name, e);

	if (r >= 0)
		r = tree_cursor_init(&p->at, fd, e);
	if (r >= 0)
		r = itself ? put_dir(p, NULL, "", e) : put_tries(p, name, "", e);
	if (r == 0 && p->stats.entries == 0) {
		errno = ENOENT;
		return err_sys(e, "open %s", path);
	}
	if (r > 0) {
		/* The walk begins here: there is no way further up. */
		p->at.depth = 0;
		r = tree_walk(&ops, p, 0, "", e);
	}
	return r < 0 ? r : tree_enc_end(&p->enc, e);
}

static int pack_one(struct pack *p, int dirfd, const char *path, struct err *e)
{
	auto_close int fd = FD_NONE;
	const char *name = NULL;
	int r = tree_path_check(path, strlen(path), e);

	if (r >= 0)
		r = tree_open_parent(dirfd, path, &fd, &name, e);
	if (r >= 0)
		r = tree_cursor_init(&p->at, fd, e);
	if (r >= 0)
		r = put_tries(p, name, path, e);
	tree_cursor_done(&p->at);
	p->at = (struct tree_cursor)TREE_CURSOR_INIT;
	return r == -ENOENT ? 0 : r;
}

static int pack_paths(struct pack *p, int dirfd, const char *paths, size_t len, struct err *e)
{
	int r = len == 0 || paths[len - 1] == '\0' ? 0 : err_set(e, ERR_INVALID, "cut paths");

	for (size_t at = 0; r >= 0 && at < len; at += strlen(paths + at) + 1)
		r = pack_one(p, dirfd, paths + at, e);
	return r < 0 ? r : tree_enc_end(&p->enc, e);
}

/* The stream around it, which ends with what went wrong. */
static int pack_ended(struct pack *p, int r, struct tree_pack_stats *ret, struct err *e)
{
	struct err second;

	if (r < 0)
		(void)tree_enc_error(&p->enc, e, &second); /* the first one counts */
	tree_enc_done(&p->enc);
	tree_links_done(&p->links);
	tree_cursor_done(&p->at);
	free(p->buf);
	*ret = p->stats;
	return r < 0 ? r : 0;
}

int tree_pack_some(int dirfd, const char *paths, size_t len, int out_fd,
		   struct tree_pack_stats *ret, struct err *e)
{
	static const struct tree_pack_opts opts = {.strict = true};
	struct pack p = {.opts = &opts, .at = TREE_CURSOR_INIT, .buf = malloc(TREE_CHUNK_MAX)};

	assert(dirfd >= 0 && out_fd >= 0);
	tree_links_init(&p.links, 0, 0); /* nothing is said of links */
	int r = p.buf ? tree_enc_init(&p.enc, out_fd, e) : err_sys(e, "pack files");
	if (r >= 0)
		return pack_ended(&p, pack_paths(&p, dirfd, paths, len, e), ret, e);
	tree_enc_done(&p.enc);
	free(p.buf);
	*ret = p.stats;
	return r;
}

int tree_pack(int dirfd, const char *path, const struct tree_pack_opts *opts, int out_fd,
	      struct tree_pack_stats *ret, struct err *e)
{
	struct pack p = {.opts = opts, .at = TREE_CURSOR_INIT, .buf = malloc(TREE_CHUNK_MAX)};

	assert(dirfd >= 0 && out_fd >= 0);
	tree_links_init(&p.links, TREE_LINKED_MAX, TREE_LINKED_BYTES_MAX);
	int r = p.buf ? tree_enc_init(&p.enc, out_fd, e) : err_sys(e, "pack a tree");
	if (r >= 0)
		return pack_ended(&p, pack_all(&p, dirfd, path, e), ret, e);
	tree_enc_done(&p.enc);
	free(p.buf);
	*ret = p.stats;
	return r;
}
