/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything that happens between clone and the user's program, as data. The host side
 * builds it (sandbox/plan.c), `pinfold plan` prints it, the guest walks it (guest/walk.c).
 *
 * It is one block of memory without pointers, handed over in a sealed memfd:
 *
 *	struct plan_head | steps[n_steps] | strings and blobs
 *
 * Strings are named by their offset from the start of the block and end with NUL; offset 0 means
 * none. All integers are native: both ends are the same machine and the same build.
 */
#ifndef WIRE_PLAN_H
#define WIRE_PLAN_H

#include <stdint.h>

#define PLAN_MAGIC 0x70696e66u
#define PLAN_VERSION 1u
#define PLAN_SIZE_MAX (40u << 20)
#define PLAN_STEPS_MAX 2048u
#define PLAN_ARGS_MAX 65536u

/*
 * What each step does and which fields it uses. `s`, `t` are strings, `a`, `b` numbers.
 * Relative paths of the mount steps are below the stage; ROOT_* paths are below the new root and
 * are resolved by openat2 without following any link.
 */
#define PLAN_OPS(X)                                                                                \
	X(AWAIT, "await", "wait until the host side says that its part `s` is done")               \
	X(HOSTNAME, "hostname", "set the host name to `s`")                                        \
	X(NETWORK, "network", "join the network namespace that was made meanwhile, loopback up")   \
	X(ROUTES, "routes", "let every address lead to the loopback")                              \
	X(LISTEN, "listen", "listen on port `a`, protocol `b`, and hand that to the gate")         \
	X(BECOME, "become", "take uid `a`, gid `b`, no other groups")                              \
	X(PRIVATE, "private", "detach mount propagation from the host")                            \
	X(STAGE, "stage", "mount a tmpfs with options `t` on `s`, or volume `a`; work there")      \
	X(TMPFS, "tmpfs", "mount a tmpfs with options `t` on stage directory `s`")                 \
	X(MKDIR, "mkdir", "make directory `s` with mode `a`")                                      \
	X(WRITE, "write", "make file `s` with mode `a` and the given content")                     \
	X(WHITEOUT, "whiteout", "hide what a lower directory has at `s`")                          \
	X(SYMLINK, "symlink", "make symbolic link `s` to `t`")                                     \
	X(LOWER, "lower", "open host directory `s`, check that it is the expected one")            \
	X(LAYERS, "layers", "open the directory of layers `s`, check that it is the expected one") \
	X(ATTACH, "attach", "attach inherited mount descriptor `a` at `s`")                        \
	X(OVERLAY, "overlay", "mount overlay on `s` with options `t`")                             \
	X(ENTER, "enter", "take `s` as the new root for the steps below")                          \
	X(BIND_HOST, "bind", "show host path `s` at `t`, flags `a`")                               \
	X(BIND_STAGE, "bind-stage", "show stage path `s` at `t`, flags `a`")                       \
	X(SHOW, "show", "show stage path `s` at `t`, just as it is mounted in the stage")          \
	X(PROC, "proc", "mount a new proc at `s`")                                                 \
	X(DEVPTS, "devpts", "mount a new devpts at `s` with options `t`")                          \
	X(MASK, "mask", "hide `s` behind an empty inode of our own")                               \
	X(SEAL, "seal", "make `s` read-only")                                                      \
	X(SYSCTL, "sysctl", "set `s` of the new user namespace to `t`")                            \
	X(ROOM, "room", "leave `b` bytes of the stage free, whatever is in it by now")             \
	X(TIMENS, "timens", "new time namespace: clocks start at zero")                            \
	X(KEEP, "keep", "keep a descriptor of stage directory `s` for the report of files")        \
	X(PIVOT, "pivot", "pivot_root into the new root, drop the host's tree")                    \
	X(SEEN, "seen", "notice which of the given packages' files are opened")                    \
	X(CGROUPNS, "cgroupns", "new cgroup namespace")                                            \
	X(KEYRING, "keyring", "join a new, empty session keyring")                                 \
	X(RLIMIT, "rlimit", "limit resource `a` to `b`")                                           \
	X(OOM_SCORE, "oom-score", "set oom_score_adj to `a`")                                      \
	X(BOUNDING, "bounding", "no program can ever get a capability outside of mask `b`")        \
	X(CAPS, "caps", "hold only the capabilities of mask `b`, inherit none")                    \
	X(NO_NEW_PRIVS, "no-new-privs", "no program gains privileges")                             \
	X(SCOPE, "scope", "the guest itself can signal nobody but processes below it")             \
	X(PIN, "pin", "addresses are not random, and there is one processor")                      \
	X(NO_DUMP, "no-dump", "the guest cannot be traced or dumped")                              \
	X(LANDLOCK, "landlock", "new ruleset: handled access `b`, scopes `a`")                     \
	X(LANDLOCK_PATH, "landlock-path", "allow access `b` beneath `s`")                          \
	X(SECCOMP, "seccomp", "load the system call filter; refusals are reported")                \
	X(READY, "ready", "start the command")

