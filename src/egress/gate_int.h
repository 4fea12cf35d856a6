/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: a process that holds the listening sockets of sandboxes and lets through what their
 * policies allow. One thread, one epoll loop, nothing that waits. For gate*.c only.
 *
 *	struct gate	the process: loop, resolver, list of boxes
 *	struct box	one sandbox: its policy, listeners, names, what it reports
 *	struct conn	one connection of a sandbox:
 *
 *	                     CHECK
 *	HELLO ──┐             │ ▲          ┌─► RELAY   bytes as they are (splice)
 *	PROXY ──┼─► RESOLVE ─► CONNECT ────┤
 *	        │                          └─► STAGE   a stage between two sockets (http)
 *	STAGE ──┘  (a stage asks for its server with its first good request)
 *	CHECK      whose certificate the server has (gate_check.c); TLS that is passed through
 *	DNS        answers only
 *	LAST       nothing but an answer that is still to be sent
 *	ASK        a person is asked whether it may connect; then from the beginning
 *
 * Whatever is wrong, at any state, is CLOSED. Where we are: see gate_confine.c.
 */
#ifndef EGRESS_GATE_INT_H
#define EGRESS_GATE_INT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "egress/authority.h"
#include "egress/channel.h"
#include "egress/inspect.h"
#include "egress/name.h"
#include "egress/policy.h"
#include "egress/secret.h"
#include "egress/stage.h"
#include "egress/synthetic.h"
#include "egress/tape.h"
#include "http/websocket.h"
#include "http/write.h"
#include "wire/gate.h"

#define GATE_CONNS_MAX 8192u /* of all sandboxes */
#define BOX_CONNS_MAX 2048u  /* of one */
#define BOX_LISTENERS_MAX (2 * GATE_PORTS_MAX + 8)
#define BOX_ACCOUNTS_MAX 128u
#define BOX_ANSWERS_MAX 64u
#define CONN_ADDRESSES_MAX 8u
#define BOX_ROW_KINDS 6u     /* gate_rows.c */
#define BOX_POLICIES_MAX 16u /* that were replaced while connections pointed to them */
#define ACCOUNT_GONE INT_MIN /* number of a rule that there is no more */
#define BOX_CHECKS_MAX 64u   /* servers of one that were looked at, or are */
#define BOX_SPARES_MAX 16u   /* servers of one that wait for another request */
#define GATE_SPARES_MAX 128u /* of all; gate_confine.c has descriptors for them */
#define WILD_PER_MINUTE 60u  /* different names that one wildcard or another allows */

#define HELLO_MS 10000u	  /* for a client to say what it wants */
#define CONNECT_MS 10000u /* for a server to answer, each address */
#define IDLE_MS 600000u	  /* without a byte either way */
#define HALF_MS 60000u	  /* the same when one side has ended */
#define LAST_MS 5000u	  /* to take an answer */

/* Something that the loop waits for. Whoever owns it lives until the end of the turn. */
#define BOTH_WAYS (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)
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
	struct spare *dead_spares;
	unsigned n_spares;
	struct channel_roots *roots; /* of the first sandbox that had some; all have the same */
};

extern struct gate gate;

/* gate.c */
int gate_watch(struct source *s, uint32_t events);
/* Closes the descriptor. */
void gate_forget(struct source *s);

/* gate_confine.c: give up every right that the gate does not need. */
int gate_confine(struct err *e);

#define MINUTE_MS 60000u
#define MINUTE_PARTS 6u

/* What a rule has cost so far. */
struct account {
	int rule;
	uint64_t up, down;
	uint32_t conns;
	uint64_t part; /* of a minute, since the machine began: the last with requests */
	uint32_t requests[MINUTE_PARTS + 1];
};

enum ask_state { ASK_FREE, ASK_OPEN, ASK_YES, ASK_NO };

struct ask {
	enum ask_state state;
	uint32_t serial;	 /* no two questions of a sandbox have the same */
	uint64_t until_ms;	 /* of a yes */
	uint8_t key[HASH_BYTES]; /* of what is asked for, whole */
};

/* Each is as far as the next, or settled. */
enum check_state {
	CHECK_FREE,
	CHECK_CONNECTING,
	CHECK_SHAKING,
	CHECK_GOOD,
	CHECK_BAD,
	CHECK_UNREACHED,
};

