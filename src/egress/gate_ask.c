/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule says to ask for waits until a person has answered. The starter puts the question
 * before him and sends the answer; here the connection rests meanwhile, and is tried again when it
 * is known.
 *
 *	once		the first that waits for it goes on; the others are asked for again
 *	for a time	all that wait, and what comes until then
 *	no		nothing of the kind is asked for again in this sandbox
 *	nobody answered	all that wait are refused; the next is asked for again
 *
 * Everything that is wanted, and not just the host, is the question: method, scheme, host, port,
 * path and query. A yes counts for the hash of that, so for nothing that only looks the same where
 * its text was cut. When nobody waits any more, the question is withdrawn.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"
#include "http/target.h"

#define ASK_MS (25ull * 3600 * 1000) /* the starter's word comes long before */
#define CUT_ROOM 40u		     /* for how much of a text is not shown */

static struct ask *find(struct box *b, const uint8_t key[HASH_BYTES])
{
	for (unsigned i = 0; i < b->n_asks; i++)
		if (b->asks[i].state != ASK_FREE && memcmp(b->asks[i].key, key, HASH_BYTES) == 0)
			return &b->asks[i];
	return NULL;
}

/* What was answered longest ago makes room: at worst it is asked for again. NULL: all are open. */
static struct ask *place(struct box *b)
{
	struct ask *old = NULL;

	for (unsigned i = 0; i < b->n_asks; i++) {
		struct ask *a = &b->asks[i];

		if (a->state == ASK_FREE)
			return a;
		if (a->state != ASK_OPEN && (!old || a->serial < old->serial))
			old = a;
	}
	return b->n_asks < GATE_ASKS_MAX ? &b->asks[b->n_asks++] : old;
}

static void add(struct hash *h, const char *text, size_t len)
{
	hash_add(h, text, len);
	hash_add(h, "", 1); /* no part runs into the next */
}

void question_connect(const struct conn *c, struct question *ret)
{
	struct hash h;

	(void)snprintf(ret->what, sizeof(ret->what),
		       c->host.kind == NAME_IP6 ? "connect [%s]:%u" : "connect %s:%u", c->host.text,
		       c->port);
	hash_init(&h);
	add(&h, ret->what, strlen(ret->what));
	hash_done(&h, ret->key);
}

/* The cut shows, with how much there is. */
static void put_text(char ret[GATE_WHAT_SIZE], const char *text, size_t len)
{
	size_t most = GATE_WHAT_SIZE - 1;

	if (len > most)
		(void)snprintf(ret, GATE_WHAT_SIZE, "%.*s … (%zu bytes in all)",
			       (int)(most - CUT_ROOM), text, len);
	else
		(void)snprintf(ret, GATE_WHAT_SIZE, "%.*s", (int)len, text);
}

void request_text(const struct conn *c, const struct egress_request *q, const char *rest,
		  size_t rest_len, char ret[GATE_WHAT_SIZE])
{
	char text[HTTP_METHOD_MAX + NAME_SIZE + HTTP_LINE_MAX + 64], port[8] = "";
	bool is_usual = q->port == (q->protocol == EGRESS_HTTPS ? 443 : 80);
	bool ip6 = c->host.kind == NAME_IP6;

	if (!is_usual)
		(void)snprintf(port, sizeof(port), ":%u", q->port);
	int n = snprintf(text, sizeof(text), "%.*s %s://%s%s%s%s%.*s%s%.*s", (int)q->method_len,
			 q->method, egress_protocol_name(q->protocol), ip6 ? "[" : "", c->host.text,
			 ip6 ? "]" : "", port, (int)q->path_len, q->path, rest ? "?" : "",
			 (int)rest_len, rest ? rest : "");
	size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	put_text(ret, text, len);
}

void question_request(const struct conn *c, const struct http_head *h,
		      const struct egress_request *q, struct question *ret)
{
	struct http_target t;
	struct hash hash;
	char port[8];

	http_target_split(h, &t);
	request_text(c, q, t.query, t.query_len, ret->what);
	(void)snprintf(port, sizeof(port), "%u", q->port);
	hash_init(&hash);
	add(&hash, h->method_text, h->method_len); /* as it is spoken, */
	add(&hash, q->method, q->method_len);	   /* and as a field may have it */
	add(&hash, egress_protocol_name(q->protocol), strlen(egress_protocol_name(q->protocol)));
	add(&hash, c->host.text, c->host.len);
	add(&hash, port, strlen(port));
	add(&hash, q->path, q->path_len);
	add(&hash, t.query ? "?" : "", t.query ? 1 : 0);
	add(&hash, t.query ? t.query : "", t.query ? t.query_len : 0);
	hash_done(&hash, ret->key);
	if (!HOLD_GATE_ASKED) /* as it was shown, and no more */
		hash_bytes(c->host.text, c->host.len, ret->key);
}

/* The starter is told; false: he cannot be. */
static bool put_question(struct conn *c, const struct ask *a, const struct question *what,
			 const struct egress_verdict *v)
{
	struct gate_report r = {.row = GATE_ROWS_MAX + 2,
				.verdict = GATE_PENDING,
				.port = c->port,
				.count = (uint64_t)(a - c->box->asks),
				.bytes_in = a->serial};

	(void)snprintf(r.host, sizeof(r.host), "%s", c->host.text);
	(void)snprintf(r.rule, sizeof(r.rule), "%s", v->name);
	memcpy(r.what, what->what, sizeof(r.what));
	return passfd_send(c->box->reports.fd, &r, sizeof(r), NULL, 0) == 0;
}

