/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/plan.h"
#include "warden/control.h"
#include "warden/spool.h"

#define BUDGET (2u << 20) /* what one may print between two ticks before it has to wait */
#define JOBS_MAX 64u
#define FOLLOWERS_MAX 32u

struct follower {
	struct job *job;
	int link;
	bool stay;
	uint64_t pos, expect; /* place in the spool; bytes of output before it */
	struct source source;
	struct follower *next;
};

struct job {
	struct ward *ward;
	int ctl;    /* the guest's word on it; FD_NONE: it is the sandbox's own command */
	int out[2]; /* its output, or a terminal's master in the first */
	int client; /* who is to hear that it started */
	int pid;    /* inside; 0: it does not run yet */
	bool own;   /* the sandbox's own command */
	bool pty;
	bool over, known;
	int status;
	uint64_t started_us, ended_us;
	struct spool spool;
	size_t budget;
	bool throttled;
	struct follower *followers;
	unsigned n_followers;
	struct source sources[3];
	struct job *next;
};

static int make_pipe(int *ours, int *theirs, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	*ours = p[0];
	*theirs = p[1];
	return fcntl(p[0], F_SETFL, O_NONBLOCK) < 0 ? err_sys(e, "pipe") : 0;
}

int job_new(const struct ask *ask, struct job **ret, int stdio[3], struct err *e)
{
	struct job *job = calloc(1, sizeof(*job));
	int r = 0;

	stdio[0] = stdio[1] = stdio[2] = FD_NONE;
	*ret = job;
	if (!job)
		return err_sys(e, "run");
	job->ctl = job->out[0] = job->out[1] = job->client = FD_NONE;
	job->pty = ask->head->flags & ASK_PTY;
	job->budget = BUDGET;
	for (int i = 0; i < 3; i++)
		job->sources[i].of = job;
	job->sources[0].kind = SOURCE_JOB_OUT;
	job->sources[1].kind = SOURCE_JOB_ERR;
	job->sources[2].kind = SOURCE_JOB_CTL;
	stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (stdio[0] < 0)
		return err_sys(e, "open /dev/null");
	for (int i = 0; i < 2 && r >= 0; i++)
		r = make_pipe(&job->out[i], &stdio[1 + i], e);
	return r;
}

void job_close_theirs(int stdio[3])
{
	for (int i = 0; i < 3; i++)
		fd_close(&stdio[i]);
}

static void close_fd(const struct warden *w, int *fd)
{
	warden_unwatch(w, *fd);
	fd_close(fd);
}

static void drop_follower(struct warden *w, struct follower *f)
{
	struct follower **at = &f->job->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->job->n_followers--;
	close_fd(w, &f->link);
	free(f);
}

void job_free(struct warden *w, struct job *job)
{
	if (!job)
		return;
	w->n_throttled -= job->throttled;
	while (job->followers)
		drop_follower(w, job->followers);
	close_fd(w, &job->out[0]);
	close_fd(w, &job->out[1]);
	close_fd(w, &job->ctl);
	close_fd(w, &job->client);
	spool_done(&job->spool);
	free(job);
}

static void add(struct ward *ward, struct job *job)
{
	struct job **at = &ward->jobs;

	while (*at)
		at = &(*at)->next;
	*at = job;
	job->ward = ward;
	for (int i = 0; i < 3; i++)
		job->sources[i].ward = ward;
}

void job_give(struct ward *ward, struct job *job)
{
	job->own = true;
	add(ward, job);
}

static struct job *own_job(const struct ward *ward)
{
	return ward->jobs && ward->jobs->own ? ward->jobs : NULL;
}

/* The terminal takes the place of the pipes. */
static void use_terminal(struct job *job, int *terminal)
{
	fd_close(&job->out[0]);
	fd_close(&job->out[1]);
	job->out[0] = take_fd(terminal);
	(void)fcntl(job->out[0], F_SETFL, O_NONBLOCK); /* a terminal always can */
}

