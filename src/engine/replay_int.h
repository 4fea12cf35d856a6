/* SPDX-License-Identifier: Apache-2.0 */
/* What two runs have in common, and where the second takes place. For replay*.c, and gc. */
#ifndef ENGINE_REPLAY_INT_H
#define ENGINE_REPLAY_INT_H

#include <pinfold/replay.h>

#include "base/err.h"
#include "base/value.h"

struct replay_report {
	pinfold_replay_fn *each; /* NULL: nobody listens */
	void *arg;
	struct pinfold_replay_result *result;
	char first[200]; /* where the first difference is; "" for none */
};

/* replay_twin.c: a workspace like the one that a run was in, before it. */
struct twin {
	struct pinfold_store *store;
	int lock; /* FD_NONE: it was in none */
	char name[64];
};
int twin_make(const struct value *kept, const char *run, struct twin *t, struct err *e);
void twin_done(struct twin *t);
/* Those that killed replays have left; how many. */
struct store;
unsigned twins_reap(struct store *s);

/* replay_ledger.c: what is kept of a run, made of its events; *ret stays NULL where it has not
 * ended, or never began. 0: no chain knows it. */
int replay_from_ledger(const char *run, struct value **ret, bool *ret_foreign);

/* replay_compare.c (pure): two outcomes, as replay_outcome() makes them. Fills in the result. */
void replay_compare(const struct value *before, const struct value *after,
		    struct replay_report *report);

#endif
