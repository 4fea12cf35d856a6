/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: a process that holds the listening sockets of sandboxes and lets through what their
 * policies allow. One thread, one epoll loop, nothing that waits. For gate*.c only.
 *
 *	struct gate	the process: loop, resolver, list of boxes
 *	struct box	one sandbox: its policy, listeners, names, what it reports
 *	struct conn	one connection of a sandbox:
 *
 *	HELLO ──┐                          ┌─► RELAY   bytes as they are (splice)
 *	PROXY ──┼─► RESOLVE ─► CONNECT ────┤
 *	        │                          └─► STAGE   a stage between two sockets (http)
 *	STAGE ──┘  (a stage asks for its server with its first good request)
 *	DNS        answers only
 *	LAST       nothing but an answer that is still to be sent
 *	ASK        a person is asked whether it may connect; then from the beginning
 *
 * Whatever is wrong, at any state, is CLOSED. Where we are: see gate_confine.c.
 */
#ifndef EGRESS_GATE_INT_H
#define EGRESS_GATE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/authority.h"
#include "egress/inspect.h"
#include "egress/name.h"
#include "egress/policy.h"
#include "egress/secret.h"
#include "egress/stage.h"
#include "egress/synthetic.h"
#include "wire/gate.h"

#define GATE_CONNS_MAX 8192u /* of all sandboxes */
#define BOX_CONNS_MAX 2048u  /* of one */
#define BOX_LISTENERS_MAX (2 * GATE_PORTS_MAX + 8)
#define BOX_ACCOUNTS_MAX 128u
#define WILD_PER_MINUTE 60u /* different names that one wildcard or another allows */

#define HELLO_MS 10000u	  /* for a client to say what it wants */
#define CONNECT_MS 10000u /* for a server to answer, each address */
#define IDLE_MS 600000u	  /* without a byte either way */
#define HALF_MS 60000u	  /* the same when one side has ended */
#define LAST_MS 5000u	  /* to take an answer */

/* Something that the loop waits for. Whoever owns it lives until the end of the turn. */
struct source {
	int fd;
	void (*ready)(struct source *s, uint32_t events);
};

struct gate {
	int epoll;
	struct source control;
	struct box *boxes;
	struct conn *conns, *dead, *busy; /* busy: they have more to do at once */
	unsigned n_conns, conns_max;
	uint64_t now_ms;
	bool ended;
	struct inspect_roots *roots; /* of the first sandbox that had some; all have the same */
};

extern struct gate gate;

/* gate.c */
int gate_watch(struct source *s, uint32_t events);
/* Closes the descriptor. */
void gate_forget(struct source *s);

/* gate_confine.c: give up every right that the gate does not need. */
int gate_confine(struct err *e);

/* What a rule has cost so far. */
struct account {
	int rule;
	uint64_t up, down;
	uint32_t conns, requests;
	uint64_t minute; /* in which the requests were */
};

enum ask_state { ASK_FREE, ASK_OPEN, ASK_YES, ASK_NO };

struct ask {
	enum ask_state state;
	uint64_t until_ms; /* of a yes */
	char what[192];
};

struct row {
	struct gate_report report;
	uint32_t hash;
	bool is_new, is_changed;
};

struct listener {
	struct source source;
	struct box *box;
	enum gate_listen_kind kind;
	uint16_t port;
};

struct box {
	struct box *next;
	char id[32];
	struct source intake;		   /* from the guest */
	struct source reports;		   /* to the starter */
	bool is_ending, is_dead, is_stuck; /* stuck: the starter does not read */
	struct authority *authority;	   /* NULL: nothing is inspected */
	struct secret_set *secrets;	   /* NULL: none */
	struct policy *policy;
	struct synthetic *names;
	struct listener listeners[BOX_LISTENERS_MAX];
	unsigned n_listeners;
	struct row rows[GATE_ROWS_MAX];
	unsigned n_rows;
	uint64_t omitted;
	bool omitted_changed;
	bool may_ask;
	struct ask asks[GATE_ASKS_MAX];
	unsigned n_asks;
	unsigned n_told; /* names whose addresses the starter knows */
	struct account accounts[BOX_ACCOUNTS_MAX];
	unsigned n_accounts, n_conns;
	uint64_t dns_at_ms; /* refused questions for names: a bucket that fills */
	uint32_t dns_tokens;
	/* Names below wildcards in this minute, by their hash. */
	uint64_t wild_minute;
	uint32_t wild[WILD_PER_MINUTE];
	unsigned n_wild;
};

/* gate_box.c: takes the descriptors over, whatever comes of it. */
int box_open(const struct gate_open *msg, int fds[GATE_OPEN_FDS_MAX], struct err *e);
/* It has ended: its connections close, what is left is told. */
void box_end(struct box *b);
void box_free(struct box *b);
/* Tell what has changed; with `all` also what only grew. */
void box_report(struct box *b, bool all);
/* The row of a decision, counted; NULL: there is no more room. */
struct row *box_row(struct box *b, const char *host, uint16_t port, enum gate_verdict verdict,
		    const char *rule);
/* The same for a denial, which is told at once. `what` may be NULL: "connect HOST:PORT". */
void box_deny(struct box *b, const struct name *host, uint16_t port, const char *what,
	      const char *rule, const char *hint);
/* A name has an address now, the n-th. Told before anybody can connect there. */
void box_named(struct box *b, const struct name *n);
/* A name that a wildcard allows: who made it up may mean it as a message to whoever serves the zone.
 * False: there were too many others in this minute. */
bool box_may_name(struct box *b, const struct name *n);
void row_bytes(struct row *r, uint64_t in, uint64_t out);
/* NULL: too many rules have limits. */
struct account *box_account(struct box *b, int rule);

