/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event: a line of canonical JSON, ended by a line feed.
 *
 *	{"at":12,                  its place in the chain, from 0
 *	 "before":"<64 digits>",   hash of the event before, as a leaf of the tree; of the first: zeros
 *	 "chain":"led…",           which chain
 *	 "data":{…},               what its kind has to say
 *	 "kind":"run.end",
 *	 "run":…, "sandbox":…, "tenant":…, "workspace":…    where there are such
 *	 "time":"2026-01-01T00:00:00.000Z",
 *	 "who":{"uid":0, …}}
 *
 * Keys of canonical JSON are sorted, and no other key sorts before these three: so every line begins in the
 * same way, and the chain is walked without parsing JSON.
 */
#ifndef LEDGER_EVENT_H
#define LEDGER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "ledger/tree.h"

#define EVENT_BYTES_MAX (32u << 10)

struct event_head {
	uint64_t at;
	struct tree_hash before;
	char chain[ID_SIZE];
};

/* The beginning of a line without its line feed; false: that is no event. */
bool event_head(const char *line, size_t len, struct event_head *ret);
/* Is it of the chain's own kinds ("ledger.…")? May say so of others; never says no to one. */
bool event_is_ours(const char *line, size_t len);

#endif