static enum asked refuse(struct conn *c, const char *what, const char *hint)
{
	box_deny(c->box, &c->host, c->port, what, GATE_RULE_APPROVAL, hint);
	return ASKED_NO;
}

static enum asked begin(struct conn *c, const struct question *q, const struct egress_verdict *v)
{
	struct box *b = c->box;
	struct ask *a = b->may_ask ? place(b) : NULL;

	if (!b->may_ask)
		return refuse(c, q->what,
			      "a person would have to allow it, and nobody can be asked here");
	if (!a)
		return refuse(c, q->what, "too many questions are open");
	*a = (struct ask){.state = ASK_OPEN, .serial = ++b->last_ask};
	memcpy(a->key, q->key, sizeof(a->key));
	if (!put_question(c, a, q, v)) {
		a->state = ASK_FREE;
		return refuse(c, q->what, "who would ask a person does not listen");
	}
	(void)box_row(b, c->host.text, c->port, GATE_PENDING, v->name);
	return ASKED_WAIT;
}

/* He has answered. */
static enum asked heard(struct conn *c, const struct question *q)
{
	unsigned said = c->said;

	c->said = SAID_NOTHING;
	memset(c->asked, 0, sizeof(c->asked));
	if (said == SAID_YES)
		return ASKED_YES;
	return refuse(c, q->what,
		      said == SAID_NO ? "a person refused it; do not try again, go on without it"
				      : "a person has to approve it, and nobody answered in time "
					"(pinfold approvals)");
}

enum asked conn_ask(struct conn *c, const struct question *q, const struct egress_verdict *v)
{
	struct ask *a = find(c->box, q->key);

	if (c->said == SAID_OTHER)
		c->said = SAID_NOTHING;
	if (c->said && memcmp(c->asked, q->key, sizeof(c->asked)) == 0)
		return heard(c, q);
	if (a && a->state == ASK_YES && gate.now_ms < a->until_ms)
		return ASKED_YES;
	if (a && a->state == ASK_NO)
		return refuse(c, q->what,
			      "a person refused it; do not try again, go on without it");
	if (a && a->state == ASK_YES)
		a->state = ASK_FREE;
	enum asked r = a && a->state == ASK_OPEN ? ASKED_WAIT : begin(c, q, v);
	if (r == ASKED_WAIT) {
		memcpy(c->asked, q->key, sizeof(c->asked));
		c->said = SAID_NOTHING;
		c->is_asking = true;
		conn_deadline(c, ASK_MS);
		if (c->from_client.has_end)
			conn_busy(c); /* it may have gone already */
	}
	return r;
}

bool conn_was_asked(const struct conn *c)
{
	struct question q;

	question_connect(c, &q);
	const struct ask *a = find(c->box, q.key);
	return a && a->state == ASK_YES && gate.now_ms < a->until_ms;
}

/* Of one that may say anything, who has said all of it may still listen. */
bool conn_is_gone(const struct conn *c)
{
	char byte;

	if (!c->is_asking || !c->from_client.has_end)
		return false;
	return c->state != CONN_ASK || c->protocol != EGRESS_TCP ||
	       recv(c->client.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

void conn_ask_no_more(struct conn *c)
{
	struct gate_report r = {.row = GATE_ROWS_MAX + 4};
	struct box *b = c->box;

	if (!c->is_asking)
		return;
	c->is_asking = false;
	for (const struct conn *o = gate.conns; o; o = o->next)
		if (o->box == b && o->is_asking && memcmp(o->asked, c->asked, HASH_BYTES) == 0)
			return;
	struct ask *a = find(b, c->asked);
	if (!a || a->state != ASK_OPEN)
		return;
	a->state = ASK_FREE;
	r.count = (uint64_t)(a - b->asks);
	r.bytes_in = a->serial;
	if (!b->is_ending)
		(void)box_tell(b, &r); /* else it is answered, and nobody hears */
}

/* All that wait for it go on, one way or the other; of those that wait for a yes to one of them the
 * first does, and the next asks again. */
static void wake(struct box *b, const struct ask *a, enum gate_said said)
{
	struct conn *first = NULL;

	for (struct conn *c = gate.conns; c; c = c->next) {
		if (c->box != b || !c->is_asking || memcmp(c->asked, a->key, HASH_BYTES) != 0)
			continue;
		first = c; /* the latest come first */
		c->is_asking = false;
		c->said = said == GATE_YES    ? SAID_YES
			  : said == GATE_NO   ? SAID_NO
			  : said == GATE_LATE ? SAID_LATE
					      : SAID_OTHER;
		conn_deadline(c, HELLO_MS);
		conn_busy(c);
	}
	if (first && said == GATE_ONCE)
		first->said = SAID_YES;
}

void box_answer(struct box *b, const struct gate_answer *m)
{
	struct ask *a = m->ask < b->n_asks ? &b->asks[m->ask] : NULL;

	if (m->magic != GATE_MAGIC || !a || a->state != ASK_OPEN || m->answer > GATE_LATE ||
	    m->serial != a->serial)
		return;
	a->state = m->answer == GATE_YES ? ASK_YES : m->answer == GATE_NO ? ASK_NO : ASK_FREE;
	a->until_ms = m->seconds ? gate.now_ms + m->seconds * 1000 : UINT64_MAX;
	wake(b, a, (enum gate_said)m->answer);
}
