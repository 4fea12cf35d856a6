/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/move.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/guard.h"
#include "sandbox/guard_int.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

/* Which argument of a call is what; -1: it has none. */
struct shape {
	int nr, dir, path, to_dir, to_path, flags;
};

static const struct shape shapes[] = {
#ifdef SYS_rename
	{SYS_rename, -1, 0, -1, 1, -1},
#endif
#ifdef SYS_renameat
	{SYS_renameat, 0, 1, 2, 3, -1},
#endif
	{SYS_renameat2, 0, 1, 2, 3, 4},
};

int move_reply(int listener, uint64_t id, bool done)
{
	struct seccomp_notif_resp resp = {.id = id};

	if (!done)
		return guard_reply(listener, id, 0);
	/* ENOENT: he was killed while he waited. */
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno != ENOENT ? -errno : 0;
}

/* A number behind a word of /proc/PID/status, as the kernel writes it. */
static bool status_number(const char *text, const char *word, unsigned skip, int base,
			  uint64_t *ret)
{
	const char *at = strstr(text, word);
	char *end = NULL;

	if (!at)
		return false;
	at += strlen(word);
	for (unsigned i = 0; i <= skip; i++, at = end) {
		*ret = strtoull(at, &end, base);
		if (end == at)
			return false;
	}
	return true;
}

/* Is he who the file server is? */
static bool is_command(pid_t pid, const struct sandbox_spec *spec)
{
	uint64_t uid = 0, caps = 0;
	uid_t command = spec->as_root ? 0 : SANDBOX_UID;
	char path[64], text[4096];

	if (!HOLD_MOVE_RIGHTS)
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	/* The fourth is the one that files are opened with. */
	return status_number(text, "\nUid:", 3, 10, &uid) &&
	       status_number(text, "\nCapEff:", 0, 16, &caps) &&
	       uid == (spec->ids.range ? spec->ids.uid_base + command : spec->ids.caller_uid) &&
	       caps == plan_caps(spec);
}

/* Of files, and on other file systems, the kernel renames all that can be. */
static bool is_ours(pid_t pid, int dir, const char *path)
{
	char text[2 * PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (guard_absolute(pid, dir, path, text, sizeof(text)) < 0)
		return false;
	size_t len = strlen(text);
	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0';
	auto_close int fd = guard_open(pid, text, O_NOFOLLOW);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* Where a relative path begins, as a handle that can be handed over. */
static int open_begin(pid_t pid, int dir)
{
	char link[64];

	if (dir == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, dir);
	return open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int dir_of(const struct notify_event *ev, int arg)
{
	return arg < 0 ? AT_FDCWD : (int)ev->args[arg];
}

/* False: it is not to be helped with. */
static bool fill(const struct notify_event *ev, const struct shape *s,
		 const struct sandbox_spec *spec, struct move_ask *ret)
{
	static const uint32_t from_fd[2] = {FILES_FROM_FD, FILES_TO_FD};
	struct files_ask *head = &ret->ask.head;
	pid_t pid = (pid_t)ev->pid;
	char *paths = ret->ask.bytes + sizeof(*head);
	const int dirs[2] = {dir_of(ev, s->dir), dir_of(ev, s->to_dir)};
	unsigned n = 0;

	ssize_t len = guard_string(pid, ev->args[s->path], paths, FILES_PATH_SIZE);
	if (len <= 0 || !is_ours(pid, dirs[0], paths) || !is_command(pid, spec))
		return false;
	char *second = paths + len + 1;
	ssize_t len2 = guard_string(pid, ev->args[s->to_path], second, FILES_PATH_SIZE);
	if (len2 <= 0)
		return false;
	*head = (struct files_ask){
		.magic = FILES_MAGIC,
		.op = FILES_RENAME,
		.mode = s->flags < 0 ? 0 : (uint32_t)ev->args[s->flags],
		.path_len = (uint32_t)len,
		.path2_len = (uint32_t)len2,
	};
	ret->len = sizeof(*head) + (size_t)(len + len2) + 2;
	for (unsigned i = 0; i < 2; i++) {
		if ((i == 0 ? paths : second)[0] == '/')
			continue;
		ret->fds[n] = open_begin(pid, dirs[i]);
		if (ret->fds[n++] < 0)
			return false;
		head->flags |= from_fd[i];
	}
	return true;
}

int move_read(int listener, const struct notify_event *ev, const struct sandbox_spec *spec,
	      struct move_ask *ret, bool *off)
{
	const struct shape *s = shapes, *end = shapes + sizeof(shapes) / sizeof(shapes[0]);

	ret->fds[0] = ret->fds[1] = FD_NONE;
	while (s < end && s->nr != ev->nr)
		s++;
	/* Landlock inherits, and nobody can ask who is in which domain. */
	*off = *off || (s == end && HOLD_MOVE_DOMAIN);
	if (!*off && s != end && fill(ev, s, spec, ret) && guard_waits(listener, ev->id))
		return 1;
	fd_close(&ret->fds[0]);
	fd_close(&ret->fds[1]);
	return move_reply(listener, ev->id, false);
}
