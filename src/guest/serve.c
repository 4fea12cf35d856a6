/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's long life: reap children, pass signals on, end when the command ends or when the
 * host side is gone. PID 1 of a pid namespace cannot be killed or stopped from inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"

struct serve {
	int signals; /* SIGCHLD */
	int64_t deadline;
	int status; /* of the command */
	int ended;
};

static int64_t now_ms(void)
{
	return (int64_t)(guest_now_ns() / 1000000);
}

/* Processes in our /proc besides ourselves. */
static uint64_t count_processes(void)
{
	static char buf[4096] __attribute__((aligned(8)));
	uint64_t n = 0;
	long have, fd = sys3(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && (have = sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long pos = 0; pos < have; pos += *(uint16_t *)(void *)(buf + pos + 16))
			n += buf[pos + 19] >= '1' && buf[pos + 19] <= '9';
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
	return n > 0 ? n - 1 : 0;
}

/* Reap what has ended; 1 when the command was among it. */
static int reap(const struct guest *g, int *status)
{
	int ended = 0;

	for (;;) {
		struct rusage usage;
		int st = 0;
		long pid = sys4(SYS_wait4, -1, &st, WNOHANG, &usage);

		if (pid <= 0)
			return ended;
		if (pid == g->command) {
			*status = st;
			ended = 1;
		} else {
			guest_job_ended(g, (int)pid, st, &usage);
		}
	}
}

/* Kill every other process and wait for them: the kernel gives us every orphan. */
static void end_all(const struct guest *g, int *status)
{
	guest_signal_all(g, SIGKILL);
	for (;;) {
		int st = 0;
		long pid = sys4(SYS_wait4, -1, &st, 0, NULL);

		if (pid == -EINTR)
			continue;
		if (pid < 0)
			return;
		if (pid == g->command)
			*status = st;
	}
}

/* The host side is gone: so is the sandbox. PID 1 takes all with it; elsewhere we must. */
static __attribute__((noreturn)) void abandon(struct guest *g)
{
	int status;

	if (g->plan->flags & PLAN_HOST_LEVEL)
		end_all(g, &status);
	guest_scope_end(g);
	guest_end(1);
}

static void obey_signal(const struct guest *g, int sig)
{
	guest_signal_all(g, sig);
	if (sig != SIGSTOP && sig != SIGTSTP)
		guest_signal_all(g, SIGCONT); /* a stopped process must hear it too */
}

static void tell_processes(int to, int asker)
{
	struct msg_guest done = {.kind = MSG_DONE};

	guest_processes(to);
	(void)guest_send_to(asker, &done, NULL, -1); /* he may be gone */
}

static long read_score(int fd, char *to, size_t size)
{
	long n = sys4(SYS_pread64, fd, to, size - 1, 0);

	to[n > 0 ? n : 0] = '\0';
	return n;
}

/* Once we cannot be dumped our own entries of /proc are root's: so it stays open, until a command
 * is executed. */
void guest_score_keep(struct guest *g)
{
	long fd = sys3(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return; /* then we are killed as likely as a command, which is no worse than before */
	long above = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, GUEST_CTL + 1);
	(void)sys1(SYS_close, fd);
	if (above >= 0 && read_score((int)above, g->score_own, sizeof(g->score_own)) > 0)
		g->score = (int)above;
}

/* Who is killed when memory runs out: not us as long as there is anybody else, else all of them
 * die. A command inherits our score, so while one is started it is theirs. Nobody needs a right to
 * go back to what he was given. */
static void spare(struct guest *g, int us)
{
	if (g->score < 0)
		return;
	if (!g->score_theirs[0])
		(void)read_score(g->score, g->score_theirs, sizeof(g->score_theirs));
	const char *text = us ? g->score_own : g->score_theirs;
	(void)sys4(SYS_pwrite64, g->score, text, str_len(text), 0);
}

static void spare_who_lives(struct guest *g)
{
	if (g->plan->flags & PLAN_LIVE) {
		spare(g, 1);
	} else if (g->score >= 0) {
		(void)sys1(SYS_close, g->score); /* it ends with its command anyway */
		g->score = -1;
	}
}

static void start_asked(struct guest *g, const struct msg_host *msg, const int fds[MSG_FDS_MAX])
{
	spare(g, 0);
	if (msg->kind == MSG_EXEC)
		guest_job_start(g, fds);
	else
		guest_files_start(g, fds[0]);
	spare(g, 1);
}

/*
 * May the host side want more than the command? Of a daemon's run the host side is its caller, whoever
 * that is: by a second command or a file server he would get descriptors out by which the next one's
 * network could be looked at (warden/stock.h), and his own could make us wait when we close them.
 */
static int may_ask(const struct guest *g)
{
#ifdef DROP_RUN_ASKS
	return 1;
#endif
	return (g->plan->flags & (PLAN_SHARED | PLAN_MOVES)) != 0;
}

static void obey(struct guest *g, struct serve *s)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];
	unsigned n = may_ask(g) ? guest_receive(&msg, fds) : guest_receive_bare(&msg);

	if ((msg.kind == MSG_EXEC && n == MSG_FDS_MAX) || (msg.kind == MSG_FILES && n == 1))
		start_asked(g, &msg, fds);
	else if (msg.kind == MSG_PROCESSES && n == 2)
		tell_processes(fds[0], fds[1]);
	else if (msg.kind == MSG_RELIEVE && msg.arg > 0)
		guest_relieve(g, (uint64_t)msg.arg);
	while (n > 0)
		(void)sys1(SYS_close, fds[--n]); /* what was wanted of them was taken */
	if (msg.kind == MSG_KILL) {
		end_all(g, &s->status);
		s->ended = 1;
	} else if (msg.kind == MSG_SIGNAL && msg.arg > 0 && msg.arg < 65) {
		obey_signal(g, msg.arg);
	} else if (msg.kind == MSG_SIGNAL_OWN && msg.arg > 0 && msg.arg < 65 && g->command > 0) {
		guest_signal_group(g, g->command, msg.arg);
	} else if (msg.kind == MSG_SIGNAL_ONE && MSG_ONE_PID(msg.arg) > 1 &&
		   MSG_ONE_SIGNO(msg.arg) > 0 && MSG_ONE_SIGNO(msg.arg) < 65) {
		/* Inside our namespace alone, and it may have ended. */
		(void)sys2(SYS_kill, MSG_ONE_PID(msg.arg), MSG_ONE_SIGNO(msg.arg));
	} else if (msg.kind == MSG_DEADLINE && msg.arg > 0) {
		s->deadline = now_ms() + (int64_t)msg.arg * 1000;
	}
}

