/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/queue.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/hold.h"
#include "warden/ward_int.h"

#define FDS (1 + LINK_FDS_MAX) /* the connection, and what came with it */
#define PATIENCE_US 30000000u
#define OTHERS_US 60000000u
#define BYTES_MAX (64u << 20) /* a request may be 40 MiB: not everybody's at a time */
#define LOOK_MS 20
#define RETRY_MS_MIN 1000u
#define RETRY_MS_MAX 30000u

struct queued {
	struct source source; /* first: it is how an event finds it */
	struct tenant *tenant;
	struct ucred who;
	uint32_t op; /* LINK_RUN or LINK_CREATE */
	int fds[FDS];
	struct ask ask; /* checked when it came: what is wrong is refused at once */
	uint64_t since_us, bytes;
	struct queued *prev, *next; /* of the same tenant, the oldest first */
};

struct tenant {
	uint64_t key; /* key_of() */
	unsigned running, waiting;
	struct queued *first, *last;
	struct tenant *prev, *next;
};

/* --- tenants
 * -------------------------------------------------------------------------------------- */

static void put_last(struct queue *q, struct tenant *t)
{
	t->next = NULL;
	t->prev = q->last;
	if (q->last)
		q->last->next = t;
	else
		q->first = t;
	q->last = t;
}

static void take_out(struct queue *q, struct tenant *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		q->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		q->last = t->prev;
}

/* Who serves others (HTTP) says for whom he asks; of anybody else it would be a way to more
 * turns. */
static uint64_t key_of(const struct warden *w, const struct ucred *who, uint32_t share)
{
	bool serves = who->uid == w->config->api_uid || who->uid == geteuid();

	return (uint64_t)(serves ? share : 0) << 32 | who->uid;
}

static struct tenant *find_tenant(const struct queue *q, uint64_t key)
{
	struct tenant *t = q->first;

	while (t && t->key != key)
		t = t->next;
	return t;
}

static struct tenant *get_tenant(struct queue *q, uint64_t key, struct err *e)
{
	struct tenant *t = find_tenant(q, key);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t) {
		(void)err_sys(e, "request");
		return NULL;
	}
	t->key = key;
	put_last(q, t);
	return t;
}

/* Where nothing of his is here any more: they come and go. By number, because whatever went wrong
 * with his request may have dropped him already. */
static void drop_idle(struct queue *q, uint64_t key)
{
	struct tenant *t = find_tenant(q, key);

	if (!t || t->running || t->waiting)
		return;
	take_out(q, t);
	free(t);
}

void queue_began(struct warden *w, struct ward *ward, uint64_t whose)
{
	ward->begun_us = warden_now_us();
	ward->tenant = find_tenant(&w->queue, whose);
	if (ward->tenant)
		ward->tenant->running++;
}

/* What it took, if we saw all of it. */
static void note_end(struct warden *w, const struct ward *ward)
{
	const struct link_ended *end = &ward->pending.ended;

	if (ward->state == WARD_RUNNING && ward->pending.kind == LINK_ENDED)
		overload_ran(&w->queue.overload, ward->begun_us, warden_now_us(),
			     end->user_us + end->system_us);
}

void queue_ended(struct warden *w, struct ward *ward)
{
	struct tenant *t = ward->tenant;

	ward->tenant = NULL;
	if (!t)
		return;
	note_end(w, ward);
	t->running--;
	drop_idle(&w->queue, t->key);
}

/* Whether anybody else has been here lately. */
static void note_asker(struct queue *q, uint64_t key)
{
	if (key != q->asked && q->served_us)
		q->other_us = warden_now_us();
	q->asked = key;
}

/* --- who is next
 * ---------------------------------------------------------------------------------- */

/* Runs that are not long ones: what stays for hours is no reason to let nobody else in. */
static unsigned count_recent(const struct warden *w)
{
	uint64_t now = warden_now_us(), long_us = overload_long_us(&w->queue.overload);
	unsigned n = 0;

	for (const struct ward *ward = w->wards; ward; ward = ward->next)
		n += (ward->state == WARD_STARTING || ward->state == WARD_RUNNING) &&
		     now - ward->begun_us < long_us;
	return n;
}

static bool has_place(const struct warden *w)
{
	const struct overload *o = &w->queue.overload;
	unsigned max = w->config->live_max;

	if (w->draining || w->queue.n == 0 || warden_running(w) >= max)
		return false;
	return count_recent(w) < overload_runs(o, max);
}

/* Not the last place to who has all others, where there are others. */
static bool may_have(const struct warden *w, const struct tenant *t)
{
	const struct queue *q = &w->queue;
	unsigned max = w->config->live_max;

	return max < 2 || t->running + 1 < max || !q->other_us ||
	       warden_now_us() - q->other_us > OTHERS_US;
}

static struct tenant *next_tenant(const struct warden *w)
{
	struct tenant *best = NULL;

	if (!has_place(w))
		return NULL;
	for (struct tenant *t = w->queue.first; t; t = t->next)
		if (t->first && (!best || t->running < best->running) && may_have(w, t))
			best = t;
	return best;
}

