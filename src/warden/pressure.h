/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the host short of memory? The kernel counts how long tasks stall for want of it
 * (/proc/pressure/memory) and wakes us when that is much; where it does not, we look now and then.
 *
 * A sandbox at its own limit stalls, too, and a tenant could so have everybody's pools emptied:
 * stalls count only while the host has little left. With $PINFOLD_PRESSURE (a file of that format,
 * such as memory.pressure of the control group that the daemon may fill) they always do.
 */
#ifndef WARDEN_PRESSURE_H
#define WARDEN_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

enum pressure_level {
	PRESSURE_NONE,
	PRESSURE_SOME,	/* what is beyond the floors is given back, nothing is made to wait */
	PRESSURE_HEAVY, /* all that waits is given back */
};

/* What one look showed. */
struct pressure_look {
	unsigned some, full; /* avg10, in hundredths of a percent */
	unsigned available;  /* of all memory, in thousandths */
	bool own;	     /* the stalls are those of the group that matters */
};

struct pressure {
	const char *path;
	int fd[2]; /* triggers: some, full */
	uint64_t stalled_us[2];
	enum pressure_level level;
};

/* Watch. Never fails: without a trigger pressure_check() is all there is. */
void pressure_open(struct pressure *p);
void pressure_close(struct pressure *p);
/* Trigger `which` woke us. */
void pressure_stalled(struct pressure *p, unsigned which, uint64_t now_us);
/* Look again; the level is in `level`. */
void pressure_check(struct pressure *p, uint64_t now_us);

/* What a look means, when `before` was the level so far. */
enum pressure_level pressure_judge(const struct pressure_look *look, enum pressure_level before);
/* The numbers of a file of each kind. */
void pressure_parse(const char *stalls, struct pressure_look *ret);
void pressure_parse_memory(const char *meminfo, struct pressure_look *ret);

#endif
