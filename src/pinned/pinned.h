/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of a thread: nanoseconds since the start of the run. It begins where its maker's was,
 * goes on by PINNED_TICK_NS with every look and by what the thread slept, and is never behind a
 * sleep that its process has finished or a child that it has waited for.
 */
#ifndef PINNED_PINNED_H
#define PINNED_PINNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "wire/pinned.h"

#define PINNED_API __attribute__((visibility("default")))
#define PINNED_TICK_NS 1000u
#define PINNED_LAG_NS                                                                              \
	(UINT64_C(10) * 1000000000) /* a clock that is so far behind goes on by that much... */
#define PINNED_LATE 20u /* ... for who looks that often then: others compute, and do not wait */
#define NS_PER_S UINT64_C(1000000000)
/* Another name of the same function, as libc has it. */
#define PINNED_ALSO(name, of) __asm__(".globl " #name "\n.set " #name ", " #of)

struct pinned_thread {
	bool begun;
	uint64_t now_ns;     /* since the start */
	uint64_t cpu_ns;     /* the same without what was slept */
	uint64_t key, used;  /* of its random numbers */
	uint64_t made;	     /* threads and processes that it has started */
	uint64_t ports;	     /* that it has tried */
	uint64_t cut_ns;     /* of sleeps that signals ended, and not counted yet */
	bool forks;	     /* what is made next is counted in `made` */
	bool has_waited;     /* and not looked since */
	bool was_free;	     /* the last look took no time */
	unsigned looks;	     /* that took time, since the last wait */
	uintptr_t site;	     /* of the last; 0: it does not count any more */
	uint64_t skipped_ns; /* by that, since others had slept */
	unsigned late;	     /* looks while it was too far behind */
	unsigned unseen;     /* looks that took no time, since the last sleep */
};

/* NULL: nothing is pinned in this program. */
struct pinned_thread *pinned_thread(void);
const struct pinned_settings *pinned_settings(void);
struct pinned_table *pinned_table(void); /* NULL: none is shared */
/* A look at the clock; and one that takes no time. */
uint64_t pinned_tick(struct pinned_thread *t);
void pinned_glance(struct pinned_thread *t);
/* So long was slept; to this moment, at least. */
void pinned_slept(struct pinned_thread *t, uint64_t ns);
/* A look from a place in a program. A lock is taken at another: a look of the same function before
 * it (Python's locks have one, needed or not) was for nothing that anybody sees. */
void pinned_look_from(struct pinned_thread *t, uintptr_t site);
void pinned_locks(uintptr_t site);
/* That last look was for nothing that anybody sees. */
void pinned_unlook(struct pinned_thread *t);
/* A wait for descriptors begins: no longer than `ms`, < 0 for ever. It has ended. */
void pinned_waits(struct pinned_thread *t, int ms);
void pinned_waited(struct pinned_thread *t, int ms);
/* Before it only asks what has come by now: a loop's own threads do what they were given. */
void pinned_let_go(void);
/* The same for poll() and select(), which are no loop's. */
void pinned_polls(struct pinned_thread *t, bool is_limited);
void pinned_polled(struct pinned_thread *t, bool is_limited, bool is_now);
void pinned_reach(struct pinned_thread *t, uint64_t now_ns);
/* The process of this number is gone: what it did was before now. */
void pinned_take_over(struct pinned_thread *t, int child);
/* What a clock shows now; false: it is none that we pin. */
bool pinned_show(const struct pinned_thread *t, clockid_t clock, struct timespec *ret);
/* A thread that `by` starts. */
void pinned_child(struct pinned_thread *by, struct pinned_thread *ret);
void pinned_begin(const struct pinned_thread *as);

/* order.c: somebody sleeps so long; then those who would have got up before are let go first. */
uint32_t pinned_lies_down(uint64_t until_ns, uint64_t length_ns);
void pinned_gets_up(uint32_t tid, bool in_order);
/* Where the last sleep of this process ended. */
uint64_t pinned_latest(const struct pinned_thread *t);

/* alarm.c: the moment for which an alarm was set that has rung since somebody asked; 0: none. */
uint64_t pinned_rung(void);
void pinned_no_alarm(void);
uint64_t pinned_true_ns(void);

/* special.c: what is known of a program by its name. */
struct pinned_special {
	const char *name;
	bool is_whole; /* else it only begins with that */
	/* Of files: those are all the same for others. It prints none, and is left alone. */
	bool compares_times;
	/* Its loop looks once behind each wait, and before those that have a limit, twice where
	 * that is not now; or behind and before each that is not over at once. */
	bool is_asyncio, is_uv;
	/* How names begin of what looks when it likes, and shows nobody. */
	const char *engine[2];
};
const struct pinned_special *pinned_special(void);
/* Whether who called, or his caller, is that. */
bool pinned_is_engine(void **frame);

/* fork() is about to return twice, or has returned here. */
void pinned_forks(struct pinned_thread *t, bool begins);
/* This process is about to become another program. */
void pinned_executes(void);
/* A process that has become one already. */
void pinned_spawned(long child);

/* How much memory any program had: whatever is rounded is on an edge some day. */
#define PINNED_RSS_KB 65536
/* proc.c: a steady copy of what is there; -1: it is none that would need one. */
long pinned_open_proc(const char *path, int flags);

/* stat.c: the number that a device has in this process. */
uint64_t pinned_device(uint64_t dev);

/* random.c */
void pinned_fill(struct pinned_thread *t, void *to, size_t len);
void pinned_look_at_input(void);
uint64_t pinned_mix(uint64_t a, uint64_t b);

/* The function behind ours; `version` of it first, where libc has several. */
void *pinned_behind(const char *name, const char *version);
/* As libc returns: -1 and errno, or the value. */
long pinned_result(long r);

static inline uint64_t pinned_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

static inline struct timespec pinned_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

#endif
