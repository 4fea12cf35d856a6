/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/plan.h"
#include "warden/control.h"
#include "warden/job_int.h"
#include "warden/look.h"

#define BUDGET (2u << 20) /* what one may print between two ticks before it has to wait */
#define RUNNING_MAX 64u	  /* the guest has no more places either */
#define LAST_LOOK_MS 10
#define ENDED_MAX 64u /* that are remembered */

static int make_pipe(int *ours, int *theirs, bool we_read, struct err *e)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	*ours = p[!we_read];
	*theirs = p[we_read];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? err_sys(e, "pipe") : 0;
}

/* Empty, unless somebody is to write to it; with a terminal it is that. */
static int make_input(struct job *job, const struct ask *ask, int *theirs, struct err *e)
{
	if ((ask->head->flags & ASK_STDIN) && !job->pty)
		return make_pipe(&job->input, theirs, false, e);
	*theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *theirs < 0 ? err_sys(e, "open /dev/null") : 0;
}

int job_new(const struct ask *ask, struct job **ret, int stdio[3], struct err *e)
{
	struct job *job = calloc(1, sizeof(*job));

	stdio[0] = stdio[1] = stdio[2] = FD_NONE;
	*ret = job;
	if (!job)
		return err_sys(e, "run");
	job->ctl = job->out[0] = job->out[1] = job->input = job->client = FD_NONE;
	ask_command(ask, job->command, sizeof(job->command));
	job->pty = ask->head->flags & ASK_PTY;
	job->budget = BUDGET;
	hash_init(&job->output[0]);
	hash_init(&job->output[1]);
	for (int i = 0; i < 3; i++)
		job->sources[i].of = job;
	job->sources[0].kind = SOURCE_JOB_OUT;
	job->sources[1].kind = SOURCE_JOB_ERR;
	job->sources[2].kind = SOURCE_JOB_CTL;
	int r = make_input(job, ask, &stdio[0], e);
	for (int i = 0; i < 2 && r >= 0; i++)
		r = make_pipe(&job->out[i], &stdio[1 + i], true, e);
	return r;
}

void job_close_theirs(int stdio[3])
{
	for (int i = 0; i < 3; i++)
		fd_close(&stdio[i]);
}

void job_close_fd(const struct warden *w, int *fd)
{
	warden_unwatch(w, *fd);
	fd_close(fd);
}

