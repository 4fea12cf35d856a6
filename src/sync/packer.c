/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks go into which pack is decided beforehand. Workers take the numbers of packs in order
 * and put what they made into slots; the caller's thread sends slot after slot and is the only one
 * that touches the socket. A worker may be ahead by as many packs as there are slots.
 */
#include "sync/packer.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/digest.h"
#include "sync/pack.h"
#include "sync/session_int.h"

#define PACK_CHUNKS_MAX 4096
#define SLOTS 4
#define THREADS_MAX 8
#define THREADS_WORTH (8u << 20)

struct span {
	size_t first, n; /* in job->wanted */
	uint32_t bytes;
};

struct slot {
	struct buf head, body;
	bool ready;
	int result;
	struct err error;
};

struct line {
	const struct packer_job *job;
	struct span *spans;
	size_t n_spans;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t next; /* to be made */
	size_t sent;
	bool stop;
	struct slot slots[SLOTS];
};

/* What one worker has for itself. */
struct worker {
	struct pack *pack;
	uint8_t *raw;
	int fd; /* of the file read last */
	uint32_t fd_entry;
};

static void worker_done(struct worker *w)
{
	pack_free(&w->pack);
	free(w->raw);
	fd_close(&w->fd);
}

static int worker_init(struct worker *w, int level, struct err *e)
{
	*w = (struct worker){.fd = FD_NONE, .fd_entry = CHUNKS_NONE};
	w->raw = malloc(PACK_RAW_MAX);
	if (!w->raw)
		return err_sys(e, "pack");
	return pack_new(level, &w->pack, e);
}

static int changed(const char *path, struct err *e)
{
	(void)err_set(e, ERR_BUSY, "%.200s changed while it was sent", path);
	return err_remedy(e, "try again: what has arrived is not sent twice");
}

/* The file is still the one that was scanned. */
static int open_entry(const struct packer_job *job, struct worker *w, uint32_t number,
		      struct err *e)
{
	const char *path = job->index->tree.entries[number].path;
	struct stat st;

	if (w->fd_entry == number)
		return 0;
	fd_close(&w->fd);
	w->fd_entry = CHUNKS_NONE;
	w->fd = open_below(job->tree_fd, path, O_RDONLY, 0);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? changed(path, e)
			       : err_sys(e, "%.200s", path);
	struct index_stat now = index_stat_of(&st);
	if (!index_stat_same(&now, &job->index->stats[number], false))
		return changed(path, e);
	w->fd_entry = number;
	return 0;
}

static int make_pack(const struct packer_job *job, struct worker *w, const struct span *span,
		     struct slot *slot, struct err *e)
{
	size_t at = 0;

	for (size_t i = 0; i < span->n; i++) {
		const struct chunks_ref *ref = &job->chunks->refs[job->wanted[span->first + i]];
		int r = open_entry(job, w, ref->entry, e);

		if (r < 0)
			return r;
		r = read_all_at(w->fd, w->raw + at, ref->len, ref->offset);
		if (r < 0)
			return changed(job->index->tree.entries[ref->entry].path, e);
		at += ref->len;
	}
	assert(at == span->bytes);
	slot->head.len = slot->body.len = 0;
	buf_u32(&slot->head, (uint32_t)span->n);
	buf_u32(&slot->head, span->bytes);
	return pack_press(w->pack, w->raw, at, &slot->body, e);
}

/* The next pack to make, or n_spans: nothing is left to do. */
static size_t take_turn(struct line *line)
{
	size_t turn = line->n_spans;

	(void)pthread_mutex_lock(&line->lock);
	while (!line->stop && line->next < line->n_spans && line->next >= line->sent + SLOTS)
		(void)pthread_cond_wait(&line->moved, &line->lock);
	if (!line->stop && line->next < line->n_spans)
		turn = line->next++;
	(void)pthread_mutex_unlock(&line->lock);
	return turn;
}

static void *work(void *arg)
{
	struct line *line = arg;
	__attribute__((cleanup(worker_done))) struct worker w = {.fd = FD_NONE};
	struct err e = ERR_INIT;
	int r = worker_init(&w, line->job->level, &e);

	for (;;) {
		size_t turn = take_turn(line);
		if (turn == line->n_spans)
			return NULL;
		struct slot *slot = &line->slots[turn % SLOTS];
		if (r == 0)
			r = make_pack(line->job, &w, &line->spans[turn], slot, &e);
		(void)pthread_mutex_lock(&line->lock);
		slot->result = r;
		slot->error = e;
		slot->ready = true;
		(void)pthread_cond_broadcast(&line->moved);
		(void)pthread_mutex_unlock(&line->lock);
	}
}

