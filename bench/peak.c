/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most memory that each program itself ever held (VmHWM), in KiB:
 *
 *	peak [-n SAMPLES] [-u UID] -- @NAME PROGRAM ARG... @NAME...
 *
 * Prints NAME, a tab, the largest of the samples. ru_maxrss of wait4() would not do: it counts what
 * the program's own children held and, by way of vfork(), what its starter did. So the program is
 * traced, alone, and asked at the last moment at which it still has its memory.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static unsigned long vm_hwm(pid_t pid)
{
	char path[64], line[128];
	unsigned long kib = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1)
			break;
	(void)fclose(f);
	return kib;
}

static pid_t start_traced(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			(void)execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* 0 when it did not end well. */
static unsigned long peak_of(char **argv)
{
	unsigned long kib = 0;
	int status = 0;
	bool begun = false;
	pid_t pid = start_traced(argv);

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signo = WSTOPSIG(status);

		if (!begun &&
		    ptrace(PTRACE_SETOPTIONS, pid, NULL,
			   PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
			err(1, "trace");
		if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXIT << 8)))
			kib = vm_hwm(pid);
		/* The first stop is that of exec; others are signals of the program's own. */
		if (!begun || status >> 16)
			signo = 0;
		begun = true;
		if (ptrace(PTRACE_CONT, pid, NULL, (unsigned long)signo) < 0 && errno != ESRCH)
			err(1, "continue");
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? kib : 0;
}

int main(int argc, char **argv)
{
	struct options o = {.samples = 5};
	struct contender c[CONTENDERS_MAX];
	int opt = 0;

	while ((opt = getopt(argc, argv, "+n:u:")) != -1)
		if (!option_take(&o, opt, optarg))
			errx(2, "see the top of peak.c");
	size_t n = contenders_parse(c, argv + optind, o.samples);
	FILE *out = begin(&o);
	for (size_t i = 0; i < n; i++) {
		unsigned long most = 0;

		for (size_t k = 0; k < c[i].max; k++) {
			unsigned long kib = peak_of(c[i].argv);

			most = kib > most ? kib : most;
		}
		if (most)
			fprintf(out, "%s\t%lu\n", c[i].name, most);
	}
	contenders_done(c, n);
	return fclose(out) == 0 ? 0 : 1;
}
