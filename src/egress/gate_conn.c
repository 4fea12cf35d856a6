/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a sandbox, from its first byte to its server. Where it wants to go is the
 * address that the client connected to: one of ours that stands for a name, or one that it spelt
 * itself. The policy is asked before anything else happens; the address that is connected to was
 * checked, and nobody looks the name up again in between.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"
#include "egress/hello.h"

#define ACCEPTS 32	     /* in one turn, so that one sandbox does not take all of it */
#define OWN_PORT 9	     /* any will do */
#define TLS_ACCESS_DENIED 49 /* an alert */

void inlet_told(struct inlet *in, uint32_t events)
{
	in->has_some |= (events & EPOLLIN) != 0;
	in->has_end |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
}

static void on_client(struct source *s, uint32_t events)
{
	struct conn *c = (struct conn *)(void *)((char *)s - offsetof(struct conn, client));

	if (c->state == CONN_CLOSED)
		return;
	inlet_told(&c->from_client, events);
	if (conn_is_gone(c))
		conn_close(c);
	else if ((events & (EPOLLERR | EPOLLHUP)) && c->state != CONN_RELAY &&
		 c->state != CONN_STAGE)
		conn_close(c);
	else
		conn_ready(c);
}

static void on_server(struct source *s, uint32_t events)
{
	struct conn *c = (struct conn *)(void *)((char *)s - offsetof(struct conn, server));

	if (c->state == CONN_CLOSED)
		return;
	inlet_told(&c->from_server, events);
	conn_ready(c);
}

void conn_deadline(struct conn *c, uint64_t ms)
{
	c->deadline_ms = gate.now_ms + ms;
}

void conn_busy(struct conn *c)
{
	if (c->is_busy)
		return;
	c->is_busy = true;
	c->next_busy = gate.busy;
	gate.busy = c;
}

static void count_in(struct conn *c)
{
	c->next = gate.conns;
	if (gate.conns)
		gate.conns->prev = c;
	gate.conns = c;
	gate.n_conns++;
	c->box->n_conns++;
	conn_deadline(c, HELLO_MS);
}

static struct conn *conn_new(struct listener *l, int *fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	int on = 1;

	if (!c)
		return NULL;
	*c = (struct conn){
		.client = {*fd, on_client},
		.server = {FD_NONE, on_server},
		.box = l->box,
		.port = l->port,
		.up = {.pipe = {FD_NONE, FD_NONE}},
		.down = {.pipe = {FD_NONE, FD_NONE}},
	};
	(void)setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only for speed */
	if (gate_watch(&c->client, BOTH_WAYS) < 0) {
		free(c);
		return NULL;
	}
	*fd = FD_NONE;
	count_in(c);
	return c;
}

/* Where several share the gate, nobody has more than four times what is left for the others: who
 * comes last finds room, however many the first ones open. */
static bool is_full(const struct box *b)
{
	unsigned left = gate.conns_max > gate.n_conns ? gate.conns_max - gate.n_conns : 0;
	bool alone = gate.boxes == b && !b->next;

	return left == 0 || b->n_conns >= BOX_CONNS_MAX ||
	       (HOLD_GATE_SHARE && !alone && b->n_conns >= 4 * left);
}

struct conn *conn_lane(const struct conn *of)
{
	bool full = is_full(of->box) || (of->account && of->limits.connections &&
					 of->account->conns >= of->limits.connections);
	struct conn *c = full ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct conn){
		.client = {FD_NONE, on_client},
		.server = {FD_NONE, on_server},
		.box = of->box,
		.host = of->host,
		.port = of->port,
		.protocol = of->protocol,
		.limits = of->limits,
		.account = of->account,
		.rule = of->rule,
		.names_itself = of->names_itself,
		.is_lane = true,
		.up = {.pipe = {FD_NONE, FD_NONE}},
		.down = {.pipe = {FD_NONE, FD_NONE}},
	};
	if (c->account && c->limits.connections) {
		c->account->conns++;
		c->is_counted = true;
	}
	count_in(c);
	return c;
}

void conn_close(struct conn *c)
{
	if (c->state == CONN_CLOSED)
		return;
	spare_part(c);
	conn_ask_no_more(c);
	c->state = CONN_CLOSED;
	if (c->mux)
		mux_end(c->mux);
	if (c->lane_of)
		mux_lost(c);
	resolve_forget(c);
	relay_done(c);
	gate_forget(&c->client);
	gate_forget(&c->server);
	if (c->is_counted && c->account)
		c->account->conns--;
	if (c->row && c->then == CONN_RELAY && c->server_since_ms)
		c->row->report.ms += gate.now_ms - c->server_since_ms + 1; /* begun ones count */
	if (c->row)
		c->row->is_changed = true;
	c->box->n_conns--;
	gate.n_conns--;
	if (c->prev)
		c->prev->next = c->next;
	else
		gate.conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->next = gate.dead;
	gate.dead = c;
}

