/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries to become the one who tells how the run ended: to take hold of init, which reports it, or
 * of a descriptor that leads to the host side.
 */
#include "attack.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void try_descriptors(void)
{
	char path[64];
	int type, opened = 0;
	socklen_t len = sizeof(type);

	for (int fd = 3; fd < 1024; fd++)
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0)
			opened = fd;
	door_if("own-socket", opened > 0, "");
	opened = 0;
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		opened |= open(path, O_RDWR) >= 0 || open(path, O_RDONLY) >= 0;
	}
	door_if("init-descriptor", opened, "");
}

int main(void)
{
	char word[8] = "";
	struct iovec here = {word, sizeof(word)}, there = {(void *)0x400000, sizeof(word)};
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	try_descriptors();
	door("pidfd-getfd", syscall(SYS_pidfd_getfd, pidfd, 3, 0));
	door("read-init", process_vm_readv(1, &here, 1, &there, 1, 0));
	door("write-init", open("/proc/1/mem", O_RDWR));
	if (door("trace-init", ptrace(PTRACE_SEIZE, 1, NULL, NULL)) == 0)
		ptrace(PTRACE_DETACH, 1, NULL, NULL);
	/* To init these are no signals: it has no handler, and it is init. */
	kill(1, SIGKILL);
	kill(1, SIGTERM);
	kill(1, SIGSTOP);
	return 137;
}
