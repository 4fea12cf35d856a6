/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing uid_map and gid_map of a child, directly where we may, through the set-uid helpers of
 * the `uidmap` package where an ordinary user maps subordinate ids.
 */
#include "kernel/idmap.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"

#define EXEC_TRIES 500

static int write_proc(pid_t pid, const char *name, const char *text, struct err *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	/* While the child is on its way through exec its files in /proc may be root's, if we
	 * ourselves once changed ids. */
	for (int i = 0; fd < 0 && errno == EACCES && i < EXEC_TRIES; i++) {
		struct timespec pause = {.tv_nsec = 200000};

		(void)nanosleep(&pause, NULL);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_sys(e, "open %s", path);
#ifndef DROP_PROCFS
	/* A /proc that somebody put in its place could lead the write elsewhere. */
	struct statfs fs;
	if (fstatfs(fd, &fs) < 0 || (long)fs.f_type != PROC_SUPER_MAGIC)
		return err_set(e, ERR_DENIED, "%s is not of the kernel's proc filesystem", path);
#endif
	size_t len = strlen(text);
	if (write(fd, text, len) != (ssize_t)len)
		return err_sys(e, "write %s", name);
	return 0;
}

static int write_map(pid_t pid, const char *name, const struct idmap_line *line, unsigned n,
		     struct err *e)
{
	char text[IDMAP_LINES * 36];
	size_t len = 0;

	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u %u\n",
					line[i].inside, line[i].outside, line[i].count);
	return write_proc(pid, name, text, e);
}

static int run_helper(const char *path, char *const *argv, struct err *e)
{
	static char *const no_env[] = {NULL};
	pid_t child;
	int status = 0;
	int r = posix_spawn(&child, path, NULL, NULL, argv, no_env);

	if (r != 0) {
		errno = r;
		(void)err_sys(e, "run %s", path);
		return err_remedy(e, "install the package uidmap");
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for %s", path);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_DENIED, "%s refused to map the subordinate ids", path);
	return 0;
}

static int helper_map(const char *path, pid_t pid, const struct idmap_line *line, unsigned n,
		      struct err *e)
{
	char numbers[2 + IDMAP_LINES * 3][12];
	char *argv[3 + IDMAP_LINES * 3];
	unsigned k = 0;

	argv[k++] = (char *)(uintptr_t)path;
	(void)snprintf(numbers[0], sizeof(numbers[0]), "%d", (int)pid);
	argv[k++] = numbers[0];
	for (unsigned i = 0; i < n; i++) {
		const uint32_t v[3] = {line[i].inside, line[i].outside, line[i].count};

		for (unsigned j = 0; j < 3; j++) {
			(void)snprintf(numbers[k], sizeof(numbers[k]), "%u", v[j]);
			argv[k] = numbers[k];
			k++;
		}
	}
	argv[k] = NULL;
	return run_helper(path, argv, e);
}

static bool is_own_proc(void)
{
	char self[24] = "", own[24];

	(void)snprintf(own, sizeof(own), "%d", (int)getpid());
	return readlink("/proc/self", self, sizeof(self) - 1) > 0 && strcmp(self, own) == 0;
}

static int no_map(struct err *e)
{
	if (!is_own_proc()) {
		/* The errno is chance: it depends on who has that number there, if anybody. */
		e->kind = ERR_DENIED;
		(void)err_remedy(e, "/proc is that of another process namespace: mount one of its "
				    "own where pinfold runs, as unshare --mount-proc and bwrap "
				    "--proc /proc do");
	}
	return err_wrap(e, "user namespace");
}

int idmap_write(pid_t pid, const struct idmap *map, struct err *e)
{
	if (map->helper) {
		int r = helper_map("/usr/bin/newuidmap", pid, map->uid, map->n_uid, e);
		return r < 0 ? r : helper_map("/usr/bin/newgidmap", pid, map->gid, map->n_gid, e);
	}
	if (map->deny_setgroups && write_proc(pid, "setgroups", "deny", e) < 0)
		return no_map(e);
	if (write_map(pid, "uid_map", map->uid, map->n_uid, e) < 0 ||
	    write_map(pid, "gid_map", map->gid, map->n_gid, e) < 0)
		return no_map(e);
	return 0;
}

struct sub_line {
	char who[64];
	unsigned long first, count;
};

static bool next_line(FILE *f, struct sub_line *ret)
{
	char line[256];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]:%lu:%lu", ret->who, &ret->first, &ret->count) == 3)
			return true;
	return false;
}

int idmap_subordinate(const char *file, uid_t uid, const char *name, uint32_t count,
		      uint32_t *ret_first)
{
	FILE *f = fopen(file, "re");
	struct sub_line line;
	char number[16];
	int r = -ENOENT;

	if (!f)
		return -ENOENT;
	(void)snprintf(number, sizeof(number), "%u", (unsigned)uid);
	while (r < 0 && next_line(f, &line)) {
		bool mine = strcmp(line.who, number) == 0 || (name && strcmp(line.who, name) == 0);

		if (mine && line.count >= count) {
			*ret_first = (uint32_t)line.first;
			r = 0;
		}
	}
	(void)fclose(f); /* only read */
	return r;
}

bool idmap_taken(const char *file, uint32_t first, uint32_t count)
{
	FILE *f = fopen(file, "re");
	struct sub_line line;
	bool taken = false;

	if (!f)
		return false;
	while (!taken && next_line(f, &line))
		taken = line.first < (unsigned long)first + count &&
			(unsigned long)first < line.first + line.count;
	(void)fclose(f);
	return taken;
}
