/* SPDX-License-Identifier: Apache-2.0 */
/* libpinfold: the ledger, receipts */
#ifndef PINFOLD_LEDGER_H
#define PINFOLD_LEDGER_H

#include "pinfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ledger: every operation of this library is recorded, before it begins and before its answer,
 * in the chain of the data directory (`ledger` below it). What cannot be recorded is not done.
 * PINFOLD_LEDGER=off in the environment: no ledger. PINFOLD_LEDGER_SYNC=always: an event is on disk
 * before the call returns; else it is there within 50 ms, if somebody settles.
 */
/* This process writes to the chain in that directory from now on; the descriptor stays the
 * caller's, and open. Before threads begin. */
PINFOLD_API int pinfold_ledger_use(int dir_fd, struct pinfold_error *ret_error);
/* Does nobody settle? Then a thread or a process of the caller's should, after events were
 * written. */
PINFOLD_API int pinfold_ledger_unsettled(void);
/* Becomes readable (an eventfd) when this process has written an event. Owned by the library. */
PINFOLD_API int pinfold_ledger_fd(void);
/* For a process that has one thread: called when it has written events and goes on for a while, as
 * a run that lasts does. It may fork. NULL: nobody. */
PINFOLD_API void pinfold_ledger_on_due(void (*settle)(void));
/* Events to disk and under a signed checkpoint, until nothing new comes. Waits. */
PINFOLD_API int pinfold_ledger_settle(struct pinfold_error *ret_error);
/* What was written is on disk and signed for when this returns, which it does within so long. */
PINFOLD_API int pinfold_ledger_settle_within(uint32_t ms, struct pinfold_error *ret_error);
/* For a process that looks after the ledger, now and then: settle what others wrote who were killed
 * before they could. Remembers what it has seen. */
PINFOLD_API int pinfold_ledger_catch_up(struct pinfold_error *ret_error);

/* An event of the caller's own, for what it does beside the library. kind is of the form "x.y" and
 * not the ledger's; phase "begin", "end" or "refused"; data is a JSON object, at most 16 KiB.
 * Others may be NULL. */
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
	const char *tenant; /* as over HTTP; "uid-N" has also what user N did here */
	const char *workspace, *run;
	const char *kind; /* "run", "workspace" for all of workspaces, "workspace.undo" */
	const char *host; /* that it was refused or let to */
	/* a file that it changed, or a directory with such; `b` and `a/b` may be anywhere, and `*`, `?`,
	 * `[...]` and `**` are as in .gitignore */
	const char *path;
	uint32_t flags;
	uint64_t from; /* of each chain: not those before this place */
	const char *sandbox;
	/* Goes on behind what somebody has heard who had this in ret_cursor; "": from the first on.
	 * Without it since and from say where it begins. */
	const char *cursor;
	/* Where to write, before each call, how far that brings who is called. The text grows by 50
	 * bytes for each chain; one that has no room is told from the first on again. NULL: nowhere. */
	char *ret_cursor;
	size_t ret_cursor_size;
};
#define PINFOLD_AUDIT_FOLLOW                                                                       \
	0x1u /* go on as they come; each(NULL) when there is none for a moment */
#define PINFOLD_AUDIT_BEGINS 0x2u /* also that operations began */

/* One line of JSON; of which chain, by its place below the data directory. Return nonzero to hear
 * no more. */
typedef int pinfold_audit_fn(const char *line, size_t len, const char *chain, void *arg);
/* The events of all chains of the data directory, in the order of time; of one chain, in its
 * own. */
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
	uint64_t gone;		  /* of the events: pruned, and a tombstone stands for them */
	uint64_t witnessed;	  /* how many the witness has signed, and when */
	uint64_t witnessed_ms;
	/* Not good: the first place that does not fit. */
	char where[96];
	uint64_t position;
	char what[256];
	/* Of a receipt: "none", "tpm2", "tsm"; by which key, where that was checked (tpm2). */
	char evidence[16], evidence_key[72];
	int evidence_signed;
};
struct pinfold_verify_options {
	size_t size;
	const char *dir; /* one chain's directory; NULL: all of the data directory */
	/* Text of a public key that must have signed; NULL: the one beside it. Of several: each
	 * chain is checked with its own, and none may be of no chain. Of one: only the data
	 * directory's own is. */
	const char *key;
	const char *
		anchor; /* text of a checkpoint that was kept elsewhere, or of many: the last; NULL: none */
	const char *witness; /* text of the key of a witness who must have signed, too; NULL: none */
	const char *
		evidence; /* of a receipt: name of the TPM's key that must have signed; NULL: any, or none */
};
typedef void pinfold_verify_fn(const struct pinfold_verify_result *result, void *arg);
PINFOLD_API int pinfold_ledger_verify(const struct pinfold_verify_options *options,
				      pinfold_verify_fn *each, void *arg,
				      struct pinfold_error *ret_error);

/* The receipt of a run that has ended, signed: a DSSE envelope with an in-toto statement. With
 * evidence of this machine as PINFOLD_EVIDENCE says. */
