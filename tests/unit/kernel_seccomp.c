/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seccomp filters: every verdict on paper (the program evaluated here, arguments swept), a part
 * of them in the kernel (a child that loads the filter, a tiny supervisor that answers), and
 * programs that people run. Arguments are chosen so that a call that gets through does no harm.
 * Prints TAP.
 */
#include "kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define HIGH_BITS (1ull << 32)
#define DEADLINE_MS 60000
#define LISTENER (SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)

#define PASS SECCOMP_RET_ALLOW
#define ASK SECCOMP_RET_USER_NOTIF
#define FAIL(num) (SECCOMP_RET_ERRNO | (uint32_t)(num))

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

enum { STRICT = 1, LANDLOCK = 2, BOTH = 3 };

static unsigned tests, failed;

__attribute__((format(printf, 2, 3))) static bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %u - ", good ? "" : "not ", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	failed += !good;
	return good;
}

static const char *level_name(int level)
{
	return level == STRICT ? "strict" : "landlock";
}

static const struct seccomp_filter *level_filter(int level)
{
	return level == STRICT ? seccomp_strict() : seccomp_landlock();
}

/* On paper */

static uint32_t word_at(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	if (offset % 4 != 0 || offset + 4 > sizeof(*data))
		abort();
	memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static uint32_t verdict_by(const struct seccomp_filter *filter, const struct seccomp_data *data)
{
	uint32_t acc = 0;

	for (unsigned pc = 0; pc < filter->len; pc++) {
		const struct sock_filter *f = &filter->code[pc];

		if (f->code == (BPF_RET | BPF_K))
			return f->k;
		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			acc = word_at(data, f->k);
		else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			acc &= f->k;
		else if (f->code == (BPF_JMP | BPF_JEQ | BPF_K))
			pc += acc == f->k ? f->jt : f->jf;
		else if (f->code == (BPF_JMP | BPF_JGE | BPF_K))
			pc += acc >= f->k ? f->jt : f->jf;
		else if (f->code == (BPF_JMP | BPF_JSET | BPF_K))
			pc += acc & f->k ? f->jt : f->jf;
		else
			abort();
	}
	abort();
}

static uint32_t verdict_of(int level, const struct seccomp_data *data)
{
	return verdict_by(level_filter(level), data);
}

static uint32_t verdict3(int level, long nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data data = {.nr = (int)nr, .arch = ARCH, .args = {a, b, c}};

	return verdict_of(level, &data);
}

static bool inet_protocol_wanted(int type, int protocol)
{
	if (type == SOCK_STREAM)
		return protocol == 0 || protocol == IPPROTO_TCP;
	return protocol == 0 || protocol == IPPROTO_UDP;
}

static uint32_t socket_wanted(int level, int domain, int type, int protocol)
{
	bool inet = domain == AF_INET || domain == AF_INET6;

	if (level == LANDLOCK)
		return inet || domain == AF_PACKET ? ASK : FAIL(EACCES);
	if (domain == AF_UNIX)
		return PASS;
	if (domain == AF_PACKET)
		return ASK;
	if (domain == AF_NETLINK)
		return protocol == NETLINK_ROUTE ? PASS : FAIL(EPROTONOSUPPORT);
	if (!inet)
		return FAIL(EAFNOSUPPORT);
	if (type == SOCK_RAW || type == SOCK_PACKET)
		return ASK;
	if (type != SOCK_STREAM && type != SOCK_DGRAM)
		return FAIL(ESOCKTNOSUPPORT);
	if (type == SOCK_DGRAM && (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6))
		return ASK;
	return inet_protocol_wanted(type, protocol) ? PASS : FAIL(EPROTONOSUPPORT);
}

static void paper_socket(int level)
{
	static const int protocols[] = {0, 1, 2, 6, 9, 15, 16, 17, 33, 58, 132, 136, 255, 262, -1};
	static const uint64_t high[] = {0, HIGH_BITS, 0xffffffff00000000, HIGH_BITS << 31};
	static const int flags[] = {0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK};
	unsigned wrong = 0;

	for (unsigned i = 0; i < 70 * 16 * ARRAY_LEN(protocols) * 4; i++) {
		unsigned h = i % 4;
		int protocol = protocols[i / 4 % ARRAY_LEN(protocols)];
		int type = (int)(i / 4 / ARRAY_LEN(protocols) % 16);
		int domain = (int)(i / 4 / ARRAY_LEN(protocols) / 16) - 1;

		wrong += verdict3(level, SYS_socket, (uint32_t)domain | high[h],
				  (uint32_t)(type | flags[h]) | high[(h + 1) % 4],
				  (uint32_t)protocol | high[(h + 2) % 4]) !=
			 socket_wanted(level, domain, type, protocol);
	}
	ok(wrong == 0, "%s: socket by family, type, protocol; high bits", level_name(level));
}

static uint32_t ioctl_wanted(uint32_t request)
{
	static const uint32_t refused[] = {TIOCLINUX, TIOCCONS, TIOCSETD, 0x8940, 0x8941, 0x8982,
					   0x8983,    0x89a0,	0x89a1,	  0x89a2, 0x89a3};

	if (request == TIOCSTI)
		return ASK;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (request == refused[i])
			return FAIL(EPERM);
	return PASS;
}

static uint32_t prctl_wanted(uint32_t option)
{
	return option == PR_SET_MM || option == PR_SCHED_CORE ? FAIL(EPERM) : PASS;
}

/* Where there are none the kernel says the same. */
static void paper_huge_pages(int level)
{
	unsigned wrong = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		struct seccomp_data map = {
			.nr = SYS_mmap, .arch = ARCH, .args = {0, 0, 0, 1ull << bit | MAP_PRIVATE}};

		wrong += verdict_of(level, &map) !=
			 (1ull << bit == MAP_HUGETLB ? FAIL(ENOMEM) : PASS);
	}
	ok(wrong == 0, "%s: mmap by each flag", level_name(level));
}

