/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input of background commands. Callers write it themselves: they are given the end of a
 * pipe, so nothing of it waits here and one who is slow waits for himself. Where the command has a
 * terminal that pipe leads to us, and we type what comes: whoever held the terminal's own
 * descriptor could make it one that blocks, and us with it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "warden/job_int.h"

struct feed {
	int from; /* the other end of job->input */
	size_t off, len;
	char data[4096]; /* not yet typed */
	struct source source;
};

bool feed_waits(const struct job *job)
{
	return job->feed && job->feed->len > 0;
}

void feed_close(struct warden *w, struct job *job)
{
	fd_close(&job->input);
	if (!job->feed)
		return;
	job_close_fd(w, &job->feed->from);
	free(job->feed);
	job->feed = NULL;
}

static int open_feed(struct warden *w, struct job *job, struct err *e)
{
	int p[2];
	struct feed *f = calloc(1, sizeof(*f));

	if (!f || pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(f);
		return err_sys(e, "pipe");
	}
	f->from = p[0];
	f->source = (struct source){SOURCE_JOB_FEED, job->ward, job};
	job->input = p[1];
	job->feed = f;
	int r = warden_watch(w, f->from, &f->source, e);
	if (r < 0)
		feed_close(w, job);
	return r;
}

/* A terminal that is gone takes no more. */
void feed_flush(struct warden *w, struct job *job)
{
	struct feed *f = job->feed;
	struct err e = ERR_INIT;

	if (!feed_waits(job))
		return;
	ssize_t n = write(job->out[0], f->data + f->off, f->len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	n = n < 0 ? (ssize_t)f->len : n;
	f->off += (size_t)n;
	f->len -= (size_t)n;
	if (f->len)
		return;
	job_watch_output(w, job, 0);
	if (warden_watch(w, f->from, &f->source, &e) < 0)
		feed_close(w, job);
}

/* Somebody wrote: no more is taken before that is typed. */
void feed_event(struct warden *w, struct job *job)
{
	struct feed *f = job->feed;
	ssize_t n = read(f->from, f->data, sizeof(f->data));

	if (n <= 0)
		return; /* EAGAIN; it does not end: one end of it is ours */
	f->off = 0;
	f->len = (size_t)n;
	warden_unwatch(w, f->from);
	feed_flush(w, job);
	if (feed_waits(job))
		job_watch_output(w, job, 0);
}

static int not_open(const struct job *job, struct err *e)
{
	(void)err_set(e, ERR_CONFLICT, "command %d of %s %s", job->pid, job->ward->spec.id,
		      job->over ? "has ended" : "has no open standard input");
	return err_remedy(e, job->over ? "start it again"
				       : "start it with standard input kept open, or a terminal");
}

int job_input(struct warden *w, struct ward *ward, uint32_t pid, int *ret_fd, struct err *e)
{
	struct job *job = job_find(ward, pid, e);

	if (!job)
		return -ENOENT;
	if (!job->over && job->pty && job->out[0] >= 0 && !job->feed && open_feed(w, job, e) < 0)
		return -EMFILE;
	if (job->input < 0)
		return not_open(job, e);
	*ret_fd = job->input;
	return job->pty;
}

int job_close_input(struct ward *ward, uint32_t pid, struct err *e)
{
	struct job *job = job_find(ward, pid, e);

	if (!job)
		return -ENOENT;
	if (job->input < 0)
		return not_open(job, e);
	if (!job->pty) /* a terminal's input ends with a character that is typed */
		fd_close(&job->input);
	return 0;
}

int job_resize(struct ward *ward, uint32_t pid, uint64_t size, struct err *e)
{
	struct job *job = job_find(ward, pid, e);
	struct winsize ws = {.ws_row = (unsigned short)(size >> 16),
			     .ws_col = (unsigned short)size};

	if (!job)
		return -ENOENT;
	if (!job->pty || job->out[0] < 0) {
		(void)err_set(e, ERR_CONFLICT, "command %d of %s has no terminal", job->pid,
			      ward->spec.id);
		return err_remedy(e, "start it with one (--pty)");
	}
	return ioctl(job->out[0], TIOCSWINSZ, &ws) < 0 ? err_sys(e, "terminal") : 0;
}