static void begin(struct warden *w, struct job *job, int pid)
{
	struct err e = ERR_INIT;

	job->pid = pid;
	job->started_us = warden_now_us();
	for (int i = 0; i < 2; i++)
		if (job->out[i] >= 0 && warden_watch(w, job->out[i], &job->sources[i], &e) < 0)
			fd_close(&job->out[i]);
}

void job_started(struct warden *w, struct ward *ward, int pid, int *terminal)
{
	struct job *job = own_job(ward);

	if (!job)
		return;
	if (*terminal >= 0)
		use_terminal(job, terminal);
	begin(w, job, pid);
}

static void note_exit(struct job *job, int status)
{
	job->known = true;
	job->status = status;
	job->ended_us = warden_now_us();
}

void job_exited(struct ward *ward, int status)
{
	struct job *job = own_job(ward);

	if (job)
		note_exit(job, status);
}

/* Followers. */

static int send_record(int link, const struct spool_record *r, const char *data, uint64_t skipped)
{
	struct link_msg msg = {
		.kind = LINK_OUTPUT,
		.output = {
			.stream = r->stream, .len = r->len, .at_ms = r->at_ms, .skipped = skipped}};
	struct iovec iov[2] = {{&msg, sizeof(msg)}, {(void *)(uintptr_t)data, r->len}};
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = 2};

	return sendmsg(link, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* -EAGAIN: he does not read. */
static int send_left(const struct follower *f)
{
	const struct job *job = f->job;
	struct link_msg msg = {.kind = LINK_LEFT,
			       .left = {.over = job->over,
					.stop = job->own ? job->ward->stop : LINK_STOP_NONE,
					.status = job->status,
					.known = job->known}};

	if (job->ended_us > job->started_us)
		msg.left.wall_us = job->ended_us - job->started_us;
	return passfd_send(f->link, &msg, sizeof(msg), NULL, 0);
}

static void watch_follower(struct warden *w, struct follower *f, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = &f->source};

	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, f->link, &ev); /* it is watched already */
}

/* All that there is for him. False: he is dropped. */
static bool push(struct warden *w, struct follower *f)
{
	static char data[SPOOL_RECORD_MAX];
	struct spool_record rec;
	uint64_t pos = f->pos;
	int r = 0;

	while (r >= 0 && spool_next(&f->job->spool, &pos, &rec, data)) {
		r = send_record(f->link, &rec, data, rec.before - f->expect);
		if (r < 0)
			break;
		f->pos = pos;
		f->expect = rec.before + rec.len;
	}
	bool all = r >= 0 && (f->job->over || !f->stay);
	if (all)
		r = send_left(f);
	if (r == -EAGAIN) {
		watch_follower(w, f, EPOLLIN | EPOLLOUT);
		return true;
	}
	if (all || r < 0) {
		drop_follower(w, f);
		return false;
	}
	return true;
}

static void push_all(struct warden *w, struct job *job)
{
	for (struct follower *f = job->followers, *next; f; f = next) {
		next = f->next;
		(void)push(w, f);
	}
}

static struct job *find_job(const struct ward *ward, uint64_t pid)
{
	struct job *found = NULL;

	for (struct job *job = ward->jobs; job && !found; job = job->next)
		if (pid ? (uint64_t)job->pid == pid : job->own)
			found = job;
	return found || pid ? found : ward->jobs;
}

static int no_output(const struct ward *ward, struct err *e)
{
	if (!ward->held) {
		(void)err_set(e, ERR_CONFLICT, "%s: its output goes to the run that started it",
			      ward->spec.id);
		return err_remedy(e, "start it with pinfold run --detach to have its output kept");
	}
	(void)err_set(e, ERR_MISSING, "%s: no such command in it", ward->spec.id);
	return err_remedy(e, "pinfold exec --detach runs one in the background");
}

int job_follow(struct warden *w, struct ward *ward, const struct link_ask *ask, int client,
	       struct err *e)
{
	struct job *job = find_job(ward, ask->arg);
	struct link_msg ok = {.kind = LINK_OK,
			      .ok = {.group = ward->grouped, .volume = ward->spec.on_volume}};

