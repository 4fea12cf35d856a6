/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox of the daemon: found by its name, what watches it, who is told of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "warden/guard.h"
#include "warden/job.h"
#include "warden/pool.h"
#include "warden/visit.h"
#include "warden/ward_int.h"

struct ward *ward_new(struct warden *w)
{
	struct ward *ward = calloc(1, sizeof(*ward));

	if (!ward)
		return NULL;
	live_init(&ward->live);
	ward->spec.dir_fd = FD_NONE;
	ward->client = ward->listener = ward->oom = ward->terminal = ward->mounts = FD_NONE;
	ward->layers = ward->net = FD_NONE;
	for (int i = 0; i < SOURCE_WARD_KINDS; i++)
		ward->sources[i] = (struct source){(enum source_kind)i, ward, NULL};
	ward->next = w->wards;
	if (w->wards)
		w->wards->prev = ward;
	w->wards = ward;
	w->n_wards++;
	return ward;
}

bool ward_waits(const struct ward *ward)
{
	return ward->state == WARD_MAKING || ward->state == WARD_READY;
}

static struct ward **bucket(struct warden *w, const char *id)
{
	unsigned hash = 5381;

	for (; *id; id++)
		hash = hash * 33 + (unsigned char)*id;
	return &w->by_id[hash % WARD_HASH];
}

void ward_index(struct warden *w, struct ward *ward)
{
	struct ward **at = bucket(w, ward->spec.id);

	ward->same_hash = *at;
	*at = ward;
}

void ward_unindex(struct warden *w, struct ward *ward)
{
	struct ward **at = bucket(w, ward->spec.id);

	while (*at && *at != ward)
		at = &(*at)->same_hash;
	if (*at)
		*at = ward->same_hash;
}

struct ward *ward_find(const struct warden *w, const char *id)
{
	struct ward *ward = *bucket((struct warden *)(uintptr_t)w, id);

	while (ward && strcmp(ward->spec.id, id) != 0)
		ward = ward->same_hash;
	return ward;
}

void ward_free(struct warden *w, struct ward *ward)
{
	if (ward->prev)
		ward->prev->next = ward->next;
	else
		w->wards = ward->next;
	if (ward->next)
		ward->next->prev = ward->prev;
	w->n_wards--;
	pool_forget(w, ward);
	w->n_watching -= ward->watching;
	queue_ended(w, ward);
	w->n_polled -= ward->polled && !ward->resting;
	w->n_left -= ward->state == WARD_LEFT;
	ward_unindex(w, ward);
	visitors_leave(w, ward);
	ward_guard_end(w, ward);
	jobs_free(w, ward);
	fd_close(&ward->client);
	fd_close(&ward->listener);
	fd_close(&ward->oom);
	fd_close(&ward->terminal);
	fd_close(&ward->mounts);
	fd_close(&ward->layers);
	fd_close(&ward->net);
	plan_free(ward->claim);
	free(ward->metadata);
	free(ward->variables);
	free(ward);
}

void ward_refuse(int client, const struct err *e)
{
	struct link_msg msg = {.kind = LINK_ERROR, .error = *e};

	(void)passfd_send(client, &msg, sizeof(msg), NULL, 0); /* or he is gone */
}

bool ward_tell(const struct ward *ward, const struct link_msg *msg, const int *fds, unsigned n)
{
	return ward->client < 0 ||
	       passfd_send(ward->client, msg, sizeof(*msg), fds, n) != -EAGAIN; /* or he is gone */
}

void ward_await_reader(const struct warden *w, struct ward *ward)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT,
				 .data.ptr = &ward->sources[SOURCE_CLIENT]};

	(void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, ward->client, &ev); /* it is watched already */
}

void ward_kill(struct ward *ward, enum link_stop why)
{
	if (ward->stop == LINK_STOP_NONE)
		ward->stop = why;
	sandbox_kill(&ward->live.sb);
	cgroup_kill(&ward->live.cgroup);
}

int ward_watch(struct warden *w, struct ward *ward, struct err *e)
{
	const int fds[SOURCE_WARD_KINDS] = {
		[SOURCE_CONTROL] = ward->live.sb.control,
		[SOURCE_GUEST] = ward->live.sb.pidfd,
		[SOURCE_CLIENT] = ward->client,
		[SOURCE_LISTENER] = FD_NONE,
		[SOURCE_OOM] = ward->oom,
		[SOURCE_GUARD] = FD_NONE,
	};
	int r = 0;

	for (int i = 0; i < SOURCE_WARD_KINDS && r >= 0; i++)
		if (fds[i] >= 0)
			r = warden_watch(w, fds[i], &ward->sources[i], e);
	return r;
}

void ward_describe(const struct ward *ward, struct link_msg *msg)
{
	msg->started = (struct link_started){
		.group = ward->live.cgroup.ops != NULL,
		.volume = ward->spec.on_volume,
		.warm = ward->warm ? 1 + (ward->kind != KIND_PLAIN) : 0,
		.terminal = ward->terminal >= 0,
	};
	memcpy(&msg->started.limits, &ward->spec.limits, sizeof(msg->started.limits));
	(void)snprintf(msg->started.sandbox, sizeof(msg->started.sandbox), "%s", ward->spec.id);
}
