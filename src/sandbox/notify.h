/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused system calls and connections, as the kernel asks us about them. Nothing is decided here
 * that isolation depends on: a reported call is always refused, a connection always goes on and
 * fails by itself for want of a route. What is read from the caller's memory is only told.
 */
#ifndef SANDBOX_NOTIFY_H
#define SANDBOX_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify_event {
	bool network;	  /* else a system call */
	char what[96];	  /* "connect 203.0.113.5:443", "mount" */
	const char *hint; /* static; NULL for network */
	char host[64];	  /* network: the address */
	uint16_t port;
};

/* Ask the kernel to hand calls over on one processor where it can. */
void notify_init(int listener);
/* Take and answer one notification. 1: *ret is something to record; 0: nothing (an innocent
 * connection, or the caller is gone); -errno: the listener is finished. */
int notify_take(int listener, struct notify_event *ret);

#endif