/* A server by name and address: is it who it should be? */
struct check {
	struct source source;
	struct box *box;
	enum check_state state;
	uint64_t until_ms; /* of what it has found, or to find it */
	struct name host;
	struct address address;
	uint16_t port;
	struct channel *channel; /* owned */
	struct stage_buf in, out;
	bool ended;
	const char *why; /* BAD */
};

struct row {
	struct gate_report report;
	uint32_t hash;
	bool is_new, is_changed;
	bool is_others; /* it stands for all of its kind that have none */
};

struct listener {
	struct source source;
	struct box *box;
	enum gate_listen_kind kind;
	uint16_t port;
};

/* Where a name leads, for as long as its servers say so. What it leads to is checked by everyone
 * who goes there. */
struct answer {
	struct name host;
	struct address addresses[CONN_ADDRESSES_MAX];
	unsigned n;
	uint64_t until_ms;
};

struct box {
	struct box *next;
	char id[32];
	struct source intake;		   /* from the guest */
	struct source reports;		   /* to the starter */
	bool is_ending, is_dead, is_stuck; /* stuck: the starter does not read */
	struct authority *authority;	   /* NULL: nothing is inspected */
	struct channel_sessions *sessions; /* of servers; NULL: none are kept */
	struct secret_set *secrets;	   /* NULL: none */
	struct policy *policy;
	struct policy *old[BOX_POLICIES_MAX]; /* gate_policy.c */
	unsigned n_old;
	unsigned n_policies; /* that it had */
	struct synthetic *names;
	struct listener listeners[BOX_LISTENERS_MAX];
	unsigned n_listeners;
	struct row rows[GATE_ROWS_MAX];
	unsigned n_rows, n_of_kind[BOX_ROW_KINDS];
	struct row *denied; /* the last that was refused; borrowed from the rows */
	uint64_t omitted;
	bool omitted_changed;
	uint64_t noted_minute, noted_omitted; /* gate_noted.c */
	unsigned n_noted;		      /* told in that minute */
	struct {
		int fd; /* FD_NONE: nothing is recorded, or no more is */
		bool is_on;
		uint64_t bytes, exchanges;
	} recording;
	struct {
		bool is_on; /* nothing is connected to: what was recorded answers */
		const struct tape *tape;
		size_t len;
		bool used[TAPE_ENTRIES_MAX];
	} replay;
	struct budget {
		uint64_t bytes, connections, requests;
	} budget, spent;	  /* 0: no limit */
	struct gate_purse *purse; /* shared with others; NULL: none */
	bool may_ask;
	struct ask asks[GATE_ASKS_MAX];
	unsigned n_asks;
	uint32_t last_ask;
	struct check checks[BOX_CHECKS_MAX];
	struct spare *spares; /* owned; the latest first */
	unsigned n_spares;
	struct answer answers[BOX_ANSWERS_MAX]; /* of the resolver */
	unsigned n_told;			/* names whose addresses the starter knows */
	struct account accounts[BOX_ACCOUNTS_MAX];
	unsigned n_accounts, n_conns;
	uint64_t dns_at_ms; /* refused questions for names: a bucket that fills */
	uint32_t dns_tokens;
	/* Names below wildcards in the last minute, by their hash. */
	struct {
		uint64_t at_ms; /* 0: never */
		uint32_t hash;
	} wild[WILD_PER_MINUTE];
};

/* gate_box.c: takes the descriptors over, whatever comes of it. */
int box_open(const struct gate_open *msg, int fds[GATE_OPEN_FDS_MAX], struct err *e);
/* It has ended: its connections close, what is left is told. */
void box_end(struct box *b);
void box_free(struct box *b);
/* Tell what has changed; with `all` also what only grew. */
void box_report(struct box *b, bool all);
/* False: the starter does not take it now. */
bool box_tell(struct box *b, const struct gate_report *report);
/* gate_purse.c: what is left for it and all who share it, UINT64_MAX: no limit; spent; less than is
 * wanted, which is recorded as a denial. */
int purse_open(struct box *b, int fd, struct err *e);
void purse_close(struct box *b);
uint64_t purse_left(const struct box *b, enum gate_sum what);
void purse_spend(struct box *b, enum gate_sum what, uint64_t n);
bool purse_is_empty(struct conn *c, enum gate_sum what, uint64_t wanted);
/* gate_rows.c: the row of a decision, counted; never NULL. */
struct row *box_row(struct box *b, const char *host, uint16_t port, enum gate_verdict verdict,
		    const char *rule);
