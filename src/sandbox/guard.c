/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/guard_int.h"

#define PAGE 4096u
#define WORDS_MAX 4096u
#define TRIES 1000u

/* As far as the end of a page, so that a read is whole or fails. */
static ssize_t peek(pid_t pid, uint64_t at, void *to, size_t max)
{
	size_t here = PAGE - at % PAGE;
	struct iovec ours = {to, here < max ? here : max};
	struct iovec theirs = {(void *)(uintptr_t)at, ours.iov_len};

	return process_vm_readv(pid, &ours, 1, &theirs, 1, 0);
}

ssize_t guard_string(pid_t pid, uint64_t at, char *to, size_t max)
{
	size_t len = 0;

	while (len < max) {
		ssize_t n = peek(pid, at + len, to + len, max - len);

		if (n <= 0)
			return -EFAULT;
		const char *end = memchr(to + len, 0, (size_t)n);
		if (end)
			return end - to;
		len += (size_t)n;
	}
	return -ENAMETOOLONG;
}

static bool link_text(pid_t pid, const char *name, char *ret, size_t size)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/%d/%.40s", (int)pid, name);
	ssize_t n = readlink(link, ret, size - 1);
	ret[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* Where a relative path begins. */
static bool dir_text(pid_t pid, int dir, char *ret, size_t size)
{
	char name[24] = "cwd";

	if (dir != AT_FDCWD)
		(void)snprintf(name, sizeof(name), "fd/%d", dir);
	return link_text(pid, name, ret, size);
}

int guard_open(pid_t pid, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char root[64];

	(void)snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	auto_close int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int place = -1;
	/* EAGAIN: of a path with .. the kernel was not sure, since somebody, anywhere, renamed or
	 * mounted something meanwhile. */
	for (unsigned i = 0; i < TRIES && place < 0; i++) {
		place = (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
		if (place < 0 && errno != EAGAIN)
			break;
	}
	return place < 0 ? -errno : place;
}

/* The names of a path without ., .., and empty ones: what is left where links cannot be
 * followed. */
static void plain(char *path)
{
	char *to = path;

	for (char *at = path; *at;) {
		size_t n = strcspn(at + 1, "/");

		if (n == 2 && strncmp(at + 1, "..", 2) == 0) {
			while (to > path && *--to != '/')
				;
		} else if (n > 0 && !(n == 1 && at[1] == '.')) {
			memmove(to, at, n + 1);
			to += n + 1;
		}
		at += n + 1;
	}
	*to = '\0';
}

/* The kernel's own words for where a handle is. False: it has none. */
static bool place_text(int fd, char *ret, size_t size)
{
	char link[40];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, ret, size - 1);
	ret[n < 0 ? 0 : n] = '\0';
	return n > 0 && ret[0] == '/';
}

int guard_absolute(pid_t pid, int dir, const char *path, char *ret, size_t size)
{
	char base[PATH_MAX] = "";

	if (path[0] != '/' && !dir_text(pid, dir, base, sizeof(base)))
		return -EBADF;
	return snprintf(ret, size, "%s/%s", strcmp(base, "/") == 0 ? "" : base,
			path + (path[0] == '/')) >= (int)size
		       ? -ENAMETOOLONG
		       : 0;
}

/* What a program's path leads to; -ENOENT and its like: to nothing. */
static int find_program(pid_t pid, int dir, const char *path, char ret[PATH_MAX])
{
	char text[2 * PATH_MAX];
	int r = guard_absolute(pid, dir, path, text, sizeof(text));

	if (r < 0)
		return r;
	/* Links of the kernel's, which are his and not ours. */
	if (strncmp(text, "/proc/self/", 11) == 0 && link_text(pid, text + 11, ret, PATH_MAX))
		return 0;
	auto_close int fd = guard_open(pid, text, 0);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ENAMETOOLONG)
		return fd;
	if (fd >= 0 && place_text(fd, ret, PATH_MAX))
		return 0;
	plain(text);
	(void)snprintf(ret, PATH_MAX, "%.4095s", text);
	return 0;
}