static struct slot *await(struct line *line, size_t turn)
{
	struct slot *slot = &line->slots[turn % SLOTS];

	(void)pthread_mutex_lock(&line->lock);
	while (!slot->ready)
		(void)pthread_cond_wait(&line->moved, &line->lock);
	(void)pthread_mutex_unlock(&line->lock);
	return slot;
}

static void let_go(struct line *line, struct slot *slot, bool stop)
{
	(void)pthread_mutex_lock(&line->lock);
	if (slot)
		slot->ready = false;
	line->sent += slot != NULL;
	line->stop |= stop;
	(void)pthread_cond_broadcast(&line->moved);
	(void)pthread_mutex_unlock(&line->lock);
}

static int send_pack(const struct packer_job *job, struct stream *s, const struct slot *slot,
		     struct sync_progress *now, struct err *e)
{
	int r = stream_heard(s, e);

	if (r == 0)
		r = stream_send(s, STREAM_PACK, &slot->head, &slot->body, e);
	if (r == 0 && job->progress)
		job->progress(job->context, now);
	return r;
}

static int send_in_threads(struct line *line, struct stream *s, struct sync_progress *now,
			   struct err *e)
{
	pthread_t threads[THREADS_MAX];
	unsigned started = 0;
	int r = 0;

	while (started < line->job->threads && started < THREADS_MAX &&
	       pthread_create(&threads[started], NULL, work, line) == 0)
		started++;
	if (started == 0)
		return err_set(e, ERR_LIMIT, "no thread can be started");
	for (size_t i = 0; i < line->n_spans && r == 0; i++) {
		struct slot *slot = await(line, i);

		r = slot->result;
		if (r < 0)
			*e = slot->error;
		now->bytes_done += line->spans[i].bytes;
		if (r == 0)
			r = send_pack(line->job, s, slot, now, e);
		let_go(line, slot, false);
	}
	let_go(line, NULL, true);
	while (started > 0)
		(void)pthread_join(threads[--started], NULL);
	return r;
}

static int send_in_turn(struct line *line, struct stream *s, struct sync_progress *now,
			struct err *e)
{
	__attribute__((cleanup(worker_done))) struct worker w = {.fd = FD_NONE};
	int r = line->n_spans ? worker_init(&w, line->job->level, e) : 0;

	for (size_t i = 0; i < line->n_spans && r == 0; i++) {
		r = make_pack(line->job, &w, &line->spans[i], &line->slots[0], e);
		now->bytes_done += line->spans[i].bytes;
		if (r == 0)
			r = send_pack(line->job, s, &line->slots[0], now, e);
	}
	return r;
}

/* Returns the bytes of all, or -ENOMEM. */
static int64_t cut_spans(struct line *line)
{
	const struct packer_job *job = line->job;
	int64_t total = 0;
	size_t cap = 0;

	for (size_t i = 0; i < job->n; i++) {
		uint32_t len = job->chunks->refs[job->wanted[i]].len;
		struct span *last = line->n_spans ? &line->spans[line->n_spans - 1] : NULL;

		if (!last || last->bytes + len > PACK_RAW_MAX || last->n == PACK_CHUNKS_MAX) {
			if (line->n_spans == cap) {
				cap = cap ? cap * 2 : 64;
				last = reallocarray(line->spans, cap, sizeof(*last));
				if (!last)
					return -ENOMEM;
				line->spans = last;
			}
			last = &line->spans[line->n_spans++];
			*last = (struct span){.first = i};
		}
		last->n++;
		last->bytes += len;
		total += len;
	}
	return total;
}

int packer_send(const struct packer_job *job, struct stream *s, struct err *e)
{
	struct line line = {
		.job = job, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
	int64_t total = cut_spans(&line);
	struct sync_progress now = {.files = job->index->tree.files,
				    .bytes_total = (uint64_t)total};
	int r;

	for (int i = 0; i < SLOTS; i++) {
		buf_init(&line.slots[i].head, SESSION_HEAD_MAX);
		buf_init(&line.slots[i].body, STREAM_MAX - SESSION_HEAD_MAX);
	}
	if (total < 0)
		r = err_sys(e, "pack");
	else if (total < THREADS_WORTH || job->threads < 2)
		r = send_in_turn(&line, s, &now, e);
	else
		r = send_in_threads(&line, s, &now, e);
	for (int i = 0; i < SLOTS; i++) {
		buf_done(&line.slots[i].head);
		buf_done(&line.slots[i].body);
	}
	free(line.spans);
	return r;
}
