/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a directory of the host is not for everybody. The command of an ordinary user has that
 * user's own id, and his groups: an unprivileged user namespace cannot drop them. So what is for
 * him or a group of his alone (a key in /etc/ssl/private) would be for the command, too, and is
 * hidden by name. Started by root a command is nobody's and in no group; there is nothing to hide.
 *
 * To look costs as much as a tenth of a run, so what was found is kept for RECENT_S seconds in a
 * file (spec->runtime): a change of mode leaves no mark on the directory above by which an older
 * answer could be seen to be wrong. Its bytes: MAGIC with its NUL, then for each path `e` (of /etc)
 * or `u` (of /usr), `d` or `f`, the path, NUL. Links are not followed: they lead to what was looked
 * at itself.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

#define DEPTH_MAX 16u
#define RECENT_S 10
#define CACHE "private"
#define CACHE_MAX 32768u
#define MAGIC "pinfold private 1"

static_assert(2 * PRIVATE_MAX * (PRIVATE_PATH + 3) < CACHE_MAX, "all of them fit");

static int note(struct private_paths *p, const char *path, bool is_dir)
{
	if (p->n == PRIVATE_MAX)
		return -E2BIG;
	p->is_dir[p->n] = is_dir;
	(void)snprintf(p->path[p->n++], sizeof(p->path[0]), "%s", path);
	return 0;
}

/* May not everybody read it and, a directory, go into it? */
static bool is_private(const struct stat *st)
{
	mode_t needs = S_ISDIR(st->st_mode) ? S_IROTH | S_IXOTH : S_IROTH;

	return (st->st_mode & needs) != needs;
}

static int look_into(int fd, const char *path, unsigned depth, struct private_paths *p);

static int look_at(int dir, const struct dirent *d, const char *path, unsigned depth,
		   struct private_paths *p)
{
	struct stat st;

	if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : note(p, path, d->d_type == DT_DIR);
	if (S_ISLNK(st.st_mode))
		return 0;
	if (is_private(&st))
		return note(p, path, S_ISDIR(st.st_mode));
	if (!S_ISDIR(st.st_mode) || depth == 0)
		return 0;
	unsigned before = p->n;
	int fd = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && look_into(fd, path, depth - 1, p) >= 0)
		return 0;
	/* It cannot be read, or there is too much in it: then all of it. */
	p->n = before;
	return note(p, path, true);
}

/* Takes the descriptor. */
static int look_into(int fd, const char *path, unsigned depth, struct private_paths *p)
{
	char below[PRIVATE_PATH];
	DIR *all = fdopendir(fd);
	struct dirent *d;
	int r = 0;

	if (!all) {
		fd_close(&fd);
		return -ENOMEM;
	}
	while (r >= 0 && (d = readdir(all))) {
		if (d->d_type == DT_LNK || strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		int n = snprintf(below, sizeof(below), "%s%s%s", path, path[0] ? "/" : "",
				 d->d_name);

		r = n < 0 || (size_t)n >= sizeof(below) ? -ENAMETOOLONG
							: look_at(dirfd(all), d, below, depth, p);
	}
	closedir(all);
	return r;
}

/* Adds what is below `name` ("" for `dir` itself), as many levels of directories down; or `name`,
 * where that is too much or cannot be read. */
static int find(int dir, const char *name, unsigned depth, struct private_paths *p)
{
	unsigned before = p->n;
	int fd = openat(dir, name[0] ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && look_into(fd, name, depth, p) >= 0)
		return 0;
	p->n = before;
	return name[0] ? note(p, name, true) : -E2BIG;
}

static int find_usr(struct private_paths *p)
{
	auto_close int usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = usr < 0 ? -errno : find(usr, "", 0, p);

	for (unsigned i = 0; i < p->n; i++)
		if (strcmp(p->path[i], "local") == 0)
			return r;
	return r < 0 ? r : find(usr, "local", 1, p);
}

static int find_all(const struct etc_binds *etc, struct host_private *ret)
{
	auto_close int dir = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : 0;

	for (unsigned i = 0; i < etc->n && r >= 0; i++)
		if (etc->is_dir[i])
			r = find(dir, etc->name[i], DEPTH_MAX, &ret->etc);
	return r < 0 ? r : find_usr(&ret->usr);
}

static bool take_all(const char *text, size_t len, struct host_private *ret)
{
	if (len < sizeof(MAGIC) || text[len - 1] != '\0' || memcmp(text, MAGIC, sizeof(MAGIC)) != 0)
		return false;
	for (const char *t = text + sizeof(MAGIC); t < text + len; t += strlen(t) + 1) {
		struct private_paths *p = t[0] == 'e' ? &ret->etc : &ret->usr;

		if (strlen(t) < 3 || strlen(t) - 2 >= PRIVATE_PATH ||
		    note(p, t + 2, t[1] == 'd') < 0)
			return false;
	}
	return true;
}

static bool take_recent(const char *runtime, struct host_private *ret)
{
	char path[600], text[CACHE_MAX];
	struct stat st;
	size_t len = 0;
	time_t now = time(NULL);

	(void)snprintf(path, sizeof(path), "%s/" CACHE, runtime);
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mtime > now ||
	    now - st.st_mtime >= RECENT_S)
		return false;
	if (fd_read_max(fd, text, sizeof(text), &len) >= 0 && take_all(text, len, ret))
		return true;
	ret->etc.n = ret->usr.n = 0;
	return false;
}