	if (!job)
		return no_output(ward, e);
	if (job->n_followers >= FOLLOWERS_MAX) {
		(void)err_set(e, ERR_LIMIT, "%s: %u follow it already", ward->spec.id,
			      FOLLOWERS_MAX);
		return err_remedy(e, "end one of them");
	}
	memcpy(&ok.ok.limits, &ward->spec.limits, sizeof(ok.ok.limits));
	bool input = (ask->flags & LINK_INPUT) && job->pty && job->out[0] >= 0;
	struct follower *f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(e, "follow");
	*f = (struct follower){job, client, ask->flags & LINK_STAY,
			       .source = {SOURCE_FOLLOWER, ward, f}, .next = job->followers};
	if (ask->flags & LINK_NOW) {
		f->pos = job->spool.end;
		f->expect = job->spool.total;
	}
	int r = warden_watch(w, client, &f->source, e);
	if (r < 0) {
		free(f);
		return r;
	}
	job->followers = f;
	job->n_followers++;
	(void)passfd_send(client, &ok, sizeof(ok), &job->out[0],
			  input ? 1 : 0); /* the first: there is room */
	(void)push(w, f);
	return 0;
}

static void on_follower(struct warden *w, struct follower *f, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		drop_follower(w, f); /* whatever he says: he hangs up */
		return;
	}
	watch_follower(w, f, EPOLLIN);
	(void)push(w, f);
}

/* Output. */

static void throttle(struct warden *w, struct job *job)
{
	job->throttled = true;
	w->n_throttled++;
	warden_unwatch(w, job->out[0]);
	warden_unwatch(w, job->out[1]);
}

static void relent(struct warden *w, struct job *job)
{
	struct err e = ERR_INIT;

	job->budget = BUDGET;
	if (!job->throttled)
		return;
	job->throttled = false;
	w->n_throttled--;
	for (int i = 0; i < 2; i++)
		if (job->out[i] >= 0)
			(void)warden_watch(w, job->out[i], &job->sources[i], &e);
}

void jobs_relent(struct warden *w)
{
	for (struct ward *ward = w->wards; ward && w->n_throttled; ward = ward->next)
		for (struct job *job = ward->jobs; job; job = job->next)
			if (job->throttled)
				relent(w, job);
}

/* One read; false: there is nothing more, for now or for ever. */
static bool take_output(struct warden *w, struct job *job, int i)
{
	static char data[65536];
	ssize_t n = job->out[i] < 0 ? 0 : read(job->out[i], data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) { /* EIO is how a terminal's master says end */
		close_fd(w, &job->out[i]);
		return false;
	}
	spool_add(&job->spool, (unsigned)i + 1, warden_now_ms(), data, (size_t)n);
	job->budget -= (size_t)n < job->budget ? (size_t)n : job->budget;
	return true;
}

static void on_output(struct warden *w, struct job *job, int i)
{
	(void)take_output(w, job, i);
	push_all(w, job);
	if (!job->budget && !job->throttled)
		throttle(w, job);
}

/* No process of it is left that could print on; or those that are lose their reader. */
static void finish(struct warden *w, struct job *job)
{
	if (job->over)
		return;
	for (int i = 0; i < 2; i++) {
		for (int reads = 0; reads < 64 && take_output(w, job, i); reads++)
			;
		close_fd(w, &job->out[i]);
	}
	close_fd(w, &job->ctl);
	close_fd(w, &job->client);
	w->n_throttled -= job->throttled;
	job->throttled = false;
	job->over = true;
	if (!job->ended_us)
		job->ended_us = warden_now_us();
	push_all(w, job);
}

void jobs_over(struct warden *w, struct ward *ward)
{
	for (struct job *job = ward->jobs; job; job = job->next)
		finish(w, job);
}

void jobs_free(struct warden *w, struct ward *ward)
{
	while (ward->jobs) {
		struct job *job = ward->jobs;

		ward->jobs = job->next;
		job_free(w, job);
	}
}

unsigned jobs_running(const struct ward *ward)
{
	unsigned n = 0;

	for (const struct job *job = ward->jobs; job; job = job->next)
		n += !job->own && !job->over;
	return n;
}