void job_free(struct warden *w, struct job *job)
{
	if (!job)
		return;
	w->n_throttled -= job->throttled;
	followers_drop(w, job);
	feed_close(w, job);
	job_close_fd(w, &job->out[0]);
	job_close_fd(w, &job->out[1]);
	job_close_fd(w, &job->ctl);
	job_close_fd(w, &job->client);
	look_over(w, job);
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

static void remove_job(struct warden *w, struct job *job)
{
	struct job **at = &job->ward->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	job_free(w, job);
}

/* A number inside comes around again: what ended and had it is forgotten. */
static void forget_number(struct warden *w, const struct job *job)
{
	for (struct job *other = job->ward->jobs, *next; other; other = next) {
		next = other->next;
		if (other != job && other->pid == job->pid && other->over)
			remove_job(w, other);
	}
}

static void begin(struct warden *w, struct job *job, int pid)
{
	struct err e = ERR_INIT;

	job->pid = pid;
	job->oom_before = ward_oom_kills(job->ward);
	job->started_us = warden_now_us();
	job->started_ms = warden_now_ms();
	forget_number(w, job);
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
	job->oom = ward_was_oom(job->ward, job->oom_before, status);
	if (job->oom && job->own && job->ward->stop == LINK_STOP_NONE)
		job->ward->stop = LINK_STOP_MEMORY; /* it ends with it */
	job->ended_us = warden_now_us();
	job->ended_ms = warden_now_ms();
}

void job_exited(struct ward *ward, int status)
{
	struct job *job = own_job(ward);

	if (job)
		note_exit(job, status);
}

struct job *job_find(const struct ward *ward, uint32_t pid, struct err *e)
{
	struct job *first = NULL;

	for (struct job *job = ward->jobs; job; job = job->next) {
		if (!job->pid)
			continue; /* nobody knows of it yet */
		if (pid ? (uint32_t)job->pid == pid : job->own)
			return job;
		first = first ? first : job;
	}
	if (!pid && first)
		return first;
	if (!ward->held) {
		(void)err_set(e, ERR_CONFLICT, "%s: its output goes to the run that started it",
			      ward->spec.id);
		(void)err_remedy(e, "start it with pinfold run --detach to have its output kept");
		return NULL;
	}
	(void)err_set(e, ERR_MISSING, "%s: no such command in it", ward->spec.id);
	(void)err_remedy(e, "pinfold exec --detach runs one in the background");
	return NULL;
}

enum link_stop job_stop(const struct job *job)
{
	if (job->own || !job->known)
		return job->ward->stop;
	return job->oom ? LINK_STOP_MEMORY : LINK_STOP_NONE;
}

void job_describe(const struct job *job, struct link_process *ret)
{
	*ret = (struct link_process){
		.pid = (uint32_t)job->pid,
		.flags = (job->over ? LINK_OVER : 0) | (job->known ? LINK_KNOWN : 0) |
			 (job->pty ? LINK_PTY : 0) |
			 (!job->over && (job->pty || job->input >= 0) ? LINK_OPEN : 0),
		.stop = job_stop(job),
		.status = job->status,
		.started_ms = job->started_ms,
		.ended_ms = job->over ? job->ended_ms : 0,
		.output_bytes = job->spool.total,
		.output_from = spool_from(&job->spool),
	};
	memcpy(ret->command, job->command, sizeof(ret->command));
}

int job_list(const struct ward *ward, int *ret_fd, uint64_t *ret_n, struct err *e)
{
	auto_close int fd = memfd_create("jobs", MFD_CLOEXEC);
	struct link_process all[RUNNING_MAX + ENDED_MAX + 2];
	size_t n = 0;

	for (const struct job *job = ward->jobs; job && n < sizeof(all) / sizeof(all[0]);
	     job = job->next)
		if (job->pid)
			job_describe(job, &all[n++]);
	if (fd < 0 || fd_write_all(fd, all, n * sizeof(all[0])) < 0)
		return err_sys(e, "list");
	*ret_fd = take_fd(&fd);
	*ret_n = n;
	return 0;
}

/* By the socket that it came with: its guest knows it by that, and no number can be another's by
 * then. */
int job_signal(struct ward *ward, uint32_t pid, uint64_t signo, struct err *e)
{
	struct job *job = job_find(ward, pid, e);

	if (!job)
		return -ENOENT;
	if (signo == 0 || signo > 64) {
		(void)err_set(e, ERR_INVALID, "there is no such signal");
		return err_remedy(e, "give a number from 1 to 64");
	}
	if (job->over) {
		(void)err_set(e, ERR_CONFLICT, "command %d of %s has ended", job->pid,
			      ward->spec.id);
		return err_remedy(e, "its output can still be read");
	}
	if (job->own)
		control_send(ward->live.sb.control, MSG_SIGNAL_OWN, (int)signo);
	else
		control_send(job->ctl, MSG_SIGNAL, (int)signo);
	return 0;
}

static void throttle(struct warden *w, struct job *job)
{
	job->throttled = true;
	w->n_throttled++;
	warden_unwatch(w, job->out[0]);
	warden_unwatch(w, job->out[1]);
}

void job_watch_output(struct warden *w, struct job *job, int i)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &job->sources[i]};

	if (i == 0 && feed_waits(job))
		ev.events |= EPOLLOUT;
	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, job->out[i], &ev); /* or it is throttled */
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
	job_watch_output(w, job, 0);
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
	if (n <= 0 && job->pty) {
		/* EIO: nobody has it open. Closing our end would be SIGHUP for a command that
		 * closed its own and is about to exit. */
		warden_unwatch(w, job->out[i]);
		return false;
	}
	if (n <= 0) {
		job_close_fd(w, &job->out[i]);
		return false;
	}
	look_output(w, job, (unsigned)i, data, (size_t)n);
	spool_add(&job->spool, (unsigned)i + 1, data, (size_t)n);
	hash_add(&job->output[i], data, (size_t)n);
	job->output_bytes[i] += (uint64_t)n;
	job->budget -= (size_t)n < job->budget ? (size_t)n : job->budget;
	return true;
}

