/* SPDX-License-Identifier: Apache-2.0 */
/* How many sandboxes should wait: rises with what is wanted at a time, fades, stays below its
 * ceiling. */
#include "warden/demand.h"

#include "tap.h"

#define MIB (1ull << 20)

static void burst(struct demand *d, uint64_t at_us, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		demand_want(d, at_us + i);
}

static unsigned alone(const struct demand *d, unsigned floor, uint64_t bytes)
{
	unsigned target = 0;

	demand_share(d, &floor, 1, bytes, &target);
	return target;
}

static void grows(void)
{
	struct demand d = {.cost = MIB};

	is_int(alone(&d, 4, 256 * MIB), 4, "nobody asks: the floor");
	for (unsigned i = 0; i < 50; i++)
		demand_want(&d, 1000000 + i * 200000);
	is_int(alone(&d, 4, 256 * MIB), 4, "one after the other: still the floor");
	burst(&d, 20000000, 30);
	is_int(alone(&d, 4, 256 * MIB), 30, "30 at a time: 30");
	is_int(alone(&d, 40, 256 * MIB), 40, "unless the floor is higher");
}

static void slow_to_make(void)
{
	struct demand d = {.cost = MIB};

	demand_made(&d, 2000000);
	for (unsigned i = 0; i < 10; i++)
		demand_want(&d, 1000000 + i * 200000);
	is_int(alone(&d, 0, 256 * MIB), 10, "ten while one is made: ten");
}

static void fades(void)
{
	struct demand d = {.cost = MIB};

	burst(&d, 1000000, 64);
	for (int i = 0; i < 5; i++)
		demand_fade(&d);
	ok(alone(&d, 2, 256 * MIB) > 25 && alone(&d, 2, 256 * MIB) < 40,
	   "half is left after ten seconds");
	for (int i = 0; i < 60; i++)
		demand_fade(&d);
	is_int(alone(&d, 2, 256 * MIB), 2, "and the floor after two minutes");
	is_int(alone(&d, 0, 256 * MIB), 0, "which may be none");
}

static void ceiling(void)
{
	struct demand d[2] = {{.cost = MIB}, {.cost = 10 * MIB}};
	const unsigned floors[2] = {4, 2};
	unsigned t[2];

	burst(&d[0], 1000000, 100);
	burst(&d[1], 1000000, 100);
	demand_share(d, floors, 2, 1200 * MIB, t);
	is_int(t[0], 100, "all of it fits");
	is_int(t[1], 100, "of both kinds");
	demand_share(d, floors, 2, 124 * MIB, t);
	ok(t[0] * d[0].cost + t[1] * d[1].cost <= 124 * MIB, "never more than that");
	ok(t[0] > 4 && t[1] > 2, "both get a share beyond their floors");
	demand_share(d, floors, 2, 15 * MIB, t);
	is_int(t[0], 4, "floors first, in order");
	is_int(t[1], 1, "as far as they fit");
	demand_share(d, floors, 2, 0, t);
	is_int(t[0] + t[1], 0, "no memory, nobody waits");
}

static void costs(void)
{
	struct demand d = {.cost = 24 * MIB};

	demand_cost(&d, 8 * MIB);
	is_int(d.cost / MIB, 8, "what was measured replaces the estimate");
	demand_cost(&d, 16 * MIB);
	is_int(d.cost / MIB, 16, "more holds at once");
	demand_cost(&d, 8 * MIB);
	is_int(d.cost / MIB, 15, "less by and by");
}

static void often(void)
{
	struct demand_uses u = {.turn = 0};
	uint64_t now = 5000000;

	ok(!demand_is_often(&u, now), "what nobody used is not used often");
	demand_used(&u, now);
	demand_used(&u, now + 1);
	ok(!demand_is_often(&u, now + 1), "nor what was used twice");
	demand_used(&u, now + 2);
	ok(demand_is_often(&u, now + 2), "three times is often");
	ok(demand_is_often(&u, now + DEMAND_OFTEN_US - 1), "for some minutes,");
	ok(!demand_is_often(&u, now + DEMAND_OFTEN_US), "and no longer");
	demand_used(&u, now + DEMAND_OFTEN_US);
	ok(demand_is_often(&u, now + DEMAND_OFTEN_US), "unless it is used again");
	is_int(demand_last_used(&u), now + DEMAND_OFTEN_US, "the last time");
}

int main(void)
{
	TAP_RUN(grows);
	TAP_RUN(slow_to_make);
	TAP_RUN(fades);
	TAP_RUN(ceiling);
	TAP_RUN(costs);
	TAP_RUN(often);
	return tap_done();
}
