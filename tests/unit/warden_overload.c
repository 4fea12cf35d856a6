/* SPDX-License-Identifier: Apache-2.0 */
/* When it is an overload, what holds then, and that it ends. */
#include "warden/overload.h"

#include "tap.h"

#define MS 1000ull
#define S (1000 * MS)

/* Runs of 40 ms that compute for `cpu_us` of them, while nobody waits. */
static struct overload learned(uint64_t cpu_us)
{
	struct overload o = {.processors = 2};

	for (uint64_t i = 1; i < 50; i++)
		overload_ran(&o, i * S, i * S + 40 * MS, cpu_us);
	return o;
}

static void begins(void)
{
	struct overload o = learned(40 * MS);

	overload_waiting(&o, 256, false, 100 * S, 1);
	for (uint64_t i = 0; i < 50; i++)
		overload_refused(&o, 100 * S + i * MS);
	ok(!o.on, "a crowd that is larger than the queue is none");
	overload_waiting(&o, 0, false, 101 * S, 1);
	overload_refused(&o, 110 * S);
	ok(!o.on, "nor is another, later");
	overload_refused(&o, 110 * S + 150 * MS);
	ok(o.on, "one that keeps on coming is");
}

static void holds(void)
{
	struct overload o = learned(39 * MS), asleep = learned(1 * MS);

	ok(overload_patience_us(&o, 30 * S) == 30 * S, "before it everybody may wait");
	o.on = asleep.on = true;
	ok(overload_patience_us(&o, 30 * S) < 45 * MS,
	   "in it nobody waits longer than a run takes");
	is_int(overload_runs(&o, 64), 2, "of runs that compute one for each processor");
	is_int(overload_runs(&o, 2), 2, "but no more than given");
	is_int(overload_runs(&asleep, 64), 64, "those that sleep are as many as ever");
	struct overload unknown = {.processors = 2, .on = true};
	ok(overload_patience_us(&unknown, S) == S && overload_runs(&unknown, 64) == 64,
	   "nothing learned, nothing changed");
}

/* The first of a crowd are as fast as ever; of those that sleep, all are soon in. */
static void crowd(void)
{
	struct overload o = learned(39 * MS), fresh = {.processors = 2};
	uint64_t now = 100 * S;

	is_int(overload_runs(&o, 64), 3, "a crowd is let in by as many as can compute");
	is_int(overload_runs(&fresh, 64), 6, "or a few, where nothing is known");
	for (; now < 100 * S + 200 * MS && overload_runs(&o, 64) < 64; now += MS)
		overload_waiting(&o, 50, false, now, 1);
	diag("64 of them after %d ms", (int)((now - 100 * S) / MS));
	is_int(overload_runs(&o, 64), 64, "and then by more and more");
	overload_waiting(&o, 0, false, now + 10 * MS, 1);
	is_int(overload_runs(&o, 64), 64, "who comes a moment later finds the door open");
	overload_waiting(&o, 0, false, now + 2 * S, 1);
	is_int(overload_runs(&o, 64), 3, "the next crowd does not");
}

/* Those that compute are no more than the processors, however long the crowd. */
static void busy(void)
{
	struct overload o = {.processors = 2};

	for (uint64_t now = 100 * S; now < 101 * S; now += MS)
		overload_waiting(&o, 50, false, now, 3);
	is_int(overload_runs(&o, 64), 6, "while all processors are busy, no more are let in");
	ok(overload_wants_look(&o, 102 * S), "but it is looked again");
	overload_waiting(&o, 50, false, 102 * S, 2);
	is_int(overload_runs(&o, 64), 10, "and they are as soon as one is not");
}

/* However many come, one behind the other: a crowd later finds the door as it was. */
static void passes(void)
{
	struct overload o = learned(39 * MS);

	for (uint64_t now = 100 * S; now < 105 * S; now += MS)
		overload_waiting(&o, 1, true, now, 1);
	overload_waiting(&o, 50, false, 105 * S, 1);
	is_int(overload_runs(&o, 64), 3, "who is served at once has not waited");
}

static void ends(void)
{
	struct overload o = learned(40 * MS);

	overload_refused(&o, 100 * S);
	overload_refused(&o, 101 * S);
	overload_waiting(&o, 0, false, 101 * S + 10 * MS, 1);
	ok(o.on, "an empty queue is not its end");
	overload_waiting(&o, 0, false, 103 * S, 1);
	ok(!o.on, "a second without a refusal is");
	overload_refused(&o, 104 * S);
	ok(!o.on, "and then it takes some again");
}

static void learns(void)
{
	struct overload o = learned(40 * MS);

	overload_waiting(&o, 3, false, 200 * S + 10 * MS, 1);
	overload_ran(&o, 200 * S, 210 * S, 40 * MS);
	ok(o.took_us < 41 * MS, "what runs in a crowd is slow, and does not count");
}

int main(void)
{
	TAP_RUN(begins);
	TAP_RUN(holds);
	TAP_RUN(crowd);
	TAP_RUN(busy);
	TAP_RUN(passes);
	TAP_RUN(ends);
	TAP_RUN(learns);
	return tap_done();
}
