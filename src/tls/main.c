/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinfold-tls. Where we are: just executed by the watcher of `pinfold serve`, with its ids and
 * nothing of its environment, and the descriptors of tls/program.h. Rights are the first thing to
 * go: certificate and key come as open files, so even they are parsed without any.
 *
 * The key is in this process alone. The API, which reads what strangers send, has neither it nor a
 * descriptor of it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/parse.h"
#include "base/passfd.h"
#include "http/tls.h"
#include "kernel/confine.h"
#include "tls/program.h"
#include "tls/relay.h"

static const int calls[] = {
	/* connections */
	SYS_accept4, SYS_socketpair, SYS_sendmsg, SYS_recvmsg, SYS_sendto, SYS_recvfrom, SYS_read,
	SYS_write, SYS_shutdown, SYS_close, SYS_setsockopt, SYS_getsockopt,
	/* the loop; on arm64 epoll_wait is epoll_pwait */
	SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_create1, SYS_signalfd4, SYS_clock_gettime,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	/* certificate and key, by their descriptors */
	SYS_pread64, SYS_fstat,
	/* memory, locks and random numbers of libc and OpenSSL */
	SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_getrandom, SYS_getpid,
	SYS_gettid, SYS_prlimit64, SYS_sched_yield,
	/* signals, and the end */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_tgkill,
	SYS_exit, SYS_exit_group};

static int take_files(struct relay *relay, struct err *e)
{
	struct tls_files message;
	struct tls_server *server = NULL;
	int fds[2];
	int r = passfd_receive(TLS_CONTROL, &message, sizeof(message), fds, 2, 0);

	if (r < 0)
		_exit(r == -EPIPE ? 0 : 1); /* who started us is gone */
	if (r == 2)
		r = tls_server_new(fds[0], fds[1], &server, e);
	else
		r = err_set(e, ERR_INTERNAL, "no certificate came");
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	if (r >= 0)
		relay_serve(relay, server);
	return r;
}

static void answer(int result, const struct err *e)
{
	struct tls_answer a = {.result = result < 0 ? result : 0, .e = *e};

	if (passfd_send(TLS_CONTROL, &a, sizeof(a), NULL, 0) < 0)
		_exit(1);
}

static void renew(struct relay *relay, int fd)
{
	struct err e = ERR_INIT;
	int r = take_files(relay, &e);

	(void)fd;
	answer(r, &e);
}

static void end(struct relay *relay, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) == sizeof(info))
		relay_drain(relay);
}

static int prepare(unsigned n_listen, struct relay **ret, struct err *e)
{
	const struct confine rights = {
		.id = CONFINE_TLS_ID, .calls = calls, .n_calls = sizeof(calls) / sizeof(calls[0])};
	int listeners[TLS_LISTEN_MAX];
	sigset_t set;

	for (unsigned i = 0; i < n_listen; i++)
		listeners[i] = TLS_LISTEN + (int)i;
	(void)prctl(PR_SET_NAME, "pinfold-tls", 0, 0, 0);
	int r = HOLD_TLS_RIGHTS ? confine_self(&rights, e) : 0;
	if (r < 0)
		return r;
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return err_sys(e, "signalfd");
	r = relay_new(TLS_DOOR, listeners, n_listen, ret, e);
	if (r >= 0)
		r = relay_watch(*ret, signals, end, e);
	if (r >= 0)
		r = relay_watch(*ret, TLS_CONTROL, renew, e);
	return r >= 0 ? take_files(*ret, e) : r;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct relay *relay = NULL;
	uint64_t n = 0;

	if (argc != 2 || parse_count(argv[1], &n, &e) < 0 || n > TLS_LISTEN_MAX) {
		(void)fputs("pinfold-tls: `pinfold serve --tls-cert` starts it\n", stderr);
		return 125;
	}
	int r = prepare((unsigned)n, &relay, &e);
	answer(r, &e);
	if (r >= 0)
		r = relay_run(relay, &e);
	return r < 0;
}
