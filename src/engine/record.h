/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where an operation begins and ends, for the ledger. Its first event is written before
 * anything is done (what cannot be recorded does not happen), its last before the answer leaves. One that
 * is refused before it began has one event, with the phase "refused".
 *
 * The chain is that of the data directory for which this process works: `ledger` in the store's home or the
 * contract's, or what pinfold_ledger_use() named. PINFOLD_LEDGER=off: no ledger, and nothing of this happens.
 */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include <pinfold/ledger.h>
#include <stdbool.h>

#include "base/hash.h"
#include "base/value.h"
#include "ledger/chain.h"

struct pinfold_run;
struct pinfold_run_options;
struct store;

/* On whose behalf; "" for nobody's but the process's own. */
struct record_who {
	char tenant[64], token[40], client[80];
};

struct record {
	int dir; /* of the chain, while it lasts; FD_NONE: there is no ledger, or it has not begun */
	bool begun;
	bool kept; /* `place` is where its end is */
	struct chain_place place;
	struct record_who who;
	/* Of a run. */
	struct hash output[2];
	uint64_t output_bytes[2];
};
void record_init(struct record *r);
void record_done(struct record *r);

/* An operation on a workspace, a sandbox or the like. `data` is taken, may be NULL. */
struct op {
	struct record record;
	const char *kind, *workspace, *sandbox; /* borrowed */
};
int op_begin(struct op *op, const char *kind, const struct store *s, struct value *data,
	     struct err *e);
/* Returns r. What came of it is in `data`, which is taken, or in the error. */
int op_end(struct op *op, int r, struct value *data, const struct err *e);

/* A run. */
void record_who(struct pinfold_run *run, const struct pinfold_run_options *o);
int record_run_begin(struct pinfold_run *run, struct err *e);
void record_run_output(struct pinfold_run *run, int stream, const void *data, size_t len);
/* e: why it did not start, or NULL. */
void record_run_end(struct pinfold_run *run, const struct err *e);
void record_run_refused(struct pinfold_run *run, const struct pinfold_run_options *o,
			const struct err *e);
/* record_run.c */
struct value *record_run_asked(const struct pinfold_run *run, const struct pinfold_run_options *o);
struct value *record_run_outcome(const struct pinfold_run *run, const struct err *e);
struct value *record_error(const struct err *e);
struct value *record_word(const char *text);	 /* not too much of it */
struct value *record_redacted(const char *text); /* without what looks like a secret */

/* ledger.c: the chain's directory, opened; FD_NONE and 0: there is none. */
int record_open(const struct store *s, int *ret_fd, struct err *e);
unsigned record_flags(void);
/* Has this process written an event? */
bool record_written(void);
/* The chains of the data directory: its own, of HTTP, of tenants. Room for `most`; how many, or negative. */
struct record_chain {
	int fd;
	char name[128]; /* below the data directory */
};
int record_chains(struct record_chain *list, unsigned most, struct err *e);

#endif
