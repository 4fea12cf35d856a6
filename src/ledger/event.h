/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event: a line of canonical JSON, ended by a line feed.
 *
 *	{"at":12,                  its place in the chain, from 0
 *	 "before":"<64 digits>",   hash of the event before, as a leaf of the tree; of the first: zeros
 *	 "chain":"led…",           which chain
 *	 "clock_latest":"…",       only where the clock is behind: the latest time of the events before
 *	 "data":{…},               what its kind has to say
 *	 "kind":"run.end",
 *	 "run":…, "sandbox":…, "tenant":…, "workspace":…    where there are such
 *	 "time":"2026-01-01T00:00:00.000Z",
 *	 "who":{"uid":0, …}}
 *
 * Keys of canonical JSON are sorted, and no other key sorts before the first three: so every line
 * begins in the same way, and the chain is walked without parsing JSON.
 *
 * Order is that of places. A clock that was set back changes nothing about that: each event says,
 * until the clock has caught up, that it is behind, and which time was the latest. So the later of
 * the two never goes back, and an instant can be found by halving.
 */
#ifndef LEDGER_EVENT_H
#define LEDGER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "ledger/tree.h"

#define EVENT_BYTES_MAX (32u << 10)
#define EVENT_INSTANT 24u /* 2026-01-01T00:00:00.000Z */

struct event_head {
	uint64_t at;
	struct tree_hash before;
	char chain[ID_SIZE];
};

/* The beginning of a line without its line feed; false: that is no event. */
bool event_head(const char *line, size_t len, struct event_head *ret);
/* Its clock_latest, EVENT_INSTANT letters; NULL: it has none. */
const char *event_latest(const char *line, size_t len);
/* Is it of the chain's own kinds ("ledger.…")? May say so of others; never says no to one. */
bool event_is_ours(const char *line, size_t len);

#endif