static void paper_sweeps(int level)
{
	unsigned ioctls = 0, prctls = 0, flags = 0, personas = 0;
	const uint64_t ns = 0x7e020000; /* CLONE_NEW*, as uapi/linux/sched.h has them */

	for (uint64_t v = 0; v < 0x20000; v++) {
		uint32_t want = ioctl_wanted((uint32_t)v);

		ioctls += verdict3(level, SYS_ioctl, 0, v, 0) != want;
		ioctls += verdict3(level, SYS_ioctl, ~0ull, v | HIGH_BITS, 0) != want;
		ioctls += verdict3(level, SYS_ioctl, 0, v | ~0ull << 32, ~0ull) != want;
		ioctls += verdict3(level, SYS_ioctl, 0, v | 0x40040000, 0) != PASS;
		prctls += verdict3(level, SYS_prctl, v | HIGH_BITS, 0, 0) !=
			  prctl_wanted((uint32_t)v);
		personas += verdict3(level, SYS_personality, v | HIGH_BITS, 0, 0) !=
			    (v == 0 ? PASS : FAIL(EPERM));
	}
	personas += verdict3(level, SYS_personality, 0xffffffff, 0, 0) != PASS;
	personas += verdict3(level, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0) != FAIL(EPERM);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t flag = 1ull << bit;

		flags += verdict3(level, SYS_clone, flag | SIGCHLD, 0, 0) !=
			 (flag & ns ? ASK : PASS);
		flags += verdict3(level, SYS_clone, flag | CLONE_NEWUSER | HIGH_BITS, 0, 0) != ASK;
		flags += verdict3(level, SYS_unshare, flag, 0, 0) !=
			 (flag & (ns | CLONE_NEWTIME) ? ASK : PASS);
	}
	ok(ioctls == 0, "%s: ioctl by the low 32 bits", level_name(level));
	ok(prctls == 0, "%s: prctl by the low 32 bits", level_name(level));
	ok(personas == 0, "%s: personality by the low 32 bits", level_name(level));
	ok(flags == 0, "%s: clone and unshare by each flag", level_name(level));
}

/* No number outside the table and no other ABI may end anywhere but in ENOSYS. */
static void paper_doors(int level)
{
	static const uint32_t archs[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
					 AUDIT_ARCH_AARCH64, 0};
	unsigned open = 0, allowed = 0;

	for (uint32_t nr = 0; nr < 2048; nr++) {
		for (size_t i = 0; i < ARRAY_LEN(archs); i++) {
			struct seccomp_data data = {.nr = (int)nr, .arch = archs[i]};

			if (archs[i] != ARCH)
				open += verdict_of(level, &data) != FAIL(ENOSYS);
		}
		open += verdict3(level, nr | 0x40000000, 0, 0, 0) != FAIL(ENOSYS);
		open += verdict3(level, (long)(nr | 0x80000000), 0, 0, 0) != FAIL(ENOSYS);
		open += nr > 470 && verdict3(level, nr, 0, 0, 0) != FAIL(ENOSYS);
		allowed += verdict3(level, nr, 0, 0, 0) == PASS;
	}
	ok(open == 0, "%s: x32, 32-bit and unknown numbers are ENOSYS", level_name(level));
	ok(allowed > 200 && allowed < 400, "%s: %u numbers allowed, %u instructions",
	   level_name(level), allowed, level_filter(level)->len);
}

