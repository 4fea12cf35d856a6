/* SPDX-License-Identifier: Apache-2.0 */
/* Retention: whole files of old events are removed, and a signed tombstone takes their place. */
#ifndef LEDGER_PRUNE_H
#define LEDGER_PRUNE_H

#include <stdint.h>

#include "base/err.h"

struct prune_ask {
	const char *before; /* an instant; files whose last event is earlier */
	uint64_t most;	    /* not event `most` or any behind it: somebody has not got them yet */
};

struct prune_result {
	uint64_t events, files, bytes; /* removed now */
	uint64_t gone;		       /* in all */
};

/* A chain that is not good is left as it is: nobody takes evidence away. */
int prune(int dir, const struct prune_ask *ask, struct prune_result *ret, struct err *e);

#endif
