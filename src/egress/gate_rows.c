/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was decided for a sandbox, as rows that are counted. It is who is inside that makes them,
 * and he could make many so that what follows has none: each kind has its own room, and the last of
 * each kind stands for all that found none. So what is let through, what waits for a person and
 * every alarm is on record whatever else was refused before.
 */
#include <stdio.h>
#include <string.h>

#include "egress/gate_int.h"
#include "egress/hold.h"

enum kind {
	KIND_ALLOWED,
	KIND_NAMED, /* a name below a wildcard that was looked up */
	KIND_PENDING,
	KIND_DENIED,
	KIND_LOOKUP,
	KIND_ALARM,
	KINDS,
};

static const struct {
	unsigned most; /* with the one that stands for others */
	const char *others;
} kinds[KINDS] = {
	[KIND_ALLOWED] = {176, "connections"},
	[KIND_NAMED] = {32, "names"},
	[KIND_PENDING] = {GATE_ASKS_MAX, "questions"},
	[KIND_DENIED] = {104, "connections"},
	[KIND_LOOKUP] = {96, "names"},
	[KIND_ALARM] = {40, "places"},
};
_Static_assert(176 + 32 + GATE_ASKS_MAX + 104 + 96 + 40 == GATE_ROWS_MAX,
	       "each row is some kind's");
_Static_assert(KINDS == BOX_ROW_KINDS, "of which the sandbox counts how many there are");

uint32_t row_hash(const char *host, uint16_t port, unsigned verdict, const char *rule)
{
	uint32_t h = 2166136261u ^ port ^ verdict << 16;

	for (const char *s = host; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	for (const char *s = rule; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

static enum kind kind_of(uint16_t port, enum gate_verdict verdict, const char *rule)
{
	switch (verdict) {
	case GATE_ALLOWED: return port == GATE_DNS_PORT ? KIND_NAMED : KIND_ALLOWED;
	case GATE_PENDING: return KIND_PENDING;
	case GATE_DENIED: break;
	}
	return strcmp(rule, GATE_RULE_SECRET) == 0 ? KIND_ALARM
	       : port == GATE_DNS_PORT		   ? KIND_LOOKUP
						   : KIND_DENIED;
}

static struct row *find(struct box *b, const char *host, uint16_t port, unsigned verdict,
			const char *rule)
{
	uint32_t hash = row_hash(host, port, verdict, rule);

	for (unsigned i = 0; i < b->n_rows; i++) {
		struct row *r = &b->rows[i];

		if (r->hash == hash && r->report.port == port && r->report.verdict == verdict &&
		    strcmp(r->report.host, host) == 0 && strcmp(r->report.rule, rule) == 0)
			return r;
	}
	return NULL;
}

struct row *row_of(struct box *b, const char *host, uint16_t port, enum gate_verdict verdict,
		   const char *rule)
{
	char cut[sizeof(b->rows[0].report.rule)];

	(void)snprintf(cut, sizeof(cut), "%s", rule);
	return find(b, host, port, verdict, cut);
}

static struct row *add(struct box *b, const char *host, uint16_t port, unsigned verdict,
		       const char *rule)
{
	struct row *r = &b->rows[b->n_rows];

	*r = (struct row){.hash = row_hash(host, port, verdict, rule), .is_new = true};
	r->report = (struct gate_report){
		.row = b->n_rows++, .verdict = (uint16_t)verdict, .port = port};
	(void)snprintf(r->report.host, sizeof(r->report.host), "%s", host);
	(void)snprintf(r->report.rule, sizeof(r->report.rule), "%s", rule);
	return r;
}

/* The row of all of its kind that found none. */
static struct row *others(struct box *b, enum kind kind, uint16_t port, unsigned verdict)
{
	const char *rule = kind == KIND_ALARM ? GATE_RULE_SECRET : GATE_RULE_OTHERS;
	struct row *r;

	if (kind != KIND_LOOKUP && kind != KIND_NAMED)
		port = 0;
	b->omitted++;
	b->omitted_changed = true;
	if ((r = find(b, "*", port, verdict, rule)))
		return r;
	r = add(b, "*", port, verdict, rule);
	b->n_of_kind[kind]++;
	r->is_others = true;
	(void)snprintf(r->report.what, sizeof(r->report.what),
		       kind == KIND_ALARM ? GATE_STRAY "request, to %s that are not listed"
					  : "%s that are not listed",
		       kinds[kind].others);
	return r;
}

struct row *box_row(struct box *b, const char *host, uint16_t port, enum gate_verdict verdict,
		    const char *rule)
{
	char cut[sizeof(b->rows[0].report.rule)];

	(void)snprintf(cut, sizeof(cut), "%s", rule ? rule : "");
	enum kind kind = HOLD_GATE_ROWS ? kind_of(port, verdict, cut) : KIND_ALLOWED;
	struct row *r = find(b, host, port, verdict, cut);
	if (!r && b->n_of_kind[kind] + 1 < kinds[kind].most) {
		r = add(b, host, port, verdict, cut);
		b->n_of_kind[kind]++;
	}
	if (!r && !HOLD_GATE_ROWS)
		return NULL;
	if (!r)
		r = others(b, kind, port, verdict);
	row_again(r);
	return r;
}

struct row *box_deny(struct box *b, const struct name *host, uint16_t port, const char *what,
		     const char *rule, const char *hint)
{
	struct row *r = box_row(b, host->text, port, GATE_DENIED, rule);

	if (!r)
		return NULL;
	if (!r->report.what[0] && what)
		(void)snprintf(r->report.what, sizeof(r->report.what), "%s", what);
	else if (!r->report.what[0])
		(void)snprintf(r->report.what, sizeof(r->report.what),
			       host->kind == NAME_IP6 ? "connect [%s]:%u" : "connect %s:%u",
			       host->text, port);
	if (!r->report.hint[0] && r->is_others)
		(void)snprintf(r->report.hint, sizeof(r->report.hint),
			       "more was refused than there is room to list");
	else if (!r->report.hint[0] && hint)
		(void)snprintf(r->report.hint, sizeof(r->report.hint), "%.255s", hint);
	box_report(b, false);
	b->denied = r;
	return r;
}

void row_again(struct row *r)
{
	if (!r)
		return;
	r->report.count++;
	r->is_changed = true;
}

void row_bytes(struct row *r, uint64_t in, uint64_t out)
{
	if (!r)
		return;
	r->report.bytes_in += in;
	r->report.bytes_out += out;
	r->is_changed = true;
}
