/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real addresses of allowed names, by c-ares, which only this file sees. It reads the host's name
 * servers once, before the gate gives up its files; hosts files are not looked at, nor search
 * lists: a name means what the Internet's servers say it means.
 */
#include <ares.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "egress/gate_int.h"

#define TIMEOUT_MS 2000
#define TRIES 2
#define SOCKETS_MAX 256u
#define ANSWER_S_MAX 300 /* an answer is kept no longer, whatever it says */

/* One question, of all connections of a sandbox that want the name while it is under way. */
struct query {
	struct query *next;
	const struct box *box; /* borrowed; there as long as somebody waits */
	struct name host;
	struct conn *first; /* borrowed; NULL: nobody waits for it any more */
};

static ares_channel channel;
static struct query *asked; /* all of them */

/* Descriptors of c-ares that the loop waits for. */
static struct source sockets[SOCKETS_MAX];

static void on_socket(struct source *s, uint32_t events)
{
	ares_socket_t fd = s->fd;

	ares_process_fd(channel, events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD,
			events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
}

static struct source *find(int fd)
{
	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		if (sockets[i].ready && sockets[i].fd == fd)
			return &sockets[i];
	return NULL;
}

static void on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct source *s = find(fd);
	struct epoll_event ev = {.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u)};

	(void)arg;
	if (s && !readable && !writable) {
		(void)epoll_ctl(gate.epoll, EPOLL_CTL_DEL, fd, NULL); /* c-ares closes it */
		*s = (struct source){FD_NONE, NULL};
		return;
	}
	if (!readable && !writable)
		return;
	if (s) {
		ev.data.ptr = s;
		(void)epoll_ctl(gate.epoll, EPOLL_CTL_MOD, fd, &ev);
		return;
	}
	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		if (!sockets[i].ready) {
			sockets[i] = (struct source){fd, on_socket};
			ev.data.ptr = &sockets[i];
			(void)epoll_ctl(gate.epoll, EPOLL_CTL_ADD, fd, &ev);
			return;
		}
	/* Without a place it runs into its time-out. */
}

int resolve_init(struct err *e)
{
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TIMEOUT_MS,
		.tries = TRIES,
		.lookups = (char[]){"b"},
		.sock_state_cb = on_state,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
		   ARES_OPT_SOCK_STATE_CB;

	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		sockets[i].fd = FD_NONE;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
	    ares_init_options(&channel, &o, mask) != ARES_SUCCESS)
		return err_set(e, ERR_INTERNAL, "the resolver cannot be set up");
	return 0;
}

int resolve_servers(const char *csv, struct err *e)
{
	static char last[64];

	if (strcmp(csv, last) == 0)
		return 0; /* a change would end the questions that are under way */
	if (strlen(csv) >= sizeof(last) || ares_set_servers_ports_csv(channel, csv) != ARES_SUCCESS)
		return err_set(e, ERR_INVALID, "\"%s\" is no IP:PORT of a name server", csv);
	memcpy(last, csv, strlen(csv) + 1);
	return 0;
}

/* Of each sandbox apart: that somebody else asked for a name is not for it to find out. */
static const struct answer *recall(const struct conn *c)
{
	for (unsigned i = 0; i < BOX_ANSWERS_MAX; i++) {
		const struct answer *a = &c->box->answers[i];

		if (a->until_ms > gate.now_ms && name_equal(&a->host, &c->host))
			return a;
	}
	return NULL;
}

/* Servers that say 0 seconds want to be asked each time. */
static int seconds_of(const struct ares_addrinfo *list)
{
	int least = ANSWER_S_MAX;

	for (const struct ares_addrinfo_node *n = list->nodes; n; n = n->ai_next)
		least = n->ai_ttl < least ? n->ai_ttl : least;
	for (const struct ares_addrinfo_cname *n = list->cnames; n; n = n->next)
		least = n->ttl < least ? n->ttl : least;
	return least > 0 ? least : 0;
}

static void keep(const struct conn *c, int seconds)
{
	struct answer *oldest = c->box->answers;

	if (c->n_addresses == 0 || seconds == 0)
		return;
	for (unsigned i = 1; i < BOX_ANSWERS_MAX; i++)
		if (c->box->answers[i].until_ms < oldest->until_ms)
			oldest = &c->box->answers[i];
	oldest->host = c->host;
	memcpy(oldest->addresses, c->addresses, sizeof(c->addresses));
	oldest->n = c->n_addresses;
	oldest->until_ms = gate.now_ms + (uint64_t)seconds * 1000;
}

static void take(struct conn *c, const struct ares_addrinfo *list)
{
	for (const struct ares_addrinfo_node *n = list->nodes; n; n = n->ai_next) {
		uint16_t port;

		if (c->n_addresses == CONN_ADDRESSES_MAX) {
			/* Those that are not looked at must not be good: none is connected to. */
			c->n_addresses = 0;
			c->no_address = "the name has too many addresses";
			return;
		}
		if (address_of_sockaddr(n->ai_addr, &c->addresses[c->n_addresses], &port))
			c->n_addresses++;
	}
}

static void settle(struct conn *c, int status, const struct ares_addrinfo *list)
{
	c->query = NULL;
	c->n_addresses = 0;
	c->no_address = status == ARES_ENOTFOUND || status == ARES_ENODATA
				? "the name has no address"
			: status == ARES_SUCCESS ? NULL
						 : "the name servers do not answer";
	if (status == ARES_SUCCESS && list)
		take(c, list);
	c->is_resolved = true;
	conn_busy(c);
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *list)
{
	struct query *q = arg;

	(void)timeouts;
	for (struct query **at = &asked; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	for (struct conn *c = q->first, *next; c; c = next) {
		next = c->next_waiting;
		settle(c, status, list);
		if (c == q->first && list)
			keep(c, seconds_of(list));
	}
	free(q);
	if (list)
		ares_freeaddrinfo(list);
}

/* Somebody of the same sandbox has asked, and waits. */
static struct query *under_way(const struct conn *c)
{
	struct query *q = asked;

	while (q && !(q->first && q->box == c->box && name_equal(&q->host, &c->host)))
		q = q->next;
	return q;
}

static void wait_for(struct query *q, struct conn *c)
{
	c->query = q;
	c->next_waiting = q->first;
	q->first = c;
}

void resolve_begin(struct conn *c)
{
	struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	const struct answer *known = recall(c);
	struct query *q = known ? NULL : under_way(c);

	if (known) {
		memcpy(c->addresses, known->addresses, sizeof(c->addresses));
		c->n_addresses = known->n;
		c->is_resolved = true;
		conn_busy(c);
		return;
	}
	if (q) {
		wait_for(q, c);
		return;
	}
	q = malloc(sizeof(*q));
	if (!q) {
		c->no_address = "no memory";
		c->is_resolved = true;
		conn_busy(c);
		return;
	}
	*q = (struct query){.next = asked, .box = c->box, .host = c->host};
	asked = q;
	wait_for(q, c);
	ares_getaddrinfo(channel, c->host.text, NULL, &hints, on_answer, q);
}

void resolve_forget(struct conn *c)
{
	struct conn **at = c->query ? &c->query->first : NULL;

	while (at && *at && *at != c)
		at = &(*at)->next_waiting;
	if (at && *at)
		*at = c->next_waiting;
	c->query = NULL;
}

void resolve_tick(void)
{
	ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* time-outs */
}

int resolve_wait_ms(void)
{
	struct timeval tv;

	if (!ares_timeout(channel, NULL, &tv))
		return -1;
	return (int)(tv.tv_sec * 1000 + tv.tv_usec / 1000) + 1;
}
