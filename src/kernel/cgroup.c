/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, making and removing groups; what both generations share. */
#include "kernel/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/fd.h"
#include "base/sys.h"

#define MOUNT "/sys/fs/cgroup"
#define PATIENCE_MS 1000

static const char *const v1_names[CGROUP_PARTS] = {
	[CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPU] = "cpu", [CG_CPUACCT] = "cpuacct"};

static bool is_magic(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (long)fs.f_type == magic;
}

static int read_text(const char *path, char *text, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	int r = fd_read_max(fd, text, size - 1, &len);
	text[len] = '\0';
	return r;
}

/* The part of /proc/self/cgroup behind "N:controllers:" for one controller ("" for v2). */
static bool own_path(const char *table, const char *controller, char *ret, size_t size)
{
	size_t want = strlen(controller);

	for (const char *line = table; *line; line = strchrnul(line, '\n') + 1) {
		const char *list = strchr(line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			return false;
		for (const char *p = list + 1; p <= path; p += strcspn(p, ",:") + 1) {
			size_t n = strcspn(p, ",:");

			if (n == want && strncmp(p, controller, n) == 0) {
				int len = (int)strcspn(path + 1, "\n");
				return snprintf(ret, size, "%.*s", len, path + 1) < (int)size;
			}
			if (p + n >= path)
				break;
		}
		if (!*strchrnul(line, '\n'))
			return false;
	}
	return false;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += n)
		if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || !p[n]))
			return true;
	return false;
}

