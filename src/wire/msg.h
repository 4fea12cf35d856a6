/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the host side and the guest, over a SOCK_SEQPACKET pair. Fixed layout, native
 * integers. The guest is our program but lives with hostile code, so the host side checks the
 * length and every field of what it receives; descriptors are only taken where the kind has one.
 *
 *	host -> guest: struct msg_host, always whole.
 *	guest -> host: struct msg_guest, followed by `len` bytes of name for MSG_FILE and MSG_SEEN.
 *
 * Order to the guest: UNSHARE, [PLAN], PLAN, PROCEED, [PLAN], then SIGNAL, EXEC, DEADLINE in any order,
 * KILL. EXEC, PROCESSES and FILES are heard of sandboxes that live (PLAN_SHARED), FILES also with PLAN_MOVES.
 * Order from the guest: [READY] [TERMINAL] STARTED | FAILED, then EXITED, [SEEN] FILE*, DONE.
 *
 * Another command in a sandbox that lives (EXEC) brings a socket of its own, on which the guest
 * says [TERMINAL] STARTED | FAILED, then [SEEN] USAGE, EXITED, DONE of that command and takes
 * SIGNAL, LOOK and KILL for it. Whoever holds the other end is who wants it: when that is closed the command is
 * killed.
 */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include <stdint.h>

enum msg_host_kind {
	MSG_UNSHARE = 1, /* make namespaces `arg` (CLONE_NEW*) first; waits in the socket already */
	MSG_PLAN,	 /* descriptor: sealed memfd with the plan, or the first steps of it
			  * (PLAN_MORE); the id maps are written. The one of a claim brings standard input, output and error, too */
	MSG_PROCEED,	 /* the host side did what an AWAIT step waits for; arg: which one;
			  * descriptors: `tasks` files of cgroup v1 to enter */
	MSG_SIGNAL,	 /* send signal `arg` to every process but the guest */
	MSG_KILL,	 /* SIGKILL to all, reap, report, end */
	MSG_EXEC,	 /* descriptors: a small plan, standard input, output, error, a socket */
	MSG_PROCESSES,	 /* descriptors: a file in memory to write struct msg_process to, a socket
			  * on which DONE is said then */
	MSG_FILES,	 /* descriptor: a socket for a file server (wire/files.h) */
	MSG_DEADLINE,	 /* end everything in `arg` seconds, not as the plan said */
	MSG_SIGNAL_OWN,	 /* send signal `arg` to the process group of the sandbox's own command */
	MSG_SIGNAL_ONE, /* send a signal to one process: MSG_ONE() of its pid inside and the signal */
	MSG_LOOK,	/* on a command's own socket: say SEEN there, as of now */
	MSG_RELIEVE, /* kill the process that has most memory, if all have more than `arg` pages */
};

/* A pid has 22 bits, a signal 7. */
#define MSG_ONE(pid, signo) ((int)((uint32_t)(pid) << 7 | (uint32_t)(signo)))
#define MSG_ONE_PID(arg) ((int)((uint32_t)(arg) >> 7))
#define MSG_ONE_SIGNO(arg) ((int)((uint32_t)(arg)&0x7f))
#define MSG_ONE_PID_MAX (1u << 22)

#define MSG_FDS_MAX 5u
#define MSG_CLAIM_FDS 4u /* of the second plan */

struct msg_host {
	uint32_t kind;
	int32_t arg;
};

enum msg_guest_kind {
	MSG_TERMINAL = 1, /* fd: master side of the command's terminal */
	MSG_STARTED,	  /* the command's program was executed; code: its pid inside; fd: seccomp
			   * notification listener, if there is one; value: monotonic ns of the exec;
			   * value2: CPU time in us that a waiting interpreter had used before */
	MSG_FAILED, /* code: errno; step, value: which, 1 + its op, or MSG_STEP_*; nothing ran */
	MSG_EXITED, /* code: wait status of the command; all processes are gone; value: monotonic
			   * ns of its end; value2: other processes that were still there */
	MSG_FILE,   /* one changed file; fd when it is a regular one */
	MSG_USAGE,  /* of one more command; value: CPU time in us, value2: peak memory in KiB */
	MSG_FORK, /* fd: an interpreter's end of a socket to the guest; the zygote is to fork one */
	MSG_READY, /* all but the command is there; a second PLAN is awaited; fd: the listener, if no
			   * interpreter waits: STARTED has none then */
	MSG_SEEN,  /* a letter, MSG_SEEN_*, for each package that the plan has watched; of a
			   * sandbox that lives also behind a command, with what all did so far: to
			   * the sandbox's owner, and to who waits for the command */
	MSG_DONE,  /* value: files not reported, value2: bytes used in the layer, code:
			   * MSG_FULL_* */
};

/* What has no room left, for MSG_DONE. */
enum { MSG_FULL_LAYER = 0x1, MSG_FULL_TMP = 0x2 };

/* Steps after the plan, for MSG_FAILED. */
/* Of MSG_STARTED: an interpreter that waited has it; of MSG_READY: one waits. */
#define MSG_BY_DRIVER 1
#define MSG_STEP_PLAN (-1) /* the plan itself is damaged */
#define MSG_STEP_UNSHARE (-7)
#define MSG_STEP_TERMINAL (-2)
#define MSG_STEP_FORK (-3)
#define MSG_STEP_WORKDIR (-4)
#define MSG_STEP_LANDLOCK (-5)
#define MSG_STEP_EXEC (-6)
#define MSG_STEP_SESSION (-8)
#define MSG_STEP_USER (-9)

/* Was a package opened? Broken: it could not be watched; unknown: it has nothing to be watched
 * by. */
#define MSG_SEEN_NO '0'
#define MSG_SEEN_YES '1'
#define MSG_SEEN_UNKNOWN '?'
#define MSG_SEEN_BROKEN '!'
#define MSG_SEEN_ALL "01?!"

enum msg_change { MSG_ADDED = 1, MSG_MODIFIED, MSG_DELETED };

#define MSG_NAME_MAX 4096u

/* One process of a sandbox; the bytes are the kernel's, and what the process made of them. */
struct msg_process {
	uint32_t pid, asked_for; /* inside; somebody wants this one: EXEC */
	uint32_t stat_len, command_len;
	char stat[496]; /* the beginning of /proc/PID/stat and of cmdline */
	char command[512];
};

struct msg_guest {
	uint32_t kind;
	int32_t code;
	int32_t step;
	uint32_t len; /* of the name behind this record */
	uint64_t value;
	uint64_t value2;
	uint32_t mode;	 /* MSG_FILE: st_mode */
	uint32_t change; /* MSG_FILE: enum msg_change */
	uint64_t cpu_us,
		peak_kb; /* MSG_DONE: what all of it used, peak memory of the largest process */
};

#endif
