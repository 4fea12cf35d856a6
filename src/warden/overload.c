/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/overload.h"

#define FULL_US 100000u /* a crowd comes within less */
#define QUIET_US 1000000u
#define PATIENCE_US_MIN 10000u
#define LONG_TIMES 16u
#define GROW_US 20000u
#define WINDOW_MAX 65536u

static uint64_t smooth(uint64_t old, uint64_t value)
{
	return old ? (7 * old + value) / 8 : value;
}

/* As many as keep the processors busy, and one more. */
static unsigned enough(const struct overload *o)
{
	/* One that computes on several processors still counts as one. */
	uint64_t took = o->took_us > o->cpu_us ? o->took_us : o->cpu_us;
	uint64_t runs = o->took_us ? o->processors * took / o->cpu_us + 1 : 2 * o->processors + 2;

	return runs < WINDOW_MAX ? (unsigned)runs : WINDOW_MAX;
}

bool overload_wants_look(const struct overload *o, uint64_t now_us)
{
	return o->window > 0 && o->window < WINDOW_MAX && now_us - o->window_us >= GROW_US;
}

static void grow(struct overload *o, uint64_t now_us, unsigned busy)
{
	if (!o->window)
		o->window = enough(o);
	else if (!overload_wants_look(o, now_us))
		return;
	else if (busy <= o->processors)
		o->window += o->window / 2 + 1;
	o->window_us = now_us;
}

/* In a crowd all of them are slower. */
void overload_ran(struct overload *o, uint64_t begun_us, uint64_t now_us, uint64_t cpu_us)
{
	if (o->waited_us >= begun_us)
		return;
	o->took_us = smooth(o->took_us, now_us - begun_us + 1);
	o->cpu_us = smooth(o->cpu_us, cpu_us + 1);
}

/* In an overload nobody waits now and then: those who would were sent away. */
void overload_waiting(struct overload *o, unsigned n, bool next, uint64_t now_us, unsigned busy)
{
	if (next)
		return;
	if (n > 0) {
		o->waited_us = now_us;
		grow(o, now_us, busy);
		return;
	}
	if (now_us - o->waited_us > QUIET_US)
		o->window = 0;
	if (!o->on || now_us - o->refused_us > QUIET_US) {
		o->on = false;
		o->full_us = 0;
	}
}

void overload_refused(struct overload *o, uint64_t now_us)
{
	o->refused_us = now_us;
	if (!o->full_us)
		o->full_us = now_us;
	else if (now_us - o->full_us > FULL_US)
		o->on = true;
}

uint64_t overload_patience_us(const struct overload *o, uint64_t most_us)
{
	uint64_t us = o->took_us > PATIENCE_US_MIN ? o->took_us : PATIENCE_US_MIN;

	return o->on && o->took_us && us < most_us ? us : most_us;
}

unsigned overload_runs(const struct overload *o, unsigned most)
{
	unsigned runs = o->window && !o->on ? o->window : enough(o);

	if (o->on && !o->took_us)
		return most;
	/* The one more has its share of the processors from the others, and nothing is idle in an
	 * overload: who is sent away costs, too. */
	if (o->on && runs > o->processors)
		runs--;
	return runs < most ? runs : most;
}

uint64_t overload_long_us(const struct overload *o)
{
	return LONG_TIMES * (o->took_us > PATIENCE_US_MIN ? o->took_us : PATIENCE_US_MIN);
}
