/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: the ledger, receipts */
#ifndef PINFOLD_LEDGER_H
#define PINFOLD_LEDGER_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ledger: every operation of this library is recorded, before it begins and before its answer, in the
 * chain of the data directory (`ledger` below it). What cannot be recorded is not done. PINFOLD_LEDGER=off in
 * the environment: no ledger. PINFOLD_LEDGER_SYNC=always: an event is on disk before the call returns;
 * else it is there within 50 ms, if somebody settles.
 */
/* This process writes to the chain in that directory from now on; the descriptor stays the caller's, and open. Before
 * threads begin. */
PINFOLD_API int pinfold_ledger_use(int dir_fd, struct pinfold_error *ret_error);
/* Does nobody settle? Then a thread or a process of the caller's should, after events were written. */
PINFOLD_API int pinfold_ledger_unsettled(void);
/* Becomes readable (an eventfd) when this process has written an event. Owned by the library. */
PINFOLD_API int pinfold_ledger_fd(void);
/* Events to disk and under a signed checkpoint, until nothing new comes. Waits. */
PINFOLD_API int pinfold_ledger_settle(struct pinfold_error *ret_error);

/* An event of the caller's own, for what it does beside the library. kind is of the form "x.y" and not the
 * ledger's; phase "begin", "end" or "refused"; data is a JSON object, at most 16 KiB. Others may be NULL. */
struct pinfold_ledger_event {
	size_t size;
	const char *kind, *phase;
	const char *run, *sandbox, *workspace;
	const char *tenant, *token, *client;
	const char *data;
};
PINFOLD_API int pinfold_ledger_add(const struct pinfold_ledger_event *event,
				   struct pinfold_error *ret_error);

/* Which events; NULL: all. Instants are RFC 3339 in UTC, to the millisecond. */
struct pinfold_audit_options {
	size_t size;
	const char *since, *until;
	const char *tenant, *workspace, *run;
	const char *kind; /* "run", "workspace" for all of workspaces, "workspace.undo" */
	const char *host; /* that it was refused or let to */
	const char *path; /* a file that it changed, or a directory with such */
	uint32_t flags;
	uint64_t from; /* of one chain: not those before this place */
};
#define PINFOLD_AUDIT_FOLLOW                                                                       \
	0x1u /* go on as they come; each(NULL) when there is none for a moment */
#define PINFOLD_AUDIT_BEGINS 0x2u /* also that operations began */

/* One line of JSON; of which chain, by its place below the data directory. Return nonzero to hear no
 * more. */
typedef int pinfold_audit_fn(const char *line, size_t len, const char *chain, void *arg);
/* The events of all chains of the data directory, in the order of time; of one chain, in its own. */
PINFOLD_API int pinfold_audit(const struct pinfold_audit_options *options, pinfold_audit_fn *each,
			      void *arg, struct pinfold_error *ret_error);

/* Is a chain what was written? Needs no right but to read it. */
struct pinfold_verify_result {
	char chain[PINFOLD_ID_SIZE];
	const char *name; /* its place below the data directory; valid during the call */
	int good;
	uint64_t events, checkpoints, keys;
	uint64_t unsigned_events; /* newer than the last checkpoint */
	uint64_t cuts;		  /* torn ends that were recorded */
	uint64_t torn_bytes;	  /* of an event that was not written whole */
	/* Not good: the first place that does not fit. */
	char where[96];
	uint64_t position;
	char what[256];
};
struct pinfold_verify_options {
	size_t size;
	const char *dir; /* one chain's directory; NULL: all of the data directory */
	const char *key; /* text of a public key that must have signed; NULL: the one beside it */
	const char *anchor; /* text of a checkpoint that was kept elsewhere; NULL: none */
};
typedef void pinfold_verify_fn(const struct pinfold_verify_result *result, void *arg);
PINFOLD_API int pinfold_ledger_verify(const struct pinfold_verify_options *options,
				      pinfold_verify_fn *each, void *arg,
				      struct pinfold_error *ret_error);

/* The receipt of a run that has ended, signed: a DSSE envelope with an in-toto statement. */
PINFOLD_API int pinfold_receipt_write(const char *run, int fd, struct pinfold_error *ret_error);
/* Check one; options: the key alone counts. *ret_result: good, chain, position, what. */
PINFOLD_API int pinfold_receipt_verify(const char *text, size_t len,
				       const struct pinfold_verify_options *options,
				       struct pinfold_verify_result *ret_result,
				       struct pinfold_error *ret_error);
/* Another key signs from now on. */
PINFOLD_API int pinfold_ledger_rotate(struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
