/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the daemon, one thing asked for. SOCK_SEQPACKET, fixed layout, native integers.
 *
 *	caller -> front:   link_ask, with the descriptors that its op needs
 *	front  -> warden:  the same, with the connection itself before the descriptors
 *	warden -> caller:  link_msg, as the op says:
 *
 *	RUN                STARTED | FAILED | ERROR, then DENIAL*, ENDED
 *	CREATE             OK | FAILED | ERROR; `arg` of the ask is the time to live in ms
 *	EXEC               STARTED | ERROR, then DENIAL*, ENDED when the sandbox ends first;
 *	                   with LINK_DETACH: OK (value: its pid) | FAILED | ERROR
 *	LIST               OK with a memfd full of struct link_item, the metadata's text behind them |
 *	                   ERROR; with an id, of that one alone
 *	STATE              OK, with `state`: numbers of the daemon itself
 *	KILL               ENDED | OK | ERROR; `arg` is a signal, SIGKILL ends the sandbox
 *	PAUSE, RESUME      OK | ERROR
 *	EXTEND             OK | ERROR; `arg` is how many ms from now on; with LINK_USED nothing happens
 *	                   once somebody asked without it
 *	FOLLOW             OK (with LINK_INPUT and a terminal: its descriptor) | ERROR, then
 *	                   OUTPUT*, LEFT
 *
 *	PROCESSES          STARTED | ERROR: a socket on which the guest says DONE when it has written
 *	                   its processes (struct msg_process) to the descriptor that came along
 *	FILES              STARTED | ERROR: a socket to the guest's file server (wire/files.h)
 *
 *	JOB_LIST           OK with a memfd full of struct link_process | ERROR
 *	JOB_READ           PROCESS | ERROR, then BLOCK*, PROCESS; with LINK_STAY not before there is
 *	                   something to tell. No more than LINK_READ_MAX bytes in LINK_READ_RUNS runs
 *	JOB_INPUT          OK with a descriptor to write to (value 1: it types into a terminal) | ERROR;
 *	                   with LINK_CLOSE: OK, and there is no more input
 *	JOB_SIGNAL         OK | ERROR; `arg` is a signal for its process group
 *	JOB_RESIZE         OK | ERROR; `arg` is rows << 16 | columns
 *
 * Those of JOB and FOLLOW are about the command `pid` of the sandbox, 0: its own, or its first.
 *
 * Closing the connection of a RUN ends it; a link_ask of any kind on it, too, but for TELL: the
 * guest said MSG_DONE, and the caller would have ENDED now, when only the guest itself is left; of
 * an EXEC it is answered by OK (value: processes of the sandbox that were killed for want of memory
 * since). With LINK_LEAVE there is no answer: nobody asks any more. With LINK_KEEP the connection stays when the RUN, or the command of the
 * EXEC, has ended: the next one may be asked for on it, which also ends a RUN that has not been said to have
 * ended. What was still said about that, ENDED or DENIAL, then comes before the answer.
 * After STARTED the caller has the other end of a socket to the guest (wire/msg.h) and
 * talks to it directly. What holds the limits, and the right to kill, stays with the warden.
 */
#ifndef WIRE_LINK_H
#define WIRE_LINK_H

#include <stdint.h>

#include "base/err.h"
#include "wire/ask.h"

#define LINK_MAGIC 0x70696e6cu
#define LINK_VERSION 9u
#define LINK_ID_SIZE 32u

enum link_op {
	LINK_RUN = 1,
	LINK_CREATE,
	LINK_EXEC,
	LINK_LIST,
	LINK_KILL,
	LINK_PAUSE,
	LINK_RESUME,
	LINK_EXTEND,
	LINK_FOLLOW,
	LINK_PROCESSES,
	LINK_FILES,
	LINK_JOB_LIST,
	LINK_JOB_READ,
	LINK_JOB_INPUT,
	LINK_JOB_SIGNAL,
	LINK_JOB_RESIZE,
	LINK_STATE,
	LINK_TELL,
	LINK_OP_END,
};

/* Order of descriptors for RUN, CREATE and EXEC: the request's block (wire/ask.h), standard input,
 * output and error, with ASK_DIR the directory, with ASK_EGRESS the gate's socket, with ASK_GUARD
 * that of who decides about commands, with ASK_LAYERS a bundle (wire/bundle.h). Others have
 * none. */
#define LINK_FDS_MIN 4u
#define LINK_FDS_MAX 8u

