/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run makes on the host is written down before it is made. One file per run in `live/` of
 * the runtime directory, locked for as long as the run's process lives; the kernel drops the lock
 * when that process dies, however it dies. A file without a lock is therefore what a dead run
 * left, and whoever finds it removes what it names.
 *
 * The file's name is a number, the slot. A slot is taken by one run at a time on the whole host,
 * which makes it the run's share of the pool of ids, too.
 *
 * Format: lines "cgroup PATH", "dir PATH" and "scope UNIT", oldest first.
 */
#ifndef SANDBOX_JOURNAL_H
#define SANDBOX_JOURNAL_H

#include <stdint.h>

#include "base/err.h"
#include "kernel/cgroup.h"

#define JOURNAL_SLOTS 4000u

struct journal {
	int dir;  /* live/, FD_NONE: no journal is kept */
	int file; /* ours, locked */
	unsigned slot;
};

#define JOURNAL_INIT                                                                               \
	{                                                                                          \
		FD_NONE, FD_NONE, 0                                                                \
	}

/* Open (make, if need be) live/ below `runtime_dir`. */
int journal_open(const char *runtime_dir, struct journal *ret, struct err *e);
/* Take a slot with these lines written and locked. */
int journal_begin(struct journal *j, const char *lines, struct err *e);
/* Everything named was removed: give the slot back. */
void journal_end(struct journal *j);
void journal_close(struct journal *j);
/* Remove what dead runs left. Returns how many runs were cleaned up after. */
unsigned journal_sweep(const struct journal *j);

#endif