enum conn_state {
	CONN_HELLO,
	CONN_PROXY,
	CONN_STAGE,
	CONN_RESOLVE,
	CONN_CONNECT,
	CONN_RELAY,
	CONN_DNS,
	CONN_LAST,
	CONN_ASK,
	CONN_CLOSED,
};

/* One direction of a relay: bytes wait in a pipe of the kernel's only while the taker is slow. */
struct flow {
	int pipe[2];
	size_t held; /* bytes in the pipe */
	bool ended;  /* there will be no more */
	bool told;   /* and the other side knows */
};

#define CONN_ADDRESSES_MAX 8u

struct conn {
	struct source client, server;
	struct box *box;
	struct conn *next, *prev, *next_busy;
	bool is_busy;
	enum conn_state state;
	enum conn_state then; /* after CONNECT: RELAY or STAGE */
	uint64_t deadline_ms;

	struct name host;
	uint16_t port;
	bool is_named; /* somebody said where to */
	enum egress_protocol protocol;
	struct egress_limits limits;
	struct account *account; /* borrowed from the box; NULL: the rule has no limits */
	bool is_counted;
	const char *rule; /* that lets it through; borrowed from the policy */
	struct row *row;  /* borrowed from the box, or NULL */

	struct address addresses[CONN_ADDRESSES_MAX];
	unsigned n_addresses, tried;
	struct query *query;	/* of the resolver, which owns it; NULL: none */
	const char *no_address; /* why there is none */
	bool is_resolved;	/* the resolver has answered */
	bool names_itself;	/* a rule names the address, whatever kind it is of */

	uint8_t *hello; /* first bytes of the client, that belong to the server */
	size_t hello_len, hello_sent, hello_cap;
	struct flow up, down;

	struct stage *stage; /* owned */
	struct stage_io io;
	bool server_open;
	bool has_greeted; /* PROXY: the client speaks SOCKS and was answered */
	bool is_ending;	  /* STAGE: what is to be sent is all there will be */
	bool is_asking;	  /* a person is asked for `asked` */
	enum { SAID_NOTHING, SAID_YES, SAID_NO } said; /* what he said to it */
	char asked[192];
	bool has_shut; /* LAST: all is sent, its end is awaited */
};

/* gate_conn.c */
void conn_accept(struct listener *l);
/* Where it wants to go is known: ask the policy and go on. `answer`: a proxy's client waits for one.
 * False: it was denied, and that was told; the caller answers and closes. */
bool conn_decide(struct conn *c, struct egress_verdict *ret);
/* After a good decision: what comes next on it by its protocol. */
void conn_go(struct conn *c);
/* The server of `host` is wanted. */
void conn_resolve(struct conn *c);
void conn_close(struct conn *c);
/* The same, so that the other end sees an error and not an end. */
void conn_abort(struct conn *c);
void conn_deadline(struct conn *c, uint64_t ms);
/* Its time is over. */
void conn_timeout(struct conn *c);
void conn_busy(struct conn *c);
/* May so many bytes more pass? Counts them. */
bool conn_spend(struct conn *c, uint64_t up, uint64_t down);
/* How many may pass yet. */
uint64_t conn_left(const struct conn *c, bool up);
/* A request is about to be sent. False: too many in this minute. */
bool conn_request(struct conn *c, const struct egress_verdict *v);
void conn_ready(struct conn *c);
/* Room for what the client says before it has a server. -ENOMEM: it is closed. */
#define FIRST_BYTES_MAX 32768u /* every hello and every head of HTTP */
int conn_first_bytes(struct conn *c);

/* gate_ask.c: what a person says to it. WAIT: he is asked, and the connection is made busy when he
 * has answered; whoever asked asks again then. NO was told. */
enum asked { ASKED_NO, ASKED_YES, ASKED_WAIT };
enum asked conn_ask(struct conn *c, const char *what, const struct egress_verdict *v);
void box_answer(struct box *b, const struct gate_answer *m);

/* gate_relay.c */
void relay_run(struct conn *c);
void relay_done(struct conn *c);

/* gate_stage.c: the bytes of a stage, in and out. */
int stage_begin(struct conn *c, struct stage *taken);
void stage_run(struct conn *c);
void stage_done(struct conn *c);

/* gate_http.c: HTTP/1.1 in the clear. `first`: bytes that were read already. */
struct stage *http_stage_new(struct conn *c, bool is_proxy);

/* gate_inspect.c: what the sandbox has to trust is made and told. `roots` may be FD_NONE. */
int inspect_open(struct box *b, int roots, struct err *e);
/* TLS around HTTP. NULL: it cannot be. */
struct stage *inspect_stage_new(struct conn *c);

/* gate_secret.c */
int secrets_open(struct box *b, int fd, struct err *e);
void secrets_close(struct box *b);
/* NULL: it may be sent. Else why not, which was told, too. */
const char *secrets_judge(struct conn *c, const struct http_head *h,
			  const struct egress_verdict *v);
/* A placeholder turned up where none belongs. */
void secrets_alarm(struct conn *c, const char *where);

/* gate_proxy.c */
void proxy_run(struct conn *c);
/* Send this and close. */
void conn_last(struct conn *c, const void *data, size_t len);
void conn_refuse_http(struct conn *c, unsigned status, const char *text);

/* gate_dns.c */
void dns_datagram(struct listener *l);
void dns_stream_run(struct conn *c);

/* gate_resolve.c */
int resolve_init(struct err *e);
int resolve_servers(const char *csv, struct err *e);
/* Sets is_resolved, and makes the connection busy. */
void resolve_begin(struct conn *c);
void resolve_forget(struct conn *c);
void resolve_tick(void);
/* When it wants to be called next, in ms; -1: not. */
int resolve_wait_ms(void);

#endif
