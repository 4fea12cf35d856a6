/* SPDX-License-Identifier: Apache-2.0 */
/* Reaches into PID 1, and into processes of the host whose numbers are the arguments. */
#include "B-doors.h"
#include <linux/kcmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static char word[16];
static struct iovec local = {word, sizeof(word)}, remote = {(void *)0x400000, sizeof(word)};

/* It stops who it attaches to, and nobody else could wake him. */
static void try_attach(void)
{
	if (door("attach-1", ptrace(PTRACE_ATTACH, 1, 0, 0)) == 0) {
		waitpid(1, NULL, __WALL);
		ptrace(PTRACE_DETACH, 1, 0, 0);
	}
	if (door("seize-1", ptrace(PTRACE_SEIZE, 1, 0, 0)) == 0)
		ptrace(PTRACE_DETACH, 1, 0, 0);
}

static void try_init(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	struct rlimit64 limit = {0, 0};

	try_attach();
	/* Who owns these could trace init; sandbox root does, and sees numbers only. */
	if (geteuid() != 0)
		door("descriptors-1", open("/proc/1/fd", O_RDONLY | O_DIRECTORY));
	else
		door("descriptors-1", open("/proc/1/fd/0", O_RDONLY));
	door("vm_readv-1", process_vm_readv(1, &local, 1, &remote, 1, 0));
	door("vm_writev-1", process_vm_writev(1, &local, 1, &remote, 1, 0));
	door("mem-1", open("/proc/1/mem", O_RDWR));
	filtered("kcmp-1", syscall(SYS_kcmp, 1, getpid(), KCMP_VM, 0, 0));
	filtered("getfd-1", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	filtered("move_pages-1", syscall(SYS_move_pages, 1, 0, NULL, NULL, NULL, 0));
	filtered("migrate_pages-1", syscall(SYS_migrate_pages, 1, 0, NULL, NULL));
	door("madvise-1", syscall(SYS_process_madvise, pidfd, &remote, 1, MADV_COLD, 0));
	/* With a limit of no descriptors init could not report what changed. Tried with the values
	 * that it has. */
	prlimit64(1, RLIMIT_NOFILE, NULL, &limit);
	door("prlimit-1", prlimit64(1, RLIMIT_NOFILE, &limit, NULL));
}

/* The same calls on our own process: nobody needs them, and they do not depend on who asks. */
static void try_own(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	filtered("kcmp-own", syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0));
	filtered("getfd-own", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	filtered("move_pages-own", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
	filtered("mrelease-own", syscall(SYS_process_mrelease, pidfd, 1));
}

/* A process of the host has no number here: not even that it exists may show. */
static void outside(const char *what, pid_t pid, long ret)
{
	char text[64];

	if (ret < 0 && (errno == ESRCH || errno == ENOENT || errno == EINVAL))
		return;
	snprintf(text, sizeof(text), "%s %d %s", what, (int)pid, answer(ret));
	door_if("host-process", 1, text);
}

static void try_outside(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	outside("kill", pid, kill(pid, 0));
	outside("seize", pid, ptrace(PTRACE_SEIZE, pid, 0, 0));
	outside("vm_readv", pid, process_vm_readv(pid, &local, 1, &remote, 1, 0));
	outside("pidfd_open", pid, syscall(SYS_pidfd_open, pid, 0));
	outside("prlimit", pid, prlimit64(pid, RLIMIT_NOFILE, NULL, NULL));
	outside("getpriority", pid, getpriority(PRIO_PROCESS, (id_t)pid));
	outside("open", pid, open(path, O_RDONLY));
}

int main(int argc, char **argv)
{
	try_init();
	try_own();
	for (int i = 1; i < argc; i++)
		try_outside((pid_t)number(argv[i]));
	door_if("host-process", 0, "");
	return 0;
}
