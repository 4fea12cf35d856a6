/* SPDX-License-Identifier: Apache-2.0 */
/* First instruction, main line, and what the compiler expects a libc to have. */
#include <errno.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall guest_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tbl guest_main\n\tbrk #1\n");
#endif

void guest_main(void) __attribute__((noreturn));

static const struct plan_head *map_plan(int fd)
{
	struct stat st;

	if (sys2(SYS_fstat, fd, &st) < 0 || st.st_size <= 0 || (uint64_t)st.st_size > PLAN_SIZE_MAX)
		return NULL;
	long p = sys6(SYS_mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (p < 0 && p > -4096)
		return NULL;
	const struct plan_head *head = (const struct plan_head *)p;
	return plan_check(head, (uint32_t)st.st_size) == 0 ? head : NULL;
}

static const struct plan_head *next_plan(struct guest *g)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];

	if (guest_receive(&msg, fds) != 1 || msg.kind != MSG_PLAN)
		return NULL;
	const struct plan_head *plan = map_plan(fds[0]);
	if (plan && (plan->flags & PLAN_FORK))
		g->plan_fd = fds[0];
	else
		(void)sys1(SYS_close, fds[0]);
	return plan;
}

static int is_claim(const struct plan_head *plan)
{
	for (uint32_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].op != PLAN_MKDIR && plan->steps[i].op != PLAN_WRITE &&
		    plan->steps[i].op != PLAN_READY)
			return 0;
	return 1;
}

const struct plan_head *guest_map_claim(int fd)
{
	const struct plan_head *plan = map_plan(fd);

	if (plan && !is_claim(plan)) {
		(void)sys2(SYS_munmap, plan, plan->size);
		plan = NULL;
	}
	return plan;
}

/* It was walked, and who waits should be small. What is still needed of it moves over; where there is
 * no room for that, it stays. */
static void let_plan_go(struct guest *g)
{
	static char room[512];
	size_t n = 0;

	for (uint32_t i = 0; i < g->plan->n_steps; i++)
		if (g->plan->steps[i].op == PLAN_SEEN)
			return;
	for (unsigned i = 0; i < g->n_keep; i++)
		n += str_len(g->keep[i].prefix) + 1;
	if (n > sizeof(room))
		return;
	n = 0;
	for (unsigned i = 0; i < g->n_keep; i++) {
		const char *from = g->keep[i].prefix;

		g->keep[i].prefix = room + n;
		do
			room[n++] = *from;
		while (*from++);
	}
	(void)sys2(SYS_munmap, g->plan, g->plan->size);
	g->plan = NULL;
}

/* With this message: to whom the rest is said may be somebody else. */
static void give_listener(struct guest *g, const struct msg_guest *msg)
{
	(void)guest_send(msg, NULL, g->listener); /* its absence shows when we wait for an answer */
	if (g->listener >= 0)
		(void)sys1(SYS_close, g->listener);
	g->listener = -1;
}

/* Wait ready-made until somebody wants us, for as long as that takes. */
static int await_claim(struct guest *g)
{
	struct msg_guest ready = {.kind = MSG_READY, .step = g->driver < 0 ? 0 : MSG_BY_DRIVER};
	struct msg_host msg;
	int fds[MSG_FDS_MAX];

	let_plan_go(g);
	if (g->driver < 0)
		give_listener(g, &ready);
	else if (guest_send(&ready, NULL, -1) < 0)
		return -EPROTO;
	if (guest_receive(&msg, fds) != MSG_CLAIM_FDS || msg.kind != MSG_PLAN)
		return -EPROTO;
	for (unsigned i = 0; i < MSG_CLAIM_FDS; i++)
		g->claim[i] = fds[i];
	g->plan = guest_map_claim(g->claim[0]);
	return g->plan ? 0 : -EPROTO;
}

/* The command of the claim: given to the interpreter that waits, or started. */
static int claimed_command(struct guest *g, int *step)
{
	long r = g->plan->flags & PLAN_LIVE ? 0 : guest_driver_claim(g);

	g->by_driver = r >= 0 && !(g->plan->flags & PLAN_LIVE);
	if (r < 0) {
		r = 0;
		for (int i = 0; i < 3 && r >= 0; i++)
			r = sys3(SYS_dup3, g->claim[1 + i], i, 0);
		if (r >= 0)
			r = guest_command(g, step);
	}
	for (unsigned i = 0; i < MSG_CLAIM_FDS; i++)
		(void)sys1(SYS_close, g->claim[i]);
	return r < 0 ? (int)r : 0;
}

/* The command of a sandbox that was made for it; one that is kept has none. */
static int first_command(struct guest *g, int *step)
{
	if (g->plan->flags & PLAN_ZYGOTE) {
		int r = guest_loader_make(g);
		if (r < 0)
			return r;
	}
	if (!(g->plan->flags & PLAN_LIVE))
		return guest_command(g, step);
	for (int fd = 0; fd <= 2; fd++)
		(void)sys1(SYS_close, fd);
	return 0;
}

/* After the last change of ids, which would undo it. */
static int leash(const struct plan_head *plan)
{
	return plan->flags & PLAN_LEASH ? (int)sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
					: 0;
}