/* The same for a denial, which is told at once. `what` may be NULL: "connect HOST:PORT". */
struct row *box_deny(struct box *b, const struct name *host, uint16_t port, const char *what,
		     const char *rule, const char *hint);
/* One that there is, or NULL. */
struct row *row_of(struct box *b, const char *host, uint16_t port, enum gate_verdict verdict,
		   const char *rule);
uint32_t row_hash(const char *host, uint16_t port, unsigned verdict, const char *rule);
/* A name has an address now, the n-th. Told before anybody can connect there. */
void box_named(struct box *b, const struct name *n);
/* A name that a wildcard allows: who made it up may mean it as a message to whoever serves the
 * zone. False: there were too many others in this minute. */
bool box_may_name(struct box *b, const struct name *n);
void row_bytes(struct row *r, uint64_t in, uint64_t out);
/* It was decided so once more. NULL: nothing happens. */
void row_again(struct row *r);

/* gate_noted.c: one request, until its answer begins. */
struct noted {
	char *line; /* owned; NULL: none */
	uint64_t at_ms;
};
void noted_begin(struct noted *a, const struct egress_request *q);
void noted_end(struct noted *a, struct conn *c, unsigned status);
void noted_drop(struct noted *a);
/* One that is not sent, of this row (NULL: it has none); status 0: it is not decided yet. */
void noted_refused(struct box *b, const struct row *r, const struct egress_request *q,
		   unsigned status);
/* A packed policy in the place of what there is, which is not freed; on failure nothing has
 * changed. */
int box_take_policy(struct box *b, int fd, struct err *e);
/* NULL: too many rules have limits. */
struct account *box_account(struct box *b, int rule);

enum conn_state {
	CONN_HELLO,
	CONN_PROXY,
	CONN_STAGE,
	CONN_RESOLVE,
	CONN_CHECK,
	CONN_CONNECT,
	CONN_RELAY,
	CONN_DNS,
	CONN_LAST,
	CONN_ASK,
	CONN_CLOSED,
};

/* What epoll has said of a socket, which says it once: without it nothing is there to be read, and
 * nobody need ask the kernel. */
struct inlet {
	bool has_some, has_end;
};
void inlet_told(struct inlet *in, uint32_t events);

/* One direction of a relay: bytes wait in a pipe of the kernel's only while the taker is slow. */
struct flow {
	int pipe[2];
	size_t held; /* bytes in the pipe */
	bool ended;  /* there will be no more */
	bool told;   /* and the other side knows */
};

/* On whose behalf a server is asked: by which rule of which policy, with which secrets. Hashes, of
 * what authors of policies wrote. */
#define ERRAND_OWN 0u /* as a rule: the connection is for nobody else */
struct errand {
	uint64_t rule, secrets;
	bool may_repeat; /* the request can be sent once more */
};

struct conn {
	struct source client, server;
	struct inlet from_client, from_server;
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
	struct query *query;	   /* of the resolver, which owns it; NULL: none */
	struct conn *next_waiting; /* for the same; borrowed */
	const char *no_address;	   /* why there is none */
	bool is_resolved;	   /* the resolver has answered */
	bool names_itself;	   /* a rule names the address, whatever kind it is of */

	uint8_t *hello; /* first bytes of the client, that belong to the server */
	size_t hello_len, hello_sent, hello_cap;
	size_t hello_may; /* how many of them, while there may be a second hello */
	enum {
		SECOND_NONE,
		SECOND_UNKNOWN, /* the server has not answered */
		SECOND_AWAITED,
	} second;
	struct flow up, down;
	struct secret_scan scan; /* of what the client sends, where anything may be said */

	struct stage *stage; /* owned */
	struct stage_io io;
	bool server_open;
	bool is_shared;		  /* the server has served another before */
	struct errand errand;	  /* of the request that is next */
	struct errand served;	  /* what the server has served; OWN: several */
	uint64_t server_since_ms; /* when it was connected */
	bool has_greeted;	  /* PROXY: the client speaks SOCKS and was answered */
	bool is_ending;		  /* STAGE: what is to be sent is all there will be */
	bool is_asking;		  /* a person is asked for `asked` */
	enum {
		SAID_NOTHING,
		SAID_YES,
		SAID_NO,
		SAID_LATE,
		SAID_OTHER
	} said;			   /* what he said to it */
	uint8_t asked[HASH_BYTES]; /* its key */
	struct mux *mux;	   /* of HTTP/2: its stage, borrowed; NULL: no lanes */
	struct mux *lane_of; /* borrowed: of whose client it is a stream; NULL: of nobody, or gone */
	bool is_lane;	     /* it has no client's socket */
	bool is_orphan;	     /* a lane whose client is gone: closed in its turn */
	bool has_shut;	     /* LAST: all is sent, its end is awaited */
};

