/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where an operation begins and ends, for the ledger. Its first event is written
 * before anything is done (what cannot be recorded does not happen), its last before the answer
 * leaves. One that is refused before it began has one event, with the phase "refused".
 *
 * The chain is that of the data directory for which this process works: `ledger` in the store's
 * home or the contract's, or what pinfold_ledger_use() named. PINFOLD_LEDGER=off: no ledger, and
 * nothing of this happens.
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
	bool kept;	  /* `place` is where its end is */
	bool has_sandbox; /* the daemon has said which */
	bool told_sandbox;
	struct chain_place place;
	struct record_who who;
	/* Of a run. */
	struct value *words; /* of its command, without secrets */
	struct hash output[2], input;
	uint64_t output_bytes[2], input_bytes;
};
void record_init(struct record *r);
void record_done(struct record *r);

/* An operation on a workspace, a sandbox or the like. `data` is taken, may be NULL. */
struct op {
	struct record record;
	const char *kind, *workspace, *sandbox; /* borrowed */
	struct store *store;			/* borrowed; where the workspace is */
};
int op_begin(struct op *op, const char *kind, struct store *s, struct value *data, struct err *e);
/* Returns r. What came of it is in `data`, which is taken, or in the error. */
int op_end(struct op *op, int r, struct value *data, const struct err *e);

/* A run. */
void record_who(struct pinfold_run *run, const struct pinfold_run_options *o);
/* The same with what it runs, for one that has no events of its own. */
void record_asks(struct pinfold_run *run, const struct pinfold_run_options *o);
int record_run_begin(struct pinfold_run *run, struct err *e);
/* It has gone on for RECORD_LIVES_US, or has raised an alert so long ago: an event says in which
 * sandbox, where the daemon chose it, and what was written so far is settled. A shorter run pays
 * nothing for this. */
#define RECORD_LIVES_US 30000u
void record_run_lives(struct pinfold_run *run);
struct run_alert;
void record_run_alert(struct pinfold_run *run, const struct run_alert *a);
void record_run_output(struct pinfold_run *run, int stream, const void *data, size_t len);
void record_run_input(struct pinfold_run *run, const void *data, size_t len);
/* e: why it did not start, or NULL. */
void record_run_end(struct pinfold_run *run, const struct err *e);
void record_run_refused(struct pinfold_run *run, const struct pinfold_run_options *o,
			const struct err *e);
/* record_run.c */
struct value *record_run_asked(const struct pinfold_run *run, const struct pinfold_run_options *o);
struct value *record_run_outcome(const struct pinfold_run *run, const struct err *e);
struct value *record_error(const struct err *e);
/* The words of a command without what looks like a secret; values of its variables are their
 * names. */
struct value *record_words(const char *const *argv, const char *const *env);
/* record_more.c: its command, variables and packages; what the beginning has no room for, behind
 * it. */
void record_run_first(struct value *v, const struct pinfold_run *run);
void record_run_behind(struct pinfold_run *run);
/* Its command alone, as the beginning has it. */
void record_run_command(struct value *v, const struct pinfold_run *run);
/* Its denials, connections and files; what the end has no room for, before it. */
void record_run_lists(struct value *v, const struct pinfold_run *run);
void record_run_more(struct pinfold_run *run);
/* Of a sandbox that lived, when it has ended: what the gate decided for it, whoever's command it
 * was. */
void record_live_network(const struct pinfold_run *run);
void record_live_part(const struct pinfold_run *run, const char *phase, struct value *taken);
void record_run_part(struct pinfold_run *run, struct value *data);
struct value *record_word(const char *text);	 /* not too much of it */
struct value *record_redacted(const char *text); /* without what looks like a secret */

/* ledger.c: the chain's directory, opened; FD_NONE and 0: there is none. */
int record_open(const struct store *s, int *ret_fd, struct err *e);
/* Events were written and this process goes on for a while: whoever does that for it settles them
 * now. */
void record_settle(void);
/* Has this process written an event? */
bool record_written(void);
/* The chains of the data directory: its own, of HTTP, of tenants. Room for `most`; how many, or
 * negative. */
struct record_chain {
	int fd;
	char name[128]; /* below the data directory */
};
int record_chains(struct record_chain *list, unsigned most, struct err *e);
#define RECORD_CHAINS_MAX 256u
/* ship.c: how many events of that chain every sink has. */
uint64_t record_shipped(int chain);
/* snap_digest.c: the digest of the snapshot after the run whose end this is, in that chain. 0: it
 * made none. */
int record_snapshot(const char *chain, const struct value *end, char ret[HASH_TEXT_SIZE],
		    struct err *e);
/* audit_whose.c: is that event of that chain the tenant's? NULL: anybody's. May the chain have such
 * at all? */
bool record_is_of(const struct value *event, const char *chain, const char *tenant);
bool record_may_have(const char *chain, const char *tenant);
/* audit.c: RFC 3339 in UTC to the millisecond, or NULL. */
int record_instant(const char *name, const char *text, struct err *e);

#endif
