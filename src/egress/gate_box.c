/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sandbox in the gate: how it comes (a policy, a socket that brings its listeners, one for
 * reports), what was decided for it, and how it goes. What one sandbox has is reached from its own
 * listeners only; there is nothing by which another could name it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "egress/gate_int.h"
#include "egress/hold.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

int box_take_policy(struct box *b, int fd, struct err *e)
{
	struct stat st;

	if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size <= 0 ||
	    (uint64_t)st.st_size > POLICY_PACK_MAX)
		return err_set(e, ERR_INVALID, "malformed policy");
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "policy");
	int r = policy_unpack(p, (size_t)st.st_size, &b->policy, e);
	(void)munmap(p, (size_t)st.st_size);
	return r;
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -1 : value;
}

/* What the message says is what the kernel says. */
static bool is_listener(int fd, const struct gate_listen *msg)
{
	union {
		struct sockaddr any;
		struct sockaddr_storage room;
	} at;
	socklen_t len = sizeof(at);
	struct address a;
	uint16_t port;
	bool udp = msg->kind == GATE_UDP;

	if (msg->magic != GATE_MAGIC || msg->kind < GATE_TCP || msg->kind > GATE_STRAYS)
		return false;
	if (msg->kind == GATE_STRAYS)
		return option(fd, SO_TYPE) == SOCK_RAW && option(fd, SO_PROTOCOL) == msg->port &&
		       (msg->port == IPPROTO_UDP || msg->port == IPPROTO_TCP);
	return option(fd, SO_TYPE) == (udp ? SOCK_DGRAM : SOCK_STREAM) &&
	       (udp || option(fd, SO_ACCEPTCONN) == 1) && getsockname(fd, &at.any, &len) == 0 &&
	       address_of_sockaddr(&at.any, &a, &port) && port == msg->port;
}

static void on_listener(struct source *s, uint32_t events)
{
	struct listener *l = (struct listener *)(void *)s; /* its first member */

	(void)events;
	if (l->box->is_ending)
		return;
	if (l->kind == GATE_UDP)
		dns_datagram(l);
	else if (l->kind == GATE_STRAYS)
		stray_packets(l);
	else
		conn_accept(l);
}

/* From the guest: listeners while its plan is walked, then its end. */
static void on_intake(struct source *s, uint32_t events)
{
	struct box *b = (struct box *)(void *)((char *)s - offsetof(struct box, intake));
	struct gate_listen msg;
	auto_close int fd = FD_NONE;
	int n = passfd_receive(s->fd, &msg, sizeof(msg), &fd, 1, MSG_DONTWAIT);

	(void)events;
	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n < 1 || b->n_listeners == BOX_LISTENERS_MAX || !is_listener(fd, &msg)) {
		box_end(b); /* its guest is gone, or none of ours */
		return;
	}
	struct listener *l = &b->listeners[b->n_listeners];
	*l = (struct listener){.source = {take_fd(&fd), on_listener},
			       .box = b,
			       .kind = (enum gate_listen_kind)msg.kind,
			       .port = msg.port};
	if (gate_watch(&l->source, EPOLLIN) < 0)
		fd_close(&l->source.fd);
	else
		b->n_listeners++;
}

/* Somebody wants to know now what the next tick would tell. */
static void tell_all(struct box *b, int reply)
{
	const struct gate_taken said = {.magic = GATE_MAGIC};

	box_report(b, true);
	(void)passfd_send(reply, &said, sizeof(said), NULL, 0); /* he may have gone */
}

/* The starter takes reports again, or has shut its side down: the sandbox has ended. */
static void on_reports(struct source *s, uint32_t events)
{
	struct box *b = (struct box *)(void *)((char *)s - offsetof(struct box, reports));
	struct gate_answer m;
	int n;

	for (;;) {
		auto_close int policy = FD_NONE, reply = FD_NONE;
		int fds[2];

		n = passfd_receive(s->fd, &m, sizeof(m), fds, 2, MSG_DONTWAIT);
		policy = fds[0];
		reply = fds[1];
		if (n < 0 && n != -EPROTO)
			break;
		if (n == 0)
			box_answer(b, &m);
		else if (n == 1 && m.magic == GATE_MAGIC && m.answer == GATE_RECORD)
			box_record(b, &policy);
		else if (n == 1 && m.magic == GATE_MAGIC && m.answer == GATE_REPLAY)
			box_replay(b, policy);
		else if (n == 1 && m.magic == GATE_MAGIC && m.answer == GATE_TELL)
			tell_all(b, policy);
		else if (n == 2 && m.magic == GATE_MAGIC && m.answer == GATE_POLICY)
			box_policy(b, policy, reply);
	}
	if (n != -EAGAIN) {
		box_end(b);
		return;
	}
	if (events & EPOLLOUT) {
		b->is_stuck = false;
		box_report(b, false);
	}
}

static int take_last(int fds[GATE_OPEN_FDS_MAX])
{
	for (unsigned i = GATE_OPEN_FDS_MAX; i-- > GATE_OPEN_FDS;)
		if (fds[i] >= 0)
			return take_fd(&fds[i]);
	return FD_NONE;
}

