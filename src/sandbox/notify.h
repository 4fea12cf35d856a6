/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused system calls and connections, as the kernel asks us about them; of what a policy's
 * commands are about, see guard.h. Nothing is decided here that isolation depends on: a reported
 * call is always refused, a connection always goes on and fails by itself for want of a route. What
 * is read from the caller's memory is only told.
 */
#ifndef SANDBOX_NOTIFY_H
#define SANDBOX_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify_event {
	bool network;	  /* else a system call */
	bool has_policy;  /* network, and somebody said so: the sandbox has a policy */
	char what[96];	  /* "connect 203.0.113.5:443", "mount" */
	const char *hint; /* static; NULL for network */
	char host[64];	  /* network: the address */
	uint16_t port;
	uint64_t id; /* the kernel's, until it is answered */
	bool guard;  /* none of these: somebody decides, by guard.h, and `what` is empty */
	uint32_t pid;
	int nr;
	uint64_t args[6];
};

/* Ask the kernel to hand calls over on one processor where it can. */
void notify_init(int listener);
/* Take one notification. 1: *ret is something to record, whose caller waits until notify_answer(),
 * so that something can be done about it before; 0: nothing (an innocent connection, or the caller
 * is gone), it is answered; -errno: the listener is finished. */
int notify_take(int listener, struct notify_event *ret);
/* 0, or -errno: the listener is finished. */
int notify_answer(int listener, const struct notify_event *ev);

struct sandbox_egress;
/* Whoever listens on this port inside is the gate, which says by itself what it refuses. */
bool notify_is_gated(const struct sandbox_egress *out, const struct notify_event *ev);

#endif