/* Steps that were given to us before the others were known. */
static int walk_first(struct guest *g, int *step)
{
	int r = 0;

	while (r >= 0 && (g->plan->flags & PLAN_MORE)) {
		r = guest_walk(g, step);
		if (r < 0)
			break;
		g->walked += g->plan->n_steps;
		*step = MSG_STEP_PLAN;
		g->plan = next_plan(g); /* what is kept of the first one stays mapped */
		r = g->plan ? 0 : -EINVAL;
	}
	return r;
}

static int walk_plans(struct guest *g, int *step)
{
	int r = walk_first(g, step);

	if (r < 0)
		return r;
	if (g->plan->flags & PLAN_ZYGOTE)
		(void)sys5(SYS_prctl, PR_SET_NAME, "pinfold-zygote", 0, 0, 0);
	if (g->plan->flags & PLAN_HOST_LEVEL)
		(void)sys5(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	guest_network_step(1);
	r = guest_walk(g, step);
	if (r == 0)
		r = leash(g->plan);
	g->used_bytes = guest_used(g);
	if (r < 0 || !(g->plan->flags & PLAN_WARM))
		return r < 0 ? r : first_command(g, step);
	if (g->plan->flags & PLAN_FORK)
		guest_driver_fork(g);
	else if (g->plan->flags & PLAN_DRIVER)
		guest_driver_start(g);
	*step = MSG_STEP_PLAN;
	r = await_claim(g);
	if (r == 0)
		r = guest_walk(g, step);
	return r < 0 ? r : claimed_command(g, step);
}

/* Before the plan is there: the host side may still be writing it. */
static int unshare_first(void)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];

	if (guest_receive(&msg, fds) != 0 || msg.kind != MSG_UNSHARE)
		return -EPROTO;
	if (msg.arg & CLONE_NEWNET)
		guest_network_want();
	msg.arg &= ~CLONE_NEWNET;
	return msg.arg ? (int)sys1(SYS_unshare, msg.arg) : 0;
}

static void fail(const struct guest *g, int error, int step)
{
	struct msg_guest msg = {.kind = MSG_FAILED, .code = -error, .step = step};

	if (g->plan && step >= 0 && (uint32_t)step < g->plan->n_steps) {
		msg.value = 1 + g->plan->steps[step].op;
		msg.step += (int)g->walked;
	}
	(void)guest_send(&msg, NULL, -1); /* nobody left to tell */
	guest_end(1);
}

/* What the caller's process ignores would stay ignored in the command. */
static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} standard = {0};

	for (int sig = 1; sig < 65; sig++)
		(void)sys4(SYS_rt_sigaction, sig, &standard, NULL, sizeof(standard.mask));
}

/* Our own end takes as long as half a command, and who reads what we said may need our processor. He
 * goes first, also when he hangs up; but nobody keeps us for long. */
static void linger(void)
{
	struct pollfd ctl = {.fd = GUEST_CTL, .events = POLLIN};
	struct timespec most = {.tv_sec = 1};
	const int priority = 0; /* struct sched_param */

	(void)sys3(SYS_sched_setscheduler, 0, SCHED_BATCH, &priority); /* or we are in his way */
	(void)sys5(SYS_ppoll, &ctl, 1, &most, NULL, 0);		       /* whatever it says */
}

void guest_main(void)
{
	static struct guest g = {.stage = -1,
				 .root = -1,
				 .lower = -1,
				 .layers = -1,
				 .ruleset = -1,
				 .listener = -1,
				 .score = -1,
				 .driver = -1,
				 .driver_end = -1,
				 .loader = -1,
				 .plan_fd = -1,
				 .driver_listener = -1,
				 .talk = GUEST_CTL};
	int step = MSG_STEP_PLAN;

#ifndef DROP_SESSION
	/* A session of our own: the caller's terminal is not ours from here on. */
	(void)sys0(SYS_setsid); /* fails only when we lead one already */
#endif
#ifndef DROP_CLOSE_FDS
	(void)sys3(SYS_close_range, GUEST_CTL, ~0u, CLOSE_RANGE_CLOEXEC);
#endif
	(void)sys1(SYS_umask, 0);
	(void)sys5(SYS_prctl, PR_SET_NAME, "pinfold", 0, 0, 0);
	reset_signals();
	int r = unshare_first();
	if (r < 0)
		fail(&g, r, MSG_STEP_UNSHARE);
	g.plan = next_plan(&g);
	if (!g.plan)
		fail(&g, -EINVAL, step);
	r = walk_plans(&g, &step);
	if (r < 0)
		fail(&g, r, step);

	struct msg_guest msg = {.kind = MSG_STARTED,
				.code = g.command,
				.step = g.by_driver ? MSG_BY_DRIVER : 0,
				.value = g.started_ns,
				.value2 = g.used_us};
	give_listener(&g, &msg);
	int status = guest_serve(&g);
	msg = (struct msg_guest){
		.kind = MSG_EXITED, .code = status, .value = g.ended_ns, .value2 = g.left};
	(void)guest_send(&msg, NULL, -1);
	guest_seen_tell();
	guest_collect(&g);
	if (g.plan->flags & PLAN_LINGER)
		linger();
	guest_end(0);
}

/* The compiler may turn loops and initialisers into calls of these. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	for (size_t i = 0; i < n; i++) {
		t[i] = f[i];
		__asm__ volatile("" ::: "memory"); /* keep it from becoming a call of itself */
	}
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *t = to;

	for (size_t i = 0; i < n; i++) {
		t[i] = (char)c;
		__asm__ volatile("" ::: "memory");
	}
	return to;
}
