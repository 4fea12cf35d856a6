/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one sandbox has on the host: journal entry, control groups, mounts of the caller's
 * directories, a volume, the guest. Made in one order, removed in the other; by the daemon's warden
 * or, without a daemon, by the process that wants to run something.
 *
 *	live_make()  -->  live_enter()  -->  ...  -->  live_remove()
 *
 * After any of them has failed, live_remove() is what is left to call.
 */
#ifndef WARDEN_LIVE_H
#define WARDEN_LIVE_H

#include <stdbool.h>
#include <sys/resource.h>

#include "base/err.h"
#include "kernel/cgroup.h"
#include "sandbox/journal.h"
#include "sandbox/scope.h"
#include "sandbox/spawn.h"
#include "sandbox/spec.h"

typedef int live_fn(void *with, struct err *e);

struct live {
	struct sandbox sb;
	struct journal journal;
	struct cgroup cgroup; /* ops is NULL where there is none */
	struct cgroup_limits limits;
	char scratch[320];  /* level landlock: the private directory on the host, "" for none */
	int volume;	    /* top directory of the volume, FD_NONE without one */
	struct scope scope; /* where systemd made the group */
	bool wants_scope;   /* it will be asked to */
	bool reaped;
	/* What has to be done before the command runs and can be done while the guest builds its
	 * tree; called once, by live_enter(), or not at all where that fails before. */
	live_fn *meanwhile;
	void *with;
};

void live_init(struct live *l);

/*
 * Write down, make, clone. `spec` gets its ids and learns what is attached, and that there is no
 * volume when it could not be made and is not needed for its size; `stdio` are the command's
 * descriptors, borrowed.
 */
int live_make(struct live *l, struct sandbox_spec *spec, const struct cgroup_host *host,
	      const int stdio[3], struct err *e);
/* Give ids and the plan: the guest builds its tree, while the other control groups are set up. */
int live_enter(struct live *l, const struct sandbox_spec *spec, struct err *e);

struct live_end {
	struct rusage rusage;
	struct cgroup_usage usage; /* filled when `count` asks for it */
	bool count;
	bool hopeless; /* do not wait for the guest to die */
};

/* Kill what is left, wait for it, read its accounts. False: a process hangs in the kernel; what
 * there is stays written down, with its ids taken, until a later run finds it gone. */
bool live_reap(struct live *l, struct live_end *end);
/* The same where it was not done yet, and remove everything. */
bool live_remove(struct live *l, struct live_end *end);

/* Remove what dead runs left, whoever they were. */
void live_sweep(const struct live *l);

#endif