bool job_is_own(const struct ward *ward)
{
	return own_job(ward) != NULL;
}

bool job_status(const struct ward *ward, int *ret_status)
{
	const struct job *job = own_job(ward);

	*ret_status = job ? job->status : 0;
	return job && job->known;
}

/* Background commands. */

static void remove_job(struct warden *w, struct job *job)
{
	struct job **at = &job->ward->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	job_free(w, job);
}

/* Room for one more: what ended longest ago is forgotten. */
static int make_room(struct warden *w, struct ward *ward, struct err *e)
{
	struct job *oldest = NULL;
	unsigned n = 0;

	for (struct job *job = ward->jobs; job; job = job->next, n++)
		if (!oldest && job->over && !job->own)
			oldest = job;
	if (n < JOBS_MAX)
		return 0;
	if (!oldest) {
		(void)err_set(e, ERR_LIMIT, "%s: %u commands run in it already", ward->spec.id, n);
		return err_remedy(e, "wait for one to end");
	}
	remove_job(w, oldest);
	return 0;
}

int job_exec(struct warden *w, struct ward *ward, const struct ask *ask, int client, struct err *e)
{
	struct sandbox_spec spec;
	struct job *job = NULL;
	struct plan *plan = NULL;
	int stdio[3] = {FD_NONE, FD_NONE, FD_NONE}, pair[2] = {FD_NONE, FD_NONE};
	int r = make_room(w, ward, e);

	ward_command(ward, ask, &spec);
	if (r >= 0)
		r = job_new(ask, &job, stdio, e);
	if (r >= 0)
		r = plan_new_claim(&spec, &plan, e);
	if (r >= 0 &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		r = err_sys(e, "socket");
	if (r >= 0)
		r = sandbox_give_exec(&ward->live.sb, plan, stdio, pair[1], e);
	if (r >= 0) {
		job->ctl = take_fd(&pair[0]);
		r = warden_watch(w, job->ctl, &job->sources[2], e);
	}
	plan_free(plan);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	job_close_theirs(stdio);
	if (r < 0) {
		job_free(w, job);
		return r;
	}
	job->client = client;
	add(ward, job);
	return 0;
}

static void answer(struct warden *w, struct job *job, struct link_msg *msg)
{
	(void)passfd_send(job->client, msg, sizeof(*msg), NULL, 0); /* or he is gone */
	close_fd(w, &job->client);
}

static void on_failed(struct warden *w, struct job *job, const struct msg_guest *said)
{
	struct link_msg msg = {.kind = LINK_FAILED};

	ward_describe(job->ward, &msg);
	msg.code = said->code;
	msg.step = said->step;
	msg.op = (uint32_t)said->value;
	answer(w, job, &msg);
	remove_job(w, job);
}

static void on_ctl(struct warden *w, struct job *job)
{
	struct control_event ev;
	struct err e = ERR_INIT;
	struct link_msg ok = {.kind = LINK_OK};
	int r = control_receive(job->ctl, &ev, &e);

	if (r == -EAGAIN)
		return;
	if (r < 0) {
		finish(w, job);
		return;
	}
	switch (ev.msg.kind) {
	case MSG_TERMINAL:
		if (!job->pid)
			use_terminal(job, &ev.fd);
		break;
	case MSG_STARTED:
		begin(w, job, ev.msg.code);
		ok.ok.value = (uint64_t)ev.msg.code;
		answer(w, job, &ok);
		break;
	case MSG_FAILED: on_failed(w, job, &ev.msg); break;
	case MSG_EXITED: note_exit(job, ev.msg.code); break;
	case MSG_DONE: finish(w, job); break;
	default: break; /* a guest gone wild is not believed */
	}
	fd_close(&ev.fd);
}

void job_event(struct warden *w, const struct source *source, uint32_t events)
{
	switch (source->kind) {
	case SOURCE_JOB_OUT: on_output(w, source->of, 0); break;
	case SOURCE_JOB_ERR: on_output(w, source->of, 1); break;
	case SOURCE_JOB_CTL: on_ctl(w, source->of); break;
	default: on_follower(w, source->of, events); break;
	}
}
