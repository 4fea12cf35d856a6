/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole output that did not fit into the result, kept for a while as a file: artifacts/RUN/stdout
 * in the data directory. The directory's modification time is the moment when it may go; every
 * run with a result document removes those whose time has come.
 */
#include <pinfold/replay.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "kernel/remove.h"
#include "warden/place.h"

static bool is_over(const struct timespec *when, const struct timespec *now)
{
	return when->tv_sec < now->tv_sec ||
	       (when->tv_sec == now->tv_sec && when->tv_nsec <= now->tv_nsec);
}

static int named = FD_NONE; /* pinfold_replay_use() */

void pinfold_replay_use(int dir_fd)
{
	named = dir_fd;
}

/* `base` is taken. */
static void remove_expired(int base)
{
	struct dirent *d;
	struct stat st;
	DIR *all = base < 0 ? NULL : fdopendir(base);
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */

	while (all && (d = readdir(all))) {
		if (strncmp(d->d_name, "run", 3) != 0 ||
		    fstatat(dirfd(all), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !is_over(&st.st_mtim, &now))
			continue;
		(void)remove_tree_at(dirfd(all), d->d_name); /* tried again by the next */
	}
	if (all)
		(void)closedir(all);
	else
		fd_close(&base);
}

static void set_expiry(int dir, const char *name, uint64_t keep_ms)
{
	struct timespec when[2] = {{.tv_nsec = UTIME_OMIT}};

	(void)clock_gettime(CLOCK_REALTIME, &when[1]); /* cannot fail for this clock */
	when[1].tv_sec += (time_t)(keep_ms / 1000);
	when[1].tv_nsec += (long)(keep_ms % 1000) * 1000000;
	when[1].tv_sec += when[1].tv_nsec / 1000000000;
	when[1].tv_nsec %= 1000000000;
	(void)utimensat(dir, name, when, 0);
}

static int artifacts_dir(char *base, size_t size, struct err *e)
{
	if (place_data(base, size - 32, e) < 0)
		return -ENOENT;
	(void)strncat(base, "/artifacts", size - strlen(base) - 1);
	return 0;
}

void artifacts_sweep(void)
{
	char base[256];
	struct err e = ERR_INIT;

	if (artifacts_dir(base, sizeof(base), &e) == 0)
		remove_expired(open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (named >= 0)
		remove_expired(openat(named, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int run_dir(const struct pinfold_run *run, char *ret, size_t size, struct err *e)
{
	char base[256];

	if (artifacts_dir(base, sizeof(base), e) < 0 || place_make(base, e) < 0)
		return -ENOENT;
	(void)snprintf(ret, size, "%s/%s", base, run->id);
	return mkdir(ret, 0700) < 0 && errno != EEXIST ? err_sys(e, "%s", ret) : 0;
}

int artifact_create(const struct pinfold_run *run, const char *name, struct err *e)
{
	char dir[300], path[340];
	int r = run_dir(run, dir, sizeof(dir), e);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	set_expiry(AT_FDCWD, dir, run->req.keep_ms);
	return fd < 0 ? err_sys(e, "%s", path) : fd;
}

int artifact_open(const char *run, const char *name, struct err *e)
{
	char path[340];

	if (artifacts_dir(path, sizeof(path) - 64, e) < 0)
		return -ENOENT;
	size_t n = strlen(path);
	(void)snprintf(path + n, sizeof(path) - n, "/%s/%s", run, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? err_sys(e, "%s", path) : fd;
}

int artifact_for_replay(const struct pinfold_run *run, struct err *e)
{
	if (named < 0)
		return artifact_create(run, "replay", e);
	if (mkdirat(named, run->id, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "%s", run->id);
	auto_close int dir =
		openat(named, run->id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int fd = dir < 0 ? FD_NONE
			 : openat(dir, "replay", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	set_expiry(named, run->id, run->req.keep_ms);
	return fd < 0 ? err_sys(e, "%s", run->id) : fd;
}

/* Below a directory of somebody who is less than we are: no link is followed. */
static int open_foreign(const char *run, struct err *e)
{
	char path[340];
	struct stat st;

	if (place_data(path, sizeof(path) - 64, e) < 0)
		return -ENOENT;
	(void)strncat(path, "/api/artifacts", sizeof(path) - strlen(path) - 1);
	auto_close int base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int dir =
		base < 0 ? FD_NONE
			 : openat(base, run, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int fd =
		dir < 0 ? FD_NONE
			: openat(dir, "replay", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "%s", run);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_INTERNAL, "%s: what is kept of it is damaged", run);
	return take_fd(&fd);
}

int artifact_of_replay(const char *run, bool *ret_foreign, struct err *e)
{
	int fd = artifact_open(run, "replay", e);

	*ret_foreign = false;
	if (fd != -ENOENT)
		return fd;
	*e = (struct err)ERR_INIT;
	*ret_foreign = true;
	return open_foreign(run, e);
}

void run_start_artifact(struct pinfold_run *run, int stream)
{
	char dir[300];
	struct err e = ERR_INIT;

	/* Said once, whether it works or not: a result without its artifact is still a result. */
	(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "-");
	if (run_dir(run, dir, sizeof(dir), &e) < 0)
		return;
	(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "%s/%s", dir,
		       stream == 0 ? "stdout" : "stderr");
	int fd = artifact_create(run, stream == 0 ? "stdout" : "stderr", &e);
	if (fd >= 0)
		capture_start_artifact(&run->capture[stream], fd);
	else
		(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "-");
}
