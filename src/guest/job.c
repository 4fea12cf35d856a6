/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More commands in a sandbox that lives. Each came with a socket to whoever wants it: he is told
 * there how it goes, may signal it, and when he is gone so is the command, with its session's
 * process group. What it left in the background stays until the sandbox ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "guest/guest.h"

struct job {
	int pid; /* 0: a free place */
	int ctl;
};

static struct job jobs[GUEST_JOBS_MAX];

static struct job *find(int pid)
{
	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (jobs[i].pid == pid)
			return &jobs[i];
	return NULL;
}

int guest_job_is(int pid)
{
	return pid > 0 && find(pid) != NULL;
}

/* Descriptors that only the command needs, and only until it has them. */
static int use_stdio(const int fds[3])
{
	long r = 0;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = sys3(SYS_dup3, fds[i], i, 0);
	return (int)r;
}

static void drop_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		(void)sys1(SYS_close, fd);
}

/* Walk the small plan and start its command as if it were the sandbox's own. */
static int start(struct guest *g, const int fds[MSG_FDS_MAX], int *step)
{
	const struct plan_head *plan = guest_map_claim(fds[0]);
	const struct plan_head *own = g->plan;

	*step = MSG_STEP_PLAN;
	if (!plan)
		return -EINVAL;
	g->plan = plan;
	int r = guest_walk(g, step);
	g->users = g->users || (plan->flags & PLAN_AS_USER);
	if (r == 0)
		r = use_stdio(fds + 1);
	if (r >= 0)
		r = guest_command(g, step);
	if (r < 0)
		drop_stdio();
	g->plan = own;
	(void)sys2(SYS_munmap, plan, plan->size);
	return r;
}

void guest_job_start(struct guest *g, const int fds[MSG_FDS_MAX])
{
	struct job *job = find(0);
	uint64_t started_ns = g->started_ns;
	int command = g->command, step = MSG_STEP_FORK;
	long ctl = sys3(SYS_fcntl, fds[4], F_DUPFD_CLOEXEC, GUEST_CTL + 1);

	if (ctl < 0)
		return; /* he sees that nobody is there */
	g->talk = (int)ctl;
	int r = job ? start(g, fds, &step) : -EAGAIN;
	g->talk = GUEST_CTL;
	struct msg_guest msg = {.kind = r < 0 ? MSG_FAILED : MSG_STARTED,
				.code = r < 0 ? -r : g->command,
				.step = r < 0 ? step : 0,
				.value = g->started_ns};
	(void)guest_send_to((int)ctl, &msg, NULL, -1); /* his absence shows at the next poll */
	if (r < 0)
		(void)sys1(SYS_close, ctl);
	else
		*job = (struct job){g->command, (int)ctl};
	g->command = command;
	g->started_ns = started_ns;
}

unsigned guest_job_poll(struct pollfd *fds)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUEST_JOBS_MAX; i++)
		if (jobs[i].pid)
			fds[n++] = (struct pollfd){.fd = jobs[i].ctl, .events = POLLIN};
	return n;
}

/* It leads a session, so its number is that of its process group, too. A stopped process must hear
 * it. */
void guest_signal_group(const struct guest *g, int pid, int sig)
{
	guest_kill(g, -pid, sig);
	if (sig != SIGSTOP && sig != SIGTSTP)
		guest_kill(g, -pid, SIGCONT);
}

/* To the sandbox's owner, if there is something new, and to who waits for the command. */
static void say_seen(const struct job *job)
{
	guest_seen_more();
	guest_seen_tell_to(job->ctl);
}

static void obey(const struct guest *g, struct job *job)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];
	long n = guest_receive_from(job->ctl, &msg, fds, MSG_DONTWAIT);

	while (n > 0)
		(void)sys1(SYS_close, fds[--n]); /* none is expected here */
	if (n == -EAGAIN)
		return;
	if (n < 0 || msg.kind == MSG_KILL)
		guest_signal_group(g, job->pid, SIGKILL);
	else if (msg.kind == MSG_SIGNAL && msg.arg > 0 && msg.arg < 65)
		guest_signal_group(g, job->pid, msg.arg);
	else if (msg.kind == MSG_LOOK)
		say_seen(job);
	if (n >= 0)
		return;
	/* He is gone. It is reaped like any orphan. */
	(void)sys1(SYS_close, job->ctl);
	job->pid = 0;
}

void guest_job_events(const struct guest *g, const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; fds[i].revents && k < GUEST_JOBS_MAX; k++)
			if (jobs[k].pid && jobs[k].ctl == fds[i].fd) {
				obey(g, &jobs[k]);
				break;
			}
}

void guest_job_ended(const struct guest *g, int pid, int status, const struct rusage *usage)
{
	struct job *job = find(pid);

	if (!job)
		return;
	struct msg_guest used = {.kind = MSG_USAGE,
				 .value = guest_micros(&usage->ru_utime) +
					  guest_micros(&usage->ru_stime),
				 .value2 = (uint64_t)usage->ru_maxrss};
	struct msg_guest exited = {.kind = MSG_EXITED, .code = status, .value = guest_now_ns()};
	struct msg_guest done = {.kind = MSG_DONE, .code = guest_full(g)};

	say_seen(job);
	(void)guest_send_to(job->ctl, &used, NULL, -1); /* he may be gone */
	(void)guest_send_to(job->ctl, &exited, NULL, -1);
	(void)guest_send_to(job->ctl, &done, NULL, -1);
	(void)sys1(SYS_close, job->ctl);
	job->pid = 0;
}
