/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one run, by the index (runs.h), and those from an instant on, which is found by
 * halving: not by the time of an event, which goes back where a clock was set back, but by the
 * latest so far (event.h).
 */
#ifndef LEDGER_FIND_H
#define LEDGER_FIND_H

#include "base/value.h"
#include "ledger/scan.h"

struct find_event {
	struct value *value; /* NULL: there is none */
	char *line;
	size_t len;
	uint64_t at;
	struct tree_hash leaf;
};

struct find_run {
	struct find_event begin, end; /* one that was refused has only an end */
	struct value *more; /* rows of its parts (run.more), by the name of their list; or NULL */
};

/* 1: found; 0: no event is of it. */
int find_run(int dir, const char *run, struct find_run *ret, struct err *e);
void find_done(struct find_run *f);

/* Set a scan before the first event of this instant (RFC 3339 in UTC, milliseconds), or a little
 * earlier. */
int find_seek(struct scan *s, const char *instant, struct err *e);
/* Its instant, 24 letters; NULL: it has none. */
const char *find_time(const char *line, size_t len);
/* The latest that it or an event before it has: never goes back. */
const char *find_latest(const char *line, size_t len);

#endif