enum plan_op {
#define PLAN_OP_ENUM(id, name, help) PLAN_##id,
	PLAN_OPS(PLAN_OP_ENUM)
#undef PLAN_OP_ENUM
		PLAN_OP_COUNT
};

/* Flags of a step. */
#define STEP_OPTIONAL 0x1u  /* a missing source (ENOENT) is no error: the host does not have it */
#define STEP_OWN 0x80u	    /* bind: the target lies in a tree that this plan made */
#define STEP_STAGE 0x40u    /* seal, overlay: `s` is in the stage, not below the new root */
#define STEP_RDONLY 0x2u    /* bind: read-only */
#define STEP_DEVICE 0x4u    /* bind: a device node, so not nodev */
#define STEP_RECURSIVE 0x8u /* bind: with the mounts below; mask: a directory */
#define STEP_NOEXEC 0x10u
#define STEP_NO_LOWER 0x100u /* KEEP: there is nothing below, all of it is new */
#define STEP_KEEP_FD 0x20u   /* KEEP: what LOWER opened is kept for comparing changed files */
#define STEP_LAYERS 0x200u   /* OVERLAY, KEEP: relative paths are below what LAYERS opened */

struct plan_step {
	uint16_t op;
	uint16_t flags;
	uint32_t s;
	uint32_t t;
	uint32_t len; /* bytes at t when it is a blob */
	int64_t a;
	uint64_t b;
};

/* How the command is started once the last step is done. */
#define PLAN_PTY 0x1u
#define PLAN_COLLECT 0x2u    /* report changed files before the end */
#define PLAN_COUNT 0x4u	     /* tell how many processes were there at the end */
#define PLAN_WARM 0x10u	     /* stop before the command and wait for a second plan */
#define PLAN_DRIVER 0x40u    /* with PLAN_WARM: start the command now; it waits for a program */
#define PLAN_FORK 0x100u     /* with PLAN_DRIVER: it is not started but forked from the zygote */
#define PLAN_ZYGOTE 0x200u   /* the command is the zygote */
#define PLAN_LEASH 0x20u     /* end with the process that made us */
#define PLAN_LIVE 0x80u	     /* no command: live until told otherwise, commands come later */
#define PLAN_ON_HOST 0x400u  /* the layer is on a filesystem of the host's: count what is in it */
#define PLAN_SESSION 0x800u  /* standard input goes to SESSION_FD; 0 is empty */
#define PLAN_HOST_LEVEL 0x8u /* level landlock: no pid namespace */
#define PLAN_AS_USER 0x1000u /* the command is PLAN_USER's, where the guest is root inside */
#define PLAN_GUARDED 0x2000u /* executing it may have to wait for a person; nobody waits for that */
#define PLAN_MORE 0x4000u    /* only the first steps; another plan follows, with the rest */
#define PLAN_LINGER 0x8000u  /* once all is said, wait until the host side hangs up */
#define PLAN_SHARED 0x10000u /* of a sandbox that lives: its commands are in one Landlock domain */
#define PLAN_MOVES 0x20000u /* the host side may want a file server, for renames (sandbox/move.h) */
#define PLAN_LINE 0x40000u  /* the command is bash and a line: it may not take bash (line.c) */
#define PLAN_USER 1000u

/*
 * A sandbox that waits ready-made walked a plan with PLAN_WARM. What is left when it is claimed is
 * a second, small plan that only puts the program's text into its place and names the command; it
 * is walked without any right, and may hold no other steps than MKDIR, WRITE and READY.
 */
struct plan_head {
	uint32_t magic;
	uint32_t version;
	uint32_t size; /* of the whole block */
	uint32_t n_steps;
	uint32_t argv; /* offset of argc offsets */
	uint32_t argc;
	uint32_t envp; /* offset of envc offsets */
	uint32_t envc;
	uint32_t workdir;
	uint32_t path; /* value of PATH, for the search */
	uint32_t flags;
	uint16_t rows;
	uint16_t cols;
	uint64_t deadline_ms; /* the guest ends everything by itself after this long */
	struct plan_step steps[];
};

/* Name of an operation, or NULL. */
const char *plan_op_name(unsigned op);
const char *plan_op_help(unsigned op);
/* 0 when the block is well-formed: every offset inside, every string ended. Else -EINVAL. */
int plan_check(const void *block, uint32_t size);

static inline const char *plan_str(const struct plan_head *head, uint32_t off)
{
	return off ? (const char *)head + off : (const char *)0;
}

#endif