static void wait_once(struct guest *g, struct serve *s)
{
	struct pollfd fds[2 + GUEST_JOBS_MAX] = {
		{.fd = GUEST_CTL, .events = POLLIN},
		{.fd = s->signals, .events = POLLIN},
	};
	unsigned jobs = guest_job_poll(fds + 2);
	int64_t left = s->deadline - now_ms();
	struct timespec wait = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};

	if (left <= 0)
		abandon(g); /* the host side should have ended us long ago */
	if (sys5(SYS_ppoll, fds, 2 + jobs, &wait, NULL, 0) < 0)
		return;
	if (fds[1].revents) {
		struct signalfd_siginfo info;

		(void)sys3(SYS_read, s->signals, &info, sizeof(info));
		s->ended = reap(g, &s->status);
	}
	guest_job_events(g, fds + 2, jobs);
#ifdef DROP_LIFELINE
	if (fds[0].revents & POLLHUP)
		return;
#endif
	if (!s->ended && (fds[0].revents & POLLHUP))
		abandon(g); /* whatever it still said, nobody is there to hear the answer */
	if (!s->ended && fds[0].revents)
		obey(g, s);
}

int guest_serve(struct guest *g)
{
	uint64_t chld = 1u << (SIGCHLD - 1);
	struct serve s = {.deadline = now_ms() + (int64_t)g->plan->deadline_ms};

	spare_who_lives(g);
	long sig = sys4(SYS_signalfd4, -1, &chld, sizeof(chld), SFD_CLOEXEC | SFD_NONBLOCK);

	/* Not at 0, 1 or 2, which become a command's and are closed: without it we would never
	 * wait. */
	long above = sig < 0 ? sig : sys3(SYS_fcntl, sig, F_DUPFD_CLOEXEC, GUEST_CTL + 1);
	if (above < 0)
		guest_end(1);
	(void)sys1(SYS_close, sig);
	sig = s.signals = (int)above;
	while (!s.ended)
		wait_once(g, &s);
	g->ended_ns = guest_now_ns();
	if (g->plan->flags & PLAN_COUNT)
		g->left = count_processes();
#ifndef DROP_END_FIRST
	end_all(g, &s.status);
#endif
	guest_scope_end(g);
	(void)sys1(SYS_close, sig);
	return s.status;
}
