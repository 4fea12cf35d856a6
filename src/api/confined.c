/* SPDX-License-Identifier: Apache-2.0 */
#include "api/confined.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/hold.h"
#include "kernel/confine.h"

/* What is newer than the libc that we build with is listed by what it falls back to. */
static const int calls[] = {
	/* connections, pipes to handlers, the daemon's and the keeper's sockets */
	SYS_accept4,
	SYS_connect,
	SYS_socket,
	SYS_socketpair,
	SYS_bind, /* of a question to a person (engine/approval.c); of TCP Landlock refuses it */
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_shutdown,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendfile,
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_close,
	SYS_pipe2,
	SYS_dup,
	SYS_dup3,
	SYS_fcntl,
	SYS_ioctl,
	/* loops and clocks */
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_ppoll,
	SYS_eventfd2,
	SYS_signalfd4,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_timerfd_gettime,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	/* tokens, quotas, what was used, questions, output that is kept: Landlock says where */
	SYS_openat,
	SYS_openat2,
	SYS_newfstatat,
	SYS_fstat,
	SYS_statx,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_getdents64,
	SYS_lseek,
	SYS_pread64,
	SYS_pwrite64,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_flock,
	SYS_fchmod,
	SYS_mkdirat,
	SYS_unlinkat,
	SYS_renameat,
	SYS_renameat2,
	SYS_linkat,
	SYS_utimensat,
	SYS_memfd_create,
	SYS_readlinkat,
	SYS_umask,
	/* threads and memory; mmap and mprotect are confine.c's */
	SYS_clone,
	SYS_clone3,
	SYS_futex,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_membarrier,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getrandom,
	SYS_sysinfo,
	SYS_sigaltstack,
	SYS_prctl,
	/* who am I */
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_uname,
	SYS_prlimit64,
	/* signals, and the end */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigpending,
	SYS_rt_sigreturn,
	SYS_restart_syscall,
	SYS_tgkill,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__
	SYS_poll,
	SYS_epoll_wait,
	SYS_access,
	SYS_mkdir,
	SYS_rename,
	SYS_unlink,
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_dup2,
	SYS_pipe,
#endif
};

int api_confine(const struct api_config *config, const char *artifacts, struct err *e)
{
	auto_close int null = open("/dev/null", O_PATH | O_CLOEXEC);
	auto_close int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int kept =
		*artifacts ? open(artifacts, O_PATH | O_DIRECTORY | O_CLOEXEC) : FD_NONE;
	/* Of policies: the operator's ceiling, and by whom servers are believed. */
	auto_close int ceiling = open("/etc/pinfold/ceiling.yaml", O_PATH | O_CLOEXEC);
	const char *more = getenv("PINFOLD_CEILING");
	auto_close int other = more && *more ? open(more, O_PATH | O_CLOEXEC) : FD_NONE;
	auto_close int roots = open("/etc/ssl/certs/ca-certificates.crt", O_PATH | O_CLOEXEC);
	const struct confine_path all[] = {{null, true},	   {tmp, true},
					   {kept, true},	   {config->dir, false},
					   {config->state, true},  {config->approvals, true},
					   {config->ledger, true}, {config->kept, true},
					   {ceiling, false},	   {roots, false},
					   {other, false}};
	struct confine_path paths[CONFINE_PATHS_MAX];
	struct confine rights = {
		.calls = calls, .n_calls = sizeof(calls) / sizeof(calls[0]), .paths = paths};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].fd >= 0)
			paths[rights.n_paths++] = all[i];
	return HOLD_API_RIGHTS ? confine_self(&rights, e) : 0;
}
