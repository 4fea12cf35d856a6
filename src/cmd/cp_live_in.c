/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/cp_live.h"

#define DEPTH_MAX 200

struct in {
	struct pinfold_files *files;
	char path[4096]; /* inside */
	struct err e;
	struct pinfold_error *error;
	bool ours; /* `e` says what is wrong */
	unsigned skipped;
};

static int fail(struct in *in, int num)
{
	errno = num;
	(void)err_sys(&in->e, "%.200s", in->path);
	in->ours = true;
	return -1;
}

static int put_file(struct in *in, int fd, uint32_t mode)
{
	struct pinfold_file_writer *w;

	if (pinfold_file_write(in->files, in->path, 0, mode & 0777 ? mode & 0777 : 0600, &w,
			       in->error) < 0)
		return -1;
	int r = cp_bytes(fd, pinfold_file_writer_fd(w));
	if (r == 0)
		return pinfold_file_commit(w, in->error);
	pinfold_file_abort(w);
	if (r == -ENOSPC || r == -EDQUOT) {
		(void)err_set(&in->e, ERR_LIMIT, "%.200s: the sandbox's disk is full", in->path);
		(void)err_detail(&in->e, "disk");
		(void)err_remedy(&in->e, "remove files in it, or make one with a larger --disk");
		in->ours = true;
		return -1;
	}
	return fail(in, -r);
}

static int put_link(struct in *in, int dir, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return fail(in, errno);
	target[n] = '\0';
	if (pinfold_file_symlink(in->files, target, in->path, in->error) == 0)
		return 0;
	if (strcmp(in->error->code, "conflict.exists") != 0 ||
	    pinfold_file_remove(in->files, in->path, 0, in->error) < 0)
		return -1;
	return pinfold_file_symlink(in->files, target, in->path, in->error);
}

static int put(struct in *in, int dir, const char *name, unsigned depth);

static int put_all(struct in *in, int fd, unsigned depth)
{
	DIR *all = fdopendir(fd);
	size_t len = strlen(in->path);
	struct dirent *d;
	int r = 0;

	if (!all) {
		close(fd);
		return fail(in, ENOMEM);
	}
	while (r == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		size_t n = strlen(d->d_name);
		if (len + 1 + n >= sizeof(in->path)) {
			r = fail(in, ENAMETOOLONG);
			break;
		}
		in->path[len] = '/';
		memcpy(in->path + len + 1, d->d_name, n + 1);
		r = put(in, dirfd(all), d->d_name, depth + 1);
		if (r == 0)
			in->path[len] = '\0';
	}
	closedir(all);
	return r;
}

/* Whatever it is in the caller's own tree; he is believed, and no link is followed. */
static int put(struct in *in, int dir, const char *name, unsigned depth)
{
	struct stat st;

	if (depth > DEPTH_MAX)
		return fail(in, ELOOP);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(in, errno);
	if (S_ISLNK(st.st_mode))
		return put_link(in, dir, name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		in->skipped++;
		return 0;
	}
	int fd = openat(dir, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
				(S_ISDIR(st.st_mode) ? O_DIRECTORY : 0));
	if (fd < 0)
		return fail(in, errno);
	if (S_ISREG(st.st_mode)) {
		int r = put_file(in, fd, st.st_mode);

		close(fd);
		return r;
	}
	if (pinfold_file_mkdir(in->files, in->path, (st.st_mode & 0777) | 0700, 1, in->error) < 0) {
		close(fd);
		return -1;
	}
	return put_all(in, fd, depth);
}

int cp_live_in(struct pinfold_files *files, const char *from, const char *to,
	       struct pinfold_error *ret_error)
{
	struct in in = {.files = files, .error = ret_error, .e = ERR_INIT};
	struct pinfold_file_info info;
	char source[4096];
	size_t n = strlen(from);
	bool into = pinfold_file_stat(files, *to ? to : ".", 0, &info, ret_error) == 0 &&
		    strcmp(info.type, "directory") == 0;

	while (n > 1 && from[n - 1] == '/')
		n--;
	(void)snprintf(source, sizeof(source), "%.*s", (int)n, from);
	const char *last = cp_last_name(source);
	if (into && (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0))
		n = (size_t)snprintf(in.path, sizeof(in.path), "%s", *to ? to : ".");
	else
		n = (size_t)snprintf(in.path, sizeof(in.path), "%s%s%s", *to ? to : ".",
				     into ? "/" : "", into ? last : "");
	int r = n < sizeof(in.path) ? put(&in, AT_FDCWD, source, 0) : fail(&in, ENAMETOOLONG);
	if (in.ours)
		return cp_failed(&in.e, ret_error);
	if (in.skipped)
		fprintf(stderr, "pinfold: %u FIFOs, sockets or devices were left out\n",
			in.skipped);
	return r;
}