int box_open(const struct gate_open *msg, int fds[GATE_OPEN_FDS_MAX], struct err *e)
{
	auto_close int purse = msg->flags & GATE_SHARES ? take_last(fds) : FD_NONE;
	auto_close int policy = fds[0];
	auto_close int roots = fds[3];
	auto_close int secrets = fds[4];
	auto_close int rest = fds[5]; /* more than we know of */
	struct box *b = calloc(1, sizeof(*b));

	(void)rest;
	if (!b) {
		fd_close(&fds[1]);
		fd_close(&fds[2]);
		return err_sys(e, "sandbox");
	}
	memcpy(b->id, msg->sandbox, sizeof(b->id));
	b->may_ask = msg->flags & GATE_MAY_ASK;
	b->budget = (struct budget){msg->bytes, msg->connections, msg->requests};
	b->intake = (struct source){fds[1], on_intake};
	b->reports = (struct source){fds[2], on_reports};
	b->names = synthetic_new();
	b->recording.fd = FD_NONE;
	b->next = gate.boxes;
	gate.boxes = b;
	int r = b->names ? box_take_policy(b, policy, e) : err_sys(e, "sandbox");
	if (r >= 0 && (gate_watch(&b->intake, EPOLLIN) < 0 ||
		       gate_watch(&b->reports, EPOLLIN | EPOLLOUT | EPOLLET) < 0))
		r = err_sys(e, "sandbox");
	if (r >= 0)
		r = secrets_open(b, secrets, e);
	if (r >= 0 && msg->flags & GATE_SHARES)
		r = purse_open(b, purse, e);
	if (r >= 0)
		r = inspect_open(b, roots, msg->flags & GATE_INSPECTS, e);
	if (r < 0)
		box_end(b);
	return r;
}

void box_end(struct box *b)
{
	if (b->is_ending)
		return;
	for (unsigned i = 0; i < b->n_listeners; i++) /* what was refused a moment ago */
		if (b->listeners[i].kind == GATE_STRAYS)
			stray_packets(&b->listeners[i]);
	b->is_ending = true;
	gate_forget(&b->intake);
	for (unsigned i = 0; i < b->n_listeners; i++)
		gate_forget(&b->listeners[i].source);
	checks_close(b);
	for (struct conn *c = gate.conns, *next; c; c = next) {
		next = c->next;
		if (c->box == b)
			conn_close(c);
	}
	spares_close(b);
	box_report(b, true);
	gate_forget(&b->reports);
	b->is_dead = true;
}

void box_free(struct box *b)
{
	policy_free(b->policy);
	box_forget_policies(b);
	synthetic_free(b->names);
	authority_free(b->authority);
	channel_sessions_free(b->sessions);
	secrets_close(b);
	tapes_close(b);
	purse_close(b);
	free(b);
}

bool box_tell(struct box *b, const struct gate_report *report)
{
	/* The last ones are worth waiting for, but not for ever: there are no more than rows. */
	struct timeval last = {.tv_usec = 200000};

	if (b->is_ending) {
		(void)setsockopt(b->reports.fd, SOL_SOCKET, SO_SNDTIMEO, &last, sizeof(last));
		return send(b->reports.fd, report, sizeof(*report), MSG_NOSIGNAL) > 0;
	}
	if (passfd_send(b->reports.fd, report, sizeof(*report), NULL, 0) == 0)
		return true;
	b->is_stuck = true;
	return false;
}

void box_report(struct box *b, bool all)
{
	if (b->reports.fd < 0 || b->is_dead || (b->is_stuck && !b->is_ending))
		return;
	for (unsigned i = 0; i < b->n_rows; i++) {
		struct row *r = &b->rows[i];

		if (!r->is_new && !(all && r->is_changed))
			continue;
		if (!box_tell(b, &r->report))
			return;
		r->is_new = r->is_changed = false;
	}
	struct gate_report left = {
		.row = GATE_ROWS_MAX, .omitted = b->omitted, .count = b->noted_omitted};
	if (all && b->omitted_changed && box_tell(b, &left))
		b->omitted_changed = false;
}

void box_named(struct box *b, const struct name *n)
{
	unsigned number = synthetic_count(b->names);
	struct gate_report r = {.row = GATE_ROWS_MAX + 1, .count = number};

	if (number != b->n_told + 1 || number > GATE_NAMES_MAX)
		return;
	(void)snprintf(r.host, sizeof(r.host), "%s", n->text);
	if (box_tell(b, &r)) /* else it shows as an address */
		b->n_told++;
}

bool box_may_name(struct box *b, const struct name *n)
{
	uint32_t hash = row_hash(n->text, 0, 0, "");
	unsigned oldest = 0;

	for (unsigned i = 0; i < WILD_PER_MINUTE; i++) {
		uint64_t at = b->wild[i].at_ms;

		if (at && gate.now_ms - at < MINUTE_MS && b->wild[i].hash == hash)
			return true;
		if (at < b->wild[oldest].at_ms)
			oldest = i;
	}
	if (b->wild[oldest].at_ms && gate.now_ms - b->wild[oldest].at_ms < MINUTE_MS)
		return !HOLD_GATE_WILD;
	b->wild[oldest].at_ms = gate.now_ms;
	b->wild[oldest].hash = hash;
	return true;
}

struct account *box_account(struct box *b, int rule)
{
	for (unsigned i = 0; i < b->n_accounts; i++)
		if (b->accounts[i].rule == rule)
			return &b->accounts[i];
	for (unsigned i = 0; i < b->n_accounts; i++) {
		struct account *a = &b->accounts[i];

		if (a->rule == ACCOUNT_GONE && !a->conns) {
			*a = (struct account){.rule = rule};
			return a;
		}
	}
	if (b->n_accounts == BOX_ACCOUNTS_MAX)
		return NULL;
	b->accounts[b->n_accounts].rule = rule;
	return &b->accounts[b->n_accounts++];
}
