/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers who want what a command printed: as it comes (FOLLOW), or some of it once (JOB_READ).
 * Sends never wait: who does not read is told when he does, and finds the oldest gone if he is too
 * late.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "warden/job_int.h"

#define FOLLOWERS_MAX 128u

struct follower {
	struct job *job;
	int link;
	bool stay;
	bool reads; /* JOB_READ, */
	bool begun; /* and has some of it */
	uint64_t pos;
	size_t left, runs_left; /* JOB_READ: what he may have yet */
	struct source source;
	struct follower *next;
};

static void drop_follower(struct warden *w, struct follower *f)
{
	struct follower **at = &f->job->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->job->n_followers--;
	job_close_fd(w, &f->link);
	free(f);
}

void followers_drop(struct warden *w, struct job *job)
{
	while (job->followers)
		drop_follower(w, job->followers);
}

/* One message of up to three parts. -EAGAIN: he does not read. */
static int send_parts(int link, struct iovec *iov, size_t n)
{
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = n};

	return sendmsg(link, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The next stretch of one stream. 1: sent; 0: there is none; or -errno. */
static int send_output(struct follower *f)
{
	static char data[LINK_OUTPUT_MAX];
	struct link_msg msg = {.kind = LINK_OUTPUT};
	uint64_t pos = f->pos;
	unsigned stream = 0;
	size_t n = spool_get(&f->job->spool, &pos, &stream, data, sizeof(data));

	if (n == 0)
		return 0;
	msg.output =
		(struct link_output){.stream = stream, .len = (uint32_t)n, .skipped = pos - f->pos};
	int r = send_parts(f->link, (struct iovec[]){{&msg, sizeof(msg)}, {data, n}}, 2);
	if (r < 0)
		return r;
	f->pos = pos + n;
	return 1;
}

struct block {
	struct link_msg msg;
	uint32_t runs[LINK_BLOCK_RUNS];
	char data[LINK_OUTPUT_MAX];
};

/* As much as fits into one message, without a gap: where something was dropped he asks again. */
static void fill_block(const struct follower *f, struct block *b)
{
	struct link_block *head = &b->msg.block;
	size_t most = f->left < sizeof(b->data) ? f->left : sizeof(b->data);
	size_t runs = f->runs_left < LINK_BLOCK_RUNS ? f->runs_left : LINK_BLOCK_RUNS;
	uint64_t pos = f->pos;

	b->msg.kind = LINK_BLOCK;
	*head = (struct link_block){.offset = pos};
	while (head->len < most && head->n_runs < runs) {
		uint64_t at = pos;
		unsigned stream = 0;
		size_t n = spool_get(&f->job->spool, &at, &stream, b->data + head->len,
				     most - head->len);

		if (n == 0 || (at != pos && (f->begun || head->len)))
			return;
		if (!head->len)
			head->offset = at;
		b->runs[head->n_runs++] = (uint32_t)n << 1 | (stream - 1);
		head->len += (uint32_t)n;
		pos = at + n;
	}
}

/* As send_output(). */
static int send_block(struct follower *f)
{
	static struct block b;
	struct link_block *head = &b.msg.block;

	fill_block(f, &b);
	if (head->len == 0)
		return 0;
	int r = send_parts(f->link,
			   (struct iovec[]){{&b.msg, sizeof(b.msg)},
					    {b.runs, head->n_runs * sizeof(b.runs[0])},
					    {b.data, head->len}},
			   3);
	if (r < 0)
		return r;
	f->pos = head->offset + head->len;
	f->left -= head->len;
	f->runs_left -= head->n_runs;
	f->begun = true;
	return 1;
}

static int send_state(const struct follower *f)
{
	struct link_msg msg = {.kind = LINK_PROCESS};

	job_describe(f->job, &msg.process);
	return passfd_send(f->link, &msg, sizeof(msg), NULL, 0);
}

/* How it ended, if it did. */
static int send_left(const struct follower *f)
{
	const struct job *job = f->job;
	struct link_msg msg = {.kind = LINK_LEFT,
			       .left = {.over = job->over,
					.stop = job_stop(job),
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

/* All that there is for him, and the last word if that was it. */
static void push(struct warden *w, struct follower *f)
{
	int r;

	do
		r = f->reads ? send_block(f) : send_output(f);
	while (r > 0);
	bool all = r == 0 && (f->job->over || !f->stay || f->begun);
	if (all)
		r = f->reads ? send_state(f) : send_left(f);
	if (r == -EAGAIN)
		watch_follower(w, f, EPOLLIN | EPOLLOUT);
	else if (all || r < 0)
		drop_follower(w, f);
}

void followers_push(struct warden *w, struct job *job)
{
	for (struct follower *f = job->followers, *next; f; f = next) {
		next = f->next;
		push(w, f);
	}
}

/* A place from an offset of his: beyond the end is the end. */
static uint64_t place(const struct spool *s, int64_t offset)
{
	uint64_t n = offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset;

	n = n < s->total ? n : s->total;
	return offset < 0 ? s->total - n : n;
}

static int listen_to(struct warden *w, struct job *job, const struct link_ask *ask, int client,
		     struct follower **ret, struct err *e)
{
	if (job->n_followers >= FOLLOWERS_MAX) {
		(void)err_set(e, ERR_LIMIT, "%s: %u follow it already", job->ward->spec.id,
			      FOLLOWERS_MAX);
		return err_remedy(e, "end one of them");
	}
	struct follower *f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(e, "follow");
	*f = (struct follower){.job = job,
			       .link = client,
			       .stay = ask->flags & LINK_STAY,
			       .left = LINK_READ_MAX,
			       .runs_left = LINK_READ_RUNS,
			       .source = {SOURCE_FOLLOWER, job->ward, f},
			       .next = job->followers};
	int r = warden_watch(w, client, &f->source, e);
	if (r < 0) {
		free(f);
		return r;
	}
	job->followers = f;
	job->n_followers++;
	*ret = f;
	return 0;
}

int job_follow(struct warden *w, struct ward *ward, const struct link_ask *ask, int client,
	       struct err *e)
{
	struct job *job = job_find(ward, ask->pid, e);
	struct link_msg ok = {.kind = LINK_OK,
			      .ok = {.group = ward->grouped, .volume = ward->spec.on_volume}};
	struct follower *f = NULL;
	int input = FD_NONE;
	struct err closed;

	if (!job)
		return -ENOENT;
	int r = listen_to(w, job, ask, client, &f, e);
	if (r < 0)
		return r;
	if (ask->flags & LINK_FROM)
		f->pos = place(&job->spool, ask->offset);
	else if (ask->flags & LINK_NOW)
		f->pos = job->spool.total;
	memcpy(&ok.ok.limits, &ward->spec.limits, sizeof(ok.ok.limits));
	ok.ok.terminal = job->pty;
	if ((ask->flags & LINK_INPUT) && job_input(w, ward, ask->pid, &input, &closed) < 0)
		input = FD_NONE;			       /* then he only listens */
	(void)passfd_send(client, &ok, sizeof(ok), &input, 1); /* the first: there is room */
	push(w, f);
	return 0;
}

int job_read(struct warden *w, struct ward *ward, const struct link_ask *ask, int client,
	     struct err *e)
{
	struct job *job = job_find(ward, ask->pid, e);
	struct follower *f = NULL;

	if (!job)
		return -ENOENT;
	int r = listen_to(w, job, ask, client, &f, e);
	if (r < 0)
		return r;
	f->reads = true;
	f->pos = place(&job->spool, ask->offset);
	(void)send_state(f); /* the first: there is room */
	push(w, f);
	return 0;
}

void follower_event(struct warden *w, const struct source *source, uint32_t events)
{
	struct follower *f = source->of;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		drop_follower(w, f); /* whatever he says: he hangs up */
		return;
	}
	watch_follower(w, f, EPOLLIN);
	push(w, f);
}
