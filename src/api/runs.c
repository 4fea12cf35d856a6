/* SPDX-License-Identifier: Apache-2.0 */
#include "api/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/heirs.h"
#include "api/kept.h"
#include "api/words.h"
#include "base/fd.h"
#include "base/hold.h"

#define BUCKETS 4096u

struct runs {
	struct loop *loop;
	struct heirs *heirs; /* who hears of each; or NULL */
	pthread_mutex_t lock;
	/* under lock */
	struct record *bucket[BUCKETS];
	struct record *newest, *oldest;
	unsigned n;
	uint64_t bytes; /* of output and results of those that have ended */
	uint64_t keep_ms, keep_bytes;
};

static unsigned bucket_of(const char *id)
{
	uint32_t h = 2166136261u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 16777619u;
	return h % BUCKETS;
}

int runs_new(struct loop *l, struct runs **ret, struct err *e)
{
	struct runs *r = calloc(1, sizeof(*r));

	if (!r)
		return err_sys(e, "table of runs");
	r->loop = l;
	r->keep_ms = RUNS_KEEP_MS;
	r->keep_bytes = RUNS_BYTES_MAX;
	(void)pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

static void free_record(struct record *rec)
{
	spool_done(&rec->output[0]);
	spool_done(&rec->output[1]);
	feed_unref(rec->feed);
	kept_free(rec->kept);
	free(rec->result);
	free(rec);
}

/* With the lock. */
static void unlink_record(struct runs *r, struct record *rec)
{
	struct record **at = &r->bucket[bucket_of(rec->id)];

	while (*at != rec)
		at = &(*at)->next;
	*at = rec->next;
	*(rec->newer ? &rec->newer->older : &r->newest) = rec->older;
	*(rec->older ? &rec->older->newer : &r->oldest) = rec->newer;
	r->n--;
	r->bytes -= rec->bytes;
	if (--rec->refs == 0)
		free_record(rec);
}

void runs_free(struct runs *r)
{
	if (!r)
		return;
	while (r->oldest)
		unlink_record(r, r->oldest);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

static bool is_old(const struct runs *r, const struct record *rec)
{
	return rec->ended_at && rec->ended_at + r->keep_ms <= loop_now_ms();
}

/* With the lock: what is too old, or too much, goes, the oldest first, if it has ended. */
static void forget(struct runs *r)
{
	for (struct record *rec = r->oldest, *newer; rec; rec = newer) {
		newer = rec->newer;
		if (!rec->ended_at)
			continue;
		if (r->n <= RUNS_MAX && r->bytes <= r->keep_bytes && !is_old(r, rec))
			break;
		unlink_record(r, rec);
	}
}

static uint64_t wall_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct record *record_new(struct runs *r, const char *tenant, const char *id)
{
	struct record *rec = calloc(1, sizeof(*rec));
	struct feed *feed = feed_new(r->loop);

	if (!rec || !feed) {
		free(rec);
		feed_unref(feed);
		return NULL;
	}
	(void)snprintf(rec->id, sizeof(rec->id), "%s", id);
	(void)snprintf(rec->tenant, sizeof(rec->tenant), "%s", tenant);
	(void)snprintf(rec->status, sizeof(rec->status), "running");
	spool_init(&rec->output[0]);
	spool_init(&rec->output[1]);
	rec->feed = feed;
	rec->made_ms = wall_ms();
	rec->cancel_fd = FD_NONE;
	rec->refs = 2; /* the table's, the caller's */
	(void)pthread_mutex_lock(&r->lock);
	forget(r);
	struct record **bucket = &r->bucket[bucket_of(id)];
	rec->next = *bucket;
	*bucket = rec;
	rec->older = r->newest;
	*(r->newest ? &r->newest->newer : &r->oldest) = rec;
	r->newest = rec;
	r->n++;
	(void)pthread_mutex_unlock(&r->lock);
	return rec;
}

struct record *record_find(struct runs *r, const char *tenant, const char *id, struct err *e)
{
	(void)pthread_mutex_lock(&r->lock);
	struct record *rec = r->bucket[bucket_of(id)];
	while (rec &&
	       (strcmp(rec->id, id) != 0 || (HOLD_API_TENANT && strcmp(rec->tenant, tenant) != 0)))
		rec = rec->next;
	if (rec && is_old(r, rec))
		rec = NULL;
	if (rec)
		rec->refs++;
	(void)pthread_mutex_unlock(&r->lock);
	if (rec)
		return rec;
	(void)err_set(e, ERR_MISSING, "there is no run %.40s", id);
	(void)err_detail(e, "run");
	(void)err_remedy(e, "results are kept for %llu s after the end of a run (serve --keep)",
			 (unsigned long long)r->keep_ms / 1000);
	return NULL;
}

void record_unref(struct runs *r, struct record *rec)
{
	if (!rec)
		return;
	(void)pthread_mutex_lock(&r->lock);
	bool last = --rec->refs == 0;
	(void)pthread_mutex_unlock(&r->lock);
	if (last)
		free_record(rec);
}

void record_end(struct runs *r, struct record *rec, const char *status, char *result)
{
	result = words_of_result(result, rec->id);
	(void)pthread_mutex_lock(&r->lock);
	rec->result = result;
	(void)snprintf(rec->status, sizeof(rec->status), "%s", status);
	rec->ended_at = loop_now_ms();
	rec->cancel_fd = FD_NONE;
	rec->bytes = spool_size(&rec->output[0], NULL) + spool_size(&rec->output[1], NULL) +
		     (result ? strlen(result) : 0) + kept_bytes(rec->kept);
	r->bytes += rec->bytes;
	(void)pthread_mutex_unlock(&r->lock);
	heirs_run(r->heirs, rec);
	if (result)
		feed_add(rec->feed, "result", result, strlen(result));
	feed_close(rec->feed);
}

char *record_look(struct runs *r, struct record *rec, struct value **ret_summary)
{
	char *result = NULL;

	(void)pthread_mutex_lock(&r->lock);
	if (rec->result)
		result = strdup(rec->result);
	else
		*ret_summary = record_summary(rec);
	(void)pthread_mutex_unlock(&r->lock);
	return result;
}

/* The call's descriptor cannot go away meanwhile: its handler ends the record first. */
void record_cancel(struct runs *r, struct record *rec)
{
	uint64_t one = 1;

	(void)pthread_mutex_lock(&r->lock);
	if (rec->cancel_fd >= 0)
		(void)!write(rec->cancel_fd, &one, sizeof(one)); /* full: it was already */
	(void)pthread_mutex_unlock(&r->lock);
}

void runs_each(struct runs *r, const char *tenant, int (*fn)(struct record *, void *), void *arg)
{
	(void)pthread_mutex_lock(&r->lock);
	for (struct record *rec = r->newest; rec; rec = rec->older)
		if ((!tenant || strcmp(rec->tenant, tenant) == 0) && !is_old(r, rec) &&
		    fn(rec, arg))
			break;
	(void)pthread_mutex_unlock(&r->lock);
}

void runs_keep(struct runs *r, uint64_t ms, uint64_t bytes)
{
	r->keep_ms = ms ? ms : RUNS_KEEP_MS;
	r->keep_bytes = bytes ? bytes : RUNS_BYTES_MAX;
}

void runs_tell(struct runs *r, struct heirs *heirs)
{
	r->heirs = heirs;
}

bool runs_kept(struct runs *r)
{
	(void)pthread_mutex_lock(&r->lock);
	forget(r);
	bool some = r->n > 0;
	(void)pthread_mutex_unlock(&r->lock);
	return some;
}
