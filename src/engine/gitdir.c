/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gitdir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define TEXT_MAX 4096u
#define CONFIG_MAX (64u << 10)
#define WORK "/work"

/* `base`/`path`, or `path` if it is absolute, without . and .. ; as for the kernel where there are
 * no links. */
static bool join(const char *base, const char *path, char to[GITDIR_PATH_MAX])
{
	const char *parts[2] = {path[0] == '/' ? "" : base, path};
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		for (const char *p = parts[i]; *p;) {
			size_t len = strcspn(p, "/");

			if (len == 2 && memcmp(p, "..", 2) == 0) {
				while (n > 0 && to[--n] != '/')
					;
			} else if (len > 0 && !(len == 1 && *p == '.')) {
				if (n + len + 2 > GITDIR_PATH_MAX)
					return false;
				to[n++] = '/';
				memcpy(to + n, p, len);
				n += len;
			}
			p += len + (p[len] == '/');
		}
	to[n] = '\0';
	return n > 0;
}

static int open_plain(const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* A small text, without the end of its last line. False: there is none. */
static bool read_text(int dir, const char *name, char *to, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_max(fd, to, size - 1, &n) < 0)
		return false;
	while (n > 0 && (to[n - 1] == '\n' || to[n - 1] == '\r'))
		n--;
	to[n] = '\0';
	return n > 0 && strlen(to) == n;
}

/* core.worktree, as git writes it. */
static bool find_worktree(char *config, char to[GITDIR_PATH_MAX])
{
	char *rest = NULL;
	bool core = false;

	for (char *line = strtok_r(config, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (*line == '[')
			core = strncmp(line, "[core]", 6) == 0;
		if (!core || strncmp(line, "worktree", 8) != 0)
			continue;
		line += 8 + strspn(line + 8, " \t");
		if (*line != '=')
			continue;
		line += 1 + strspn(line + 1, " \t");
		(void)snprintf(to, GITDIR_PATH_MAX, "%s", line);
		return *line && strlen(line) < GITDIR_PATH_MAX;
	}
	return false;
}

static bool is_repository(int fd, uid_t owner)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == owner || st.st_uid == geteuid()) &&
	       fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       fstatat(fd, "objects", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       fstatat(fd, "refs", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* COMMON/worktrees/NAME: the common directory is what is shown. */
static const char *take_worktree(struct gitdir *g, int fd, const char *real)
{
	char text[TEXT_MAX], common[GITDIR_PATH_MAX], back[GITDIR_PATH_MAX], dot[GITDIR_PATH_MAX];
	const char *tail = strstr(g->path, "/worktrees/");

	for (const char *next = tail; next; next = strstr(next + 1, "/worktrees/"))
		tail = next;
	size_t cut = tail ? strlen(tail) : 0, n = strlen(g->inside);
	if (!read_text(fd, "commondir", text, sizeof(text)) || !join(g->path, text, common) ||
	    !tail || strchr(tail + 11, '/') || strlen(common) != (size_t)(tail - g->path) ||
	    strncmp(common, g->path, strlen(common)) != 0 || n <= cut ||
	    strcmp(g->inside + n - cut, tail) != 0)
		return "its git directory is not where worktrees are, and is not shown";
	if (!read_text(fd, "gitdir", text, sizeof(text)) || !join(g->path, text, back) ||
	    !join(real, ".git", dot) || strcmp(back, dot) != 0)
		return "its git directory belongs to another worktree, and is not shown";
	g->path[strlen(common)] = '\0';
	g->inside[n - cut] = '\0';
	return NULL;
}

static const char *take_submodule(struct gitdir *g, int fd, const char *real)
{
	static const char other[] = "its git directory belongs to another directory, and is not "
				    "shown";
	auto_free char *config = calloc(1, CONFIG_MAX);
	char text[GITDIR_PATH_MAX], at[GITDIR_PATH_MAX];

	if (!config || !read_text(fd, "config", config, CONFIG_MAX) ||
	    !find_worktree(config, text) || !join(g->path, text, at) || strcmp(at, real) != 0)
		return other;
	if (!join(g->inside, text, g->link))
		return other;
	if (strcmp(g->link, WORK) == 0)
		g->link[0] = '\0';
	return NULL;
}

/* Places that are the sandbox's own. */
static bool is_taken(const char *path)
{
	static const char *const taken[] = {"/usr",   "/bin",	 "/sbin", "/lib",     "/lib32",
					    "/lib64", "/libx32", "/proc", "/dev",     "/sys",
					    "/etc",   "/run",	 "/work", "/var/tmp", "/v"};
	static const char *const roots[] = {"/home", "/home/user", "/tmp", "/root", "/var"};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		size_t n = strlen(taken[i]);

		if (strncmp(path, taken[i], n) == 0 && (!path[n] || path[n] == '/'))
			return true;
	}
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strcmp(path, roots[i]) == 0)
			return true;
	return false;
}

/* Without knowing them it is not shown. */
static void find_secrets(struct gitdir *g, const struct secrets_said *said)
{
	struct err e = ERR_INIT;

	if (secrets_find_git(g->fd, said, &g->secrets, &e) < 0) {
		g->note = "its git directory could not be searched for secrets, and is not shown";
		g->found = false;
		fd_close(&g->fd);
	}
	for (unsigned i = 0; i < g->secrets.n; i++)
		g->hidden[i] = g->secrets.path[i] + strlen(".git/");
}

/* NULL: *ret_fd is it. */
static const char *take(struct gitdir *g, const char *real, uid_t owner, int *ret_fd)
{
	struct stat st;
	auto_close int fd = open_plain(g->path);

	if (fd < 0)
		return "its git directory is not there, or is behind a link, and is not shown";
	const char *why = fstatat(fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0
				  ? take_worktree(g, fd, real)
				  : take_submodule(g, fd, real);
	if (why)
		return why;
	auto_close int common = open_plain(g->path);
	if (common < 0 || !is_repository(common, owner))
		return "what its .git names is no git directory of yours, and is not shown";
	if (is_taken(g->inside) || (g->link[0] && is_taken(g->link)))
		return "its git directory would be at a place of the sandbox's own, and is not shown";
	*ret_fd = take_fd(&common);
	return NULL;
}

void gitdir_find(int dir, const char *real, const struct secrets_said *said, struct gitdir *ret)
{
	static const char key[] = "gitdir: ";
	char text[TEXT_MAX];
	struct stat st;

	*ret = (struct gitdir){.fd = FD_NONE};
	if (fstat(dir, &st) < 0 || !read_text(dir, ".git", text, sizeof(text)) ||
	    strncmp(text, key, sizeof(key) - 1) != 0)
		return;
	const char *path = text + sizeof(key) - 1;
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return; /* no name that git writes */
	if (!join(real, path, ret->path) || !join(WORK, path, ret->inside))
		return;
	/* A repository in the directory is seen with it. */
	size_t n = strlen(real);
	if (strncmp(ret->path, real, n) == 0 && ret->path[n] == '/')
		return;
	ret->note = take(ret, real, st.st_uid, &ret->fd);
	ret->found = ret->fd >= 0;
	if (ret->found)
		find_secrets(ret, said);
}

void gitdir_done(struct gitdir *g)
{
	if (g->found)
		fd_close(&g->fd);
	secrets_done(&g->secrets);
	*g = (struct gitdir){.found = false};
}
