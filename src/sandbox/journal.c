/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "sandbox/scope.h"

#define ENTRY_MAX 8192
#define SWEEP_PATIENCE_MS 20 /* what hangs is left for the next, who must not wait for it either */

/* Slots whose entry is this process's own. A sweep passes them by: to open each of a thousand and
 * find it locked is all that an idle daemon would do. */
static uint64_t held[(JOURNAL_SLOTS + 63) / 64];

static void set_held(unsigned slot, bool on)
{
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (on)
		(void)__atomic_fetch_or(&held[slot / 64], bit, __ATOMIC_RELAXED);
	else
		(void)__atomic_fetch_and(&held[slot / 64], ~bit, __ATOMIC_RELAXED);
}

static bool is_held(const char *name)
{
	unsigned slot = 0;

	for (; *name >= '0' && *name <= '9' && slot < JOURNAL_SLOTS; name++)
		slot = slot * 10 + (unsigned)(*name - '0');
	return !*name && slot < JOURNAL_SLOTS &&
	       (__atomic_load_n(&held[slot / 64], __ATOMIC_RELAXED) >> slot % 64 & 1);
}

static int make_dir(const char *path, struct err *e)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_sys(e, "make %s", path);
}

int journal_open(const char *runtime_dir, struct journal *ret, struct err *e)
{
	char path[512];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/live", runtime_dir);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		if (make_dir(runtime_dir, e) < 0 || make_dir(path, e) < 0)
			return err_wrap(e, "journal"),
			       err_remedy(e, "pinfold keeps account there of what it makes: let it "
					     "be written to, by a tmpfs on it where the system is "
					     "read-only (docker run --tmpfs /run)");
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return err_sys(e, "open %s", path);
	/* What is read here decides what we remove. */
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		(void)err_set(e, ERR_DENIED, "%s is not a private directory of this user", path);
		return err_remedy(e, "see whose it is; remove it, or chmod 0700 it if it is yours");
	}
	ret->dir = fd;
	return 0;
}

/* The entry appears with its content and its lock at once: linked into place when it is ready. */
int journal_begin(struct journal *j, const char *lines, struct err *e)
{
	char name[16], self[32];
	struct timespec now;
	auto_close int fd = openat(j->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "journal");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock journal");
	int r = fd_write_all(fd, lines, strlen(lines));
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write journal");
	}
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	unsigned first = (unsigned)(now.tv_nsec / 64 + getpid()) % JOURNAL_SLOTS;
	for (unsigned i = 0; i < JOURNAL_SLOTS; i++) {
		unsigned slot = (first + i) % JOURNAL_SLOTS;

		(void)snprintf(name, sizeof(name), "%u", slot);
		if (linkat(AT_FDCWD, self, j->dir, name, AT_SYMLINK_FOLLOW) == 0) {
			j->slot = slot;
			j->file = take_fd(&fd);
			set_held(slot, true);
			return 0;
		}
		if (errno != EEXIST)
			return err_sys(e, "journal entry %s", name);
	}
	(void)err_set(e, ERR_LIMIT, "%u sandboxes are alive at once: no range of ids is left",
		      JOURNAL_SLOTS);
	return err_remedy(e, "wait until some have ended, or end some: pinfold ps, pinfold kill");
}

/* Its lock goes with it; what is still written there is for a sweep, ours included. */
static void release(struct journal *j)
{
	if (j->file >= 0)
		set_held(j->slot, false);
	fd_close(&j->file);
}

void journal_end(struct journal *j)
{
	char name[16];

	if (j->file < 0)
		return;
	(void)snprintf(name, sizeof(name), "%u", j->slot);
	(void)unlinkat(j->dir, name, 0); /* left over, it is swept later and names nothing */
	release(j);
}

void journal_close(struct journal *j)
{
	release(j);
	fd_close(&j->dir);
}

static int undo_line(const char *line)
{
	if (strncmp(line, "cgroup ", 7) == 0)
		return cgroup_remove_path(line + 7, SWEEP_PATIENCE_MS);
	if (strncmp(line, "dir ", 4) == 0)
		return remove_tree(line + 4);
	if (strncmp(line, "scope ", 6) == 0)
		return scope_stop(line + 6);
	return 0;
}

/* Remove what one dead run left; 1 when all of it is gone. */
static int undo_entry(int fd)
{
	char text[ENTRY_MAX];
	size_t len = 0;
	int done = 1;

	if (fd_read_max(fd, text, sizeof(text) - 1, &len) < 0)
		return 0;
	text[len] = '\0';
	for (char *line = text; *line;) {
		char *end = strchrnul(line, '\n');
		bool last = !*end;

		*end = '\0';
		if (undo_line(line) < 0)
			done = 0;
		line = last ? end : end + 1;
	}
	return done;
}

/* Locked: alive, or another sweeper has it. */
static unsigned sweep_entry(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	/* Between our open and our lock another sweeper may have finished with it. */
	if (fstat(fd, &st) < 0 || st.st_nlink == 0 || !undo_entry(fd))
		return 0;
	(void)unlinkat(dir, name, 0);
	return 1;
}

unsigned journal_sweep(const struct journal *j)
{
#ifdef DROP_JOURNAL
	return j->slot & 0;
#endif
	unsigned swept = 0;
	struct dirent *d;
	int fd = openat(j->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);

	if (!all) {
		fd_close(&fd);
		return 0;
	}
	while ((d = readdir(all)))
		if (d->d_name[0] != '.' && !is_held(d->d_name))
			swept += sweep_entry(dirfd(all), d->d_name);
	closedir(all);
	return swept;
}
