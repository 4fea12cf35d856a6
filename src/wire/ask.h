/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request for a run, as the caller's library writes it for the daemon: a block in a sealed
 * memfd, checked again by everybody who takes it. Strings are offsets from its beginning, NUL at
 * their end, 0 for none; native integers. The caller's descriptors travel beside it (wire/link.h).
 */
#ifndef WIRE_ASK_H
#define WIRE_ASK_H

#include <stdint.h>

#define ASK_MAGIC 0x70696e61u
#define ASK_VERSION 8u
#define ASK_SIZE_MAX (40u << 20)
#define ASK_STRINGS_MAX 65536u
#define ASK_HIDDEN_MAX 256u

#define ASK_PTY 0x1u
#define ASK_COLLECT 0x2u     /* report changed files */
#define ASK_ROOT 0x4u	     /* uid 0 inside */
#define ASK_BEST_EFFORT 0x8u /* limits that cannot be held may be absent */
#define ASK_DIR 0x10u	     /* a directory's descriptor comes along */
#define ASK_PYTHON 0x20u     /* a program for an interpreter that waits, if there is one */
#define ASK_LIVE 0x40u	     /* no command: the sandbox lives, commands come later */
#define ASK_NODE 0x80u
#define ASK_R 0x100u
#define ASK_SESSION 0x200u     /* EXEC: standard input is the socket of a session (wire/fds.h) */
#define ASK_STDIN 0x400u       /* keep its standard input open for who writes to it later */
#define ASK_USER 0x800u	       /* EXEC: uid 1000, also where the sandbox's own is 0 */
#define ASK_EGRESS 0x1000u     /* a socket to a gate of the asker's comes along, for these ports */
#define ASK_ALERT_KILL 0x2000u /* RUN, CREATE: what the first alert does to it */
#define ASK_PINNED 0x4000u     /* a deterministic run */
#define ASK_ALERT_PAUSE 0x8000u
#define ASK_GUARD 0x10000u /* a socket comes along on which the asker decides (wire/guard.h) */
#define ASK_GUARD_DELETE 0x20000u /* and with that, about what is deleted, too */
#define ASK_LAYERS 0x40000u	  /* a bundle of layers comes along (wire/bundle.h) */
#define ASK_PROMPT 0x80000u /* the asker hangs up when he knows its end: the guest waits for that */
#define ASK_LINE 0x100000u  /* its words are bash and a line that may need none */
#define ASK_FLAGS 0x1fffffu
#define ASK_PORTS_MAX 64u
#define ASK_START_MAX_S INT64_C(4102444800) /* 2100: what old tools still take */

/* What the asker wants to be remembered with the sandbox: "key=value" each. */
#define ASK_METADATA_MAX 16u
#define ASK_METADATA_KEY 64u
#define ASK_METADATA_VALUE 256u

struct ask_limits {
	uint64_t time_ms, grace_ms, cpu_time_ms, cpus_milli, memory_bytes, pids, disk_bytes, nofile;
};

struct ask_head {
	uint32_t magic, version;
	uint32_t size; /* of the whole block */
	uint32_t flags;
	struct ask_limits limits;
	uint64_t dir_dev, dir_ino; /* of the directory */
	uint32_t argv, argc;	   /* offset of argc offsets */
	uint32_t envp, envc;
	uint32_t path, workdir, code_name, dir_path;
	uint32_t code, code_len; /* bytes */
	uint16_t rows, cols;
	uint32_t hidden, hiddenc; /* paths of the directory that are not shown */
	uint32_t metadata, metadatac;
	uint32_t n_ports;
	uint16_t ports[ASK_PORTS_MAX]; /* that the sandbox listens on for the gate */
	int64_t pinned_start_s;	       /* with ASK_PINNED: as in sandbox/spec.h */
	uint64_t pinned_made_ns;
	uint32_t ca, certs;	 /* texts: whom to believe beside, and all together */
	uint32_t java, java_len; /* bytes: the same for Java */
};

/* 0 when every offset and count stays inside, every string ends, every number is in its bounds;
 * else -EINVAL. */
int ask_check(const void *block, uint32_t size);

static inline const char *ask_str(const struct ask_head *head, uint32_t off)
{
	return off ? (const char *)head + off : (const char *)0;
}

#endif
