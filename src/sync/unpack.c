/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens packs as they come. How long each must be follows from what was asked for, so a pack is
 * refused before it is opened when it says anything else. The caller's thread reads the socket;
 * where there is much, others open, hash and keep.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/pack.h"
#include "sync/receive_int.h"

#define SLOTS 4
#define THREADS 2
#define THREADS_WORTH (8u << 20)

/* A pack that has come, and what must be in it. */
struct parcel {
	struct buf message;
	size_t body;	 /* where the pressed bytes begin */
	size_t first, n; /* in wanted */
	uint32_t bytes;
	enum { PARCEL_FREE, PARCEL_READY, PARCEL_BUSY } state;
};

struct hands {
	struct receiver *r;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct parcel parcels[SLOTS];
	bool closed; /* no more will come */
	int result;  /* of the first that failed */
	struct err error;
};

/* The next message as a parcel; *at is the first chunk that has not come. */
static int take_parcel(struct receiver *r, size_t *at, struct parcel *ret, struct err *e)
{
	struct cursor c;
	uint64_t expect = 0;
	int result = stream_expect(&r->stream, STREAM_PACK, &c, e);

	if (result < 0)
		return result;
	uint32_t n = cursor_u32(&c), bytes = cursor_u32(&c);
	if (c.bad || n == 0 || n > r->n_wanted - *at || bytes > PACK_RAW_MAX)
		return err_set(e, ERR_INVALID, "a pack of %u chunks and %u bytes", n, bytes);
	for (size_t i = 0; i < n && expect <= PACK_RAW_MAX; i++)
		expect += r->chunks.refs[r->wanted[*at + i]].len;
	if (expect != bytes)
		return err_set(e, ERR_INVALID, "a pack of %u chunks and %u bytes", n, bytes);
	ret->first = *at;
	ret->n = n;
	ret->bytes = bytes;
	ret->body = r->stream.in.len - cursor_left(&c);
	struct buf swap = ret->message; /* instead of a copy */
	ret->message = r->stream.in;
	r->stream.in = swap;
	*at += n;
	return 0;
}

static int open_parcel(struct receiver *r, const struct parcel *p, struct pack *pack, uint8_t *raw,
		       struct err *e)
{
	int result = pack_open(pack, p->message.data + p->body, p->message.len - p->body, raw,
			       p->bytes, e);

	for (size_t i = 0; i < p->n && result == 0; i++) {
		uint32_t chunk = r->wanted[p->first + i];
		const struct chunks_ref *ref = &r->chunks.refs[chunk];
		uint8_t hash[HASH_BYTES];

		hash_bytes(raw, ref->len, hash);
		if (memcmp(hash, ref->hash, HASH_BYTES) != 0)
			return err_set(e, ERR_INVALID, "%.200s: its hash does not fit",
				       r->tree.entries[ref->entry].path);
		result = partial_put(r, chunk, raw, e);
		raw += ref->len;
	}
	return result;
}

static struct parcel *next_ready(struct hands *h)
{
	struct parcel *found = NULL;

	(void)pthread_mutex_lock(&h->lock);
	for (;;) {
		for (int i = 0; i < SLOTS && !found; i++)
			if (h->parcels[i].state == PARCEL_READY)
				found = &h->parcels[i];
		if (found || h->closed || h->result < 0)
			break;
		(void)pthread_cond_wait(&h->moved, &h->lock);
	}
	if (found)
		found->state = PARCEL_BUSY;
	(void)pthread_mutex_unlock(&h->lock);
	return found;
}

static void set_state(struct hands *h, struct parcel *p, int state, int result, const struct err *e)
{
	(void)pthread_mutex_lock(&h->lock);
	p->state = state;
	if (result < 0 && h->result == 0) {
		h->result = result;
		h->error = *e;
	}
	(void)pthread_cond_broadcast(&h->moved);
	(void)pthread_mutex_unlock(&h->lock);
}