#define LINK_DETACH 0x1u /* EXEC: in the background, its output is kept by the daemon */
#define LINK_STAY 0x2u	 /* FOLLOW: until it ends, not only what is there */
#define LINK_NOW 0x4u	 /* FOLLOW: from now on, not what was before */
#define LINK_INPUT 0x8u	 /* FOLLOW: give me its standard input, if it is open */
#define LINK_FROM 0x10u	 /* FOLLOW: from `offset` on */
#define LINK_CLOSE 0x20u /* JOB_INPUT */
#define LINK_USED 0x40u	 /* EXTEND: only because it was used */
#define LINK_KEEP 0x100u /* RUN, EXEC: the next RUN or EXEC comes on this connection */
#define LINK_LEAVE 1u	 /* TELL, `arg`: no answer is wanted */
#define LINK_ONE 0x80u	 /* JOB_SIGNAL: to that process alone, whoever started it */

struct link_ask {
	uint32_t magic, version;
	uint32_t op, flags;
	uint64_t arg;
	char id[LINK_ID_SIZE]; /* of the sandbox that it is about, "" for none */
	uint32_t pid;
	uint32_t share; /* RUN, CREATE: on whose behalf, of those that the asker serves; 0: his own */
	int64_t offset; /* in what it printed; negative: so many bytes before the end */
};

/* How many descriptors at least and at most come with it. */
static inline int link_fds_are(uint32_t op, int n)
{
	if (op == LINK_RUN || op == LINK_CREATE || op == LINK_EXEC)
		return n >= (int)LINK_FDS_MIN;
	return n == (op == LINK_PROCESSES);
}

/* Which of them is what: an index, or -1. */
static inline int link_fd_dir(uint32_t ask_flags)
{
	return ask_flags & ASK_DIR ? (int)LINK_FDS_MIN : -1;
}

static inline int link_fd_gate(uint32_t ask_flags)
{
	if (!(ask_flags & ASK_EGRESS))
		return -1;
	return (int)LINK_FDS_MIN + (ask_flags & ASK_DIR ? 1 : 0);
}

static inline int link_fd_guard(uint32_t ask_flags)
{
	if (!(ask_flags & ASK_GUARD))
		return -1;
	return (int)LINK_FDS_MIN + (ask_flags & ASK_DIR ? 1 : 0) + (ask_flags & ASK_EGRESS ? 1 : 0);
}

static inline int link_fd_layers(uint32_t ask_flags)
{
	if (!(ask_flags & ASK_LAYERS))
		return -1;
	return (int)LINK_FDS_MIN + (ask_flags & ASK_DIR ? 1 : 0) +
	       (ask_flags & ASK_EGRESS ? 1 : 0) + (ask_flags & ASK_GUARD ? 1 : 0);
}

/* Are there just as many as the block says? An empty one is negative, all behind it are empty. */
static inline int link_fds_fit(uint32_t ask_flags, const int fds[LINK_FDS_MAX])
{
	unsigned n = 0;

	while (n < LINK_FDS_MAX && fds[n] >= 0)
		n++;
	return n == LINK_FDS_MIN + (ask_flags & ASK_DIR ? 1 : 0) +
			    (ask_flags & ASK_EGRESS ? 1 : 0) + (ask_flags & ASK_GUARD ? 1 : 0) +
			    (ask_flags & ASK_LAYERS ? 1 : 0);
}

static inline int link_has_block(uint32_t op)
{
	return op == LINK_RUN || op == LINK_CREATE || op == LINK_EXEC;
}

enum link_kind {
	LINK_STARTED = 1, /* descriptors: the guest's control socket, and a terminal if asked for */
	LINK_FAILED, /* the same, without descriptors; code: errno, step: MSG_STEP_* or a step of the
		      * plan; nothing ran */
	LINK_ERROR,  /* nothing was made; `error` says why */
	LINK_DENIAL,
	LINK_ENDED, /* every process is gone, nothing is left on the host */
	LINK_OK,
	LINK_OUTPUT,  /* `output`, and its bytes behind the message */
	LINK_LEFT,    /* the command that was followed has ended, or there is no more for now */
	LINK_PROCESS, /* how a command is doing */
	LINK_BLOCK,   /* `block`, its runs and its bytes behind the message */
};

/* Who ended it, as the verdict has it. */
enum link_stop {
	LINK_STOP_NONE,
	LINK_STOP_MEMORY,
	LINK_STOP_CPU_TIME,
	LINK_STOP_TIME,
	LINK_STOP_CALLER,
	LINK_STOP_ALERT,
};

#define LINK_LAYERS_MAX 4u
/* The layers of packages that a sandbox was made with: their names in the directory that this is. */
struct link_layers {
	uint64_t dev, ino;
	uint32_t n, zero;
	uint32_t number[LINK_LAYERS_MAX];
};