static void reset(int fd)
{
	struct linger now = {.l_onoff = 1};

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void conn_abort(struct conn *c)
{
	if (c->state != CONN_CLOSED)
		spare_part(c);
	reset(c->client.fd);
	reset(c->server.fd);
	conn_close(c);
}

void conn_cut(struct conn *c)
{
	reset(c->server.fd);
	gate_forget(&c->server);
	c->server_open = false;
	stage_buf_done(&c->io.to_server);
}

uint64_t conn_left(const struct conn *c, bool up)
{
	uint64_t most = up ? c->limits.bytes_up : c->limits.bytes_down;
	uint64_t used = !c->account ? 0 : up ? c->account->up : c->account->down;
	const struct box *b = c->box;
	uint64_t left = UINT64_MAX;

	if (!HOLD_GATE_BYTES)
		return left;
	if (most)
		left = used >= most ? 0 : most - used;
	if (b->budget.bytes && b->budget.bytes - b->spent.bytes < left)
		left = b->budget.bytes - b->spent.bytes;
	if (purse_left(b, GATE_BYTES) < left)
		left = purse_left(b, GATE_BYTES);
	return left;
}

bool conn_spend(struct conn *c, uint64_t up, uint64_t down)
{
	bool good = up <= conn_left(c, true) && down <= conn_left(c, false);

	if (!good && purse_is_empty(c, GATE_BYTES, up + down))
		return false;
	if (!good) {
		const struct box *b = c->box;
		bool all = b->budget.bytes && b->budget.bytes - b->spent.bytes < up + down;

		box_deny(c->box, &c->host, c->port, NULL, all ? "budget" : "bytes",
			 all ? "the run's budget of bytes is used up (--egress-bytes)"
			     : "the rule's limit of bytes is used up; ask for a higher one");
		return false;
	}
	c->box->spent.bytes += up + down;
	purse_spend(c->box, GATE_BYTES, up + down);
	if (c->account) {
		c->account->up += up;
		c->account->down += down;
	}
	row_bytes(c->row, down, up);
	return true;
}

/* One more request within a minute? Counted by parts of it, with the one that is going on: never too
 * many, whenever the minute begins. */
static bool is_in_time(struct account *a, uint32_t most)
{
	uint64_t part = gate.now_ms / (MINUTE_MS / MINUTE_PARTS);
	uint32_t *now = &a->requests[part % (MINUTE_PARTS + 1)];
	uint64_t sum = 0;

	if (part - a->part > MINUTE_PARTS)
		memset(a->requests, 0, sizeof(a->requests));
	for (uint64_t i = a->part + 1; i <= part && part - a->part <= MINUTE_PARTS; i++)
		a->requests[i % (MINUTE_PARTS + 1)] = 0;
	a->part = part;
	for (unsigned i = 0; i <= MINUTE_PARTS; i++)
		sum += a->requests[i];
	if (sum >= most)
		return false;
	(*now)++;
	return true;
}

bool conn_request(struct conn *c, const struct egress_verdict *v)
{
	struct account *a = v->limits.requests_per_minute ? box_account(c->box, v->rule) : NULL;
	struct box *b = c->box;

	if (b->budget.requests && b->spent.requests >= b->budget.requests) {
		box_deny(b, &c->host, c->port, NULL, "budget",
			 "the run's budget of requests is used up (--egress-requests)");
		return false;
	}
	if (purse_is_empty(c, GATE_REQUESTS, 1))
		return false;
	b->spent.requests++;
	purse_spend(b, GATE_REQUESTS, 1);
	if (!v->limits.requests_per_minute)
		return true;
	if (a && is_in_time(a, v->limits.requests_per_minute))
		return true;
	box_deny(b, &c->host, c->port, NULL, v->name,
		 "the rule's limit of requests in a minute is reached; wait for a minute");
	return false;
}

bool conn_take_limits(struct conn *c, const struct egress_verdict *v)
{
	const struct egress_limits *l = &v->limits;

	if (c->is_counted)
		c->account->conns--;
	c->is_counted = false;
	c->account = NULL;
	c->limits = *l;
	if (!l->bytes_up && !l->bytes_down && !l->connections)
		return true;
	c->account = box_account(c->box, v->rule);
	if (!c->account)
		return false;
	if (c->mux) /* its lanes count */
		return true;
	if (l->connections && c->account->conns >= l->connections)
		return false;
	c->account->conns++;
	c->is_counted = true;
	return true;
}

/* A rule says to ask first. True: a person said yes. */
static bool ask_first(struct conn *c, const struct egress_verdict *v)
{
	struct question q;

	c->protocol = v->protocol;
	question_connect(c, &q);
	return conn_ask(c, &q, v) == ASKED_YES;
}

bool conn_decide(struct conn *c, struct egress_verdict *v)
{
	struct egress_request q = {
		.host = &c->host, .port = c->port, .protocol = EGRESS_ANY, .stage = EGRESS_CONNECT};

	policy_decide(c->box->policy, &q, v);
	if (mark_in(c->host.text, c->host.len)) {
		secrets_alarm(c, "name");
		(void)snprintf(v->hint, sizeof(v->hint), "the placeholder of a secret is no name");
		return false;
	}
	if (v->action == EGRESS_ASK && !ask_first(c, v))
		return false;
	if (HOLD_GATE_POLICY && v->action == EGRESS_DENY) {
		box_deny(c->box, &c->host, c->port, NULL, v->name, v->hint);
		return false;
	}
	if (v->is_below && c->host.kind == NAME_DNS && !box_may_name(c->box, &c->host)) {
		box_deny(c->box, &c->host, c->port, NULL, v->name,
			 "too many different names below a wildcard in a minute; name the hosts");
		return false;
	}
	if (!conn_take_limits(c, v)) {
		box_deny(c->box, &c->host, c->port, NULL, v->name,
			 "the rule's limit of open connections is reached; close some first");
		return false;
	}
	c->protocol = v->protocol;
	c->names_itself = v->may_be_private;
	c->rule = v->name;
	return true;
}

void conn_go(struct conn *c)
{
	c->then = CONN_RELAY;
	switch (c->protocol) {
	case EGRESS_HTTP:
		if (stage_begin(c, http_stage_new(c, false)) < 0)
			conn_abort(c);
		return;
	case EGRESS_TLS:
		/* A hello names no addresses; the rule that let it through names the address. */
		if (c->host.kind != NAME_DNS)
			break;
		c->state = CONN_HELLO;
		conn_deadline(c, HELLO_MS);
		conn_busy(c);
		return;
	case EGRESS_HTTPS:
		if (stage_begin(c, inspect_stage_new(c)) < 0)
			conn_abort(c);
		return;
	case EGRESS_TCP:
	case EGRESS_ANY:
	case EGRESS_DNS:
	case EGRESS_PROTOCOLS: break;
	}
	conn_resolve(c);
}

/* Where the client meant to go. */
static bool find_host(struct conn *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} at;
	socklen_t len = sizeof(at);
	struct address a;
	uint16_t port;

	if (getsockname(c->client.fd, &at.any, &len) < 0 ||
	    !address_of_sockaddr(&at.any, &a, &port))
		return false;
	if (!synthetic_is(&a)) {
		name_of_address(&a, &c->host);
		return true;
	}
	if (synthetic_name(c->box->names, &a, &c->host))
		return true;
	name_of_address(&a, &c->host);
	box_deny(c->box, &c->host, c->port, NULL, NULL,
		 "this address stands for no name; look the name up first");
	return false;
}