static void *work(void *arg)
{
	struct hands *h = arg;
	auto_pack struct pack *pack = NULL;
	auto_free uint8_t *raw = malloc(PACK_RAW_MAX);
	struct err e = ERR_INIT;
	int result = raw ? pack_new(1, &pack, &e) : err_sys(&e, "unpack");
	struct parcel *p;

	while ((p = next_ready(h))) {
		if (result == 0)
			result = open_parcel(h->r, p, pack, raw, &e);
		set_state(h, p, PARCEL_FREE, result, &e);
		if (result < 0)
			break;
	}
	return NULL;
}

/* A free slot, or NULL: one of the others failed. */
static struct parcel *next_free(struct hands *h)
{
	struct parcel *found = NULL;

	(void)pthread_mutex_lock(&h->lock);
	while (h->result == 0 && !found) {
		for (int i = 0; i < SLOTS && !found; i++)
			if (h->parcels[i].state == PARCEL_FREE)
				found = &h->parcels[i];
		if (!found)
			(void)pthread_cond_wait(&h->moved, &h->lock);
	}
	(void)pthread_mutex_unlock(&h->lock);
	return found;
}

static int take_all(struct hands *h, struct sync_progress *now, struct err *e)
{
	struct receiver *r = h->r;
	size_t at = 0;

	while (at < r->n_wanted) {
		struct parcel *p = next_free(h);
		if (!p)
			return 0; /* the error is in `hands` */
		int result = take_parcel(r, &at, p, e);
		if (result < 0)
			return result;
		now->bytes_done += p->bytes;
		set_state(h, p, PARCEL_READY, 0, NULL);
		if (r->opts->progress)
			r->opts->progress(r->opts->context, now);
	}
	return 0;
}

static int with_threads(struct hands *h, struct sync_progress *now, struct err *e)
{
	pthread_t threads[THREADS];
	int started = 0;

	while (started < THREADS && pthread_create(&threads[started], NULL, work, h) == 0)
		started++;
	if (started == 0)
		return err_set(e, ERR_LIMIT, "no thread can be started");
	int result = take_all(h, now, e);
	(void)pthread_mutex_lock(&h->lock);
	h->closed = true;
	(void)pthread_cond_broadcast(&h->moved);
	(void)pthread_mutex_unlock(&h->lock);
	while (started > 0)
		(void)pthread_join(threads[--started], NULL);
	if (result == 0 && h->result < 0) {
		*e = h->error;
		result = h->result;
	}
	return result;
}

static int alone(struct hands *h, struct sync_progress *now, struct err *e)
{
	struct receiver *r = h->r;
	auto_pack struct pack *pack = NULL;
	auto_free uint8_t *raw = malloc(PACK_RAW_MAX);
	int result = raw ? pack_new(1, &pack, e) : err_sys(e, "unpack");
	size_t at = 0;

	while (result == 0 && at < r->n_wanted) {
		result = take_parcel(r, &at, &h->parcels[0], e);
		if (result == 0)
			result = open_parcel(r, &h->parcels[0], pack, raw, e);
		now->bytes_done += h->parcels[0].bytes;
		if (result == 0 && r->opts->progress)
			r->opts->progress(r->opts->context, now);
	}
	return result;
}

int unpack_all(struct receiver *r, struct err *e)
{
	struct hands h = {
		.r = r, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
	struct sync_progress now = {.files = r->tree.files};

	if (r->n_wanted == 0)
		return 0;
	for (int i = 0; i < SLOTS; i++)
		buf_init(&h.parcels[i].message, STREAM_MAX);
	for (size_t i = 0; i < r->n_wanted; i++)
		now.bytes_total += r->chunks.refs[r->wanted[i]].len;
	int result =
		now.bytes_total < THREADS_WORTH ? alone(&h, &now, e) : with_threads(&h, &now, e);
	for (int i = 0; i < SLOTS; i++)
		buf_done(&h.parcels[i].message);
	return result;
}
