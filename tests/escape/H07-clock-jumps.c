/* SPDX-License-Identifier: Apache-2.0 */
/*
 * H07-clock-jumps AFTER_MS SECONDS PROGRAM [ARG...]: runs a program for which the wall clock jumps
 * by SECONDS some time after its start. The host's clock stays as it is: the program is traced, its
 * vDSO taken away, and what it reads of the wall clock changed on the way. A timer on the wall
 * clock cannot be changed so; one is reported as an open door. Children are left alone.
 */
#include "attack.h"

#include <err.h>
#include <linux/auxvec.h>
#include <linux/elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

struct call {
	uint64_t nr, args[6];
};

static pid_t tracee;
static long jump_s;
static double jump_at;
static bool has_read_clock;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long peek(uint64_t at)
{
	errno = 0;
	return ptrace(PTRACE_PEEKDATA, tracee, at, NULL);
}

static void poke(uint64_t at, long value)
{
	if (ptrace(PTRACE_POKEDATA, tracee, at, value) < 0)
		err(125, "poke");
}

/* On the stack of a new program: argc, argv, NULL, envp, NULL, auxv. */
static void hide_vdso(uint64_t sp)
{
	uint64_t at = sp + 8 * ((uint64_t)peek(sp) + 2);

	while (peek(at))
		at += 8;
	for (at += 8; peek(at) != AT_NULL; at += 16)
		if (peek(at) == AT_SYSINFO_EHDR)
			poke(at, AT_IGNORE);
}

static bool is_wall(uint64_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
	       clock == CLOCK_REALTIME_ALARM || clock == CLOCK_TAI;
}

/* Timers that a jump of the wall clock moves. */
static void judge_timer(const struct call *c)
{
	bool timer = c->nr == SYS_timerfd_create || c->nr == SYS_timer_create ||
		     (c->nr == SYS_clock_nanosleep && c->args[1]);

	if (timer && is_wall(c->args[0]))
		fprintf(stderr, "open wall-clock-timer %llu\n", (unsigned long long)c->nr);
}

static void shift(const struct call *c, int64_t result)
{
	uint64_t at = 0;

	if (c->nr == SYS_clock_gettime && is_wall(c->args[0]))
		at = c->args[1];
	else if (c->nr == SYS_gettimeofday)
		at = c->args[0];
#ifdef SYS_time
	if (c->nr == SYS_time) {
		at = c->args[0];
		has_read_clock = true;
		if (now() >= jump_at)
			ptrace(PTRACE_POKEUSER, tracee, offsetof(struct user_regs_struct, rax),
			       result + jump_s);
	}
#endif
	if (!at || result < 0)
		return;
	has_read_clock = true;
	if (now() >= jump_at)
		poke(at, peek(at) + jump_s);
}

static void on_call(void)
{
	static struct call call;
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee, sizeof(info), &info) < 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		call.nr = info.entry.nr;
		memcpy(call.args, info.entry.args, sizeof(call.args));
		judge_timer(&call);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		shift(&call, info.exit.rval);
	}
}

static int trace(void)
{
	int status = 0, signo = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, tracee, NULL, signo) < 0 ||
		    waitpid(tracee, &status, 0) < 0)
			err(125, "trace");
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		signo = WSTOPSIG(status);
		if (signo == (SIGTRAP | 0x80)) {
			on_call();
			signo = 0;
		} else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			struct __ptrace_syscall_info info;

			ptrace(PTRACE_GET_SYSCALL_INFO, tracee, sizeof(info), &info);
			hide_vdso(info.stack_pointer);
			signo = 0;
		}
	}
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 4)
		errx(125, "usage: AFTER_MS SECONDS PROGRAM");
	jump_at = now() + strtod(argv[1], NULL) / 1e3;
	jump_s = strtol(argv[2], NULL, 10);
	tracee = fork();
	if (tracee == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[3], argv + 3);
		err(125, "%s", argv[3]);
	}
	if (tracee < 0 || waitpid(tracee, &status, 0) < 0 || !WIFSTOPPED(status))
		err(125, "fork");
	if (ptrace(PTRACE_SETOPTIONS, tracee, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		err(125, "trace");
	status = trace();
	fprintf(stderr, "traced, %s the wall clock\n", has_read_clock ? "has read" : "never read");
	return status;
}
