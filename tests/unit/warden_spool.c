/* SPDX-License-Identifier: Apache-2.0 */
/* What a command printed: kept in order, the oldest dropped, and said how much. */
#include "warden/spool.h"

#include <stdbool.h>

#include "tap.h"

static char data[SPOOL_RECORD_MAX];

static void keeps_order(void)
{
	struct spool s = {0};
	struct spool_record r;
	uint64_t pos = 0;

	is_int(spool_next(&s, &pos, &r, data), 0, "nothing at first");
	spool_add(&s, 1, 5, "abc", 3);
	spool_add(&s, 2, 6, "de", 2);
	is_int(spool_next(&s, &pos, &r, data), 1, "the first");
	ok(r.stream == 1 && r.len == 3 && r.at_ms == 5 && r.before == 0, "as it was");
	ok(memcmp(data, "abc", 3) == 0, "its bytes");
	is_int(spool_next(&s, &pos, &r, data), 1, "the second");
	ok(r.stream == 2 && r.len == 2 && r.before == 3, "behind it");
	is_int(spool_next(&s, &pos, &r, data), 0, "no more");
	spool_add(&s, 1, 7, "", 0);
	is_int(spool_next(&s, &pos, &r, data), 0, "nothing is no record");
	spool_done(&s);
}

/* Numbers in their order through many rounds of the ring: what comes out is a run of them that ends
 * with the last. */
static void drops_the_oldest(void)
{
	struct spool s = {0};
	struct spool_record r;
	uint64_t pos = 0, next = 0, bytes = 0, got;
	bool right = true;

	for (uint64_t i = 0; i < 300000; i++) {
		spool_add(&s, 1, i, &i, sizeof(i));
		bytes += sizeof(i);
	}
	ok(s.end - s.begin <= SPOOL_MAX, "no more than it may hold");
	ok(s.total == bytes, "all of it is counted");
	is_int(spool_next(&s, &pos, &r, data), 1, "a late reader begins with what is there");
	ok(r.before == s.lost, "and can tell what he missed");
	memcpy(&next, data, sizeof(next));
	while (spool_next(&s, &pos, &r, data)) {
		memcpy(&got, data, sizeof(got));
		right = right && got == ++next && r.before == got * sizeof(got);
	}
	ok(right, "without a gap");
	ok(next == 299999, "to the last");
	spool_done(&s);
}

static void large_ones(void)
{
	static char big[3 << 20];
	struct spool s = {0};
	struct spool_record r;
	uint64_t pos = 0, sum = 0;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i % 251);
	spool_add(&s, 1, 0, big, sizeof(big));
	while (spool_next(&s, &pos, &r, data)) {
		sum += r.len;
		if (r.len > SPOOL_RECORD_MAX || memcmp(data, big + r.before, r.len) != 0)
			break;
	}
	ok(sum + s.lost == sizeof(big), "kept and lost are all of it");
	ok(sum > SPOOL_MAX / 2, "most of the room is used");
	spool_done(&s);
}

int main(void)
{
	TAP_RUN(keeps_order);
	TAP_RUN(drops_the_oldest);
	TAP_RUN(large_ones);
	return tap_done();
}