/* Whatever can ask has a name and a hint, and only network calls are continued. */
static void paper_reports(void)
{
	unsigned wrong = 0, hints = 0;

	for (int nr = 0; nr < 1024; nr++) {
		const char *hint = seccomp_report_hint(nr);

		hints += hint != NULL;
		wrong += verdict3(STRICT, nr, 0, 0, 0) == ASK && !hint;
		wrong += !hint != !seccomp_report_name(nr);
		wrong += hint && strlen(hint) < 20 && !seccomp_report_guard(nr);
		wrong += seccomp_report_network(nr) != (nr == SYS_connect || nr == SYS_sendto);
	}
	ok(wrong == 0 && hints > 20, "%u calls have a name and a hint", hints);
	ok(strcmp(seccomp_report_name(SYS_mount), "mount") == 0, "the name of mount");
	ok(!seccomp_report_name(-1) && !seccomp_report_hint(SYS_read), "no words for other calls");
}

/* Where the gate hears whom programs call, the same is shut but for being asked about that. */
static void paper_gated(void)
{
	static const uint64_t values[] = {0, 1, 2, 3, 10, 16, 17, 0x10000, 0x7e020000, UINT64_MAX};
	unsigned other = 0;

	for (int nr = 0; nr < 1024; nr++) {
		for (size_t i = 0; i < 5 * ARRAY_LEN(values); i++) {
			struct seccomp_data d = {.nr = nr, .arch = ARCH};

			d.args[i % 5] = values[i / 5];
			d.args[(i + 1) % 5] = values[(i / 5 + i) % ARRAY_LEN(values)];
			bool free = nr == SYS_connect || nr == SYS_sendto;
			uint32_t want = free ? PASS : verdict_of(STRICT, &d);
			uint32_t want_moved = free ? PASS : verdict_by(seccomp_move(), &d);

			other += verdict_by(seccomp_gated(false), &d) != want ||
				 verdict_by(seccomp_gated(true), &d) != want_moved;
		}
	}
	ok(other == 0, "gated: strict, or move, without questions about addresses");
}

/* In the kernel */

struct outcome {
	int status;	  /* as waitpid() */
	bool ended;	  /* false: killed at the deadline */
	unsigned denied;  /* notifications answered with EPERM */
	unsigned network; /* notifications continued */
	int last_nr;
};