static void try_connect(struct conn *c)
{
	struct egress_verdict v;

	if (find_host(c) && conn_decide(c, &v))
		conn_go(c);
	else if (c->is_asking)
		c->state = CONN_ASK;
	else
		conn_abort(c);
}

static void begin(struct conn *c, const struct listener *l)
{
	if (l->kind == GATE_PROXY || l->port == GATE_DNS_PORT) {
		c->state = l->kind == GATE_PROXY ? CONN_PROXY : CONN_DNS;
		conn_busy(c);
		return;
	}
	try_connect(c);
}

void conn_accept(struct listener *l)
{
	for (int i = 0; i < ACCEPTS && !l->box->is_ending; i++) {
		auto_close int fd = accept4(l->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (is_full(l->box)) {
			struct name any = {.kind = NAME_DNS, .len = 1, .text = "*"};

			box_deny(l->box, &any, l->port, "too many connections at once", NULL,
				 "close connections before opening more");
			reset(fd);
			continue;
		}
		struct conn *c = conn_new(l, &fd);
		if (c)
			begin(c, l);
	}
}

/* A server's own address, or one of the host that we run on: what listens there trusts who is
 * near. */
static bool is_own(const struct address *a)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} at;
	socklen_t len = address_to_sockaddr(a, OWN_PORT, &at.room);
	auto_close int fd = socket(at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct address from;
	uint16_t port;

	/* To itself the machine speaks from the very address; nothing is sent. Binding to it would
	 * prove nothing where ip_nonlocal_bind is set. */
	if (fd < 0 || connect(fd, &at.any, len) < 0)
		return false;
	len = sizeof(at);
	return getsockname(fd, &at.any, &len) == 0 && address_of_sockaddr(&at.any, &from, &port) &&
	       address_equal(&from, a);
}

