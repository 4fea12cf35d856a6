/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole output that did not fit into the result, kept for a while as a file: artifacts/RUN/stdout
 * in the data directory. The directory's modification time is the moment when it may go; every
 * run with a result document removes those whose time has come.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "kernel/remove.h"
#include "warden/place.h"

static bool is_over(const struct timespec *when, const struct timespec *now)
{
	return when->tv_sec < now->tv_sec ||
	       (when->tv_sec == now->tv_sec && when->tv_nsec <= now->tv_nsec);
}

static void remove_expired(const char *base)
{
	char path[512];
	struct dirent *d;
	struct stat st;
	DIR *all = opendir(base);
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */

	while (all && (d = readdir(all))) {
		if (strncmp(d->d_name, "run", 3) != 0 ||
		    fstatat(dirfd(all), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !is_over(&st.st_mtim, &now))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", base, d->d_name) < (int)sizeof(path))
			(void)remove_tree(path); /* tried again by the next */
	}
	if (all)
		closedir(all);
}

static void set_expiry(const char *dir, uint64_t keep_ms)
{
	struct timespec when[2] = {{.tv_nsec = UTIME_OMIT}};

	(void)clock_gettime(CLOCK_REALTIME, &when[1]); /* cannot fail for this clock */
	when[1].tv_sec += (time_t)(keep_ms / 1000);
	when[1].tv_nsec += (long)(keep_ms % 1000) * 1000000;
	when[1].tv_sec += when[1].tv_nsec / 1000000000;
	when[1].tv_nsec %= 1000000000;
	(void)utimensat(AT_FDCWD, dir, when, 0);
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
		remove_expired(base);
}

void run_start_artifact(struct pinfold_run *run, int stream)
{
	char base[256], dir[300];
	struct err e = ERR_INIT;

	/* Said once, whether it works or not: a result without its artifact is still a result. */
	(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "-");
	if (artifacts_dir(base, sizeof(base), &e) < 0 || place_make(base, &e) < 0)
		return;
	(void)snprintf(dir, sizeof(dir), "%s/%s", base, run->id);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return;
	(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "%s/%s", dir,
		       stream == 0 ? "stdout" : "stderr");
	int fd = open(run->artifact[stream], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	set_expiry(dir, run->req.keep_ms);
	if (fd >= 0)
		capture_start_artifact(&run->capture[stream], fd);
	else
		(void)snprintf(run->artifact[stream], sizeof(run->artifact[stream]), "-");
}
