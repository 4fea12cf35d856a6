/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ran: the result and the whole output of each run, command and execution, for a time after
 * its end. A run is known to its tenant only.
 */
#ifndef API_RUNS_H
#define API_RUNS_H

#include "api/api.h"
#include "api/call.h"
#include "api/feed.h"
#include "api/spool.h"

struct kept;
struct lease;
struct pinfold_denial;
struct pinfold_run;
struct pinfold_run_options;

#define RUNS_KEEP_MS (3600u * 1000) /* unless runs_keep() says otherwise */
#define RUNS_MAX 10000u
#define RUNS_BYTES_MAX (1ull << 30) /* of output, all together */

struct record {
	char id[32];
	char tenant[TENANT_SIZE];
	char sandbox[32];   /* "" for none */
	char workspace[64]; /* "" for none */
	char command[256];
	char status[16];   /* "running", then as in the document */
	uint64_t made_ms;  /* since 1970 */
	uint64_t ended_at; /* loop_now_ms(), 0: it runs */
	char *result;	   /* the document, one line of JSON; NULL: it runs */
	struct spool output[2];
	struct kept *kept; /* files that it made; or NULL */
	struct feed *feed; /* started, stdout, stderr, denial, result */
	bool started;	   /* its event was told */
	int cancel_fd;	   /* of the call that runs it, FD_NONE: over */
	struct box *box;   /* the sandbox that lives, of a command there, while it runs; or NULL */
	struct lease *lease; /* what it has of its tenant's quotas, until it ends; or NULL */

	/* runs.c */
	uint64_t bytes; /* once it has ended */
	unsigned refs;
	struct record *next, *older, *newer;
};

int runs_new(struct loop *l, struct runs **ret, struct err *e);
void runs_free(struct runs *r);
/* How long results are kept, and how much of them; 0: the standard. Before anything runs. */
void runs_keep(struct runs *r, uint64_t ms, uint64_t bytes);

/* A new one with a reference for the caller. The id is final: it is the run's. */
struct record *record_new(struct runs *r, const char *tenant, const char *id);
/* Of that tenant; NULL and not_found otherwise. */
struct record *record_find(struct runs *r, const char *tenant, const char *id, struct err *e);
void record_unref(struct runs *r, struct record *rec);
/* `result` is taken, malloced. */
void record_end(struct runs *r, struct record *rec, const char *status, char *result);
/* As it is now: its result, malloced, or NULL and what is known of it while it runs. */
char *record_look(struct runs *r, struct record *rec, struct value **ret_summary);
/* Stop it, if it runs. */
void record_cancel(struct runs *r, struct record *rec);
/* Those of a tenant, or of all (NULL). Newest first; fn returns nonzero to stop. With the table's
 * lock: fn must be short. */
void runs_each(struct runs *r, const char *tenant, int (*fn)(struct record *, void *), void *arg);

/* Each that begins and ends is told there, borrowed: before anything runs. */
struct heirs;
void runs_tell(struct runs *r, struct heirs *heirs);
/* Is there one that somebody may still ask for? */
bool runs_kept(struct runs *r);

/* The record of a run that has just begun, as the call's; a reference for the caller. */
struct record *record_begin(struct call *c, const char *id, const char *command,
			    const char *sandbox, const char *workspace, struct err *e);

/* It has begun: who detached is answered, who wants a stream hears it from here on. */
void record_announce(struct call *c, struct record *rec);
/* What is known of it while it runs; by whoever runs it, or with the table's lock. */
struct value *record_summary(const struct record *rec);

/* What happens, into the record: one thread. Characters may be cut between two pieces of output;
 * the beginning of one waits for its end, or for record_flush(). */
struct carry {
	unsigned char bytes[4];
	size_t n;
};
void record_started(struct record *rec);
void record_output(struct record *rec, struct carry carry[2], int stream, const void *data,
		   size_t len);
void record_tell_output(struct record *rec, int stream, const void *data, size_t len);
void record_denial(struct record *rec, const struct pinfold_denial *d);
/* Of "WORD REST": the word with this key, the rest as `what`. */
struct value *record_pair(const char *key, const char *text, size_t len);
void record_alert(struct record *rec, const char *text, size_t len);	/* "RULE WHAT" */
void record_question(struct record *rec, const char *text, size_t len); /* "ID WHAT" */
void record_flush(struct record *rec, struct carry carry[2]);

/*
 * The heart of run.create, sandbox.exec and their like: events of `run` go into the record until it
 * has ended, or the call was cancelled: then it is stopped. Frees the run. `input`: what its
 * standard input gets, borrowed; NULL: nothing.
 */
struct run_input {
	const char *data;
	size_t len;
};
void record_follow(struct call *c, struct record *rec, struct pinfold_run *run,
		   const struct run_input *input);
/* A result of what was ended because its tenant has used up what he may: it says so. `text` is the
 * document, malloced, and may be replaced. False: that was not why. */
struct quotas;
bool record_explain(struct quotas *q, const char *tenant, char **text);

#endif