bool queue_can_serve(const struct warden *w)
{
	return next_tenant(w) != NULL;
}

/* --- coming and going
 * ----------------------------------------------------------------------------- */

/* Half of the time that those who wait now will take. */
static unsigned retry_ms(const struct queue *q)
{
	uint64_t ms = q->n * q->gap_us / 2000;

	return ms < RETRY_MS_MIN ? RETRY_MS_MIN : ms > RETRY_MS_MAX ? RETRY_MS_MAX : (unsigned)ms;
}

static int say_busy(const struct warden *w, struct err *e)
{
	unsigned ms = retry_ms(&w->queue);

	(void)err_set(e, ERR_BUSY, "the daemon runs %u sandboxes already, and %u requests wait",
		      warden_running(w), w->queue.n);
	(void)err_remedy(e, "try again in %u s, or raise --max or --queue of pinfold serve",
			 (ms + 999) / 1000);
	e->retry_ms = ms;
	return -EBUSY;
}

/* Out of the queue; the descriptors are still its own. */
static void leave(struct warden *w, struct queued *x)
{
	struct tenant *t = x->tenant;

	if (x->prev)
		x->prev->next = x->next;
	else
		t->first = x->next;
	if (x->next)
		x->next->prev = x->prev;
	else
		t->last = x->prev;
	t->waiting--;
	w->queue.n--;
	w->queue.bytes -= x->bytes;
	/* Closing is not enough: front may have a copy for a moment. */
	(void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, x->fds[0], NULL); /* it was watched */
}

static void queued_free(struct warden *w, struct queued *x)
{
	uint64_t key = x->ask.whose;

	for (unsigned i = 0; i < FDS; i++)
		fd_close(&x->fds[i]);
	ask_close(&x->ask);
	free(x);
	drop_idle(&w->queue, key);
}

static void refuse(struct warden *w, struct queued *x, const struct err *e)
{
	leave(w, x);
	ward_refuse(x->fds[0], e);
	queued_free(w, x);
}

/* Places that are free now are taken by way of the queue, too. */
static bool is_full(const struct warden *w, uint64_t bytes)
{
	unsigned runs = warden_running(w), max = w->config->live_max;
	unsigned free_now = runs < max ? max - runs : 0;

	return w->queue.n >= w->config->queue_max + free_now || w->queue.bytes + bytes > BYTES_MAX;
}

/* The last of who has most waiting makes room for one who has less. */
static int make_room(struct warden *w, const struct tenant *t, uint64_t bytes, struct err *e)
{
	struct tenant *most = NULL;
	struct err sorry = ERR_INIT;

	if (!is_full(w, bytes))
		return 0;
	if (w->queue.n > 0)
		overload_refused(&w->queue.overload, warden_now_us());
	for (struct tenant *other = w->queue.first; other; other = other->next)
		if (!most || other->waiting > most->waiting)
			most = other;
	if (most && most->waiting > t->waiting + 1) {
		(void)say_busy(w, &sorry);
		refuse(w, most->last, &sorry);
	}
	return is_full(w, bytes) ? say_busy(w, e) : 0;
}

static void put_in(struct warden *w, struct tenant *t, struct queued *x)
{
	x->tenant = t;
	x->prev = t->last;
	if (t->last)
		t->last->next = x;
	else
		t->first = x;
	t->last = x;
	t->waiting++;
	w->queue.n++;
	w->queue.bytes += x->bytes;
}

static int check(int *fds, struct ask *ask, struct err *e)
{
	int r = ask_open(fds[1], ask, e);

	if (r >= 0 && !link_fds_fit(ask->head->flags, fds + 1))
		r = err_set(e, ERR_INVALID, "malformed request");
	return r;
}

static int enter(struct warden *w, const struct link_ask *ask, const struct ucred *who, int *fds,
		 struct err *e)
{
	uint64_t key = key_of(w, who, ask->share);
	struct tenant *t = get_tenant(&w->queue, key, e);
	struct queued *x = t ? calloc(1, sizeof(*x)) : NULL;

	if (!x)
		return err_sys(e, "request");
	x->source = (struct source){SOURCE_QUEUED, NULL, NULL};
	x->who = *who;
	x->op = ask->op;
	x->since_us = warden_now_us();
	int r = check(fds, &x->ask, e);
	if (r >= 0) {
		x->ask.whose = key;
		x->ask.keep = ask->flags & LINK_KEEP;
		x->bytes = x->ask.head->size;
		r = make_room(w, t, x->bytes, e);
	}
	if (r >= 0)
		r = warden_watch(w, fds[0], &x->source, e);
	if (r < 0) {
		ask_close(&x->ask);
		free(x);
		return r;
	}
	for (unsigned i = 0; i < FDS; i++)
		x->fds[i] = take_fd(&fds[i]);
	put_in(w, t, x);
	return 0;
}

void queue_init(struct warden *w)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	w->queue.overload.processors = n > 0 ? (unsigned)n : 1;
}

