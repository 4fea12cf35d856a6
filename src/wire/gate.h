/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate is told and tells. Three kinds of SOCK_SEQPACKET sockets, fixed layout, native
 * integers:
 *
 *	starter -> gate	one for the process: gate_open for each sandbox, with GATE_OPEN_FDS
 *			descriptors. When it is closed the gate ends.
 *	guest -> gate	one for a sandbox: gate_listen while its plan is walked, each with a
 *			descriptor. The gate asks the kernel about each, and takes no more than
 *			there are. When the guest is gone, the sandbox has ended.
 *	gate -> starter	one for a sandbox: gate_report. The starter shuts its side down when the
 *			sandbox has ended; the gate then closes all that belongs to it, tells the
 *			rest, and closes this, too.
 *
 *	starter -> gate	on the same socket: gate_answer, to what a person was asked for; and with
 *			GATE_POLICY another policy, as a sealed memfd, with a socket on which the gate
 *			says gate_taken once it holds, also for connections that are open;
 *			before the guest starts, with GATE_RECORD a file to append to, or with
 *			GATE_REPLAY a tape to answer from (egress/tape.h). With GATE_TELL it tells
 *			every row that changed, then says gate_taken on the socket that came along.
 *
 * A report is the whole of one row of a table of the gate's (host, port, verdict, rule), told again
 * when it has changed: a starter that does not read misses steps, not sums, and nothing grows.
 */
#ifndef WIRE_GATE_H
#define WIRE_GATE_H

#include <stdint.h>

#include "base/err.h"

#define GATE_MAGIC 0x70696e67u
#define GATE_VERSION 2u
#define GATE_PORTS_MAX 64u
#define GATE_PROXY_PORT 3128u /* on 127.0.0.1: HTTP CONNECT, HTTP and SOCKS5 */
#define GATE_DNS_PORT 53u
#define GATE_ROWS_MAX 512u
#define GATE_WHAT_SIZE 640u  /* of what was asked for, as it is shown */
#define GATE_NOTED_SIZE 192u /* of a request that was looked into */
#define GATE_ASKS_MAX 64u    /* different things that a person is asked for, in one sandbox */
#define GATE_RULE_APPROVAL "approval"	 /* decided by a person, or by nobody */
#define GATE_RULE_SECRET "secret"	 /* a placeholder where none belongs */
#define GATE_RULE_OTHERS "(others)"	 /* of a row for what found none of its own; host `*` */
#define GATE_LOOKUP "name lookup (DNS) " /* how `what` of one that is refused begins, */
#define GATE_SENT "sendto "		 /* of a datagram; */
#define GATE_STRAY "placeholder of a secret in a " /* how `what` of one begins */
#define GATE_REQUESTS_MAX 256u /* told of a sandbox in a minute, and kept of a run */
#define GATE_NAMES_MAX 256u    /* of those that have addresses, the first are told */

/* STRAYS: a raw socket that hears datagrams to every port but that of name servers; or connections
 * to ports that nobody listens on. Its `port` is the protocol. */
enum gate_listen_kind { GATE_TCP = 1, GATE_UDP, GATE_PROXY, GATE_STRAYS };
#define GATE_STRAY_BYTES 96u /* that it gives of each: the longest headers */

struct gate_listen {
	uint32_t magic;
	uint16_t kind; /* enum gate_listen_kind */
	uint16_t port;
};

/* Descriptors of gate_open, in this order: the packed policy in a sealed memfd, the guest's socket,
 * the socket of reports; also a sealed memfd of certificates (PEM) that servers are believed by,
 * and one of secrets (egress/secret.h) where rules inject some; with GATE_SHARES the last is a file
 * with a gate_purse. With GATE_INSPECTS the first message on the socket of reports is a gate_ca. */
#define GATE_OPEN_FDS 3u
#define GATE_OPEN_FDS_MAX 6u
#define GATE_ROOTS_MAX (4u << 20)

#define GATE_MAY_ASK 0x1u  /* somebody listens who can ask a person */
#define GATE_INSPECTS 0x2u /* some connections may have to be looked into: an authority is wanted */

#define GATE_SHARES 0x4u /* what it uses counts together with that of others */

/*
 * What somebody's sandboxes use together, whichever gates they have: each maps the file and adds to
 * `used`, which only grows; who sets quotas writes `stop`.
 */
enum gate_sum { GATE_BYTES, GATE_CONNECTIONS, GATE_REQUESTS, GATE_SUMS };

struct gate_purse {
	uint64_t used[GATE_SUMS];
	uint64_t stop[GATE_SUMS]; /* nothing more once that much was used; 0: no limit */
};

struct gate_open {
	uint32_t magic, version, flags;
	char sandbox[32];
	/* Of the whole sandbox, whatever its rules allow; 0: no limit. */
	uint64_t bytes, connections, requests;
	char resolver[64]; /* IP:PORT to ask instead of the host's name servers, "" for those */
};

/* What the sandbox has to trust so that its connections can be inspected. */
struct gate_ca {
	char pem[1024]; /* with NUL; "": there is none, and nothing of the kind will work */
};

enum gate_verdict { GATE_ALLOWED, GATE_DENIED, GATE_PENDING };

struct gate_report {
	uint32_t row;	  /* 0 .. GATE_ROWS_MAX - 1; GATE_ROWS_MAX: only `omitted` counts;
			   * one above: `host` is what the synthetic address number `count` stands for;
			   * two above: a person is to be asked for `what`, by number `count`, as
			   * the question `bytes_in` (no two have the same);
			   * four above: nobody waits for the answer to that any more;
			   * three above: `what`, method and path, was asked of the server of row
			   * `bytes_in`, and answered with status `count` after `bytes_out` ms */
	uint16_t verdict; /* enum gate_verdict */
	uint16_t port;
	uint64_t count; /* how often it was decided so */
	uint64_t bytes_in, bytes_out;
	uint64_t ms; /* how long connections that nobody looked into were open, together */
	uint64_t omitted; /* decisions that found no row of their own; `count`: requests that are not told */
	char host[256];		   /* as it was asked for: a name or an address */
	char rule[96];		   /* which one decided, "" for none */
	char what[GATE_WHAT_SIZE]; /* of what was denied: "connect example.org:443" */
	char hint[256];
};

enum gate_said {
	GATE_ONCE,
	GATE_YES,
	GATE_NO,
	GATE_LATE,
	GATE_POLICY,
	GATE_RECORD,
	GATE_REPLAY,
	GATE_TELL,
};

struct gate_answer {
	uint32_t magic;
	uint32_t ask;	  /* its number */
	uint32_t answer;  /* enum gate_said */
	uint32_t serial;  /* of the question */
	uint64_t seconds; /* GATE_YES: for how long; 0: as long as the sandbox lives */
};

struct gate_taken {
	uint32_t magic;
	uint32_t closed; /* connections that it does not allow any more */
	int32_t result;	 /* negative: all is as it was, and `e` says why */
	struct err e;
};

#endif