struct link_started {
	char sandbox[32];
	uint64_t started_ns;		   /* monotonic */
	uint64_t cpu_before_us;		   /* used before anybody wanted it */
	uint8_t group;			   /* limits are held by a control group */
	uint8_t volume;			   /* the layer is on disk */
	uint8_t warm;			   /* the sandbox was waiting; 2: with an interpreter */
	uint8_t terminal;		   /* a second descriptor came along */
	uint8_t alert_kills, alert_pauses; /* EXEC: what an alert does to the sandbox */
	uint8_t awaited; /* whether it started the guest says itself, as of an EXEC */
	uint8_t zero[1];
	struct ask_limits limits;  /* of the sandbox */
	struct link_layers layers; /* EXEC */
};

#define LINK_NETWORK_POLICY 2 /* of a sandbox with a policy: no rule of it names the port */
#define LINK_COMMAND_RULE 3   /* a rule of `commands` denies it */
#define LINK_COMMAND_ASKED 4  /* a person would have had to allow it */

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

#define LINK_OUTPUT_MAX 16384u
struct link_output {
	uint32_t stream; /* 1, 2 */
	uint32_t len;
	uint64_t skipped; /* bytes before it that were not kept */
};

#define LINK_READ_MAX (1u << 20)
#define LINK_READ_RUNS 4096u
#define LINK_BLOCK_RUNS 256u
struct link_block {
	uint64_t offset;
	uint32_t len, n_runs; /* each is a uint32_t: length * 2 + stream - 1 */
};

/* How a command that was followed ended, if it did. */
struct link_left {
	uint32_t over;	/* it has ended */
	uint32_t stop;	/* enum link_stop */
	int32_t status; /* wait status, with `known` */
	uint32_t known;
	uint64_t wall_us;
};

struct link_ok {
	uint64_t value;
	char sandbox[LINK_ID_SIZE];
	/* FOLLOW: of the sandbox, as in link_started and as it was asked for. */
	uint8_t group, volume, terminal;
	uint8_t pids_refused; /* TELL, with `value`, who was killed: somebody could not be started */
	uint8_t zero[4];
	struct ask_limits limits;
};

#define LINK_KINDS 4u /* of sandboxes that wait: plain, python, node, r */
struct link_state {
	uint32_t waiting[LINK_KINDS], wanted[LINK_KINDS];
	uint32_t running, running_max, queued, queued_max;
	uint32_t pressure; /* 0 none, 1 some, 2 heavy */
	uint32_t zero;
};

#define LINK_HELD 0x1u /* nobody waits for it: it lives until its time is over */
#define LINK_PAUSED 0x2u
#define LINK_COMMAND 0x4u /* it ends with a command of its own */
#define LINK_OVER 0x8u	  /* gone; what it printed is still there */
#define LINK_KNOWN 0x10u  /* `status` is its command's */
#define LINK_OPEN 0x20u	  /* its standard input can be written to */
#define LINK_PTY 0x40u	  /* it has a terminal */

#define LINK_UNKNOWN UINT64_MAX /* no control group knows it, or it was too much to ask */

struct link_item {
	char id[LINK_ID_SIZE];
	uint32_t uid, flags, stop;
	int32_t status;
	uint32_t background;			/* commands of EXEC with LINK_DETACH that run */
	uint32_t alerts;			/* that it raised */
	uint64_t made_ms, expires_ms, ended_ms; /* since 1970, 0: not */
	char command[160];
	struct ask_limits limits;
	uint64_t memory_bytes, cpu_us, processes; /* now, or LINK_UNKNOWN */
	uint64_t metadata; /* where it is in the file: "key=value" and NUL, each */
	uint32_t metadata_len, zero2;
};

/* One that runs in the background, or did. */
struct link_process {
	uint32_t pid, flags, stop;
	int32_t status;
	uint64_t started_ms, ended_ms;	    /* since 1970, 0: not */
	uint64_t output_bytes, output_from; /* ever printed; from there on all of it is kept */
	char command[160];
};

struct link_msg {
	uint32_t kind;
	int32_t code, step;
	uint32_t op; /* FAILED: 1 + what the step was to do, 0: not a step of the plan */
	union {
		struct link_started started;
		struct link_denial denial;
		struct link_ended ended;
		struct link_ok ok;
		struct link_output output;
		struct link_left left;
		struct link_process process;
		struct link_block block;
		struct link_state state;
		struct err error;
	};
};

#endif
