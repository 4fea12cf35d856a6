/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who executes a program or deletes a file waits until somebody has said that he may, where a
 * policy has `commands` (spec.guard). What it is about is read from his memory, and paths are
 * followed, by O_PATH alone, below his own root.
 *
 * What is read can be changed before the kernel reads it again, by another thread that shares the
 * memory, and a link by anybody inside. So this holds against programs that do what they say, not
 * against one that was written to get around it: what must never leave is the affair of rules for
 * hosts.
 */
#ifndef SANDBOX_GUARD_H
#define SANDBOX_GUARD_H

#include "sandbox/notify.h"
#include "wire/guard.h"

/* What `ev`, with ev->guard, is about. 1: *ret is to be decided, and answered by guard_reply(); 0:
 * it is answered, since it would fail anyway; -errno: the listener is finished. */
int guard_read(int listener, const struct notify_event *ev, struct guard_ask *ret);
/* error 0: it goes on; else what he gets, negative. 0, or -errno: the listener is finished. */
int guard_reply(int listener, uint64_t id, int error);
/* Does he still wait? */
bool guard_waits(int listener, uint64_t id);

#endif
