/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of what is worth an alert. An alert is a record, and perhaps the end of a run; it never
 * takes the place of a protection. */
#ifndef ALERT_ALERT_H
#define ALERT_ALERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum alert_rule {
	ALERT_SECRET,	/* the placeholder of a secret was sent elsewhere */
	ALERT_DENIALS,	/* many refusals in a short time */
	ALERT_METADATA, /* an attempt to reach an address where clouds tell secrets */
	ALERT_ESCAPE,	/* a refused system call that looks like a way out */
	ALERT_TERMINAL, /* output that a terminal would act on, beyond colours */
	ALERT_PROMPT,	/* output that looks like instructions to a model */
	ALERT_RULES
};

/* "secret", "denials", "metadata", "escape", "terminal", "prompt" */
const char *alert_name(enum alert_rule rule);

/* Is this name of a refused system call (kernel/seccomp.def) one that programs do not try for a
 * harmless reason? */
bool alert_is_escape(const char *call);

/* Refusals as they come. Not for name lookups: a library makes several for each try. */
#define ALERT_RATE_MS 10000u
#define ALERT_RATE_COUNT 100u	 /* so many in that time, */
#define ALERT_RATE_DIFFERENT 20u /* or so many different ones, are many */

struct alert_rate {
	uint32_t at_ms[ALERT_RATE_COUNT]; /* a ring; 0: none yet */
	unsigned next;
	struct {
		uint32_t ms;
		uint32_t hash;
	} different[ALERT_RATE_DIFFERENT];
};

/* Another one, of this text, at this time (monotonic, > 0). True: with it they are many. */
bool alert_rate_add(struct alert_rate *r, const char *what, uint64_t now_ms);

/* Something was refused, as sandbox/notify.h or the gate (wire/gate.h) has it. */
struct alert_refusal {
	bool network;	  /* else a system call */
	const char *what; /* the system call's name; "connect 203.0.113.5:443" */
	const char *host; /* network: a name or an address */
};

/* Which rules `count` of them, now, raise: bits by their number. */
unsigned alert_refused(struct alert_rate *rate, const struct alert_refusal *r, uint64_t count,
		       uint64_t now_ms);

#endif
