/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one run, without reading all others. There is no index: an id begins with the time when it
 * was made, and events lie in the order of time but for clocks that were set back. So the place is found by
 * halving, and where nothing is found there everything is read.
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
};

/* 1: found; 0: no event is of it. */
int find_run(int dir, const char *run, struct find_run *ret, struct err *e);
void find_done(struct find_run *f);

/* Set a scan before the first event of this instant (RFC 3339 in UTC, milliseconds), or a little
 * earlier. */
int find_seek(struct scan *s, const char *instant, struct err *e);
/* Its instant, 24 letters; NULL: it has none. */
const char *find_time(const char *line, size_t len);

#endif
