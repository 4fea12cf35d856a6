/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one ends: all processes first, then who waits for that is told, then what it had on the host is
 * removed; at once, or in the next pause (GONE). LEAVING and LEFT are in ward_int.h.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "warden/caller.h"
#include "warden/guard.h"
#include "warden/job.h"
#include "warden/stock.h"
#include "warden/visit.h"
#include "warden/ward_int.h"

#define LEFT_US 3600000000u /* how long what a command printed is kept behind its end */
#define LEFT_OWN 64u	    /* kept of one owner, */
#define LEFT_MAX 1024u	    /* and of all */
#define GONE_MAX 32u

static uint64_t micros(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* What the kernel told who waited for the guest. */
static void note_times(struct ward *ward, const struct rusage *u)
{
	struct link_ended *ended = &ward->pending.ended;

	ended->user_us = micros(&u->ru_utime);
	ended->system_us = micros(&u->ru_stime);
	ended->memory_kb = (uint64_t)u->ru_maxrss;
}

static void note_end(struct ward *ward, const struct live_end *end, bool gone)
{
	struct link_msg *msg = &ward->pending;

	*msg = (struct link_msg){
		.kind = LINK_ENDED,
		.ended =
			{
				.stop = ward->stop,
				.stuck = !gone,
				.memory_peak_bytes = end->usage.memory_peak_bytes,
				.pids_peak = end->usage.pids_peak,
				.cpu_us = end->usage.cpu_us,
				.oom_kills = end->usage.oom_kills,
				.pids_refused = end->usage.pids_refused,
				.pids_full = ward->pids_full,
			},
	};

	note_times(ward, &end->rusage);
	if (ward->memory_peak > msg->ended.memory_peak_bytes)
		msg->ended.memory_peak_bytes = ward->memory_peak;
	if (ward->pids_peak > msg->ended.pids_peak)
		msg->ended.pids_peak = ward->pids_peak;
}

/* Closing is not enough: what somebody else has a copy of would go on sending events. */
static void unwatch_all(const struct warden *w, const struct ward *ward)
{
	warden_unwatch(w, ward->live.sb.control);
	warden_unwatch(w, ward->live.sb.pidfd);
	warden_unwatch(w, ward->client);
	warden_unwatch(w, ward->listener);
	warden_unwatch(w, ward->oom);
}

/* Which one is forgotten: of who has more than his share, else of all, the one that ended first. */
static struct ward *ward_to_forget(const struct warden *w, uid_t owner)
{
	struct ward *first = NULL, *first_own = NULL;
	unsigned own = 0;

	for (struct ward *ward = w->wards; ward; ward = ward->next) {
		if (ward->state != WARD_LEFT)
			continue;
		if (!first || ward->ended_ms < first->ended_ms)
			first = ward;
		if (ward->owner != owner)
			continue;
		own++;
		if (!first_own || ward->ended_ms < first_own->ended_ms)
			first_own = ward;
	}
	return own > LEFT_OWN ? first_own : w->n_left > LEFT_MAX ? first : NULL;
}

/* What its command printed is worth keeping for a while; but not for ever, and not of too many. */
static void ward_leave(struct warden *w, struct ward *ward)
{
	queue_ended(w, ward);
	ward->state = WARD_LEFT;
	w->n_left++;
	ward_set_deadline(w, ward, warden_now_us() + LEFT_US);
	ward = ward_to_forget(w, ward->owner);
	if (ward)
		ward_free(w, ward);
}

/* The caller does not read that it is over: it is told when it does. */
static void ward_linger(struct warden *w, struct ward *ward)
{
	struct err e = ERR_INIT;

	ward->state = WARD_LEAVING;
	if (warden_watch(w, ward->client, &ward->sources[SOURCE_CLIENT], &e) < 0)
		ward_free(w, ward);
	else
		ward_await_reader(w, ward);
}

/* Nobody waits for that: it is done when there is nothing else to do, or there is too much of
 * it. */
static bool ward_remove_later(struct warden *w, struct ward *ward)
{
	if (ward->held || ward->visitors || w->draining || w->n_gone >= GONE_MAX)
		return false;
	queue_ended(w, ward);
	ward->state = WARD_GONE;
	ward_unindex(w, ward);
	fd_close(&ward->client);
	if (w->last_gone)
		w->last_gone->gone_next = ward;
	else
		w->first_gone = ward;
	w->last_gone = ward;
	w->n_gone++;
	return true;
}

void ward_sweep_gone(struct warden *w)
{
	struct ward *ward = w->first_gone;
	struct live_end end = {0};

	if (!ward)
		return;
	w->first_gone = ward->gone_next;
	w->last_gone = w->first_gone ? w->last_gone : NULL;
	w->n_gone--;
	(void)live_remove(&ward->live, &end);
	stock_return(w, &ward->net);
	ward_free(w, ward);
}

/* Groups and mounts; then all who want to know are told. */
static void ward_remove(struct warden *w, struct ward *ward, struct live_end *end, bool told)
{
	bool ran = ward->state == WARD_RUNNING;

	(void)live_remove(&ward->live, end);
	stock_return(w, &ward->net);
	fd_close(&ward->mounts);
	fd_close(&ward->layers);
	ward->ended_ms = warden_now_ms();
	if (ran)
		visitors_tell(ward, &ward->pending);
	visitors_leave(w, ward);
	if (ran && job_is_own(ward) && !w->draining)
		ward_leave(w, ward);
	else if (told || w->draining)
		ward_free(w, ward);
	else
		ward_linger(w, ward);
}

void warden_tell(const struct warden *w, const struct ward *ward, struct warden_news *news)
{
	memcpy(news->sandbox, ward->spec.id, sizeof(news->sandbox));
	news->owner = ward->owner;
	news->drained = w->draining;
	if (ward->metadata)
		(void)snprintf(news->label, sizeof(news->label), "%s", ward->metadata);
	if (w->config->news)
		w->config->news(w->config->arg, news);
}

static void tell_record(const struct warden *w, const struct ward *ward)
{
	struct warden_news news = {.stop = ward->stop,
				   .began_ms = ward->made_ms,
				   .ended_ms = warden_now_ms(),
				   .alerts = ward->alerts};

	memcpy(news.imported, ward->imported, sizeof(news.imported));
	warden_tell(w, ward, &news);
}

void ward_end(struct warden *w, struct ward *ward)
{
	bool told = true;

	if (ward->state == WARD_LEFT) {
		ward_free(w, ward);
		return;
	}
	if (ward->state == WARD_GONE) {
		while (w->first_gone)
			ward_sweep_gone(w);
		return;
	}
	unwatch_all(w, ward);
	ward_guard_end(w, ward);
	struct live_end end = {.count = ward->state == WARD_RUNNING && !ward->told};
	bool gone = live_reap(&ward->live, &end);
	if (!gone || ward->held)
		fd_close(&ward->net); /* somebody may still be there, or have a socket of it */
	if (ward->state == WARD_RUNNING) {
		if (ward->told) {
			note_times(ward, &end.rusage); /* the queue learns from it (queue.c) */
		} else {
			note_end(ward, &end, gone);
			told = ward_tell(ward, &ward->pending, NULL, 0);
		}
		jobs_over(w, ward);
		if (ward->held)
			tell_record(w, ward);
		w->ended_us = warden_now_us();
		if (told && ward->keep)
			caller_keep(w, &ward->client);
		if (told && ward_remove_later(w, ward))
			return;
	}
	ward_remove(w, ward, &end, told);
}

void ward_tell_early(struct warden *w, struct ward *ward)
{
	struct live_end end = {0};

	ward->asked = true;
	if (ward->state != WARD_RUNNING)
		return;
	if (ward->live.cgroup.ops) {
		ward->live.cgroup.ops->usage(&ward->live.cgroup, &end.usage);
		end.usage.cpu_us = cgroup_cpu_us(&ward->live.cgroup);
		if (!end.usage.cpu_us) {
			ward_kill(ward, LINK_STOP_NONE); /* it waits for who waits for its end */
			return;
		}
	}
	note_end(ward, &end, true);
	ward->told = ward_tell(ward, &ward->pending, NULL, 0);
	w->ended_us = warden_now_us();
}

void ward_tell_nobody(struct ward *ward)
{
	const struct live_end end = {0};

	ward->asked = true;
	if (ward->state != WARD_RUNNING || ward->held || ward->told)
		return;
	note_end(ward, &end, true);
	ward->told = true;
}