struct child {
	int level; /* 0: no filter */
	int (*run)(const void *arg);
	const void *arg;
};

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	if (sendmsg(sock, &msg, 0) != 1)
		_exit(250);
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))];
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static int load(int level, unsigned flags)
{
	const struct seccomp_filter *filter = level_filter(level);
	struct sock_fprog prog = {(unsigned short)filter->len, (struct sock_filter *)filter->code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

__attribute__((noreturn)) static void be_child(const struct child *child, int sock)
{
	if (child->level) {
		int fd = load(child->level, LISTENER);

		if (fd < 0)
			_exit(251);
		send_fd(sock, fd);
		close(fd);
	}
	close(sock);
	_exit(child->run(child->arg));
}

static void answer(int listener, struct outcome *out)
{
	struct seccomp_notif req;
	struct seccomp_notif_resp resp = {0};

	memset(&req, 0, sizeof(req)); /* the kernel insists */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return; /* the caller died meanwhile */
	resp.id = req.id;
	out->last_nr = req.data.nr;
	if (seccomp_report_network(req.data.nr)) {
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		out->network++;
	} else {
		resp.error = -EPERM;
		out->denied++;
		if (!seccomp_report_name(req.data.nr))
			printf("# notification of %d, which has no name\n", req.data.nr);
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp); /* fails when the caller died */
}

static struct outcome run_child(const struct child *child)
{
	struct outcome out = {.last_nr = -1};
	int sock[2], listener = -1;

	fflush(stdout);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		abort();
	pid_t pid = fork();

	if (pid == 0)
		be_child(child, sock[1]);
	close(sock[1]);
	if (child->level)
		listener = receive_fd(sock[0]);
	close(sock[0]);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[] = {{pidfd, POLLIN, 0}, {listener, POLLIN, 0}};

	if (pid < 0 || pidfd < 0)
		abort();
	while (poll(fds, 2, DEADLINE_MS) > 0 && fds[0].revents == 0) {
		if (fds[1].revents & POLLIN)
			answer(listener, &out);
		else if (fds[1].revents)
			fds[1].fd = -1;
	}
	out.ended = fds[0].revents != 0;
	if (!out.ended)
		kill(pid, SIGKILL);
	waitpid(pid, &out.status, 0);
	close(pidfd);
	if (listener >= 0)
		close(listener);
	return out;
}

struct probe {
	const char *what;
	int levels;
	bool asked;
	int want; /* errno, 0 for success */
	long nr;
	uint64_t args[6];
};

static const char unix_address[2] = {AF_UNIX, 0};
#define ADDRESS ((uint64_t)(uintptr_t)unix_address)
#define BAD_FD ((uint64_t)-1)
#define NUMBER(name) #name, BOTH, true, EPERM, SYS_##name
#define SILENT(name) #name, BOTH, false, EPERM, SYS_##name

static const struct probe probes[] = {
	{"TIOCSTI", BOTH, true, EPERM, SYS_ioctl, {BAD_FD, TIOCSTI}},
	{"TIOCSTI, high bits", BOTH, true, EPERM, SYS_ioctl, {BAD_FD, HIGH_BITS | TIOCSTI}},
	{"TIOCLINUX, high bits", BOTH, false, EPERM, SYS_ioctl, {BAD_FD, HIGH_BITS | TIOCLINUX}},
	{"TIOCSETD", BOTH, false, EPERM, SYS_ioctl, {BAD_FD, TIOCSETD}},
	{"a file of huge pages, high bits",
	 BOTH,
	 false,
	 ENOMEM,
	 SYS_memfd_create,
	 {ADDRESS, HIGH_BITS | MFD_HUGETLB}},
	{"another ioctl", BOTH, false, EBADF, SYS_ioctl, {BAD_FD, TIOCGWINSZ}},
	{"packet socket", BOTH, true, EPERM, SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
	{"packet socket, high bits", BOTH, true, EPERM, SYS_socket, {HIGH_BITS | AF_PACKET, 3}},
	{"raw socket", BOTH, true, EPERM, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}},
	{"ping socket", BOTH, true, EPERM, SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}},
	{"AF_ALG", STRICT, false, EAFNOSUPPORT, SYS_socket, {38, SOCK_SEQPACKET}},
	{"AF_VSOCK, high bits", STRICT, false, EAFNOSUPPORT, SYS_socket, {HIGH_BITS | 40, 1}},
	{"SCTP", STRICT, false, EPROTONOSUPPORT, SYS_socket, {AF_INET, SOCK_STREAM, 132}},
	{"MPTCP, high bits",
	 STRICT,
	 false,
	 EPROTONOSUPPORT,
	 SYS_socket,
	 {AF_INET6, SOCK_STREAM, HIGH_BITS | 262}},
	{"audit netlink", STRICT, false, EPROTONOSUPPORT, SYS_socket, {AF_NETLINK, SOCK_RAW, 9}},
	{"route netlink", STRICT, false, 0, SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}},
	{"TCP socket", STRICT, false, 0, SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}},
	{"UDP socket", STRICT, false, 0, SYS_socket, {AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 17}},
	{"Unix socket", STRICT, false, 0, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
	{"TCP socket", LANDLOCK, true, EPERM, SYS_socket, {AF_INET, SOCK_STREAM, 0}},
	{"Unix socket", LANDLOCK, false, EACCES, SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
	{"datagram socketpair", LANDLOCK, false, EACCES, SYS_socketpair, {AF_UNIX, SOCK_DGRAM}},
	{"stream socketpair", BOTH, false, EFAULT, SYS_socketpair, {AF_UNIX, SOCK_STREAM}},
	{"TCP socketpair", STRICT, false, EAFNOSUPPORT, SYS_socketpair, {AF_INET, SOCK_STREAM}},
	{"connect", STRICT, true, EBADF, SYS_connect, {BAD_FD, ADDRESS, 2}},
	{"connect", LANDLOCK, false, EPERM, SYS_connect, {BAD_FD, ADDRESS, 2}},
	{"sendto an address", STRICT, true, EBADF, SYS_sendto, {BAD_FD, 0, 0, 0, ADDRESS, 2}},
	{"sendto, high bits", STRICT, true, EBADF, SYS_sendto, {BAD_FD, 0, 0, 0, HIGH_BITS}},
	{"sendto an address", LANDLOCK, false, EPERM, SYS_sendto, {BAD_FD, 0, 0, 0, ADDRESS, 2}},
	{"sendto without address", BOTH, false, EBADF, SYS_sendto, {BAD_FD}},
	{"clone3", BOTH, false, ENOSYS, SYS_clone3, {0}},
	{"unknown number", BOTH, false, ENOSYS, 999, {0}},
	{"x32 getpid", BOTH, false, ENOSYS, 0x40000000 + SYS_getpid, {0}},
	{"number -1", BOTH, false, ENOSYS, -1, {0}},
	{"clone in a user namespace", BOTH, true, EPERM, SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
	{"unshare of users", BOTH, true, EPERM, SYS_unshare, {CLONE_NEWUSER}},
	{"unshare of time", BOTH, true, EPERM, SYS_unshare, {CLONE_NEWTIME}},
	{"unshare of files", BOTH, false, 0, SYS_unshare, {CLONE_FILES}},
	{NUMBER(setns), {BAD_FD}},
	{NUMBER(mount), {0}},
	{NUMBER(umount2), {0}},
	{NUMBER(pivot_root), {0}},
	{NUMBER(chroot), {0}},
	{NUMBER(fsopen), {0}},
	{NUMBER(open_tree), {BAD_FD}},
	{NUMBER(move_mount), {BAD_FD, 0, BAD_FD}},
	{NUMBER(mount_setattr), {BAD_FD}},
	{NUMBER(open_by_handle_at), {BAD_FD}},
	{NUMBER(bpf), {BAD_FD}},
	{NUMBER(perf_event_open), {0}},
	{NUMBER(userfaultfd), {BAD_FD}},
	{NUMBER(keyctl), {BAD_FD}},
	{NUMBER(add_key), {0}},
	{NUMBER(request_key), {0}},
	{NUMBER(init_module), {0}},
	{NUMBER(finit_module), {BAD_FD}},
	{NUMBER(delete_module), {0}},
	{NUMBER(kexec_load), {0, ~0ull}},
	{NUMBER(reboot), {0}},
	{NUMBER(swapon), {0}},
	{NUMBER(acct), {1}},
	{NUMBER(settimeofday), {0}},
	{NUMBER(clock_settime), {BAD_FD}},
	{SILENT(adjtimex), {0}},
	{SILENT(syslog), {BAD_FD}},
	{SILENT(sethostname), {0, BAD_FD}},
	{SILENT(quotactl), {0}},
	{SILENT(kcmp), {0}},
	{SILENT(pidfd_getfd), {BAD_FD}},
	{SILENT(move_pages), {0}},
	{SILENT(fanotify_init), {BAD_FD}},
	{SILENT(personality), {HIGH_BITS | ADDR_NO_RANDOMIZE}},
	{"asking for the personality", BOTH, false, 0, SYS_personality, {0xffffffff}},
	{"PR_SET_MM, high bits", BOTH, false, EPERM, SYS_prctl, {HIGH_BITS | PR_SET_MM}},
	{"PR_SCHED_CORE", BOTH, false, EPERM, SYS_prctl, {PR_SCHED_CORE}},
	{"PR_SET_DUMPABLE", BOTH, false, 0, SYS_prctl, {PR_SET_DUMPABLE, 1}},
	{"io_uring_setup", BOTH, false, ENOSYS, SYS_io_uring_setup, {0}},
	{"io_setup", BOTH, false, ENOSYS, SYS_io_setup, {0}},
	{"name_to_handle_at", BOTH, false, ENOSYS, SYS_name_to_handle_at, {BAD_FD}},
	{"statmount", BOTH, false, ENOSYS, 457, {0}},
	{"sync", BOTH, false, 0, SYS_sync, {0}},
	{"mseal of nothing", BOTH, false, 0, 462, {0}},
	{"ptrace", STRICT, false, 0, SYS_ptrace, {PTRACE_TRACEME}},
	{"ptrace", LANDLOCK, false, EPERM, SYS_ptrace, {PTRACE_TRACEME}},
	{"process_vm_readv", LANDLOCK, false, EPERM, SYS_process_vm_readv, {0}},
	{"shmget", STRICT, false, EINVAL, SYS_shmget, {0}},
	{"shmget", LANDLOCK, false, ENOSYS, SYS_shmget, {0}},
	{"mq_open", LANDLOCK, false, ENOSYS, SYS_mq_open, {0}},
	{"own limits", BOTH, false, 0, SYS_prlimit64, {0, 0, 0, 0}},
	{"limits of another process", LANDLOCK, false, EPERM, SYS_prlimit64, {1, 0, 0, 0}},
	{"kill of nobody", BOTH, false, ESRCH, SYS_kill, {0x7fffffff}},
#ifdef __x86_64__
	{SILENT(modify_ldt), {99}},
	{SILENT(iopl), {99}},
	{"ustat", BOTH, false, ENOSYS, SYS_ustat, {0}},
	{"sysfs", BOTH, false, ENOSYS, SYS_sysfs, {0}},
	{"uselib", BOTH, false, ENOSYS, SYS_uselib, {0}},
#endif
};

static int run_probe(const void *arg)
{
	const struct probe *p = arg;
	const uint64_t *a = p->args;

	return syscall(p->nr, a[0], a[1], a[2], a[3], a[4], a[5]) == -1 ? errno : 0;
}

static void kernel_probes(int level)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		const struct probe *p = &probes[i];

		if (!(p->levels & level))
			continue;
		struct outcome out = run_child(&(struct child){level, run_probe, p});
		bool asked = out.denied + out.network == 1 && out.last_nr == (int)p->nr;
		bool silent = out.denied + out.network == 0;

		if (!ok(WIFEXITED(out.status) && WEXITSTATUS(out.status) == p->want &&
				(p->asked ? asked : silent),
			"%s: %s: %s%s", level_name(level), p->what,
			p->want ? strerror(p->want) : "works", p->asked ? ", asked" : ""))
			printf("# status %#x, %u denied, %u network, last %d\n", out.status,
			       out.denied, out.network, out.last_nr);
	}
}

