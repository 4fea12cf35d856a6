/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control group per sandbox: limits, accounting, killing. Two generations of the kernel's
 * interface behind one table of operations (cgroup_v1.c, cgroup_v2.c).
 *
 * On a host with the controllers on v1 (hybrid), limits are on v1 and a v2 group beside them is
 * there to clone into and to kill; on a v2 host one group does all. A user without rights on any
 * group may get one from systemd (scope.c in sandbox/), which is then only adopted here.
 */
#ifndef KERNEL_CGROUP_H
#define KERNEL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CGROUP_PATH_MAX 512
#define CGROUP_PARTS 5
#define CGROUP_PREFIX "pinfold-"

struct cgroup_limits {
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t cpus_milli;
	bool account_cpu; /* the CPU time used so far will be asked for while it runs */
};

struct cgroup_usage {
	uint64_t memory_peak_bytes;
	uint64_t pids_peak;
	uint64_t cpu_us;
	uint64_t oom_kills;
	uint64_t pids_refused; /* forks that the limit refused */
};

/* What it has now. */
struct cgroup_now {
	uint64_t memory_bytes, pids, cpu_us;
};

/* Where groups can be made on this host, by this user. */
struct cgroup_host {
	const struct cgroup_ops *ops;		  /* NULL: no limits can be held by a group */
	char part[CGROUP_PARTS][CGROUP_PATH_MAX]; /* directories to make groups in, "" for none */
	char why[160];				  /* when ops is NULL: what is missing, */
	const char *remedy;			  /* and what would give it */
};

/* Index of `part`; on v2 only UNIFIED is used. */
enum cgroup_part { CG_UNIFIED, CG_MEMORY, CG_PIDS, CG_CPU, CG_CPUACCT };

struct cgroup {
	const struct cgroup_ops *ops;
	bool adopted; /* made, and to be removed, by systemd */
	char name[64];
	char part[CGROUP_PARTS][CGROUP_PATH_MAX]; /* the groups themselves, "" for none */
};

struct cgroup_ops {
	const char *name;
	int (*limit)(const struct cgroup *cg, const struct cgroup_limits *limits, struct err *e);
	void (*usage)(const struct cgroup *cg, struct cgroup_usage *ret);
	/* Bytes that it holds now. */
	uint64_t (*memory)(const struct cgroup *cg);
	bool from_birth; /* and that is all of it: on v1 a process enters when most of what the
			  * kernel holds for it was made */
	/* Descriptor that becomes readable when the group runs out of memory; -1 where the
	 * kernel kills the whole group by itself. */
	int (*watch_oom)(const struct cgroup *cg);
	/* From now on the kernel kills one process at a time, and nobody else any. 0 or -errno. */
	int (*kill_singly)(const struct cgroup *cg);
	/* How many it has killed for want of memory. */
	uint64_t (*oom_kills)(const struct cgroup *cg);
	/* How many forks its limit has refused. */
	uint64_t (*pids_refused)(const struct cgroup *cg);
};

extern const struct cgroup_ops cgroup_v1_ops;
extern const struct cgroup_ops cgroup_v2_ops;

/* For a daemon that was given a group of v2: go into a leaf of it, because controllers are handed
 * down only from a group without processes. Does nothing where that is not so. */
#define CGROUP_LEAF "daemon"
void cgroup_become_leaf(void);
/* Look around; never fails: what cannot be had is said in host->why. */
void cgroup_detect(struct cgroup_host *host);

/* Names of the groups that cgroup_make() will make, so that they can be written down first. */
void cgroup_name(const struct cgroup_host *host, const char *id, const struct cgroup_limits *limits,
		 struct cgroup *ret);
/* Make the v2 group, if there is one, and return a descriptor to clone into (or FD_NONE). */
int cgroup_make_unified(const struct cgroup *cg, int *ret_fd, struct err *e);
/* Make the other groups and set all limits. On v1 the process enters by itself, by writing "0" to
 * each of the descriptors in ret_tasks (FD_NONE ends the list; the caller closes them). */
int cgroup_make(const struct cgroup *cg, const struct cgroup_limits *limits,
		int ret_tasks[CGROUP_PARTS], struct err *e);
/* Ways in for another process: the v2 group to be cloned into first (FD_NONE where there is none),
 * then `tasks` files to write "0" to; FD_NONE ends the list. The caller closes them. */
int cgroup_doors(const struct cgroup *cg, int ret_fds[CGROUP_PARTS + 1], struct err *e);
/* CPU time of all that ever was in it; 0: no group counts it. */
uint64_t cgroup_cpu_us(const struct cgroup *cg);
void cgroup_now(const struct cgroup *cg, struct cgroup_now *ret);
/* Kill everything in it. Does nothing where the kernel lacks cgroup.kill. */
void cgroup_kill(const struct cgroup *cg);
/* Stop everything in it, or let it go on. 0 or -errno; -EOPNOTSUPP where there is no group for
 * that. */
int cgroup_freeze(const struct cgroup *cg, bool freeze);
/* Until every process in it stands still. -ETIMEDOUT after so many milliseconds. */
int cgroup_await_frozen(const struct cgroup *cg, int timeout_ms);
/* Remove the directories; waits up to a second for dying processes. 0 or -errno. */
int cgroup_remove(const struct cgroup *cg);
/* The same for one directory by its path, waiting at most about `patience_ms`. */
int cgroup_remove_path(const char *path, int patience_ms);

/* For the two implementations. */
int cgroup_put(const char *dir, const char *file, uint64_t value, struct err *e);
int cgroup_put_text(const char *dir, const char *file, const char *value, struct err *e);
uint64_t cgroup_get(const char *dir, const char *file, const char *key);

#endif
