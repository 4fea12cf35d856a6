/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

#define PROCESSES_MAX USAGE_PROCESSES_MAX

static size_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_max(fd, text, size - 1, &len) < 0)
		len = 0;
	text[len] = '\0';
	return len;
}

static void add_process(pid_t pid, struct usage *t)
{
	char text[1024];
	unsigned long resident = 0, user = 0, sys = 0, child_user = 0, child_sys = 0, threads = 1;

	/* The name in parentheses may hold anything; the numbers come after the last one. */
	if (!read_proc(pid, "stat", text, sizeof(text)))
		return;
	const char *p = strrchr(text, ')');
	if (p && sscanf(p + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu "
			"%*d %*d %lu",
			&user, &sys, &child_user, &child_sys, &threads) == 5)
		t->cpu_us += (user + sys + child_user + child_sys) * 10000; /* ticks of 1/100 s */
	if (read_proc(pid, "statm", text, sizeof(text)) && sscanf(text, "%*u %lu", &resident) == 1)
		t->memory += (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	t->pids += threads; /* a limit of processes is one of threads */
}

struct queue {
	pid_t pid[PROCESSES_MAX];
	unsigned head, tail;
};

/* Children belong to the thread that made them. */
static void add_children(struct queue *q, pid_t pid, const char *thread)
{
	char name[96], text[8192];

	(void)snprintf(name, sizeof(name), "task/%.20s/children", thread);
	if (!read_proc(pid, name, text, sizeof(text)))
		return;
	for (char *p = text, *end; q->tail < PROCESSES_MAX; p = end) {
		long child = strtol(p, &end, 10);

		if (end == p)
			break;
		q->pid[q->tail++] = (pid_t)child;
	}
}

/* Breadth first from the guest; orphans are adopted by it, so all are found. */
static void walk_tree(pid_t guest, struct queue *q)
{
	char path[64];
	struct dirent *d;

	q->pid[q->tail++] = guest;
	while (q->head < q->tail) {
		pid_t pid = q->pid[q->head++];

		(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
		DIR *threads = opendir(path);
		while (threads && (d = readdir(threads)))
			if (d->d_name[0] != '.')
				add_children(q, pid, d->d_name);
		if (threads)
			closedir(threads);
	}
}

unsigned usage_list(pid_t guest, pid_t ret[USAGE_PROCESSES_MAX])
{
	auto_free struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return 0;
	walk_tree(guest, q);
	memcpy(ret, q->pid + 1, (q->tail - 1) * sizeof(ret[0]));
	return q->tail - 1;
}

pid_t usage_parent(pid_t pid)
{
	char text[1024];
	int parent = 0;

	/* The name in parentheses may hold anything. */
	const char *p = read_proc(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return p && sscanf(p + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

bool usage_is_below(pid_t pid, pid_t guest)
{
	for (unsigned i = 0; i < PROCESSES_MAX && pid > 1 && pid != guest; i++)
		pid = usage_parent(pid);
	return pid == guest;
}

/* Resident pages count once for each process that maps them; where their sum is over the limit,
 * the kernel's own division of shared pages decides. */
static uint64_t proportional(const struct queue *q)
{
	uint64_t total = 0;

	for (unsigned i = 1; i < q->tail; i++) {
		char text[2048];
		unsigned long kb = 0;
		const char *p;

		if (read_proc(q->pid[i], "smaps_rollup", text, sizeof(text)) &&
		    (p = strstr(text, "\nPss:")) && sscanf(p, "\nPss: %lu", &kb) == 1)
			total += (uint64_t)kb << 10;
	}
	return total;
}

#define OPEN_MAX 256u /* different ones, together; of more the first count */

/* Of files that are open in the processes: those without a name, or those that are written to. */
struct open_files {
	struct {
		dev_t dev;
		ino_t ino;
	} seen[OPEN_MAX];
	unsigned n;
	uint64_t bytes;
	bool written;
};

static bool is_written(pid_t pid, const char *fd)
{
	char name[40], text[512];
	unsigned flags = 0;

	(void)snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
	const char *p = read_proc(pid, name, text, sizeof(text)) ? strstr(text, "flags:") : NULL;
	return p && sscanf(p, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

/* What is written to on an overlay lies in its upper directory. */
static bool counts(const struct open_files *all, const struct stat *st, int fds, pid_t pid,
		   const char *name)
{
	char path[64];
	struct statfs fs;

	if (!S_ISREG(st->st_mode) || (!all->written && st->st_nlink > 0))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%.20s", fds, name);
	if (statfs(path, &fs) < 0)
		return false;
	if (!all->written)
		return fs.f_type != TMPFS_MAGIC;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC && is_written(pid, name);
}

static void add_open(struct open_files *all, int fds, pid_t pid, const char *name)
{
	struct stat st;

	if (fstatat(fds, name, &st, 0) < 0 || !counts(all, &st, fds, pid, name))
		return;
	for (unsigned i = 0; i < all->n; i++)
		if (all->seen[i].dev == st.st_dev && all->seen[i].ino == st.st_ino)
			return;
	if (all->n == OPEN_MAX)
		return;
	all->seen[all->n].dev = st.st_dev;
	all->seen[all->n++].ino = st.st_ino;
	all->bytes += (uint64_t)st.st_blocks * 512;
}

static void add_open_of(struct open_files *all, pid_t pid)
{
	char path[64];
	const struct dirent *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *fds = opendir(path);
	while (fds && (d = readdir(fds)))
		if (d->d_name[0] != '.')
			add_open(all, dirfd(fds), pid, d->d_name); /* tidy: the kernel wrote it */
	if (fds)
		closedir(fds);
}

static uint64_t usage_of_open(pid_t guest, bool written)
{
	static __thread struct queue q;
	struct open_files all = {.written = written};

	q.head = q.tail = 0;
	walk_tree(guest, &q);
	for (unsigned i = 1; i < q.tail; i++) /* the guest has none */
		add_open_of(&all, q.pid[i]);
	return all.bytes;
}

uint64_t usage_of_nameless(pid_t guest)
{
	return usage_of_open(guest, false);
}

uint64_t usage_of_written(pid_t guest)
{
	return usage_of_open(guest, true);
}

/* The guest itself uses nothing worth counting, but inherits the time of orphans. */
void usage_of_tree(pid_t guest, uint64_t memory_max, struct usage *t)
{
	static __thread struct queue q;

	*t = (struct usage){0};
	q.head = q.tail = 0;
	walk_tree(guest, &q);
	for (unsigned i = 0; i < q.tail; i++)
		add_process(q.pid[i], t);
	t->pids -= t->pids > 0;
	if (t->memory > memory_max)
		t->memory = proportional(&q);
}
