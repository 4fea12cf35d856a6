/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control group from systemd. An ordinary user may not make groups where he sits, but his own
 * service manager may: it is asked for a transient scope around the guest, delegated to us.
 *
 *	pinfold-ID.scope	systemd's: it sets its own properties there whenever it is reloaded
 *	pinfold-ID.scope/box	the guest, with our limits
 *	pinfold-ID.scope/keep	the keeper, a process that does nothing
 *
 * systemd removes a scope as soon as its last process has gone, and with it what the kernel counted
 * there: the keeper stays until that was read. A scope whose process died on its way in is never
 * removed; such are stopped by name, from the journal.
 */
#ifndef SANDBOX_SCOPE_H
#define SANDBOX_SCOPE_H

#include <stdbool.h>

#include "base/err.h"
#include "kernel/cgroup.h"
#include "sandbox/spawn.h"

#define SCOPE_NAME_MAX 64

struct scope {
	struct sandbox keeper;
	char owed[SCOPE_NAME_MAX]; /* was asked for and did not come: it may still */
};

#define SCOPE_INIT                                                                                 \
	{                                                                                          \
		SANDBOX_INIT, ""                                                                   \
	}

/* Is there a service manager of this user on a host with cgroup v2? Cheap. */
bool scope_available(void);
/* The scope of the sandbox `id`, to be written down before it is asked for. */
void scope_name(const char *id, char ret[SCOPE_NAME_MAX]);
/* Put the guest into a scope and wait until it is there; while its ids are still the caller's. *ret
 * is the group, adopted: cgroup_remove() leaves it to systemd. scope_leave() in any case. */
int scope_enter(struct scope *scope, const struct sandbox *guest, const char *id,
		const struct cgroup_limits *limits, struct cgroup *ret, struct err *e);
/* The group is not needed any longer. */
void scope_leave(struct scope *scope);
/* Stop a scope that a dead run left, if it is still there. 0, or -errno when systemd is silent. */
int scope_stop(const char *name);

#endif
