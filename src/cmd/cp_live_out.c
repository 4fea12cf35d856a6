/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/cp_live.h"
#include "cmd/say.h"

#define TEMP ".pinfold-cp" /* what a file is called until it is whole */

struct out {
	struct pinfold_files *files;
	int dir;	       /* of the host, where all goes */
	char name[4096 + 256]; /* the path there, as far as it is known */
	size_t name_len;
	size_t from_len; /* of the path inside that `name` stands for */
	struct err e;
	struct pinfold_error *error; /* the library's, when it was that */
	int failed;		     /* 1: `e`, 2: *error */
	unsigned skipped;
};

/* The directory that a path of the host is in: below `dir`, and through no link. */
static int open_parent(struct out *o, const char **ret_name)
{
	char way[sizeof(o->name)];
	const char *name = cp_last_name(o->name);
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	(void)snprintf(way, sizeof(way), "./%.*s", (int)(name - o->name), o->name);
	*ret_name = name;
	return (int)syscall(SYS_openat2, o->dir, way, &how, sizeof(how));
}

static int fail(struct out *o)
{
	(void)err_sys(&o->e, "%.200s", o->name);
	o->failed = 1;
	return 1;
}

/* In one step, in the place of whatever is no directory. */
static int put_in_place(struct out *o, int parent, const char *name)
{
	if (renameat(parent, TEMP, parent, name) == 0)
		return 0;
	(void)fail(o);
	(void)unlinkat(parent, TEMP, 0);
	return 1;
}

static int put_file(struct out *o, int parent, const char *name, const char *path)
{
	auto_close int from = FD_NONE;
	struct pinfold_file_info info;

	if (pinfold_file_open(o->files, path, &from, &info, o->error) < 0) {
		o->failed = 2;
		return 1;
	}
	(void)unlinkat(parent, TEMP, 0); /* of one that was killed */
	auto_close int to = openat(parent, TEMP, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = to < 0 ? -errno : cp_bytes(from, to);
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = info.mtime_ns / 1000000000, .tv_nsec = info.mtime_ns % 1000000000},
	};
	if (r == 0 && (fchmod(to, info.mode & 0777) < 0))
		r = -errno;
	if (r == 0)
		(void)futimens(to, times); /* one before 1970 is not worth an error */
	if (r == 0)
		return put_in_place(o, parent, name);
	errno = -r;
	(void)fail(o);
	(void)unlinkat(parent, TEMP, 0);
	return 1;
}

static int put(struct out *o, const char *path, const struct pinfold_file_info *info)
{
	const char *name;
	auto_close int parent = open_parent(o, &name);

	if (parent < 0)
		return fail(o);
	if (strcmp(info->type, "directory") == 0) {
		struct stat st;

		if (mkdirat(parent, name, (info->mode & 0777) | 0700) == 0 ||
		    (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)))
			return 0;
		errno = EEXIST;
		return fail(o);
	}
	if (strcmp(info->type, "file") == 0)
		return put_file(o, parent, name, path);
	if (strcmp(info->type, "symlink") == 0) {
		(void)unlinkat(parent, TEMP, 0);
		return symlinkat(info->target, parent, TEMP) < 0 ? fail(o)
								 : put_in_place(o, parent, name);
	}
	o->skipped++;
	return 0;
}

static int each(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct out *o = arg;

	(void)snprintf(o->name + o->name_len, sizeof(o->name) - o->name_len, "%s",
		       path + o->from_len);
	return put(o, path, info);
}

/* The directory that all goes to, and the first name there. */
static int open_target(struct out *o, const char *to, const char *from)
{
	size_t n = strlen(to);

	o->dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->dir >= 0) {
		const char *last = cp_last_name(from);
		bool named = *last && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;

		o->name_len = (size_t)snprintf(o->name, 256, "%s", named ? last : "root");
		return 0;
	}
	while (n > 1 && to[n - 1] == '/')
		n--;
	char way[4096];
	(void)snprintf(way, sizeof(way), "%.*s", (int)n, to);
	o->name_len = (size_t)snprintf(o->name, 256, "%s", cp_last_name(way));
	size_t dir_len = (size_t)(cp_last_name(way) - way);
	way[dir_len] = '\0';
	o->dir = open(dir_len ? way : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return o->dir < 0 || !o->name_len ? err_sys(&o->e, "%.200s", to) : 0;
}

/* Names are told as they are found, so the bytes come by a channel of their own. */
static int copy_tree(struct out *o, const char *id, const char *from)
{
	struct pinfold_files *list = NULL;
	int r = pinfold_files_open(id, &list, o->error);

	if (r == 0)
		r = pinfold_file_list(list, from, 0, 0, each, o, o->error);
	pinfold_files_close(list);
	return r;
}

int cp_live_out(const char *id, struct pinfold_files *files, const char *from, const char *to,
		struct pinfold_error *ret_error)
{
	char path[4096];
	struct out o = {.files = files, .dir = FD_NONE, .error = ret_error, .e = ERR_INIT};
	struct pinfold_file_info info;
	size_t n = (size_t)snprintf(path, sizeof(path), "%s%s", *from == '/' ? "" : "/home/user/",
				    from);

	if (n >= sizeof(path))
		n = sizeof(path) - 1; /* the library says that it is too long */
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	if (pinfold_file_stat(files, path, PINFOLD_FILE_NOFOLLOW, &info, ret_error) < 0)
		return -1;
	if (open_target(&o, to, path) < 0)
		return cp_failed(&o.e, ret_error);
	o.from_len = n > 1 ? n : 0;
	int r = put(&o, path, &info);
	if (r == 0 && strcmp(info.type, "directory") == 0)
		r = copy_tree(&o, id, path);
	fd_close(&o.dir);
	if (o.failed == 1)
		return cp_failed(&o.e, ret_error);
	if (o.skipped)
		fprintf(stderr, "pinfold: %u FIFOs, sockets or devices were left out\n", o.skipped);
	return r == 0 && !o.failed ? 0 : -1;
}