static size_t put_paths(char *text, size_t n, char which, const struct private_paths *p)
{
	for (unsigned i = 0; i < p->n && n + PRIVATE_PATH + 3 < CACHE_MAX; i++)
		n += 1 + (size_t)snprintf(text + n, CACHE_MAX - n, "%c%c%s", which,
					  p->is_dir[i] ? 'd' : 'f', p->path[i]);
	return n;
}

/* What cannot be kept is looked for again. */
static void keep(const char *runtime, const struct host_private *found)
{
	char path[600], own[640], text[CACHE_MAX] = MAGIC;
	size_t n = put_paths(text, sizeof(MAGIC), 'e', &found->etc);

	n = put_paths(text, n, 'u', &found->usr);
	(void)snprintf(path, sizeof(path), "%s/" CACHE, runtime);
	(void)snprintf(own, sizeof(own), "%s.%d", path, getpid());
	(void)mkdir(runtime, 0700);
	auto_close int fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || rename(own, path) < 0))
		(void)unlink(own);
}

int private_find(const struct sandbox_spec *spec, const struct etc_binds *etc,
		 struct host_private *ret)
{
	/* With those the names of /etc are others than usual. */
	bool usual = spec->runtime && !spec->host && !(spec_has_deps(spec) && spec->deps.links);

	if (!HOLD_GROUPS || geteuid() == 0 || (usual && take_recent(spec->runtime, ret)))
		return 0;
	int r = find_all(etc, ret);
	if (r >= 0 && usual)
		keep(spec->runtime, ret);
	return r;
}

bool private_mask(struct plan *p, const struct sandbox_spec *spec, const char *top,
		  const struct private_paths *found, const char *of)
{
	const char *hidden[PRIVATE_MAX + 1] = {NULL};
	auto_close int dir = found->n ? open(of, O_PATH | O_DIRECTORY | O_CLOEXEC) : FD_NONE;

	for (unsigned i = 0; i < found->n; i++)
		hidden[i] = found->path[i];
	return plan_mask(p, spec, top, hidden, dir);
}

void private_cover(struct plan *p, const char *top, const struct private_paths *found)
{
	char at[PRIVATE_PATH + 32];

	for (unsigned i = 0; i < found->n; i++) {
		(void)snprintf(at, sizeof(at), "%s/%s", top, found->path[i]);
		plan_one(p, PLAN_MASK, found->is_dir[i] ? STEP_RECURSIVE : 0, at);
	}
}
