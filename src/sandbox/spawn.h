/* SPDX-License-Identifier: Apache-2.0 */
/* A live sandbox: from a plan to a guest that is walking it. */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "base/fd.h"
#include "kernel/idmap.h"
#include "sandbox/plan.h"
#include "sandbox/spec.h"
#include "wire/fds.h"

struct sandbox {
	pid_t pid; /* the guest, in our pid namespace */
	int pidfd;
	int control;		     /* SOCK_SEQPACKET to the guest; closing it ends the sandbox */
	struct sandbox_birth *birth; /* until sandbox_started() */
};

#define SANDBOX_INIT                                                                               \
	{                                                                                          \
		0, FD_NONE, FD_NONE, NULL                                                          \
	}

struct sandbox_fds {
	int stdio[3];		    /* the command's; borrowed */
	int extra[GUEST_EXTRA_MAX]; /* FD_NONE: none at this place; borrowed */
	int cgroup;		    /* v2 group to clone into, or FD_NONE */
};

/*
 * Clone the guest into fresh namespaces. It waits for its plan; the caller writes the id maps and
 * gives it one with sandbox_give_plan(), then lets it enter its groups with sandbox_proceed().
 * Whatever came of all that, sandbox_started() then tells whether the guest's program runs.
 */
int sandbox_spawn(const struct sandbox_spec *spec, const struct sandbox_fds *fds,
		  struct sandbox *ret, struct err *e);
int sandbox_started(struct sandbox *sb, struct err *e);
/* A guest's program without a sandbox around it or a plan to come: waits for its end. */
int sandbox_spawn_idle(struct sandbox *ret, struct err *e);
/* The gate's program (wire/gate.h), as we are; what it may do it gives up by itself. */
int sandbox_spawn_gate(struct sandbox *ret, struct err *e);
/* SIGKILL to the guest, and with it to all: by descriptor, never by number. */
void sandbox_kill(const struct sandbox *sb);
/* The first steps of its plan (PLAN_MORE), where those are known before the others. */
int sandbox_give_first(const struct sandbox *sb, const struct plan_head *first, struct err *e);
/* `stdio`: the command's descriptors, borrowed, for a guest that was started without; or NULL. */
int sandbox_give_plan(const struct sandbox *sb, const struct plan *plan, const int *stdio,
		      struct err *e);
/* Another command for a guest that lives: its descriptors and a socket about it, borrowed. */
int sandbox_give_exec(const struct sandbox *sb, const struct plan *plan, const int stdio[3],
		      int about, struct err *e);
/* Who is in it: written to the file, said on the socket when done; both borrowed. */
int sandbox_ask_processes(const struct sandbox *sb, int file, int about, struct err *e);
/* A file server for the other end of this socket, borrowed. */
int sandbox_serve_files(const struct sandbox *sb, int about, struct err *e);
/* Give its user namespace the maps that fit the spec's ids. */
int sandbox_map_ids(const struct sandbox *sb, const struct sandbox_spec *spec, struct err *e);
/* Let the guest go on, with descriptors for it (FD_NONE ends the list; borrowed), or NULL. */
int sandbox_proceed(const struct sandbox *sb, enum plan_await part, const int *fds, struct err *e);

#endif
