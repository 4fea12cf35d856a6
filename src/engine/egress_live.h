/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox may reach, looked at and changed while it runs. For egress*.c and the run's
 * loop. */
#ifndef ENGINE_EGRESS_LIVE_H
#define ENGINE_EGRESS_LIVE_H

#include "base/json.h"
#include "engine/run_int.h"

enum live_op { LIVE_SHOW, LIVE_SET };

/* egress_live.c: `run` can be asked from now on, by its sandbox's id; nothing without a policy. */
void egress_live_open(struct pinfold_run *run);
void egress_live_close(struct pinfold_run *run);
/* Its socket, run->changes, is readable. */
void egress_live_take(struct pinfold_run *run);
/* The answer goes to `reply`; an error is the caller's to tell. Borrows both. */
int egress_live_answer(struct pinfold_run *run, enum live_op op, int policy, int reply,
		       struct err *e);
/* The same of who has that socket. */
int egress_live_ask(const char *id, enum live_op op, int policy, int reply, struct err *e);

/* egress.c: a policy in a sealed memfd, and back; it is not believed. */
int policy_file(const struct policy *p, int *ret_fd, struct err *e);
int policy_of_file(int fd, struct policy **ret, struct err *e);
/* Its process is counted as one that needs the gate no more. */
void gate_leave(void);

/* egress_hold.c: asked in this process. 0: it does not hold that sandbox. */
int hold_ask(const char *id, enum live_op op, int policy, int reply, struct err *e);

/* result.c: the list `network`. */
void result_network(struct json *j, const struct pinfold_run *run);

#endif