/* gate_conn.c */
void conn_accept(struct listener *l);
/* One more of what was decided for another, without a client's socket. NULL: there are too many. */
struct conn *conn_lane(const struct conn *of);
/* Where it wants to go is known: ask the policy and go on. `answer`: a proxy's client waits for
 * one. False: it was denied, and that was told; the caller answers and closes. */
bool conn_decide(struct conn *c, struct egress_verdict *ret);
/* May its server be at this address? What may not is told. */
bool conn_may_reach(struct conn *c, const struct address *a);
/* The rule's limits, which are shared by all connections that it allows, instead of those that it
 * has. False: there are too many connections. */
bool conn_take_limits(struct conn *c, const struct egress_verdict *v);
/* After a good decision: what comes next on it by its protocol. */
void conn_go(struct conn *c);
/* The server of `host` is wanted. */
void conn_resolve(struct conn *c);
void conn_close(struct conn *c);
/* The same, so that the other end sees an error and not an end. */
void conn_abort(struct conn *c);
/* The server alone, and at once. */
void conn_cut(struct conn *c);
void conn_deadline(struct conn *c, uint64_t ms);
/* Its time is over. */
void conn_timeout(struct conn *c);
void conn_busy(struct conn *c);
/* May so many bytes more pass? Counts them. */
bool conn_spend(struct conn *c, uint64_t up, uint64_t down);
/* How many may pass yet. */
uint64_t conn_left(const struct conn *c, bool up);
/* A request is about to be sent. False: there were too many, which was told. */
bool conn_request(struct conn *c, const struct egress_verdict *v);
void conn_ready(struct conn *c);
/* Room for what the client says before it has a server. -ENOMEM: it is closed. */
#define FIRST_BYTES_MAX 32768u /* every hello and every head of HTTP */
int conn_first_bytes(struct conn *c);

/* gate_hello.c: the name in TLS that is passed through. */
void conn_hello_run(struct conn *c);
/* While there may be a second hello. False: nothing may pass now. */
bool conn_second_run(struct conn *c);
/* An alert, and the end. */
void conn_refuse_tls(struct conn *c, uint8_t code);

/* gate_ask.c: what a person says to it. WAIT: he is asked, and the connection is made busy when he
 * has answered; whoever asked asks again then. NO was told. */
enum asked { ASKED_NO, ASKED_YES, ASKED_WAIT };
struct question {
	uint8_t key[HASH_BYTES];   /* of all that is asked for */
	char what[GATE_WHAT_SIZE]; /* as it is shown: what is cut says so */
};
enum asked conn_ask(struct conn *c, const struct question *q, const struct egress_verdict *v);
/* What a person is asked for before it may connect; before a request may be sent. */
void question_connect(const struct conn *c, struct question *ret);
void question_request(const struct conn *c, const struct http_head *h,
		      const struct egress_request *q, struct question *ret);
/* A request in one line; `rest`: its query, or NULL. */
void request_text(const struct conn *c, const struct egress_request *q, const char *rest,
		  size_t rest_len, char ret[GATE_WHAT_SIZE]);
/* Has who waits for an answer gone? It closes: nobody need answer for its sake. */
bool conn_is_gone(const struct conn *c);
void conn_ask_no_more(struct conn *c);
void box_answer(struct box *b, const struct gate_answer *m);

/* A person said yes to its like, and that still counts. */
bool conn_was_asked(const struct conn *c);

/* gate_spare.c: for whom a request is, once it may be sent; a server has it, as its first or
 * not. */
void errand_set(struct conn *c, const struct egress_verdict *v, const struct http_head *h);
void errand_begin(struct conn *c, bool is_first);
/* May its server wait for another, when all went well? */
bool spare_may(const struct conn *c);
/* It needs its server no more: it waits, and the connection has none; else the caller closes it. */
void spare_part(struct conn *c);
/* One that waits instead of a new one. False: there is none. */
bool spare_take(struct conn *c);
void spares_tick(struct box *b);
void spares_close(struct box *b);
void spares_bury(void);