PINFOLD_API int pinfold_receipt_write(const char *run, int fd, struct pinfold_error *ret_error);
/* The same, if it is a run of that tenant of the HTTP API; any other is not known. */
PINFOLD_API int pinfold_receipt_write_of(const char *run, const char *tenant, int fd,
					 struct pinfold_error *ret_error);
/* Check one; options: key and evidence count. *ret_result: good, chain, position, what. */
PINFOLD_API int pinfold_receipt_verify(const char *text, size_t len,
				       const struct pinfold_verify_options *options,
				       struct pinfold_verify_result *ret_result,
				       struct pinfold_error *ret_error);

/* One event with what proves that it is in its chain (C2SP tlog-proof, the event as its extra
 * data). event: its place in the data directory's own chain, "12", or with the chain, "led…:12". */
PINFOLD_API int pinfold_proof_write(const char *event, int fd, struct pinfold_error *ret_error);
/* Is that text a proof, whatever it proves? */
PINFOLD_API int pinfold_proof_is(const char *text, size_t len);
/* Check one; options: the key counts. *ret_result: good, chain, position, what; *ret_event: its
 * line, malloced, or NULL. */
PINFOLD_API int pinfold_proof_verify(const char *text, size_t len,
				     const struct pinfold_verify_options *options,
				     struct pinfold_verify_result *ret_result, char **ret_event,
				     struct pinfold_error *ret_error);

/* What is done with each chain of the data directory. */
struct pinfold_chain_info {
	const char *name;	     /* its place below the data directory; valid during the call */
	char chain[PINFOLD_ID_SIZE]; /* "" for one that has no events yet */
	char pem[256];		     /* the public key that signs now */
	char verifier[160];	     /* the same, for tools of signed notes */
	uint64_t events, files, bytes; /* removed by pinfold_ledger_prune() */
	uint64_t gone;		       /* in all */
};
typedef void pinfold_chain_fn(const struct pinfold_chain_info *info, void *arg);
PINFOLD_API int pinfold_ledger_keys(pinfold_chain_fn *each, void *arg,
				    struct pinfold_error *ret_error);
/* Copies of the ledger elsewhere, as it grows: a directory, http://ADDRESS:PORT/PATH,
 * syslog://ADDRESS:PORT. */
struct pinfold_sink_info {
	const char *id, *target;
	const char *name;	     /* of the chain: its place below the data directory */
	char chain[PINFOLD_ID_SIZE]; /* "" for one that has no events yet */
	uint64_t shipped, behind;    /* events */
	uint64_t failed_ms;	     /* since 1970; 0: it did not, the last time */
	const char *error;
};
typedef void pinfold_sink_fn(const struct pinfold_sink_info *info, void *arg);
PINFOLD_API int pinfold_sink_add(const char *target, char ret_id[PINFOLD_ID_SIZE],
				 struct pinfold_error *ret_error);
PINFOLD_API int pinfold_sink_remove(const char *id, struct pinfold_error *ret_error);
PINFOLD_API int pinfold_sink_list(pinfold_sink_fn *each, void *arg,
				  struct pinfold_error *ret_error);
/* Bring there what is new, of all chains; who failed a moment ago is not tried again, unless flags
 * say so. Waits. */
#define PINFOLD_SHIP_NOW 0x1u
PINFOLD_API int pinfold_ledger_ship(uint32_t flags, struct pinfold_error *ret_error);
/* Tell in the data directory's own chain how far the others (HTTP's, tenants') are, where they have
 * grown since: pinfold_ledger_verify() holds them to that. With the flag, also what is being signed at
 * this moment: waits for it, half a second at most. */
#define PINFOLD_JOIN_NOW 0x1u
PINFOLD_API int pinfold_ledger_join(uint32_t flags, struct pinfold_error *ret_error);

/* A witness signs checkpoints, and only those that go on from the last that he signed. Texts are
 * malloced. The request for the newest checkpoint of this data directory's chain; old: the size
 * that he knows, UINT64_MAX: what he signed last. */
PINFOLD_API int pinfold_witness_request(uint64_t old, char **ret_text,
					struct pinfold_error *ret_error);
/* As the witness whose key and memory are in `dir`; key: the chain's, NULL where it is known.
 * *ret_text: his line. */
PINFOLD_API int pinfold_witness_answer(const char *dir, const char *request, const char *key,
				       char **ret_text, struct pinfold_error *ret_error);
/* Make one there, where there is none, with that name; *ret_text: his public key. */
PINFOLD_API int pinfold_witness_make(const char *dir, const char *name, char **ret_text,
				     struct pinfold_error *ret_error);
/* Keep his line beside the chain. */
PINFOLD_API int pinfold_witness_keep(const char *line, struct pinfold_error *ret_error);

/* Another key signs from now on; the old one has signed that. */
PINFOLD_API int pinfold_ledger_rotate(pinfold_chain_fn *each, void *arg,
				      struct pinfold_error *ret_error);
/* Files whose events are all earlier than the instant are removed; a signed tombstone says so. */
PINFOLD_API int pinfold_ledger_prune(const char *before, pinfold_chain_fn *each, void *arg,
				     struct pinfold_error *ret_error);

#ifdef __cplusplus
}
#endif
#endif