/* NULL: it may be reached. Else what kind of place it is. */
static const char *bad_place(const struct conn *c, const struct address *a)
{
	enum address_class class = ADDRESS_RESERVED;
	bool good = policy_may_reach(c->box->policy, a, c->port, &class);
	bool named = good && (class != ADDRESS_PUBLIC || c->names_itself);
	struct address inner;

	/* Documents' addresses lead nowhere in the Internet, and to no private network by
	 * custom. */
	if (class == ADDRESS_DOCUMENTATION || !HOLD_GATE_ADDRESS)
		good = true;
	if (!good)
		return address_class_name(class);
	if (named || !HOLD_GATE_OWN)
		return NULL;
	return is_own(a) || (address_inner(a, &inner) && is_own(&inner)) ? "this host's own" : NULL;
}

/* Every address of a name has to be good: one that is not is no mistake but an attempt. */
bool conn_may_reach(struct conn *c, const struct address *a)
{
	bool is_denied = policy_denies_address(c->box->policy, a, c->port);
	const char *kind = is_denied ? "which a rule denies" : bad_place(c, a);
	char text[ADDRESS_TEXT_SIZE], what[192];

	if (!kind)
		return true;
	(void)snprintf(what, sizeof(what), "connect %.100s:%u, which is %s (%s)", c->host.text,
		       c->port, address_text(a, text), kind);
	box_deny(c->box, &c->host, c->port, what, "address",
		 is_denied
			 ? "the policy denies this address on purpose; do not look for another way"
			 : "the name leads to an address that is not public; a rule would have to "
			   "name the address itself");
	return false;
}

static void no_server(struct conn *c, const char *why)
{
	gate_forget(&c->server);
	if (c->then != CONN_STAGE) {
		conn_abort(c);
		return;
	}
	c->state = CONN_STAGE;
	conn_deadline(c, LAST_MS);
	enum stage_next next = c->stage->ops->no_server(c->stage, &c->io, why);
	if (next == STAGE_ABORT)
		conn_abort(c);
	else
		stage_run(c);
}

void conn_refuse_tls(struct conn *c, uint8_t code)
{
	uint8_t alert[7];

	conn_last(c, alert, hello_alert(code, alert));
}

/* Of TLS that nobody looks into: the next address where the host itself answers, or none. False: it
 * is not known yet, or refused. */
static bool is_checked(struct conn *c)
{
	if (c->then != CONN_RELAY || c->protocol != EGRESS_TLS || c->host.kind != NAME_DNS)
		return true;
	for (; c->tried < c->n_addresses; c->tried++)
		switch (check_server(c, &c->addresses[c->tried])) {
		case CHECK_GOOD: return true;
		case CHECK_BAD: conn_refuse_tls(c, TLS_ACCESS_DENIED); return false;
		case CHECK_UNREACHED: continue;
		case CHECK_FREE:
		case CHECK_CONNECTING:
		case CHECK_SHAKING:
			c->state = CONN_CHECK;
			conn_deadline(c, 2 * CONNECT_MS); /* it has its own, which is shorter */
			return false;
		}
	return true;
}

