/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that calls run on: made when they are wanted, gone when they were idle for a while. */
#ifndef API_WORKER_H
#define API_WORKER_H

#include "api/loop.h"

struct workers;

int workers_new(unsigned max, struct workers **ret, struct err *e);
/* Waits for all that run. */
void workers_free(struct workers *w);
/* t->run(t) on a thread. 0; -EAGAIN: so many run already. */
int workers_run(struct workers *w, struct task *t);
unsigned workers_busy(struct workers *w);

#endif
