/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another policy for a sandbox that runs. It holds from the moment when it is taken: what is asked
 * for later is judged by it alone, and connections that are open are held against it now. One that
 * it would not allow is reset and told as a denial; so is one that it would have looked into, or
 * asked a person for. Inspected connections stay only where the rules for their host are the same,
 * because a request may be on its way.
 *
 * Connections that stay may point into the policy that they were let through by, so it is kept
 * until there is none of them.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"

#define HINT "the policy of this sandbox was changed while it was open"

void box_forget_policies(struct box *b)
{
	while (b->n_old)
		policy_free(b->old[--b->n_old]);
}

/* What was used up under a rule stays used up where the rule is still there. */
static void carry_accounts(struct box *b, const struct policy *from)
{
	for (unsigned i = 0; i < b->n_accounts; i++) {
		int rule = b->accounts[i].rule == ACCOUNT_GONE
				   ? -1
				   : policy_same_rule(b->policy, from, b->accounts[i].rule);

		b->accounts[i].rule = rule == -1 ? ACCOUNT_GONE : rule;
	}
}

/* Has it said where it wants to go, and may it be on its way there? */
static bool is_under_way(const struct conn *c)
{
	switch (c->state) {
	case CONN_HELLO:
	case CONN_RESOLVE:
	case CONN_CHECK:
	case CONN_CONNECT:
	case CONN_RELAY:
	case CONN_STAGE: return c->host.len > 0;
	case CONN_PROXY:
	case CONN_DNS:
	case CONN_LAST:
	case CONN_ASK: /* decided anew when the answer comes */
	case CONN_CLOSED: break;
	}
	return false;
}

/* An address that was good may be denied now. */
static bool still_leads_well(struct conn *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} at;
	socklen_t len = sizeof(at);
	struct address a;
	uint16_t port;

	if (!c->server_open) {
		for (unsigned i = 0; i < c->n_addresses; i++)
			if (!conn_may_reach(c, &c->addresses[i]))
				return false;
		return true;
	}
	/* One that is gone already leads nowhere. */
	return getpeername(c->server.fd, &at.any, &len) < 0 ||
	       !address_of_sockaddr(&at.any, &a, &port) || conn_may_reach(c, &a);
}

static bool still_good(struct conn *c, const struct policy *from)
{
	struct egress_request q = {
		.host = &c->host, .port = c->port, .protocol = EGRESS_ANY, .stage = EGRESS_CONNECT};
	struct egress_verdict v;

	policy_decide(c->box->policy, &q, &v);
	if (v.action != EGRESS_ALLOW && !(v.action == EGRESS_ASK && conn_was_asked(c))) {
		box_deny(c->box, &c->host, c->port, NULL, v.name, v.hint[0] ? v.hint : HINT);
		return false;
	}
	if (v.protocol != c->protocol ||
	    (c->stage && !policy_same_for(c->box->policy, from, &c->host)) ||
	    !conn_take_limits(c, &v)) {
		box_deny(c->box, &c->host, c->port, NULL, v.name, HINT "; connect again");
		return false;
	}
	c->rule = v.name;
	c->names_itself = v.may_be_private;
	return still_leads_well(c);
}

static unsigned sift(struct box *b, const struct policy *from)
{
	unsigned closed = 0;

	for (struct conn *c = gate.conns, *next; c; c = next) {
		next = c->next;
		if (c->box != b || !is_under_way(c) || still_good(c, from))
			continue;
		conn_abort(c);
		closed++;
	}
	return closed;
}

/* Nobody changes a policy so often while connections stay; who does loses them. */
static unsigned make_room(struct box *b)
{
	unsigned closed = 0;

	if (b->n_old == BOX_POLICIES_MAX)
		for (struct conn *c = gate.conns, *next; c; c = next) {
			next = c->next;
			if (c->box != b)
				continue;
			conn_abort(c);
			closed++;
		}
	if (b->n_conns == 0)
		box_forget_policies(b);
	return closed;
}

void box_policy(struct box *b, int policy, int reply)
{
	struct gate_taken said = {.magic = GATE_MAGIC};
	struct policy *from = b->policy;

	said.result = box_take_policy(b, policy, &said.e);
	if (said.result >= 0) {
		said.closed = make_room(b);
		carry_accounts(b, from);
		b->old[b->n_old++] = from;
		b->n_policies++;
		said.closed += sift(b, from);
		spares_close(b);
		if (b->n_conns == 0)
			box_forget_policies(b);
		box_report(b, true);
	}
	(void)passfd_send(reply, &said, sizeof(said), NULL, 0); /* he may have gone */
}