/* gate_policy.c: another policy; `reply` hears when it holds. Both are borrowed. */
void box_policy(struct box *b, int policy, int reply);
void box_forget_policies(struct box *b);

/* gate_check.c: is who answers at an address the host? GOOD: the hello may be sent there. BAD: that
 * was told. UNREACHED: try another. Else wait in CONN_CHECK, and ask again when made busy. */
enum check_state check_server(struct conn *c, const struct address *a);
void checks_tick(struct box *b);
void checks_close(struct box *b);

/* gate_tape.c: frames go to the file, which is taken over; answers come from the block, which is
 * not. */
void box_record(struct box *b, int *taken);
void box_replay(struct box *b, int fd);
void tapes_close(struct box *b);
/* Bytes will pass that nobody looks at. */
void tape_unseen(struct conn *c);

/* One exchange, recorded or replayed. */
struct taped {
	bool is_on, is_bare;
	uint64_t exchange;
	struct hash body, key; /* of the request; key: without the body */
	const struct tape_entry *answer;
	uint64_t sent; /* of it */
};
/* False: it is too long to be told from others. */
bool taped_begin(struct taped *t, struct conn *c, const struct http_head *h, const char *scheme);
void taped_head(struct taped *t, struct conn *c, const char *head, size_t len, bool bare);
void taped_data(struct taped *t, struct conn *c, const char *data, size_t len);
void taped_trailers(struct taped *t, struct conn *c, const char *lines, size_t len);
void taped_end(struct taped *t, struct conn *c);
/* Of a replay, when the request is whole: what a server would have sent. False: there is none,
 * which was told. */
bool taped_answer(struct taped *t, struct conn *c, struct stage_io *io);

/* gate_relay.c */
void relay_run(struct conn *c);
void relay_done(struct conn *c);

/* gate_stage.c: the bytes of a stage, in and out. */
int stage_begin(struct conn *c, struct stage *taken);
void stage_run(struct conn *c);
void stage_done(struct conn *c);

/* gate_http.c: HTTP/1.1 in the clear. `first`: bytes that were read already. */
struct stage *http_stage_new(struct conn *c, bool is_proxy);

/* gate_tunnel.c: a WebSocket. */
struct tunnel {
	bool is_wanted, is_open;
	char accept[WS_ACCEPT_SIZE]; /* what the server has to answer */
	struct ws frames;	     /* of the client, where they are looked into */
	struct secret_scan scan;
};
bool tunnel_is_asked(const struct http_head *h);
/* Does a request open one? Refused as ws_handshake() does. */
int tunnel_ask(struct tunnel *t, const struct http_head *h, struct http_error *e);
/* Is it what the server opens by this 101? `is_plain`: without extensions. */
bool tunnel_is_agreed(const struct tunnel *t, const struct http_head *h, bool is_plain);
void tunnel_fields(struct http_out *o);
enum stage_next tunnel_run(struct tunnel *t, struct conn *c, struct redact *r, struct stage_io *io);

/* gate_h2.c: a stage for a client that speaks HTTP/2. */
struct stage *mux_stage_new(struct conn *c);
/* Its client is gone; a lane is; there is something to do; does any stream live? */
void mux_end(struct mux *m);
void mux_lost(struct conn *lane);
void mux_wake(const struct mux *m);
bool mux_is_used(const struct mux *m);

/* gate_inspect.c: with `inspects` what the sandbox has to trust is made and told. `roots` may be
 * FD_NONE. */
int inspect_open(struct box *b, int roots, bool inspects, struct err *e);
/* What servers are believed by; NULL: there is nothing. */
struct channel_roots *inspect_roots(struct err *e);
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
void secrets_alarm_of(struct box *b, const struct name *host, uint16_t port, const char *where);

/* gate_proxy.c */
void proxy_run(struct conn *c);
/* Send this and close. */
void conn_last(struct conn *c, const void *data, size_t len);
void conn_refuse_http(struct conn *c, unsigned status, const char *text);

/* gate_dns.c */
void dns_datagram(struct listener *l);
void dns_stream_run(struct conn *c);

/* gate_stray.c */
void stray_packets(struct listener *l);

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