/* Special cases */

#ifdef __x86_64__
/* getpid of the 32-bit table. A kernel without it sends SIGSEGV, which is just as shut. */
static int run_int80(const void *arg)
{
	long ret;

	(void)arg;
	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return (int)-ret;
}

static void kernel_int80(int level)
{
	struct outcome out = run_child(&(struct child){level, run_int80, NULL});

	ok((WIFEXITED(out.status) && WEXITSTATUS(out.status) == ENOSYS) ||
		   (WIFSIGNALED(out.status) && WTERMSIG(out.status) == SIGSEGV),
	   "%s: int 0x80 is shut", level_name(level));
}
#endif

/* Sandboxes inside: a filter of one's own works, a second listener does not. */
static int run_nested(const void *arg)
{
	struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog prog = {1, &allow};

	(void)arg;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return 1;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LISTENER, &prog) != -1 || errno != EBUSY)
		return 2;
	return syscall(SYS_mount, 0, 0, 0, 0, 0) == -1 && errno == EPERM ? 0 : 3;
}

/* A tracer that swaps the number of an allowed call gets the verdict of the new one. */
static int run_swapped(const void *arg)
{
	struct __ptrace_syscall_info info;
	int status;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(syscall(SYS_getppid) == -1 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_getppid)
			continue;
#ifdef __x86_64__
		ptrace(PTRACE_POKEUSER, pid, 15 * 8 /* orig_rax */, SYS_mount);
#endif
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What level landlock leaves of sockets must not reach a name: 0 when nothing was sent there. */
static int run_named_send(const void *arg)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	int pair[2];
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_name = (void *)arg,
			     .msg_namelen = sizeof(struct sockaddr_un)};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (socketpair(AF_UNIX, types[i], 0, pair) < 0)
			return 1;
		(void)sendmsg(pair[0], &msg, MSG_DONTWAIT); /* the receiver tells */
	}
	return 0;
}

