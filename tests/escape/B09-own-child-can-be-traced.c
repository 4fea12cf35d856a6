/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A debugger for its own child, which must work, and the two tricks by which one got around a
 * filter: changing the number of a system call after the filter has seen it (fixed in Linux 4.8),
 * at the stop for a system call or at the stop that a filter of the child itself asked for.
 */
#include "B-doors.h"
#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

/* What the child's getppid is turned into, with arguments that the kernel has an answer for. */
static const struct forged {
	const char *name;
	long nr, a, b, c;
} forged[] = {
	{"unshare", SYS_unshare, CLONE_NEWUSER, 0, 0},
	{"mount", SYS_mount, -4096, -4096, -4096},
	{"keyctl", SYS_keyctl, 0, -3, 0},
	{"bpf", SYS_bpf, 0, -4096, 16},
	{"clone3", SYS_clone3, -4096, 88, 0},
	{"io_uring_setup", SYS_io_uring_setup, 4, -4096, 0},
	{"open_by_handle_at", SYS_open_by_handle_at, -1, -4096, 0},
	{"setns", SYS_setns, -1, 0, 0},
};
#define FORGED (sizeof(forged) / sizeof(forged[0]))

static volatile long secret = 0x1234;

static int set_number(pid_t pid, long nr)
{
#ifdef __x86_64__
	return (int)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), nr);
#else
	int number = (int)nr;
	struct iovec iov = {&number, sizeof(number)};

	return (int)ptrace(PTRACE_SETREGSET, pid, 0x404 /* NT_ARM_SYSTEM_CALL */, &iov);
#endif
}

static void trace_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(3);
}

static pid_t start_child(const char *prefix, int own_filter)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(2);
	raise(SIGSTOP);
	if (own_filter)
		trace_getppid();
	for (size_t i = 0; i < FORGED; i++) {
		char name[64];
		long ret = syscall(SYS_getppid, forged[i].a, forged[i].b, forged[i].c);

		snprintf(name, sizeof(name), "%s-%s", prefix, forged[i].name);
		filtered(name, ret);
	}
	_exit(secret == 0x5678 ? 0 : 4);
}

/* Runs the child to its end; at each getppid the number is changed. Returns the exit status. */
static int run_child(pid_t pid, int request)
{
	size_t next = 0;
	int status;

	for (;;) {
		struct __ptrace_syscall_info info = {0};

		if (ptrace(request, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
			return -1;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return next == FORGED ? status : -2;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
			return -1;
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY && info.op != PTRACE_SYSCALL_INFO_SECCOMP)
			continue;
		if (info.entry.nr == SYS_getppid && next < FORGED)
			set_number(pid, forged[next++].nr);
	}
}

static void try_forging(const char *prefix, int own_filter)
{
	long options = PTRACE_O_TRACESYSGOOD | (own_filter ? PTRACE_O_TRACESECCOMP : 0);
	pid_t pid = start_child(prefix, own_filter);
	char name[64];
	int status = 0;

	snprintf(name, sizeof(name), "%s-run", prefix);
	works(name, waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
			    ptrace(PTRACE_SETOPTIONS, pid, 0, options) == 0 &&
			    ptrace(PTRACE_POKEDATA, pid, &secret, 0x5678) == 0 &&
			    run_child(pid, own_filter ? PTRACE_CONT : PTRACE_SYSCALL) == 0);
}

/* What gdb does: look, write, set registers, single-step. */
static void try_debugging(void)
{
	struct iovec regs = {NULL, 0};
	char space[1024];
	long word = 0;
	struct iovec here = {&word, sizeof(word)}, there = {(void *)&secret, sizeof(word)};
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(secret == 0x9abc ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	door("suspend-filter", ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_SUSPEND_SECCOMP));
	door("read-filter", ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 0, NULL));
	works("peek", ptrace(PTRACE_PEEKDATA, pid, &secret, 0) == 0x1234);
	works("vm_readv",
	      process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof(word) && word == 0x1234);
	word = 0x9abc;
	works("vm_writev", process_vm_writev(pid, &here, 1, &there, 1, 0) == sizeof(word));
	regs = (struct iovec){space, sizeof(space)};
	works("registers", ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &regs) == 0 &&
				   ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &regs) == 0);
	works("step", ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 &&
			      waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
			      WSTOPSIG(status) == SIGTRAP);
	works("continue", ptrace(PTRACE_CONT, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
				  WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(void)
{
	try_debugging();
	try_forging("stop", 0);
	try_forging("event", 1);
	return 0;
}
