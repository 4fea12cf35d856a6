/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could not be recorded. A run that was under way when the disk became full ends all the same,
 * and its end is lost; so are refusals of those that came then. They are counted in a file that is
 * as long as it will ever be from the chain's first event on: changing it takes no room.
 *
 *	lost	8 bytes: how many; 8 bytes: since when, in milliseconds; both little endian
 *
 * The next event that can be written has `ledger.gap` before it, which says both.
 */
#include <endian.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/chain_int.h"
#include "ledger/owner.h"

#define LOST "lost"

struct lost {
	uint64_t events, since_ms;
};

/* Under its lock: so many more, or fewer. Without the file nothing is counted; the chain is as
 * good. */
static void change(int dir, uint64_t more, uint64_t fewer)
{
	auto_close int fd = openat(dir, LOST, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct err none = ERR_INIT;
	struct lost l = {0};
	struct timespec ts;

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return;
	if (pread(fd, &l, sizeof(l), 0) != (ssize_t)sizeof(l)) {
		l = (struct lost){0};
		(void)owner_match(dir, fd, &none);
	}
	uint64_t n = le64toh(l.events);
	if (n == 0) {
		(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
		l.since_ms = htole64((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000);
	}
	l.events = htole64(n + more - (fewer < n ? fewer : n));
	(void)!pwrite(fd, &l, sizeof(l), 0);
}

void gap_prepare(int dir)
{
	change(dir, 0, 0);
}

void gap_note(int dir)
{
	change(dir, 1, 0);
}

void gap_done(int dir, uint64_t events)
{
	change(dir, 0, events);
}

struct value *gap_event(int dir, uint64_t *ret_events)
{
	auto_close int fd = openat(dir, LOST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct lost l;

	if (fd < 0 || pread(fd, &l, sizeof(l), 0) != (ssize_t)sizeof(l) || l.events == 0)
		return NULL;
	struct value *event = value_object(), *data = value_object();
	*ret_events = le64toh(l.events);
	value_set(data, "events", value_of_u64(*ret_events));
	value_set(data, "since", value_of_instant(le64toh(l.since_ms)));
	value_set(event, "kind", value_of_str("ledger.gap"));
	value_set(event, "data", data);
	return event;
}