static void kernel_named_send(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "name"};
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int wide = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	if (sock < 0 || wide < 0 || bind(sock, (struct sockaddr *)&name, sizeof(name)) < 0)
		abort();
	ok(sendto(wide, "y", 1, 0, (struct sockaddr *)&name, sizeof(name)) == 1 &&
		   recv(sock, &byte, 1, MSG_DONTWAIT) == 1,
	   "a datagram socket reaches a name");
	struct outcome out = run_child(&(struct child){LANDLOCK, run_named_send, &name});

	ok(out.status == 0 && recv(sock, &byte, 1, MSG_DONTWAIT) == -1,
	   "landlock: the sockets that are left do not");
	close(sock);
	close(wide);
	unlink("name");
}

/* Nobody answers: the call must not go through. */
static int run_deserted(const void *arg)
{
	int level = *(const int *)arg;
	int fd = load(level, LISTENER);

	if (fd < 0)
		return 1;
	close(fd);
	return syscall(SYS_mount, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS ? 0 : 2;
}

static void kernel_specials(void)
{
	struct outcome out = run_child(&(struct child){STRICT, run_nested, NULL});

	ok(out.status == 0 && out.denied == 1, "a filter inside works and takes nothing away");
#ifdef __x86_64__
	kernel_int80(STRICT);
	kernel_int80(LANDLOCK);
	out = run_child(&(struct child){STRICT, run_swapped, NULL});
	ok(WIFEXITED(out.status) && WEXITSTATUS(out.status) == EPERM && out.last_nr == SYS_mount,
	   "a tracer that swaps the number is asked about the new one");
#else
	(void)run_swapped;
#endif
	kernel_named_send();
	for (int level = STRICT; level <= LANDLOCK; level++) {
		out = run_child(&(struct child){0, run_deserted, &level});
		ok(out.status == 0, "%s: without a listener mount is ENOSYS", level_name(level));
	}
}

/* Programs that people run */

static char scratch[] = "/tmp/kernel_seccomp.XXXXXX";

struct program {
	const char *what;
	int levels;
	unsigned denied;    /* refused calls that it must lead to */
	const char *file;   /* must exist */
	const char *script; /* for sh, in an empty directory */
};

#define PYTHON "/usr/bin/python3 -I -c '"

static const struct program programs[] = {
	{"python with numpy", BOTH, 0, "/usr/bin/python3",
	 PYTHON "import numpy as n; print(n.linalg.inv(n.random.rand(300, 300)).shape)'"},
	{"python with pandas and matplotlib", BOTH, 0, "/usr/bin/python3",
	 PYTHON "import pandas as p, matplotlib; matplotlib.use(\"Agg\")\n"
		"import matplotlib.pyplot as t\n"
		"p.DataFrame({\"a\": [1, 2]}).plot(); t.savefig(\"a.png\")'"},
	{"python multiprocessing", STRICT, 0, "/usr/bin/python3",
	 PYTHON "import multiprocessing as m\n"
		"with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]\n"
		"with m.Manager() as g: g.list().append(1)'"},
	{"python multiprocessing without sockets", LANDLOCK, 0, "/usr/bin/python3",
	 PYTHON "import multiprocessing as m\n"
		"with m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]'"},
	{"python asyncio, subprocess, threads, sqlite", BOTH, 0, "/usr/bin/python3",
	 PYTHON "import asyncio as a, sqlite3, threading\n"
		"async def f(): return await (await a.create_subprocess_exec(\"true\")).wait()\n"
		"assert a.run(f()) == 0\n"
		"t = threading.Thread(target=print); t.start(); t.join()\n"
		"c = sqlite3.connect(\"a.db\"); c.execute(\"create table t(a)\"); c.commit()'"},
	{"python pty", BOTH, 0, "/usr/bin/python3",
	 PYTHON "import pty; assert pty.spawn([\"true\"]) == 0' </dev/null"},
	{"python with a raw socket", BOTH, 1, "/usr/bin/python3",
	 PYTHON "import socket as s\n"
		"try: s.socket(s.AF_INET, s.SOCK_RAW, 1)\n"
		"except PermissionError: pass\n"
		"else: raise SystemExit(1)'"},
	{"node with worker_threads and child_process", BOTH, 0, "/usr/bin/node",
	 "node -e 'const w = require(\"worker_threads\");"
	 "require(\"child_process\").execSync(\"true\");"
	 "new w.Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(1)\", {eval: true})"
	 ".on(\"message\", m => process.exit(m - 1)).on(\"error\", () => process.exit(9))'"},
	{"node talking to itself", STRICT, 0, "/usr/bin/node",
	 "node -e 'const n = require(\"net\"), h = \"127.0.0.1\";"
	 "const s = n.createServer(c => c.end()).listen(0, h, () => "
	 "n.connect(s.address().port, h).resume().on(\"end\", () => s.close()))'"},
	{"R", BOTH, 0, "/usr/bin/Rscript",
	 "Rscript --vanilla -e 'pdf(\"a.pdf\"); plot(sort(runif(9))); q(status = 0)'"},
	{"git", BOTH, 0, "/usr/bin/git",
	 "git init -q a && cd a && echo 1 >f && git add f && git -c user.name=a -c user.email=a@b "
	 "commit -qm 1 && cd .. && git clone -q a b && test -f b/f"},
	{"gcc and make", BOTH, 0, "/usr/bin/make",
	 "echo 'int main(void) { return 0; }' >a.c && make -s -j2 a CC=gcc && ./a"},
	{"bash job control", BOTH, 0, "/bin/bash",
	 "bash -c 'set -m; sh -c \"kill -STOP \\$\\$; exit 7\" & "
	 "wait %1; kill -CONT %1; wait -f %1; test $? = 7'"},
	{"perl", BOTH, 0, "/usr/bin/perl",
	 "perl -e 'pipe R, W; if (!fork) { print W 1; exit } close W; wait; exit(<R> != 1)'"},
	{"java", BOTH, 0, "/usr/bin/java", "java -Xmx64m -version"},
	{"strace of a child", STRICT, 0, "/usr/bin/strace",
	 "strace -f -o a sh -c 'true; true' && grep -q execve a"},
	{"gdb of a child", STRICT, 0, "/usr/bin/gdb",
	 "gdb -nx -batch -ex run --args /bin/true 2>&1 | grep -q 'exited normally'"},
	{"unshare", BOTH, 1, "/usr/bin/unshare", "! unshare --user true"},
};

static int run_program(const void *arg)
{
	const struct program *p = arg;
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)p->script, NULL};
	char home[64];
	char *const env[] = {(char *)"PATH=/usr/bin:/bin", home, (char *)"LANG=C.UTF-8", NULL};
	int log = open("log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)snprintf(home, sizeof(home), "HOME=%s", scratch);
	if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		return 252;
	execve("/bin/sh", argv, env);
	return 253;
}

