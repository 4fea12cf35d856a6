/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group from systemd. An ordinary user may not make groups where he sits, but his own
 * service manager may: it is asked for a transient scope around the guest, with our limits as its
 * properties. systemd removes the scope when its last process has gone, so nothing of it can be
 * left behind.
 */
#ifndef SANDBOX_SCOPE_H
#define SANDBOX_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "kernel/cgroup.h"

/* Is there a service manager of this user on a host with cgroup v2? Cheap. */
bool scope_available(void);
/* Put `pid` into a scope named after `id` and wait until it is there. *ret is the group, adopted:
 * cgroup_remove() leaves it to systemd. */
int scope_enter(pid_t pid, const char *id, const struct cgroup_limits *limits, struct cgroup *ret,
		struct err *e);

#endif
