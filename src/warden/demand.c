/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/demand.h"

#include <assert.h>

#define WINDOW_US 100000u
#define SIXTEENTHS 16u
#define WAITING_MAX 4000u /* of one kind, by demand alone; --warm may ask for more */

static uint64_t window_us(const struct demand *d)
{
	return d->make_us > WINDOW_US ? d->make_us : WINDOW_US;
}

void demand_want(struct demand *d, uint64_t now_us)
{
	if (!d->wanted || now_us - d->opened_us > window_us(d)) {
		d->opened_us = now_us;
		d->wanted = 0;
	}
	if (d->wanted < WAITING_MAX)
		d->wanted++;
	if (d->wanted * SIXTEENTHS > d->peak16)
		d->peak16 = d->wanted * SIXTEENTHS;
}

void demand_made(struct demand *d, uint64_t took_us)
{
	d->make_us = d->make_us ? (3 * d->make_us + took_us) / 4 : took_us;
}

/* Up at once, so that the ceiling holds; down slowly, so that one small one changes little. */
void demand_cost(struct demand *d, uint64_t bytes)
{
	if (!d->measured || bytes > d->cost)
		d->cost = bytes;
	else
		d->cost -= (d->cost - bytes) / 8;
	d->measured = true;
}

void demand_fade(struct demand *d)
{
	d->peak16 -= (d->peak16 + 7) / 8;
}

void demand_used(struct demand_uses *u, uint64_t now_us)
{
	u->at_us[u->turn] = now_us;
	u->turn = (u->turn + 1) % DEMAND_USES;
}

uint64_t demand_last_used(const struct demand_uses *u)
{
	return u->at_us[(u->turn + DEMAND_USES - 1) % DEMAND_USES];
}

bool demand_is_often(const struct demand_uses *u, uint64_t now_us)
{
	uint64_t first = u->at_us[u->turn];

	return first && now_us - first < DEMAND_OFTEN_US;
}

static unsigned wanted(const struct demand *d, unsigned floor)
{
	unsigned peak = (d->peak16 + SIXTEENTHS - 1) / SIXTEENTHS;

	return peak > floor ? peak : floor;
}

void demand_share(const struct demand *d, const unsigned *floors, unsigned n, uint64_t bytes,
		  unsigned *ret_targets)
{
	uint64_t beyond = 0; /* bytes that all want above their floors */

	for (unsigned i = 0; i < n; i++) {
		assert(d[i].cost > 0);
		uint64_t fit = bytes / d[i].cost;

		ret_targets[i] = fit < floors[i] ? (unsigned)fit : floors[i];
		bytes -= ret_targets[i] * d[i].cost;
		beyond += (wanted(&d[i], floors[i]) - floors[i]) * d[i].cost;
	}
	for (unsigned i = 0; i < n && beyond > 0; i++) {
		uint64_t more = wanted(&d[i], floors[i]) - floors[i];

		/* In 1024ths: a product of bytes could be too large. */
		if (beyond > bytes)
			more = more * (bytes / 1024) / (beyond / 1024 + 1);
		ret_targets[i] += (unsigned)more;
	}
}
