/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate gives up before it hears the first word. It began as whoever starts runs, with all
 * of his rights. From here on: for root an id of nobody's, no capability, no new privileges, no
 * file by any path (Landlock without rules), no signal or abstract socket to others, and only the
 * system calls below. What is left are its sockets, and the Internet.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "egress/gate_int.h"
#include "egress/hold.h"
#include "kernel/landlock.h"

#define GATE_ID 0x6ffffffdu /* below the ids of sandboxes; nobody's */
#define FDS_PER_CONN 6u	    /* two sockets, two pipes */
#define FDS_OWN (512u + GATE_SPARES_MAX)

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_HERE AUDIT_ARCH_AARCH64
#endif

/* Every call that the loop, the sockets, the heap and c-ares need. */
static const unsigned short calls[] = {
	/* the loop */
	SYS_epoll_ctl,
	SYS_epoll_pwait,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_clock_gettime,
	SYS_gettimeofday,
	/* connections; socket() below */
	SYS_accept4,
	SYS_bind,
	SYS_connect,
	SYS_getsockname,
	SYS_getpeername,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_shutdown,
	SYS_close,
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_splice,
	SYS_pipe2,
	SYS_fcntl,
	/* policies come as files in memory */
	SYS_fstat,
	SYS_newfstatat,
	SYS_munmap,
	/* the heap; mmap() and mprotect() below */
	SYS_brk,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_getrandom,
	SYS_getpid,  /* OpenSSL looks whether it was forked */
	SYS_sysinfo, /* qsort() wants to know how much memory there is */
	/* the end */
	SYS_exit,
	SYS_exit_group,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_restart_syscall,
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define GIVE(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)

static int load_filter(struct err *e)
{
	static const struct sock_filter first[] = {
		LOAD(arch),
		IS(ARCH_HERE, 1, 0),
		GIVE(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* Nothing that can be executed is made. */
		IS(SYS_mmap, 1, 0),
		IS(SYS_mprotect, 0, 3),
		LOAD_ARG(2),
		HAS(PROT_EXEC, 0, 8),
		GIVE(SECCOMP_RET_KILL_PROCESS),
		/* Sockets of the Internet alone. */
		IS(SYS_socket, 0, 4),
		LOAD_ARG(0),
		IS(AF_INET, 4, 0),
		IS(AF_INET6, 3, 0),
		GIVE(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		/* c-ares looks for files at times; it finds none. */
		IS(SYS_openat, 0, 2),
		GIVE(SECCOMP_RET_ERRNO | EACCES),
		GIVE(SECCOMP_RET_ALLOW),
	};
	static struct sock_filter code[sizeof(first) / sizeof(first[0]) + 2 * N_CALLS + 1];
	unsigned n = 0;

	for (; n < sizeof(first) / sizeof(first[0]); n++)
		code[n] = first[n];
	for (unsigned i = 0; i < N_CALLS; i++) {
		code[n++] = (struct sock_filter)IS(calls[i], 0, 1);
		code[n++] = (struct sock_filter)GIVE(SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)GIVE(SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = code};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
		return err_sys(e, "system call filter");
	return 0;
}

static int no_files(struct err *e)
{
	struct {
		uint64_t fs, net, scoped;
	} attr = {0};
	int abi = landlock_abi();

	attr.fs = landlock_all(abi);
	attr.scoped = landlock_scopes(abi);
	long fd = syscall(SYS_landlock_create_ruleset, &attr,
			  attr.scoped ? sizeof(attr) : sizeof(attr.fs), 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_sys(e, "Landlock");
	(void)close((int)fd);
	return 0;
}

static int no_rights(struct err *e)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(GATE_ID, GATE_ID, GATE_ID) < 0 ||
			       setresuid(GATE_ID, GATE_ID, GATE_ID) < 0))
		return err_sys(e, "become nobody");
	if (syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "give up rights");
	return 0;
}

static int limits(struct err *e)
{
	struct rlimit l, none = {0, 0};

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return err_sys(e, "limits");
	if (l.rlim_max > GATE_CONNS_MAX * FDS_PER_CONN + FDS_OWN)
		l.rlim_max = GATE_CONNS_MAX * FDS_PER_CONN + FDS_OWN;
	l.rlim_cur = l.rlim_max;
	gate.conns_max = l.rlim_cur > FDS_OWN + FDS_PER_CONN
				 ? (unsigned)((l.rlim_cur - FDS_OWN) / FDS_PER_CONN)
				 : 64;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(e, "limits");
	return 0;
}

int gate_confine(struct err *e)
{
	int r = limits(e);

	(void)prctl(PR_SET_NAME, "pinfold-gate", 0, 0, 0);
	if (r >= 0 && HOLD_GATE_RIGHTS)
		r = no_rights(e);
	if (r >= 0 && HOLD_GATE_RIGHTS)
		r = no_files(e);
	return r < 0 || !HOLD_GATE_RIGHTS || !HOLD_GATE_FILTER ? r : load_filter(e);
}
