/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the `commands` of a policy say to who executes or deletes something inside
 * (sandbox/guard.h). Whoever made the sandbox decides: by himself, or asked by the warden over a
 * socket (wire/guard.h). Questions and answers are those of the gate (egress/gate_ask.c):
 *
 *	once		all that wait for it now go on; the next is asked for again. Of a deletion, all
 *			that the same process deletes by the same rule
 *	for a time	the same, and what comes until then
 *	no		nothing of the kind is asked for again in this sandbox
 *	nobody answered	all that wait are refused; the next process is asked for again, not the same one,
 *			which may only go through PATH
 *
 * A program is the same with the same words; a deletion by the same rule.
 */
#ifndef ENGINE_GUARD_H
#define ENGINE_GUARD_H

#include "engine/run_int.h"
#include "sandbox/guard.h"

/* Which guard the policy needs. */
enum sandbox_guard guard_of(const struct policy *p);
/* Before the sandbox is made; nothing where its policy has no commands. In the daemon: a socket for
 * the warden, spec.guard_fd. */
int guard_begin(struct pinfold_run *run, struct err *e);
/* One of our own sandbox, taken by notify_take(). Negative: the listener is finished. */
int guard_event(struct pinfold_run *run, const struct notify_event *ev);
/* One of the warden's; false: there will be no more. */
bool guard_message(struct pinfold_run *run);
/* A person's answer, or a file server's, is there (false: no question has this fd). */
bool guard_answered(struct pinfold_run *run, int fd);
/* Another policy for a sandbox that lives; takes it over. */
void guard_change(struct pinfold_run *run, struct policy *taken);
void guard_end(struct pinfold_run *run);

#endif
