/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest: PID 1 of a sandbox. A freestanding static program (no libc, no heap, no stdio) that
 * the host side executes from a sealed memfd in fresh namespaces.
 *
 * Where we are at its first instruction: new user, mount, pid and uts namespaces; still
 * the host's mount tree; all capabilities in the new user namespace (ambient); empty environment
 * and arguments. Open: 0 1 2 (the command's pipes), GUEST_CTL, inherited mounts from GUEST_EXTRA
 * on. It makes the costly namespaces while the host side still writes the plan, walks the plan,
 * which ends with no capability and a system call filter, starts the command, and stays to reap, to
 * pass signals on and to report changed files.
 *
 * It ends, and with it every process of the sandbox, when the other end of GUEST_CTL is closed.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include <stddef.h>
#include <stdint.h>

#include "wire/fds.h"
#include "wire/msg.h"
#include "wire/plan.h"

#define GUEST_KEEP_MAX 4u

/* One upper directory whose content is reported at the end, and where it shows inside. */
struct guest_keep {
	int upper;
	int lower; /* to tell "added" from "modified"; -1: everything is new */
	const char *prefix;
};

struct guest {
	const struct plan_head *plan;
	uint32_t walked;       /* steps of plans before it */
	int stage;	       /* the tmpfs with skeleton and uppers, -1 before STAGE */
	int root;	       /* the new root, -1 before ENTER */
	const char *root_name; /* where it is in the stage */
	int lower;	       /* last directory opened by LOWER */
	int layers;	       /* directory opened by LAYERS, -1: none */
	int ruleset;	       /* Landlock rules for commands, -1: none */
	int witness;	       /* all.c: whom we could signal before SCOPE, 0: none */
	int listener;	       /* seccomp notifications, for the host side, -1: none */
	int score;	       /* our own oom_score_adj, -1: it stays as it is */
	char score_own[8];     /* what it was at first, */
	char score_theirs[8];  /* and what commands have */
	struct guest_keep keep[GUEST_KEEP_MAX];
	unsigned n_keep;
	int driver;		       /* socket to an interpreter that waits, -1: none */
	int driver_end, loader;	       /* its end and its loader, while it is started */
	int plan_fd;		       /* with PLAN_FORK: the plan, -1 else */
	int claim[MSG_CLAIM_FDS];      /* second plan, standard input, output, error */
	uint64_t used_us;	       /* CPU time of the interpreter before it was claimed */
	int by_driver;		       /* the command is an interpreter that waited */
	int driver_listener;	       /* of the filter that a forked one has loaded, -1: none */
	int command;		       /* pid of the command, 0: none */
	int users;		       /* there may be processes of PLAN_USER beside root's */
	int talk;		       /* where what concerns the command that is started is said */
	uint64_t started_ns, ended_ns; /* of the command, monotonic */
	uint64_t left;		       /* processes besides it when it ended */
	uint64_t used_bytes;	       /* in the layer when the command started */
	uint64_t files;		       /* how many a command may open, 0: as many as we */
};

/* walk.c: do all steps. 0, or -errno with *ret_step the step that failed. */
int guest_walk(struct guest *g, int *ret_step);
/* network.c: a network namespace is to be made; begin with it if the host side has said more, or what
 * it said was `heard`; wait for it and join it: 0 or -errno; wait until who made it is gone. */
void guest_network_want(void);
void guest_network_step(int heard);
int guest_network_join(const struct guest *g);
void guest_network_alone(void);
/* egress.c: the steps for a sandbox with a policy. 0 or -errno. */
int guest_egress_step(const struct plan_step *step);
/* mount.c: the steps that mount something. 0 or -errno. */
int guest_mount_step(struct guest *g, const struct plan_step *step);
/* identity.c: the steps that give rights up. 0 or -errno. */
int guest_identity_step(struct guest *g, const struct plan_step *step);
/* command.c: start the command; 0 with g->command set, or -errno with *ret_step (MSG_STEP_*). */
int guest_command(struct guest *g, int *ret_step);
/* line.c: execute the program that is all of a line for bash; returns where bash is needed. */
void guest_line(char *const *argv, char *const *envp);
/* nursery.c: a thread whose children are in one Landlock domain. Positive: it is there; -errno. */
typedef long guest_start_fn(void *arg);
int guest_nursery_open(const struct guest *g);
/* Call this there, and wait for what it returns. */
long guest_nursery_start(guest_start_fn *start, void *arg);
/* Open the plan's working directory, or -errno. */
long guest_workdir(const struct guest *g);
/* driver.c: start the interpreter that waits; give it the program that was claimed. -errno: it is
 * of no use, and the command has to be started like any other. */
void guest_driver_start(struct guest *g);
/* The same by a fork of the zygote; the loader for a zygote to be. */
void guest_driver_fork(struct guest *g);
int guest_loader_make(struct guest *g);
int guest_driver_claim(struct guest *g);
/* job.c: more commands in a sandbox that lives, each with a socket of its own. */
#define GUEST_JOBS_MAX 64u
struct pollfd;
struct rusage;
void guest_job_start(struct guest *g, const int fds[MSG_FDS_MAX]);
/* Fill in what to wait for; returns how many. */
unsigned guest_job_poll(struct pollfd *fds);
/* What the n of them brought. */
void guest_job_events(const struct guest *g, const struct pollfd *fds, unsigned n);
/* A process has ended; maybe it was one of them. */
void guest_job_ended(const struct guest *g, int pid, int status, const struct rusage *usage);
int guest_job_is(int pid);
/* A command and its process group. */
void guest_signal_group(const struct guest *g, int pid, int sig);
/* processes.c: who is here, written to a file in memory. */
void guest_processes(int to);
/* Where no group holds the memory: kill whoever has most of it, if all together have more than
 * this. */
void guest_relieve(const struct guest *g, uint64_t pages);
/* files.c: a child that serves the sandbox's files on this socket. */
void guest_files_start(const struct guest *g, int sock);
/* start.c: a plan that needs no right, from outside; NULL: it is not that. */
const struct plan_head *guest_map_claim(int fd);
/* all.c: signal every process of the sandbox but the guest; where there is no pid namespace, the
 * step that makes this possible, 0 or -errno, and its end. */
void guest_signal_all(const struct guest *g, int sig);
/* kill(), of whoever is here. */
void guest_kill(const struct guest *g, int pid, int sig);
int guest_scope_step(struct guest *g);
void guest_scope_end(struct guest *g);
/* serve.c: the way back from the score that commands have; before the file is closed to us. */
void guest_score_keep(struct guest *g);
/* stay until the command has ended or the host side is gone. Returns its wait status. */
int guest_serve(struct guest *g);
/* seen.c: watch the files of packages, 0 or -errno; say which were opened. */
int guest_seen_step(const struct guest *g, const struct plan_step *step);
void guest_seen_tell(void);
/* The same, where there is something new: one that lives may be killed any time. */
void guest_seen_more(void);
/* To whom a command's end is told. */
void guest_seen_tell_to(int sock);
/* collect.c: report every changed file; how much the layer holds now; MSG_FULL_*. */
void guest_collect(struct guest *g);
uint64_t guest_used(const struct guest *g);
int guest_full(const struct guest *g);

/* util.c */
/* Into the Landlock domain of these rules, for good. 0 or -errno. */
long guest_restrict(int ruleset);
size_t str_len(const char *s);
int str_eq(const char *a, const char *b);
/* Send one message with an optional descriptor (fd < 0: none) and name. 0 or -errno. */
int guest_send(const struct msg_guest *msg, const char *name, int fd);
int guest_send_to(int sock, const struct msg_guest *msg, const char *name, int fd);
/* Block until the host side says something; ends the guest when it is gone. Returns how many
 * descriptors came along. */
unsigned guest_receive(struct msg_host *ret_msg, int fds[MSG_FDS_MAX]);
/* The same; the kernel drops what came along, without a word to its file system. */
unsigned guest_receive_bare(struct msg_host *ret_msg);
/* The same from any socket; -errno when there is nothing whole to take. */
long guest_receive_from(int sock, struct msg_host *ret_msg, int fds[MSG_FDS_MAX], int flags);
uint64_t guest_now_ns(void);
struct timeval;
uint64_t guest_micros(const struct timeval *t);
/* Its digits, without a NUL: at most 20. Returns how many. */
size_t guest_decimal(char *to, uint64_t v);
void guest_end(int status) __attribute__((noreturn));

#endif