static bool controllers_on(const char *dir)
{
	char path[CGROUP_PATH_MAX + 32], text[256];

	(void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	return read_text(path, text, sizeof(text)) == 0 && has_word(text, "memory") &&
	       has_word(text, "pids") && has_word(text, "cpu");
}

/* Groups below `dir` need the controllers handed down to them. */
static bool hand_down(const char *dir)
{
	struct err e;

	return controllers_on(dir) ||
	       cgroup_put_text(dir, "cgroup.subtree_control", "+memory +pids +cpu", &e) == 0;
}

/* To make a group in `dir` and to start a process of ours there. */
static bool is_ours(const char *dir)
{
	char path[CGROUP_PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	return access(dir, W_OK) == 0 && access(path, W_OK) == 0;
}

/* From a group to the one around it. Not to a slice: those are systemd's, whoever owns them. */
static bool leave_group(char *path)
{
	static const char slice[] = ".slice";
	char *last = strrchr(path, '/');

	if (!last)
		return false;
	*last = '\0';
	size_t n = strlen(path), tail = sizeof(slice) - 1;
	return n < tail || strcmp(path + n - tail, slice) != 0;
}

/* As in a container that was not given them to write to. */
static void explain_read_only(struct cgroup_host *host)
{
	(void)snprintf(host->why, sizeof(host->why),
		       "the control groups of " MOUNT " are mounted read-only");
	host->remedy = "in a container, give it them to write to (docker run --privileged), or run "
		       "it outside";
}

/* v2 allows controllers only below groups that have no processes. So root makes its groups at the
 * top; a user in a group around his own that was delegated to him, with him in a leaf of it. */
static void detect_v2(struct cgroup_host *host, const char *table)
{
	char own[CGROUP_PATH_MAX / 2], *dir = host->part[CG_UNIFIED];

	if (geteuid() == 0)
		own[0] = '\0';
	else if (!own_path(table, "", own, sizeof(own)))
		return;
	if (strcmp(own, "/") == 0)
		own[0] = '\0';
	do {
		(void)snprintf(dir, CGROUP_PATH_MAX, MOUNT "%s", own);
		if (is_ours(dir) && hand_down(dir)) {
			host->ops = &cgroup_v2_ops;
			return;
		}
	} while (leave_group(own));
	dir[0] = '\0';
	if (access(MOUNT, W_OK) < 0 && errno == EROFS) {
		explain_read_only(host);
		return;
	}
	if (geteuid() == 0) {
		(void)snprintf(host->why, sizeof(host->why),
			       MOUNT " does not hand memory, pids and cpu down");
		host->remedy = "in a container, first move its processes to a group below the top, "
			       "or run it outside";
		return;
	}
	(void)snprintf(host->why, sizeof(host->why),
		       "no control group with memory, pids and cpu is delegated to this user");
	host->remedy = "run it where systemd manages this user (XDG_RUNTIME_DIR is set; loginctl "
		       "enable-linger), from a leaf of a group delegated to the user, or as root";
}

static void detect_v1(struct cgroup_host *host, const char *table)
{
	char own[CGROUP_PATH_MAX / 2], mount[64];
	int error = 0;

	for (int i = CG_MEMORY; i < CGROUP_PARTS; i++) {
		(void)snprintf(mount, sizeof(mount), MOUNT "/%s", v1_names[i]);
		if (!is_magic(mount, CGROUP_SUPER_MAGIC) ||
		    !own_path(table, v1_names[i], own, sizeof(own)))
			continue;
		(void)snprintf(host->part[i], CGROUP_PATH_MAX, "%s%s", mount,
			       strcmp(own, "/") == 0 ? "" : own);
		if (access(host->part[i], W_OK) < 0) {
			error = errno;
			host->part[i][0] = '\0';
		}
	}
	if (is_magic(MOUNT "/unified", CGROUP2_SUPER_MAGIC) && access(MOUNT "/unified", W_OK) == 0)
		(void)snprintf(host->part[CG_UNIFIED], CGROUP_PATH_MAX, MOUNT "/unified");
	if (host->part[CG_MEMORY][0] && host->part[CG_PIDS][0] && host->part[CG_CPU][0]) {
		host->ops = &cgroup_v1_ops;
		return;
	}
	memset(host->part, 0, sizeof(host->part));
	if (error == EROFS) {
		explain_read_only(host);
	} else if (error && geteuid() != 0) {
		(void)snprintf(host->why, sizeof(host->why),
			       "the control groups of %s belong to root", MOUNT);
		host->remedy = "run it as root, or on a host with cgroup v2 alone and systemd";
	} else {
		(void)snprintf(host->why, sizeof(host->why),
			       "not all control groups of memory, pids and cpu are mounted on %s",
			       MOUNT);
		host->remedy = "mount -t cgroup2 cgroup2 " MOUNT ", or each of the three below it";
	}
}

void cgroup_become_leaf(void)
{
	char table[4096], own[CGROUP_PATH_MAX / 2], dir[CGROUP_PATH_MAX];
	struct err ignored;

	if (geteuid() == 0 || !is_magic(MOUNT, CGROUP2_SUPER_MAGIC) ||
	    read_text("/proc/self/cgroup", table, sizeof(table)) < 0 ||
	    !own_path(table, "", own, sizeof(own)))
		return;
	(void)snprintf(dir, sizeof(dir), MOUNT "%s", own);
	if (!is_ours(dir) || strlen(dir) + sizeof(CGROUP_LEAF) + 1 >= sizeof(dir))
		return;
	(void)snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/" CGROUP_LEAF);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return;
	(void)cgroup_put_text(dir, "cgroup.procs", "0", &ignored); /* cgroup_detect() tells */
}

void cgroup_detect(struct cgroup_host *host)
{
	char table[4096];

	memset(host, 0, sizeof(*host));
	(void)snprintf(host->why, sizeof(host->why), "no control groups are mounted on %s", MOUNT);
	host->remedy = "mount -t cgroup2 cgroup2 " MOUNT;
	if (read_text("/proc/self/cgroup", table, sizeof(table)) < 0)
		return;
	if (is_magic(MOUNT, CGROUP2_SUPER_MAGIC))
		detect_v2(host, table);
	else
		detect_v1(host, table);
}

void cgroup_name(const struct cgroup_host *host, const char *id, const struct cgroup_limits *limits,
		 struct cgroup *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->ops = host->ops;
	(void)snprintf(ret->name, sizeof(ret->name), CGROUP_PREFIX "%s", id);
	for (int i = 0; i < CGROUP_PARTS && host->ops; i++) {
		if (i == CG_CPUACCT && !limits->account_cpu)
			continue;
		if (host->part[i][0])
			(void)snprintf(ret->part[i], CGROUP_PATH_MAX, "%.400s/%s", host->part[i],
				       ret->name);
	}
}

int cgroup_make_unified(const struct cgroup *cg, int *ret_fd, struct err *e)
{
	const char *path = cg->part[CG_UNIFIED];

	if (!path[0])
		return 0;
	if (mkdir(path, 0755) < 0)
		return err_sys(e, "make control group %s", path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open control group %s", path);
	*ret_fd = fd;
	return 0;
}

int cgroup_make(const struct cgroup *cg, const struct cgroup_limits *limits,
		int ret_tasks[CGROUP_PARTS], struct err *e)
{
	char path[CGROUP_PATH_MAX + 64];
	unsigned n = 0;

	for (int i = 0; i < CGROUP_PARTS; i++)
		ret_tasks[i] = FD_NONE;
	for (int i = CG_MEMORY; i < CGROUP_PARTS; i++) {
		if (!cg->part[i][0])
			continue;
		if (mkdir(cg->part[i], 0755) < 0)
			return err_sys(e, "make control group %s", cg->part[i]);
		(void)snprintf(path, sizeof(path), "%s/tasks", cg->part[i]);
		ret_tasks[n] = open(path, O_WRONLY | O_CLOEXEC);
		if (ret_tasks[n++] < 0)
			return err_sys(e, "open %s", path);
	}
	return cg->ops->limit(cg, limits, e);
}

int cgroup_doors(const struct cgroup *cg, int ret_fds[CGROUP_PARTS + 1], struct err *e)
{
	char path[CGROUP_PATH_MAX + 64];
	unsigned n = 1;

	for (int i = 0; i <= CGROUP_PARTS; i++)
		ret_fds[i] = FD_NONE;
	if (!cg->ops)
		return 0;
	if (cg->part[CG_UNIFIED][0])
		ret_fds[0] = open(cg->part[CG_UNIFIED], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cg->part[CG_UNIFIED][0] && ret_fds[0] < 0)
		return err_sys(e, "open control group %s", cg->part[CG_UNIFIED]);
	for (int i = CG_MEMORY; i < CGROUP_PARTS; i++) {
		if (!cg->part[i][0])
			continue;
		(void)snprintf(path, sizeof(path), "%s/tasks", cg->part[i]);
		ret_fds[n] = open(path, O_WRONLY | O_CLOEXEC);
		if (ret_fds[n++] < 0)
			return err_sys(e, "open %s", path);
	}
	return 0;
}

int cgroup_put_text(const char *dir, const char *file, const char *value, struct err *e)
{
	char path[CGROUP_PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	ssize_t n;
	do /* memory limits of v1 are not set while a signal is pending */
		n = write(fd, value, strlen(value));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "write \"%s\" to %s", value, path);
	return 0;
}

int cgroup_put(const char *dir, const char *file, uint64_t value, struct err *e)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cgroup_put_text(dir, file, text, e);
}

/* What the kernel wrote: digits, then anything. "max" is 0, as good as not there. */
static uint64_t leading_number(const char *p)
{
	uint64_t v = 0;

	while (*p == ' ')
		p++;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

uint64_t cgroup_get(const char *dir, const char *file, const char *key)
{
	char path[CGROUP_PATH_MAX + 64], text[4096];
	const char *p = text;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (!dir[0] || read_text(path, text, sizeof(text)) < 0)
		return 0;
	if (key) {
		size_t n = strlen(key);

		for (p = text; *p && !(strncmp(p, key, n) == 0 && p[n] == ' ');) {
			p = strchrnul(p, '\n');
			p += *p == '\n';
		}
		if (!*p)
			return 0;
		p += n;
	}
	return leading_number(p);
}

/* On v1, too, the group of v2 beside the others counts CPU time, whatever controllers it has. */
uint64_t cgroup_cpu_us(const struct cgroup *cg)
{
	if (cg->part[CG_UNIFIED][0])
		return cgroup_get(cg->part[CG_UNIFIED], "cpu.stat", "usage_usec");
	return cgroup_get(cg->part[CG_CPUACCT], "cpuacct.usage", NULL) / 1000;
}

void cgroup_now(const struct cgroup *cg, struct cgroup_now *ret)
{
	const char *pids = cg->part[cg->part[CG_PIDS][0] ? CG_PIDS : CG_UNIFIED];

	*ret = (struct cgroup_now){
		.memory_bytes = cg->ops->memory(cg),
		.pids = cgroup_get(pids, "pids.current", NULL),
		.cpu_us = cgroup_cpu_us(cg),
	};
}

void cgroup_kill(const struct cgroup *cg)
{
	struct err e;

	if (cg->part[CG_UNIFIED][0])
		(void)cgroup_put_text(cg->part[CG_UNIFIED], "cgroup.kill", "1", &e);
}

int cgroup_freeze(const struct cgroup *cg, bool freeze)
{
	struct err e = ERR_INIT;

	if (!cg->ops || !cg->part[CG_UNIFIED][0])
		return -EOPNOTSUPP;
	return cgroup_put_text(cg->part[CG_UNIFIED], "cgroup.freeze", freeze ? "1" : "0", &e);
}

int cgroup_await_frozen(const struct cgroup *cg, int timeout_ms)
{
	char path[CGROUP_PATH_MAX + 20], text[256];

	(void)snprintf(path, sizeof(path), "%s/cgroup.events", cg->part[CG_UNIFIED]);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct pollfd changed = {.fd = fd, .events = POLLPRI};
	for (int i = 0; fd >= 0 && i < 2 + timeout_ms / 100; i++) {
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, "frozen 1"))
			return 0;
		(void)poll(&changed, 1, 100); /* the file tells when it changes */
	}
	return fd < 0 ? -errno : -ETIMEDOUT;
}

/* Held by descriptor before it is looked for once more: the number may be another's by now. */
static void kill_member(const char *file, pid_t pid)
{
	char text[4096], want[16];
	auto_close int fd = (int)sys2(SYS_pidfd_open, pid, 0);

	(void)snprintf(want, sizeof(want), "%d\n", (int)pid);
	if (fd < 0 || read_text(file, text, sizeof(text)) < 0)
		return;
	for (const char *p = text; (p = strstr(p, want)); p++)
		if (p == text || p[-1] == '\n') {
			(void)sys4(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
			return;
		}
}

/* What a group of v1 still holds, one by one; for those that a dead run left behind. */
static void kill_members(const char *path)
{
	char file[CGROUP_PATH_MAX + 64], text[4096];
	struct err e;

	if (cgroup_put_text(path, "cgroup.kill", "1", &e) == 0)
		return;
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	if (read_text(file, text, sizeof(text)) < 0)
		return;
	for (char *p = text; *p; p = strchrnul(p, '\n') + (*strchrnul(p, '\n') == '\n')) {
		pid_t pid = (pid_t)leading_number(p);

		if (pid > 1)
			kill_member(file, pid);
	}
}

int cgroup_remove_path(const char *path, int patience_ms)
{
	struct timespec pause = {.tv_nsec = 200000};

	for (int i = 0; i <= 5 * patience_ms; i++) {
		if (rmdir(path) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -errno;
		if (i % 100 == 1)
			kill_members(path);
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int cgroup_remove(const struct cgroup *cg)
{
	int worst = 0;

	if (cg->adopted)
		return 0;
	for (int i = 0; i < CGROUP_PARTS; i++) {
		int r = cg->part[i][0] ? cgroup_remove_path(cg->part[i], PATIENCE_MS) : 0;

		worst = r < 0 ? r : worst;
	}
	return worst;
}
