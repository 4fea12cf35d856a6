/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many refusals in a short time. A program that tries the same thing again and again does so
 * because it was told to retry; one that tries many different things looks for a way. So different
 * ones count for more.
 */
#include <assert.h>

#include "alert/alert.h"

static uint32_t hash_of(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

static bool is_recent(uint32_t ms, uint32_t now)
{
	return ms && now - ms <= ALERT_RATE_MS;
}

/* Each text once in that time, in the place of the oldest. */
static bool add_different(struct alert_rate *r, uint32_t hash, uint32_t now)
{
	unsigned recent = 0, oldest = 0;

	for (unsigned i = 0; i < ALERT_RATE_DIFFERENT; i++) {
		if (is_recent(r->different[i].ms, now) && r->different[i].hash == hash)
			return false;
		if (now - r->different[i].ms > now - r->different[oldest].ms || !r->different[i].ms)
			oldest = i;
	}
	r->different[oldest].ms = now;
	r->different[oldest].hash = hash;
	for (unsigned i = 0; i < ALERT_RATE_DIFFERENT; i++)
		recent += is_recent(r->different[i].ms, now);
	return recent == ALERT_RATE_DIFFERENT;
}

bool alert_rate_add(struct alert_rate *r, const char *what, uint64_t now_ms)
{
	uint32_t now = (uint32_t)now_ms | 1; /* 0 is none */

	assert(now_ms > 0);
	r->at_ms[r->next] = now;
	r->next = (r->next + 1) % ALERT_RATE_COUNT;
	/* What is next to be overwritten is the oldest of so many. */
	bool many = is_recent(r->at_ms[r->next], now);
	bool different = add_different(r, hash_of(what), now);
	return many || different;
}