static void on_output(struct warden *w, struct job *job, int i, uint32_t events)
{
	if (events & EPOLLOUT)
		feed_flush(w, job);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	if (look_ready(w))
		(void)take_output(w, job, i);
	else
		job->budget = 0;
	followers_push(w, job);
	if (!job->budget && !job->throttled)
		throttle(w, job);
}

static void tell_record(const struct warden *w, struct job *job)
{
	const struct ward *ward = job->ward;
	struct warden_news news = {.pid = (uint32_t)job->pid,
				   .own = job->own,
				   .known = job->known,
				   .status = job->status,
				   .stop = job->own || !job->known ? ward->stop : LINK_STOP_NONE,
				   .began_ms = job->started_ms,
				   .ended_ms = job->ended_ms};

	if (!job->pid)
		return;
	for (int i = 0; i < 2; i++) {
		news.output_bytes[i] = job->output_bytes[i];
		hash_done(&job->output[i], news.output_hash[i]);
	}
	warden_tell(w, ward, &news);
}

/* The last of it. Who looks is seldom so busy that there is no room; then we wait for him, but not
 * for long: what he has no room for is kept without a look. */
static bool take_last(struct warden *w, struct job *job, int i)
{
	if (job->out[i] >= 0)
		(void)look_ready_within(w, LAST_LOOK_MS);
	return take_output(w, job, i);
}

/* No process of it is left that could print on; or those that are lose their reader. */
static void finish(struct warden *w, struct job *job)
{
	if (job->over)
		return;
	for (int i = 0; i < 2; i++) {
		for (int reads = 0; reads < 64 && take_last(w, job, i); reads++)
			;
		job_close_fd(w, &job->out[i]);
	}
	look_over(w, job);
	feed_close(w, job);
	job_close_fd(w, &job->ctl);
	job_close_fd(w, &job->client);
	w->n_throttled -= job->throttled;
	job->throttled = false;
	job->over = true;
	if (!job->ended_us) {
		job->ended_us = warden_now_us();
		job->ended_ms = warden_now_ms();
	}
	tell_record(w, job);
	followers_push(w, job);
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

/* Of those that ended only the last are remembered. One that is still read goes last. */
static void forget_old(struct warden *w, const struct ward *ward)
{
	struct job *oldest = NULL;
	unsigned n = 0;

	for (struct job *job = ward->jobs; job; job = job->next) {
		if (!job->over || job->own)
			continue;
		n++;
		if (!oldest || (!job->followers && oldest->followers) ||
		    (!job->followers == !oldest->followers && job->ended_us < oldest->ended_us))
			oldest = job;
	}
	if (n > ENDED_MAX)
		remove_job(w, oldest);
}

static int check_room(const struct ward *ward, struct err *e)
{
	unsigned n = jobs_running(ward);

	if (n < RUNNING_MAX)
		return 0;
	(void)err_set(e, ERR_LIMIT, "%s: %u commands run in it already", ward->spec.id, n);
	return err_remedy(e, "wait for one to end");
}

int job_exec(struct warden *w, struct ward *ward, const struct ask *ask, int client, struct err *e)
{
	struct sandbox_spec spec;
	struct job *job = NULL;
	struct plan *plan = NULL;
	int stdio[3] = {FD_NONE, FD_NONE, FD_NONE}, pair[2] = {FD_NONE, FD_NONE};
	int r = check_room(ward, e);

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
		ward->nursed = true;
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
	job_close_fd(w, &job->client);
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
		forget_old(w, job->ward);
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
	case MSG_DONE:
		finish(w, job);
		forget_old(w, job->ward);
		break;
	default: break; /* a guest gone wild is not believed */
	}
	fd_close(&ev.fd);
}

void job_event(struct warden *w, const struct source *source, uint32_t events)
{
	switch (source->kind) {
	case SOURCE_JOB_OUT: on_output(w, source->of, 0, events); break;
	case SOURCE_JOB_ERR: on_output(w, source->of, 1, events); break;
	case SOURCE_JOB_CTL: on_ctl(w, source->of); break;
	case SOURCE_JOB_FEED: feed_event(w, source->of); break;
	default: follower_event(w, source, events); break;
	}
}
