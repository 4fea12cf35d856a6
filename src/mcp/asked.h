/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule's `ask` holds while a tool is at work: the question lies in the box of approvals, as
 * that of any run, and who called is the one to put it before a person. A legacy client is sent a
 * form and the call waits; a modern one is answered at once and calls again with the person's word;
 * one that can show no form, or closed it, is told what to run in a terminal, and where to read how
 * it went on. Whatever is not answered in time is refused by who asked.
 */
#ifndef MCP_ASKED_H
#define MCP_ASKED_H

#include "api/boxes.h"
#include "api/call.h"
#include "api/runs.h"

struct asked;
struct text;
struct mcp;
struct request;

int asked_new(struct mcp *m, struct asked **ret, struct err *e);
void asked_free(struct asked *a);

/* A call whose command or code runs in a sandbox; part of the handler's stack until asked_end(). */
struct running {
	struct running *next;
	struct call *call;
	char box[32], run[32];
	bool parked; /* it was answered; nobody hears of it here any more */
};
/* The handler's thread. */
void asked_begin(struct call *c, struct running *w, const struct box *b, const char *run);
void asked_end(struct call *c, struct running *w);

/* What waits for a person in that sandbox, a line each, with what to do: for who reads how a
 * background process goes on. */
void asked_note(struct call *c, const struct box *b, struct text *t);

/* Is this the call again, of a modern client, with a person's word? 0: no. 1: *ret_rec is what it
 * began, which has ended. 2: it was answered otherwise; the handler is done. */
int asked_resume(struct call *c, struct box *b, struct record **ret_rec, struct err *e);

#endif
