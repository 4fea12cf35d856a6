/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the daemon, one run. SOCK_SEQPACKET, fixed layout, native integers.
 *
 *	caller -> front:   link_ask, with the descriptors of LINK_FDS_*
 *	front  -> warden:  link_handover, with the connection itself and the same descriptors
 *	warden -> caller:  link_msg: STARTED | FAILED | ERROR, then DENIAL*, ENDED
 *	caller -> warden:  link_kill; closing the connection ends the run
 *
 * After STARTED the caller has the other end of the guest's control socket (wire/msg.h) and talks to
 * it directly: a guest that runs its command takes signals and nothing else from there. What holds
 * the limits, and the right to kill, stays with the warden.
 */
#ifndef WIRE_LINK_H
#define WIRE_LINK_H

#include <stdint.h>

#include "base/err.h"

#define LINK_MAGIC 0x70696e6cu
#define LINK_VERSION 1u

/* Order of descriptors: the request's block (wire/ask.h), standard input, output and error, and
 * with ASK_DIR the directory. */
#define LINK_FDS_MIN 4u
#define LINK_FDS_MAX 5u

struct link_ask {
	uint32_t magic, version;
};

/* Who asks, the kernel says of the connection. */
struct link_handover {
	uint32_t magic, version;
};

struct link_kill {
	uint32_t magic, version;
};

enum link_kind {
	LINK_STARTED = 1, /* descriptors: the guest's control socket, and a terminal if asked for */
	LINK_FAILED, /* the same, without descriptors; code: errno, step: MSG_STEP_* or a step of the plan; nothing ran */
	LINK_ERROR,  /* nothing was made; `error` says why */
	LINK_DENIAL,
	LINK_ENDED, /* every process is gone, nothing is left on the host */
};

/* Who ended it, as the verdict has it. */
enum link_stop { LINK_STOP_NONE, LINK_STOP_MEMORY, LINK_STOP_CPU_TIME };

struct link_started {
	char sandbox[32];
	uint64_t started_ns;	/* monotonic */
	uint64_t cpu_before_us; /* used before anybody wanted it */
	uint8_t group;		/* limits are held by a control group */
	uint8_t volume;		/* the layer is on disk */
	uint8_t warm;		/* the sandbox was waiting; 2: with an interpreter */
	uint8_t terminal;	/* a second descriptor came along */
	uint8_t zero[4];
};

struct link_denial {
	uint8_t network, zero[5];
	uint16_t port;
	char what[96], hint[256], host[64];
};

struct link_ended {
	uint32_t stop;				/* enum link_stop */
	uint32_t stuck;				/* a process hangs in the kernel */
	uint64_t user_us, system_us, memory_kb; /* of all processes that were waited for */
	uint64_t memory_peak_bytes, pids_peak, cpu_us, oom_kills, pids_refused;
	uint64_t pids_full;
};

struct link_msg {
	uint32_t kind;
	int32_t code, step;
	uint32_t zero;
	union {
		struct link_started started;
		struct link_denial denial;
		struct link_ended ended;
		struct err error;
	};
};

#endif
