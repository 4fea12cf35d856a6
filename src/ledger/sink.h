/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a ledger elsewhere, as it grows. What a checkpoint covers is brought there in order,
 * with the checkpoint behind it; each event at least once. Where that stands is kept beside the
 * ledger:
 *
 *	sinks			one line each: ID TARGET
 *	sinks.d/ID.CHAIN	how many events are there; when it failed last (ms), and why
 *
 *	/mnt/copy		a directory: a copy of each chain, which pinfold verify --ledger checks
 *	http://127.0.0.1:9000/x	POST of JSON lines; any 2xx is a yes
 *	syslog://127.0.0.1:601	RFC 5424 over TCP, octet counting (RFC 6587)
 *
 * A place that has more events than the ledger, or others, is not written to: the ledger was
 * exchanged.
 */
#ifndef LEDGER_SINK_H
#define LEDGER_SINK_H

#include <stdbool.h>

#include "base/err.h"
#include "base/id.h"
#include "ledger/note.h"

#define SINKS_MAX 16u
#define SINK_TARGET_SIZE 512

struct sink {
	char id[ID_SIZE];
	char target[SINK_TARGET_SIZE];
};

struct sink_state {
	uint64_t shipped;
	uint64_t failed_ms; /* 0: it did not, the last time */
	char error[200];
};

/* `dir`: where `sinks` is. How many there are. */
int sink_list(int dir, struct sink list[SINKS_MAX], struct err *e);
int sink_add(int dir, const char *target, struct sink *ret, struct err *e);
int sink_remove(int dir, const char *id, struct err *e);
int sink_state(int dir, const struct sink *s, const char *chain, struct sink_state *ret,
	       struct err *e);

/* Bring what is new of the chain in `from` there. One at a time: who calls has a lock. look: also
 * where nothing is new, whether a copy is one of this chain. */
int sink_ship(int dir, const struct sink *s, int from, bool look, struct err *e);

/* sink_to.c: the ways there. */
struct sink_to {
	const char *target;
	const char *chain;
	int fd;		  /* of the directory, or a connection */
	uint64_t shipped; /* a directory knows it itself */
	bool knows;
	bool any;	  /* `last` is what it has */
	struct note last; /* the newest checkpoint there */
};
int sink_check(const char *target, struct err *e);
int sink_open(struct sink_to *to, const char *target, const char *chain, int from, struct err *e);
/* The public keys, to where there are files. */
int sink_put_keys(const struct sink_to *to, int from, struct err *e);
/* Whole lines, `n` of them, from event `at` on. */
int sink_put(struct sink_to *to, uint64_t at, const char *lines, size_t len, struct err *e);
int sink_put_note(struct sink_to *to, const char *text, size_t len, struct err *e);
int sink_close(struct sink_to *to, struct err *e);

#endif
