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

	overload_waiting(&o, 256, 100 * S);
	for (uint64_t i = 0; i < 50; i++)
		overload_refused(&o, 100 * S + i * MS);
	ok(!o.on, "a crowd that is larger than the queue is none");
	overload_waiting(&o, 0, 101 * S);
	overload_refused(&o, 110 * S);
	ok(!o.on, "nor is another, later");
	overload_refused(&o, 110 * S + 300 * MS);
	ok(o.on, "one that keeps on coming is");
}

static void holds(void)
{
	struct overload o = learned(39 * MS), asleep = learned(1 * MS);

	ok(overload_patience_us(&o, 30 * S) == 30 * S && overload_runs(&o, 64) == 64,
	   "before it all is as given");
	o.on = asleep.on = true;
	ok(overload_patience_us(&o, 30 * S) < 45 * MS,
	   "in it nobody waits longer than a run takes");
	is_int(overload_runs(&o, 64), 3,
	       "of runs that compute one for each processor, and one more");
	is_int(overload_runs(&o, 2), 2, "but no more than given");
	is_int(overload_runs(&asleep, 64), 64, "those that sleep are as many as ever");
	struct overload unknown = {.processors = 2, .on = true};
	ok(overload_patience_us(&unknown, S) == S && overload_runs(&unknown, 64) == 64,
	   "nothing learned, nothing changed");
}

static void ends(void)
{
	struct overload o = learned(40 * MS);

	overload_refused(&o, 100 * S);
	overload_refused(&o, 101 * S);
	overload_waiting(&o, 0, 101 * S + 10 * MS);
	ok(o.on, "an empty queue is not its end");
	overload_waiting(&o, 0, 103 * S);
	ok(!o.on, "a second without a refusal is");
	overload_refused(&o, 104 * S);
	ok(!o.on, "and then it takes some again");
}

static void learns(void)
{
	struct overload o = learned(40 * MS);

	overload_waiting(&o, 3, 200 * S + 10 * MS);
	overload_ran(&o, 200 * S, 210 * S, 40 * MS);
	ok(o.took_us < 41 * MS, "what runs in a crowd is slow, and does not count");
}

int main(void)
{
	TAP_RUN(begins);
	TAP_RUN(holds);
	TAP_RUN(ends);
	TAP_RUN(learns);
	return tap_done();
}