static void show_log(void)
{
	char line[512];
	FILE *f = fopen("log", "re");

	while (f && fgets(line, sizeof(line), f))
		printf("# | %.*s\n", (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

static int run_clear(const void *arg)
{
	(void)arg;
	execl("/bin/sh", "sh", "-c", "exec rm -rf -- * .[!.]*", (char *)NULL);
	return 253;
}

static void real_program(int level, const struct program *p)
{
	struct stat st;

	if (stat(p->file, &st) < 0) {
		ok(true, "%s: %s # SKIP no %s", level_name(level), p->what, p->file);
		return;
	}
	struct outcome out = run_child(&(struct child){level, run_program, p});
	bool good = out.ended && out.status == 0 && (p->denied ? out.denied > 0 : out.denied == 0);

	if (!good && p->denied == 0 && run_child(&(struct child){0, run_program, p}).status != 0) {
		ok(true, "%s: %s # SKIP fails without a filter too", level_name(level), p->what);
	} else if (!ok(good, "%s: %s", level_name(level), p->what)) {
		printf("# status %#x, %u denied, last %d\n", out.status, out.denied, out.last_nr);
		(void)run_child(&(struct child){level, run_program, p}); /* for its output */
		show_log();
	}
	(void)run_child(&(struct child){0, run_clear, NULL});
}

static void real_programs(int level)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		if (programs[i].levels & level)
			real_program(level, &programs[i]);
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0) {
		printf("1..0 # SKIP no directory: %s\n", strerror(errno));
		return 1;
	}
	for (int level = STRICT; level <= LANDLOCK; level++) {
		paper_socket(level);
		paper_sweeps(level);
		paper_huge_pages(level);
		paper_doors(level);
	}
	paper_reports();
	paper_gated();
	kernel_specials();
	for (int level = STRICT; level <= LANDLOCK; level++) {
		kernel_probes(level);
		real_programs(level);
	}
	ok(chdir("/") == 0 && rmdir(scratch) == 0, "nothing is left behind");
	printf("1..%u\n", tests);
	return failed != 0;
}
