/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot while a command is running: its processes are stopped, what they have changed is copied,
 * they go on. It equals one instant. By their control group, where they have one, and the command
 * notices nothing but time; else by signals (warden/still.h).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/workspace_int.h"
#include "kernel/cgroup.h"
#include "store/merge.h"
#include "tree/answer.h"
#include "warden/still.h"
#include "warden/usage.h"

#define FREEZE_MS 10000
#define MOUNTS_MAX (256u << 10)

/* How they are held. */
struct hold {
	struct cgroup cg;
	struct still *still;
};

static bool by_group(const struct merge *m, struct cgroup *cg)
{
	struct cgroup_limits limits = {.pids = 1, .memory_bytes = 1, .cpus_milli = 1};
	struct cgroup_host host = {0};

	cgroup_detect(&host);
	if (host.ops)
		cgroup_name(&host, m->sandbox, &limits, cg);
	if (host.ops && cgroup_freeze(cg, true) >= 0)
		return true;
	*cg = (struct cgroup){0};
	return false;
}

/* Does this process have the directory open? */
static bool has_open(const char *pid, const struct stat *dir)
{
	char path[64];
	struct dirent *d;
	struct stat st;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	DIR *fds = opendir(path);
	while (!found && fds && (d = readdir(fds)))
		found = d->d_name[0] != '.' && fstatat(dirfd(fds), d->d_name, &st, 0) == 0 &&
			st.st_dev == dir->st_dev && st.st_ino == dir->st_ino;
	if (fds)
		closedir(fds);
	return found;
}

/* Is the layer what this process writes to? Its own word, /proc/PID/mountinfo. */
static bool writes_to(pid_t pid, uint32_t layer)
{
	char path[64], want[48];
	auto_free char *text = malloc(MOUNTS_MAX);
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	(void)snprintf(want, sizeof(want), ",upperdir=%u/root,", layer);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text || fd_read_max(fd, text, MOUNTS_MAX - 1, &len) < 0)
		return false;
	text[len] = '\0';
	return strstr(text, want) != NULL;
}

/* A process of whoever holds the layer; above it, as his child, is the guest. 0: there is none. */
static pid_t guest_of(pid_t holder, uint32_t layer)
{
	auto_free pid_t *all = malloc(USAGE_PROCESSES_MAX * sizeof(*all));
	unsigned n = all ? usage_list(holder, all) : 0;
	pid_t pid = 0, parent;

	for (unsigned i = 0; i < n && !pid; i++)
		if (writes_to(all[i], layer))
			pid = all[i];
	while (pid && (parent = usage_parent(pid)) != holder)
		pid = parent;
	return pid;
}

/* PID 1 of the sandbox that writes to this layer, found by who holds it. */
static pid_t find_guest(const struct store *s, uint32_t layer)
{
	char name[16];
	struct dirent *d;
	struct stat st;
	pid_t guest = 0;
	DIR *all = opendir("/proc");

	(void)snprintf(name, sizeof(name), "%u", layer);
	if (fstatat(s->layers_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		st.st_ino = 0;
	while (!guest && all && st.st_ino && (d = readdir(all))) {
		char *end = NULL;
		long pid = strtol(d->d_name, &end, 10);

		if (!*end && pid > 1 && pid != getpid() && has_open(d->d_name, &st))
			guest = guest_of((pid_t)pid, layer);
	}
	if (all)
		closedir(all);
	return guest;
}

static int freeze(const struct store *s, const struct merge *m, struct hold *h, struct err *e)
{
	int r = 0;

	if (by_group(m, &h->cg)) {
		r = cgroup_await_frozen(&h->cg, FREEZE_MS);
	} else {
		pid_t guest = find_guest(s, m->open);

		r = guest ? still_begin(guest, FREEZE_MS, &h->still) : -ESRCH;
	}
	if (r >= 0)
		return 0;
	(void)err_set(e, ERR_BUSY,
		      "workspace %s: the command that is running in it could not be stopped for a "
		      "moment: %s",
		      m->w.name, strerror(-r));
	return err_remedy(e, "wait for it");
}

/* They go on; did they stand still until now? */
static int thaw(const struct merge *m, struct hold *h, struct err *e)
{
	bool held = !h->still || still_holds(h->still);

	if (h->cg.ops)
		(void)cgroup_freeze(&h->cg, false); /* or its group is gone with it */
	still_end(h->still);
	if (held)
		return 0;
	(void)err_set(
		e, ERR_BUSY,
		"workspace %s: the command that is running in it went on before all was copied",
		m->w.name);
	return err_remedy(e, "try again");
}

static int copy_part(struct store *s, const struct merge *m, const char *part, uint32_t bit,
		     struct snap *snap, struct err *e)
{
	char from[48], to[24];
	const char *argv[] = {"merge", to, from, NULL};
	struct reader_ask ask = {.argv = argv, .peek = PEEK_COPY, .out = m->number};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};

	if (!(m->parts & bit))
		return 0;
	(void)snprintf(to, sizeof(to), "/v/out/%s", part);
	(void)snprintf(from, sizeof(from), "/v/l/%u/%s", m->open, part);
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	snap->files += answer.merge.copied + answer.merge.whiteouts;
	snap->bytes += answer.merge.bytes;
	return reader_end(&r, k, e);
}

static int copy(struct store *s, struct merge *m, struct snap *snap, struct err *e)
{
	struct hold hold = {.still = NULL};
	uint64_t began = now_us();
	int r = freeze(s, m, &hold, e);

	if (r >= 0)
		r = copy_part(s, m, "root", LAYER_ROOT, snap, e);
	if (r >= 0)
		r = copy_part(s, m, "usr", LAYER_USR, snap, e);
	if (r >= 0)
		r = copy_part(s, m, "work", LAYER_WORK, snap, e);
	struct err late = ERR_INIT;
	int held = thaw(m, &hold, &late);
	if (r >= 0 && held < 0) {
		*e = late;
		r = held;
	}
	snap->wall_us = now_us() - began;
	return r;
}

int workspace_snap_running(struct store *s, const char *name, const char *label, struct snap *ret,
			   struct err *e)
{
	auto_free struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "snap");
	*ret = (struct snap){.kind = "snap", .command = "while a command was running"};
	int r = merge_begin_copy(s, name, m, e);
	if (r >= 0 && label) {
		r = history_refuse_label(s, &m->w, label, e);
		(void)snprintf(ret->label, sizeof(ret->label), "%s", label);
	}
	if (r >= 0)
		r = copy(s, m, ret, e);
	if (r >= 0)
		r = merge_commit_copy(s, m, ret, e);
	merge_end(s, m);
	return r;
}
