/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, one epoll set: connections, timers, and what other threads hand over. All functions
 * but loop_post() are for the loop's own thread.
 */
#ifndef API_LOOP_H
#define API_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;

/* A descriptor that is watched; part of what owns it. */
struct watch {
	int fd;
	uint32_t events; /* EPOLL*, 0: not watched */
	void (*ready)(struct watch *w, uint32_t events);
	struct loop *loop;
};

/* A moment; part of what owns it. */
struct timer {
	uint64_t at_ms; /* monotonic; 0: not set */
	void (*fire)(struct timer *t);
	struct timer *prev, *next;
};

/* Something to do in the loop's thread; part of what owns it, which must stay until it was done. */
struct task {
	void (*run)(struct task *t);
	struct task *next;
};

int loop_new(struct loop **ret, struct err *e);
void loop_free(struct loop *l);
/* Until loop_stop(). */
int loop_run(struct loop *l, struct err *e);
void loop_stop(struct loop *l);

uint64_t loop_now_ms(void);

void watch_init(struct watch *w, struct loop *l, int fd, void (*ready)(struct watch *, uint32_t));
int watch_set(struct watch *w, uint32_t events);
void watch_done(struct watch *w); /* the descriptor stays open; safe in any callback */

void timer_set(struct loop *l, struct timer *t, uint64_t at_ms); /* 0: not at all */

/* From any thread. */
void loop_post(struct loop *l, struct task *t);

#endif
