/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CVE-2019-10063: the filter compared all 64 bits of an argument of which the kernel uses 32. Each
 * call is made as it is and with the upper half of the argument set; both must be refused alike.
 */
#include "B-doors.h"
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static const unsigned long uppers[] = {0, 1UL << 32, ~0UL << 32, 0xdeadbeefUL << 32};

static const struct {
	const char *name;
	long nr;
	unsigned long arg[3];
	int which; /* argument whose upper half is set */
} calls[] = {
	{"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 0}, 1},
	{"TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, 0}, 1},
	{"TIOCSETD", SYS_ioctl, {0, TIOCSETD, 0}, 1},
	{"TIOCCONS", SYS_ioctl, {0, TIOCCONS, 0}, 1},
	{"SIOCBRADDBR", SYS_ioctl, {0, SIOCBRADDBR, 0}, 1},
	{"AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, 0},
	{"AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, 0},
	{"AF_ALG", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, 0},
	{"SOCK_RAW", SYS_socket, {AF_INET, SOCK_RAW, 1}, 1},
	{"NETLINK_NETFILTER", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}, 2},
	{"MPTCP", SYS_socket, {AF_INET, SOCK_STREAM, 262}, 2},
	{"personality", SYS_personality, {0x0040000, 0, 0}, 0},
	{"PR_SCHED_CORE", SYS_prctl, {62, 1, 0}, 0},
	{"PR_SET_MM", SYS_prctl, {PR_SET_MM, 99, 0}, 0},
};

static int is_shut(long ret)
{
	return ret < 0 && (errno == EPERM || errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT);
}

static void try_call(size_t i, int fd)
{
	for (size_t u = 0; u < sizeof(uppers) / sizeof(uppers[0]); u++) {
		unsigned long arg[3] = {calls[i].arg[0], calls[i].arg[1], calls[i].arg[2]};
		char name[64];
		long ret;

		if (calls[i].nr == SYS_ioctl)
			arg[0] = (unsigned long)fd;
		arg[calls[i].which] |= uppers[u];
		ret = syscall(calls[i].nr, arg[0], arg[1], arg[2], 0L, 0L);
		snprintf(name, sizeof(name), "%s-%zu", calls[i].name, u);
		door_if(name, !is_shut(ret), answer(ret));
	}
}

/* What is allowed is allowed alike. */
static void try_allowed(void)
{
	works("unix", syscall(SYS_socket, 1UL << 32 | AF_UNIX, SOCK_STREAM, 0) >= 0);
	works("tcp", syscall(SYS_socket, AF_INET, ~0UL << 32 | SOCK_STREAM, 1UL << 32) >= 0);
	works("query", syscall(SYS_personality, ~0UL) >= 0);
}

static void try_namespaces(long upper)
{
	unsigned long flags = (unsigned long)upper << 32 | CLONE_NEWUSER;
	char name[64];
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	int saved = errno;

	if (pid == 0)
		_exit(0);
	snprintf(name, sizeof(name), "clone-%ld", upper);
	errno = saved;
	filtered(name, pid);
	snprintf(name, sizeof(name), "unshare-%ld", upper);
	filtered(name, syscall(SYS_unshare, flags));
}

/* A pointer is 64 bits: one whose lower half is zero is not NULL, so this has an address. */
static void try_pointer(void)
{
	struct sockaddr_in *to = mmap((void *)(1UL << 32), 4096, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (to == MAP_FAILED)
		return;
	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9)};
	to->sin_addr.s_addr = inet_addr("198.51.100.5");
	door("sendto-high-address", sendto(fd, "x", 1, 0, (void *)to, sizeof(*to)));
}

int main(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		try_call(i, fd);
	try_allowed();
	in_child(try_namespaces, 0);
	in_child(try_namespaces, 1);
	in_child(try_namespaces, 0x7fffffff);
	try_pointer();
	return 0;
}
