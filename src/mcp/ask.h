/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to whoever is at the other end while a tool is at work: a form for a person, a sample
 * of a model, the roots of a client. A handler asks by ask_input() whatever the era: a legacy
 * client is sent a request and the handler waits; a modern one is told what is wanted, asks its
 * person, and calls again with the answers.
 */
#ifndef MCP_ASK_H
#define MCP_ASK_H

#include "api/call.h"
#include "base/value.h"

struct approvals;
struct peer;
struct request;

#define ASK_AGAIN 1	     /* the handler returns 0; it will be called again with the answer */
#define ASK_QUICK_MS 200u    /* no person refuses that fast */
#define ASK_MS (600u * 1000) /* how long an answer may take, and a requestState is good for */

/*
 * The handler's thread. `params` is taken. 0 and *ret_answer: the result of the question's method;
 * ASK_AGAIN; -errno: unsupported when the client cannot be asked that, timeout, or cancelled.
 */
int ask_input(struct call *c, const char *key, const char *method, struct value *params,
	      struct value **ret_answer, struct err *e);
/* What a modern client is to bring back beside the answers: it comes back as it was or not at
 * all. */
void ask_remember(struct call *c, const char *words);
/* What it brought back; "" for nothing. -1: it is not what was sent; the fault is set. */
int ask_remembered(struct call *c, char *ret, size_t size);

struct wish {
	const char *sandbox; /* what for, as a person knows it */
	const char *id;	  /* of that sandbox, for which alone a yes is; NULL: it is not made yet */
	const char *kind; /* "transfer", "network" */
	const char *what; /* completes "Allow …": "network access to example.org" */
	const char *why;  /* the agent's own words, which nobody checked; or NULL */
	bool lasts;	  /* it goes on after the call, as long as the sandbox lives */
};
/* May it be done? 0; ASK_AGAIN; or denied.*. A yes is for the same sandbox, kind and words. */
int approve(struct call *c, const struct wish *w, struct err *e);
int approvals_new(struct approvals **ret, struct err *e);
void approvals_free(struct approvals *a);

/* The loop's thread: a legacy client is sent it, and `answered` is called there, once, with the
 * result of the question's method, or NULL: there will be none. */
void ask_later(struct request *r, const char *method, struct value *params,
	       void (*answered)(void *arg, const struct value *answer), void *arg);

/* The loop's thread, for rpc.c. */
struct value *ask_result(struct request *r);
void ask_answered(struct peer *c, const struct value *message);
void ask_gone(struct request *r);
void ask_drop(struct peer *c);

/* A text that only we can have made: "v1.<payload>.<mac>". Malloced, or NULL. */
char *state_seal(const struct approvals *a, const struct value *payload);
/* The words of one are good for one time. False: it was used already. */
bool state_use(struct approvals *a, const char *words);
/* Parameters of a form: once, for the sandbox (`session`), or no. */
struct value *approval_form(const char *message);
/* NULL: it was not us, or too long ago. */
struct value *state_open(const struct approvals *a, const char *text);

#endif
