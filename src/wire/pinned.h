/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a deterministic run has beside the usual tree: a shared object that every dynamic program
 * loads (/etc/ld.so.preload), what it is to pin to, and a table by which processes carry their
 * clocks on. The sandbox may read the first three and write the table; who writes nonsense there
 * confuses the clocks of his own run.
 */
#ifndef WIRE_PINNED_H
#define WIRE_PINNED_H

#include <stdint.h>

#define PINNED_OBJECT "/etc/pinned.so"
#define PINNED_SETTINGS "/etc/pinned"
#define PINNED_TABLE "/run/pinned"
#define PINNED_HOST "pinned" /* the host name */
#define PINNED_MAGIC 0x70696e6e65640001u

struct pinned_settings {
	uint64_t magic;
	int64_t start_s;  /* what the clock shows at first, since 1970 */
	uint64_t made_ns; /* files with a later time, by the true clock, are of this run */
	uint64_t seed;
};

/* One of each process, by its number modulo the size of the table. */
#define PINNED_PROCESSES 4096u
struct pinned_process {
	uint64_t now_ns;   /* since the start; 0: none */
	uint64_t programs; /* how many it has executed */
	uint64_t key;	   /* of its random numbers; 0: by what it is */
};

/* How often each command was begun by who has no say in its random numbers, by a hash of it. */
#define PINNED_COMMANDS 4096u

/* One of each thread that sleeps, by its number modulo the size of the table. */
#define PINNED_SLEEPERS 256u
struct pinned_sleeper {
	uint32_t tid; /* 0: none */
	uint32_t pid;
	uint64_t until_ns; /* by its own clock */
	uint64_t true_ns;  /* by the true one */
};

/* One of each semaphore that processes share as a lock: whose turn it is (pinned/ring.c). */
#define PINNED_RINGS 32u
#define PINNED_MEMBERS 24u
struct pinned_ring {
	uint32_t lock;	/* of this row */
	uint32_t maker; /* the process that made it */
	uint32_t last;	/* the process that had it last; 0: none */
	struct {
		uint32_t pid, state;
	} member[PINNED_MEMBERS]; /* in the order of their numbers; 0: none behind it */
};

struct pinned_table {
	struct pinned_process processes[PINNED_PROCESSES];
	struct pinned_sleeper sleepers[PINNED_SLEEPERS];
	uint32_t commands[PINNED_COMMANDS];
	uint32_t rings_made;
	struct pinned_ring rings[PINNED_RINGS];
};

#endif