/* The name that is deleted or made: its directory's links are followed, its own is not. */
static int find_name(pid_t pid, int dir, const char *path, bool must_be, char ret[PATH_MAX])
{
	char text[2 * PATH_MAX], name[NAME_MAX + 1], at[PATH_MAX];
	struct stat st;
	int r = guard_absolute(pid, dir, path, text, sizeof(text));

	if (r < 0)
		return r;
	size_t len = strlen(text);
	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0';
	char *slash = strrchr(text, '/');
	if (strlen(slash + 1) > NAME_MAX)
		return -ENAMETOOLONG;
	(void)snprintf(name, sizeof(name), "%s", slash + 1);
	slash[slash == text] = '\0';
	auto_close int fd = guard_open(pid, text, O_DIRECTORY);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return fd;
	if (fd >= 0 && must_be && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return -ENOENT;
	if (fd < 0 || !place_text(fd, at, sizeof(at))) {
		plain(text);
		(void)snprintf(at, sizeof(at), "%.4095s", text);
	}
	return snprintf(ret, PATH_MAX, "%s/%s", strcmp(at, "/") == 0 ? "" : at, name) >= PATH_MAX
		       ? -ENAMETOOLONG
		       : 0;
}

static void put(struct guard_ask *a, const char *text, size_t len)
{
	size_t room = sizeof(a->text) - a->len;

	if (room == 0) {
		a->is_cut = 1;
		return;
	}
	if (len >= room) {
		len = room - 1;
		a->is_cut = 1;
	}
	memcpy(a->text + a->len, text, len);
	a->text[a->len + len] = '\0';
	a->len += (uint32_t)len + 1;
}

/* As many words as fit. */
static int read_words(pid_t pid, uint64_t argv, struct guard_ask *ret)
{
	char word[GUARD_TEXT_MAX];

	for (unsigned i = 0; argv && i < WORDS_MAX && !ret->is_cut; i++) {
		uint64_t at = 0;

		if (argv % sizeof(at) ||
		    peek(pid, argv + i * sizeof(at), &at, sizeof(at)) != (ssize_t)sizeof(at))
			return -EFAULT;
		if (!at)
			return 0;
		ssize_t n = guard_string(pid, at, word, sizeof(word));
		if (n == -EFAULT)
			return -EFAULT;
		put(ret, word, n < 0 ? sizeof(word) : (size_t)n);
	}
	ret->is_cut |= argv != 0;
	return 0;
}

/* Which argument of a call is what; -1: it has none. */
struct shape {
	int nr;
	enum guard_kind kind;
	int dir, path, words, to_dir, to_path, flags;
};

static const struct shape shapes[] = {
	{SYS_execve, GUARD_EXEC, -1, 0, 1, -1, -1, -1},
	{SYS_execveat, GUARD_EXEC, 0, 1, 2, -1, -1, 4},
#ifdef SYS_unlink
	{SYS_unlink, GUARD_DELETE, -1, 0, -1, -1, -1, -1},
	{SYS_rmdir, GUARD_DELETE, -1, 0, -1, -1, -1, -1},
	{SYS_rename, GUARD_MOVE, -1, 0, -1, -1, 1, -1},
#endif
	{SYS_unlinkat, GUARD_DELETE, 0, 1, -1, -1, -1, -1},
#ifdef SYS_renameat
	{SYS_renameat, GUARD_MOVE, 0, 1, -1, 2, 3, -1},
#endif
	{SYS_renameat2, GUARD_MOVE, 0, 1, -1, 2, 3, 4},
};

static int dir_of(const struct notify_event *ev, int arg)
{
	return arg < 0 ? AT_FDCWD : (int)ev->args[arg];
}

static int read_exec(const struct notify_event *ev, const struct shape *s, struct guard_ask *ret)
{
	char path[PATH_MAX], program[PATH_MAX];
	pid_t pid = (pid_t)ev->pid;
	int dir = dir_of(ev, s->dir), r = 0;
	ssize_t n = guard_string(pid, ev->args[s->path], path, sizeof(path));

	if (n < 0)
		return (int)n;
	if (n == 0 && s->flags >= 0 && (ev->args[s->flags] & AT_EMPTY_PATH))
		r = dir_text(pid, dir, program, sizeof(program)) ? 0 : -EBADF;
	else
		r = n == 0 ? -ENOENT : find_program(pid, dir, path, program);
	if (r < 0)
		return r;
	put(ret, program, strlen(program));
	return read_words(pid, ev->args[s->words], ret);
}

static int read_names(const struct notify_event *ev, const struct shape *s, struct guard_ask *ret)
{
	const int dirs[] = {s->dir, s->to_dir}, paths[] = {s->path, s->to_path};
	char path[PATH_MAX], name[PATH_MAX];

	for (int i = 0; i < 2 && paths[i] >= 0; i++) {
		ssize_t n = guard_string((pid_t)ev->pid, ev->args[paths[i]], path, sizeof(path));

		if (n <= 0)
			return n < 0 ? (int)n : -ENOENT;
		int r = find_name((pid_t)ev->pid, dir_of(ev, dirs[i]), path, i == 0, name);
		if (r < 0)
			return r;
		if (strlen(name) + 1 > sizeof(ret->text) - ret->len)
			return -ENAMETOOLONG; /* a path is never judged by half */
		put(ret, name, strlen(name));
	}
	return 0;
}

int guard_reply(int listener, uint64_t id, int error)
{
	struct seccomp_notif_resp resp = {
		.id = id, .error = error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	/* ENOENT: he was killed while he waited. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

bool guard_waits(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int guard_read(int listener, const struct notify_event *ev, struct guard_ask *ret)
{
	const struct shape *s = shapes;

	memset(ret, 0, offsetof(struct guard_ask, text));
	while (s < shapes + sizeof(shapes) / sizeof(shapes[0]) && s->nr != ev->nr)
		s++;
	if (s == shapes + sizeof(shapes) / sizeof(shapes[0]))
		return guard_reply(listener, ev->id, -EPERM);
	ret->magic = GUARD_MAGIC;
	ret->kind = (uint16_t)s->kind;
	if (s->kind == GUARD_MOVE && s->flags >= 0 && (ev->args[s->flags] & RENAME_EXCHANGE))
		ret->kind = GUARD_SWAP;
	ret->id = ev->id;
	ret->pid = ev->pid;
	int r = s->kind == GUARD_EXEC ? read_exec(ev, s, ret) : read_names(ev, s, ret);
	/* Whose memory that was: the number may be another's by now. */
	if (!guard_waits(listener, ev->id))
		return 0;
	if (r < 0)
		return guard_reply(listener, ev->id, r);
	return 1;
}
