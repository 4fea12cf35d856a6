/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule says to ask for waits until a person has answered. The starter puts the question before
 * him and sends the answer; here the connection rests meanwhile, and is tried again when it is known.
 *
 *	once		all that wait for it now go on; the next is asked for again
 *	for a time	the same, and what comes until then
 *	no		nothing of the kind is asked for again in this sandbox
 *	nobody answered	all that wait are refused; the next is asked for again
 *
 * Everything that is wanted, and not just the host, is the question: "GET https://example.org/a".
 */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"

#define ASK_MS (25ull * 3600 * 1000) /* the starter's word comes long before */

static struct ask *find(struct box *b, const char *what)
{
	for (unsigned i = 0; i < b->n_asks; i++)
		if (b->asks[i].state != ASK_FREE && strcmp(b->asks[i].what, what) == 0)
			return &b->asks[i];
	return NULL;
}

static struct ask *place(struct box *b)
{
	for (unsigned i = 0; i < b->n_asks; i++)
		if (b->asks[i].state == ASK_FREE)
			return &b->asks[i];
	return b->n_asks < GATE_ASKS_MAX ? &b->asks[b->n_asks++] : NULL;
}

/* The starter is told; false: he cannot be. */
static bool put_question(struct conn *c, struct ask *a, const struct egress_verdict *v)
{
	struct gate_report r = {.row = GATE_ROWS_MAX + 2,
				.verdict = GATE_PENDING,
				.port = c->port,
				.count = (uint64_t)(a - c->box->asks)};

	(void)snprintf(r.host, sizeof(r.host), "%s", c->host.text);
	(void)snprintf(r.rule, sizeof(r.rule), "%s", v->name);
	(void)snprintf(r.what, sizeof(r.what), "%s", a->what);
	return passfd_send(c->box->reports.fd, &r, sizeof(r), NULL, 0) == 0;
}

static enum asked refuse(struct conn *c, const char *what, const char *hint)
{
	box_deny(c->box, &c->host, c->port, what, GATE_RULE_APPROVAL, hint);
	return ASKED_NO;
}

static enum asked begin(struct conn *c, const char *what, const struct egress_verdict *v)
{
	struct ask *a = c->box->may_ask ? place(c->box) : NULL;
	struct row *r = a ? box_row(c->box, c->host.text, c->port, GATE_PENDING, v->name) : NULL;

	if (!c->box->may_ask)
		return refuse(c, what,
			      "a person would have to allow it, and nobody can be asked here");
	if (!r)
		return refuse(c, what, "too many questions are open");
	a->state = ASK_OPEN;
	(void)snprintf(a->what, sizeof(a->what), "%s", what);
	if (!put_question(c, a, v)) {
		a->state = ASK_FREE;
		return refuse(c, what, "who would ask a person does not listen");
	}
	return ASKED_WAIT;
}

enum asked conn_ask(struct conn *c, const char *what, const struct egress_verdict *v)
{
	struct ask *a = find(c->box, what);

	if (c->said && strcmp(c->asked, what) == 0) {
		bool yes = c->said == SAID_YES;

		c->said = SAID_NOTHING;
		c->asked[0] = '\0';
		return yes ? ASKED_YES : refuse(c, what, "a person refused it, or nobody answered");
	}
	if (a && a->state == ASK_YES && gate.now_ms < a->until_ms)
		return ASKED_YES;
	if (a && a->state == ASK_NO)
		return refuse(c, what, "a person refused it; do not try again, go on without it");
	if (a && a->state == ASK_YES)
		a->state = ASK_FREE;
	enum asked r = a && a->state == ASK_OPEN ? ASKED_WAIT : begin(c, what, v);
	if (r == ASKED_WAIT) {
		(void)snprintf(c->asked, sizeof(c->asked), "%s", what);
		c->said = SAID_NOTHING;
		c->is_asking = true;
		conn_deadline(c, ASK_MS);
	}
	return r;
}

/* All that wait for it go on, one way or the other. */
static void wake(struct box *b, const char *what, bool yes)
{
	for (struct conn *c = gate.conns; c; c = c->next) {
		if (c->box != b || !c->is_asking || strcmp(c->asked, what) != 0)
			continue;
		c->is_asking = false;
		c->said = yes ? SAID_YES : SAID_NO;
		conn_deadline(c, HELLO_MS);
		conn_busy(c);
	}
}

void box_answer(struct box *b, const struct gate_answer *m)
{
	struct ask *a = m->ask < b->n_asks ? &b->asks[m->ask] : NULL;

	if (m->magic != GATE_MAGIC || !a || a->state != ASK_OPEN || m->answer > GATE_LATE)
		return;
	a->state = m->answer == GATE_YES ? ASK_YES : m->answer == GATE_NO ? ASK_NO : ASK_FREE;
	a->until_ms = m->seconds ? gate.now_ms + m->seconds * 1000 : UINT64_MAX;
	wake(b, a->what, m->answer == GATE_YES || m->answer == GATE_ONCE);
}