int queue_take(struct warden *w, const struct link_ask *ask, const struct ucred *who, int *fds,
	       struct err *e)
{
	uint64_t key = key_of(w, who, ask->share);

	note_asker(&w->queue, key);
	if (w->queue.n == 0) /* the first of a crowd, perhaps, after a while in which we slept */
		overload_waiting(&w->queue.overload, 0, false, warden_now_us(), 0);
	int r = enter(w, ask, who, fds, e);
	if (r < 0)
		drop_idle(&w->queue, key);
	return r;
}

/* Only where others wait is the time between two what one place takes. */
static void note_served(struct queue *q)
{
	uint64_t now = warden_now_us(), gap = now - q->served_us;

	if (q->n > 0 && q->served_us)
		q->gap_us = q->gap_us ? (7 * q->gap_us + gap) / 8 : gap;
	q->served_us = now;
}

static void serve_next(struct warden *w, struct tenant *t)
{
	/* In an overload the oldest has nearly waited too long: with it, so would everybody. */
	struct queued *x = w->queue.overload.on && HOLD_QUEUE_YOUNG ? t->last : t->first;
	struct err e = ERR_INIT;

	leave(w, x);
	take_out(&w->queue, t);
	put_last(&w->queue, t);
	note_served(&w->queue);
	int r = (x->op == LINK_CREATE ? ward_create : ward_run)(w, &x->ask, &x->who, x->fds + 1,
								x->fds[0], &e);
	if (r < 0)
		ward_refuse(x->fds[0], &e);
	else
		x->fds[0] = FD_NONE; /* the ward's */
	queued_free(w, x);
}

void queue_serve(struct warden *w)
{
	struct tenant *t = next_tenant(w);

	if (t)
		serve_next(w, t);
}

int queue_patience_ms(const struct warden *w)
{
	const struct queue *q = &w->queue;

	return q->n > 0 && (q->overload.on || warden_running(w) < w->config->live_max) ? LOOK_MS
										       : -1;
}

/* How many want a processor just now: the first number of "running/all" in /proc/loadavg. */
static unsigned busy_now(void)
{
	auto_close int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[64] = "";
	unsigned busy = 0;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return sscanf(text, "%*s %*s %*s %u/", &busy) == 1 ? busy : 0;
}

void queue_tend(struct warden *w)
{
	struct overload *o = &w->queue.overload;
	uint64_t now = warden_now_us();

	/* Who can be served is, however long we were busy with something else. */
	if (o->on && !queue_can_serve(w))
		queue_expire(w);
	if (!w->queue.n && !o->full_us && !o->window)
		return;
	bool next = queue_can_serve(w);
	bool look = w->queue.n > 0 && !next && overload_wants_look(o, now);
	overload_waiting(o, w->queue.n, next, now, look ? busy_now() : 0);
}

/* --- the end of waiting
 * --------------------------------------------------------------------------- */

void queue_event(struct warden *w, const struct source *source)
{
	struct queued *x = (struct queued *)(uintptr_t)source;

	assert(source->kind == SOURCE_QUEUED);
	/* He has nothing to say before his run has begun. */
	leave(w, x);
	queued_free(w, x);
}

void queue_expire(struct warden *w)
{
	uint64_t now = warden_now_us();
	uint64_t patience = overload_patience_us(&w->queue.overload, PATIENCE_US);

	for (struct tenant *t = w->queue.first, *next; t; t = next) {
		next = t->next;
		/* The last of them takes the tenant with it, unless he runs something. */
		for (struct queued *x = t->first, *younger; x; x = younger) {
			struct err e = ERR_INIT;

			younger = x->next;
			if (now - x->since_us < patience)
				break;
			(void)say_busy(w, &e);
			overload_refused(&w->queue.overload, now);
			refuse(w, x, &e);
		}
	}
}

void queue_ending(struct err *e)
{
	(void)err_set(e, ERR_BUSY, "the daemon is ending");
	(void)err_remedy(e, "try again when it is back, or run it with --no-daemon");
	e->retry_ms = RETRY_MS_MIN;
}

/* What front passed on and we have not looked at. */
static void refuse_handed(const struct warden *w, const struct err *e)
{
	struct link_ask msg;
	int fds[FDS], n = 0;

	while (w->front >= 0 && (n = passfd_receive(w->front, &msg, sizeof(msg), fds, FDS,
						    MSG_DONTWAIT | PASSFD_ANYBODYS)) >= 0) {
		if (n > 0)
			ward_refuse(fds[0], e);
		for (unsigned i = 0; i < FDS; i++)
			fd_close(&fds[i]);
	}
}

void queue_end(struct warden *w)
{
	struct err e = ERR_INIT;

	queue_ending(&e);
	if (w->front >= 0)
		(void)shutdown(w->front, SHUT_RD); /* from here on it refuses them itself */
	for (struct tenant *t = w->queue.first, *next; t; t = next) {
		next = t->next;
		for (struct queued *x = t->first, *younger; x; x = younger) {
			younger = x->next;
			refuse(w, x, &e);
		}
	}
	refuse_handed(w, &e);
}
