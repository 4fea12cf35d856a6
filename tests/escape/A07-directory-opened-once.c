/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A07-directory-opened-once A B PROGRAM [ARG...]: runs a program and exchanges the names A and B at
 * the worst moment, when it has just opened A. Whoever races for that moment gets it some day; here
 * the program is traced and waits for us. Children are left alone.
 */
#include "attack.h"

#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define EXCHANGE 2 /* RENAME_EXCHANGE */

static pid_t tracee;

static bool names(uint64_t at, const char *path)
{
	char text[4096] = "";
	struct iovec here = {text, strlen(path) + 1}, there = {(void *)(uintptr_t)at, here.iov_len};

	return here.iov_len < sizeof(text) &&
	       process_vm_readv(tracee, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len &&
	       strcmp(text, path) == 0;
}

/* True when a call that opens `path` is over. */
static bool has_opened(const char *path)
{
	static bool opening;
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee, sizeof(info), &info) < 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		opening = (info.entry.nr == SYS_openat || info.entry.nr == SYS_openat2) &&
			  names(info.entry.args[1], path);
	return info.op == PTRACE_SYSCALL_INFO_EXIT && opening && info.exit.rval >= 0;
}

static int trace(const char *a, const char *b)
{
	int status = 0, signo = 0;
	bool done = false;

	for (;;) {
		if (ptrace(done ? PTRACE_CONT : PTRACE_SYSCALL, tracee, NULL, signo) < 0 ||
		    waitpid(tracee, &status, 0) < 0)
			err(125, "trace");
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		signo = WSTOPSIG(status);
		if ((signo & 0x7f) != SIGTRAP)
			continue;
		bool call = signo == (SIGTRAP | 0x80);
		signo = 0;
		if (call && has_opened(a)) {
			if (syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, EXCHANGE) < 0)
				err(125, "exchange %s and %s", a, b);
			fprintf(stderr, "exchanged\n");
			done = true;
		}
	}
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 4)
		errx(125, "usage: A B PROGRAM");
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
	return trace(argv[1], argv[2]);
}