static void connect_next(struct conn *c)
{
	while (c->tried < c->n_addresses) {
		struct sockaddr_storage to;

		if (!is_checked(c))
			return;
		if (c->tried == c->n_addresses)
			break;
		socklen_t len = address_to_sockaddr(&c->addresses[c->tried++], c->port, &to);
		int on = 1;

		gate_forget(&c->server);
		c->from_server = (struct inlet){0};
		c->server.fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (c->server.fd < 0)
			continue;
		(void)setsockopt(c->server.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connect(c->server.fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
			continue;
		if (gate_watch(&c->server, BOTH_WAYS) < 0)
			continue;
		c->state = CONN_CONNECT;
		conn_deadline(c, CONNECT_MS);
		return;
	}
	no_server(c, "the server cannot be reached");
}

/* A replay reaches nothing, whatever led here. */
static void no_replay(struct conn *c)
{
	box_deny(c->box, &c->host, c->port, NULL, "replay",
		 "only what was recorded answers in a replay, and this was not seen then");
	c->n_addresses = 0;
	no_server(c, "nothing is connected to in a replay");
}

void conn_resolve(struct conn *c)
{
	if (c->box->replay.is_on) {
		no_replay(c);
		return;
	}
	if (c->box->budget.connections && c->box->spent.connections >= c->box->budget.connections) {
		box_deny(c->box, &c->host, c->port, NULL, "budget",
			 "the run's budget of connections is used up (--egress-connections)");
		no_server(c, "the run's budget of connections is used up");
		return;
	}
	if (purse_is_empty(c, GATE_CONNECTIONS, 1)) {
		no_server(c, "the tenant's quota of connections is used up");
		return;
	}
	c->box->spent.connections++;
	purse_spend(c->box, GATE_CONNECTIONS, 1);
	if (c->then != CONN_STAGE && c->box->recording.is_on)
		tape_unseen(c);
	if (!c->row)
		c->row = box_row(c->box, c->host.text, c->port, GATE_ALLOWED, c->rule);
	if (c->then == CONN_STAGE && spare_take(c)) {
		conn_deadline(c, IDLE_MS);
		conn_busy(c);
		return;
	}
	c->state = CONN_RESOLVE;
	c->n_addresses = c->tried = 0;
	conn_deadline(c, CONNECT_MS);
	if (c->host.kind == NAME_DNS) {
		resolve_begin(c);
		return;
	}
	c->addresses[c->n_addresses++] = c->host.address;
	c->is_resolved = true;
	conn_busy(c);
}

static void resolved(struct conn *c)
{
	for (unsigned i = 0; i < c->n_addresses; i++)
		if (!conn_may_reach(c, &c->addresses[i])) {
			no_server(c, "the name leads to an address that is not allowed");
			return;
		}
	if (c->n_addresses == 0)
		no_server(c, c->no_address ? c->no_address : "the name has no address");
	else
		connect_next(c);
}

static void connected(struct conn *c)
{
	int error = 0;
	socklen_t len = sizeof(error);
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} peer;
	socklen_t peer_len = sizeof(peer);

	if (getsockopt(c->server.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error) {
		connect_next(c);
		return;
	}
	if (getpeername(c->server.fd, &peer.any, &peer_len) < 0)
		return; /* not yet: it was the client who woke us */
	c->server_open = true;
	c->server_since_ms = gate.now_ms;
	c->state = c->then;
	conn_deadline(c, IDLE_MS);
	if (c->state == CONN_RELAY) {
		relay_run(c);
		return;
	}
	c->io.server_open = true;
	stage_run(c);
}

int conn_first_bytes(struct conn *c)
{
	if (c->hello)
		return 0;
	c->hello = malloc(FIRST_BYTES_MAX);
	if (!c->hello) {
		conn_abort(c);
		return -ENOMEM;
	}
	c->hello_cap = FIRST_BYTES_MAX;
	return 0;
}

void conn_ready(struct conn *c)
{
	if (c->is_orphan || conn_is_gone(c)) {
		conn_abort(c);
		return;
	}
	switch (c->state) {
	case CONN_HELLO: conn_hello_run(c); break;
	case CONN_PROXY: proxy_run(c); break;
	case CONN_STAGE: stage_run(c); break;
	case CONN_RESOLVE:
		if (c->is_resolved) {
			c->is_resolved = false;
			resolved(c);
		}
		break;
	case CONN_CHECK: connect_next(c); break;
	case CONN_CONNECT: connected(c); break;
	case CONN_RELAY: relay_run(c); break;
	case CONN_DNS: dns_stream_run(c); break;
	case CONN_LAST: conn_last(c, NULL, 0); break;
	case CONN_ASK:
		if (!c->is_asking)
			try_connect(c);
		break;
	case CONN_CLOSED: break;
	}
}

void conn_timeout(struct conn *c)
{
	if (c->mux && mux_is_used(c->mux))
		conn_deadline(c, IDLE_MS); /* its lanes have their own */
	else if (c->state == CONN_CONNECT)
		connect_next(c);
	else if (c->state == CONN_RESOLVE)
		no_server(c, "the name server does not answer");
	else
		conn_abort(c);
}
