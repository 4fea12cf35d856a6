/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/look.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define YOUNG_US 1000000u
#define QUICK 8u /* so many may die young, before the next one has to wait until it would not be */
#define ROOM_BYTES (1 << 20) /* asked for; an ordinary user gets less */
#define LAST_MS 1000

void look_init(struct warden *w)
{
	w->look.sock = FD_NONE;
}

static void close_look(struct warden *w)
{
	warden_unwatch(w, w->look.sock);
	fd_close(&w->look.sock);
	w->look.generation++;
	memset(w->look.taken, 0, sizeof(w->look.taken));
}

static void start(struct warden *w)
{
	uint64_t now = warden_now_us();
	struct err e = ERR_INIT;
	int room = ROOM_BYTES;

	if (now - w->look.started_us >= YOUNG_US)
		w->look.young = 0;
	else if (++w->look.young > QUICK)
		return;
	w->look.started_us = now;
	if (w->config->start_look(w->config->arg, &w->look.sock) < 0) {
		w->look.sock = FD_NONE;
		return;
	}
	(void)setsockopt(w->look.sock, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)); /* or less */
	w->look.source = (struct source){SOURCE_LOOK, NULL, NULL};
	if (warden_watch(w, w->look.sock, &w->look.source, &e) < 0)
		close_look(w);
}

/* One that has died may have said something before. */
static bool is_there(struct warden *w)
{
	struct pollfd p = {.fd = w->look.sock};

	while (w->look.sock >= 0 && poll(&p, 1, 0) > 0)
		look_event(w);
	if (w->look.sock < 0)
		start(w);
	return w->look.sock >= 0;
}

bool look_ready_within(struct warden *w, int ms)
{
	if (!w->config->start_look)
		return true;
	if (!is_there(w))
		return false;
	struct pollfd p = {.fd = w->look.sock, .events = POLLOUT};

	return poll(&p, 1, ms) > 0 && (p.revents & POLLOUT);
}

bool look_ready(struct warden *w)
{
	return look_ready_within(w, 0);
}

static void send_packet(struct warden *w, const struct look_msg *m, const void *data, size_t len)
{
	struct iovec parts[] = {{(void *)(uintptr_t)m, sizeof(*m)}, {(void *)(uintptr_t)data, len}};
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 2};

	/* There was room; one that is gone is found by its socket. */
	(void)sendmsg(w->look.sock, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool take_place(struct warden *w, struct job *job)
{
	const struct ward *ward = job->ward;
	struct look_who who = {.owner = ward->owner, .pid = (uint32_t)job->pid};
	struct look_msg m = {.kind = LOOK_NEW, .pty = job->pty};

	while (m.place < LOOK_PLACES && w->look.taken[m.place])
		m.place++;
	if (m.place == LOOK_PLACES)
		return false;
	w->look.taken[m.place] = true;
	job->look_place = 1 + m.place;
	job->look_generation = w->look.generation;
	memcpy(who.sandbox, ward->spec.id, sizeof(who.sandbox));
	if (ward->metadata)
		(void)snprintf(who.label, sizeof(who.label), "%s", ward->metadata);
	send_packet(w, &m, &who, sizeof(who));
	return true;
}

void look_output(struct warden *w, struct job *job, unsigned stream, const char *data, size_t len)
{
	struct look_msg m = {.kind = LOOK_OUTPUT, .stream = stream};

	if (!w->config->start_look || w->look.sock < 0)
		return;
	if (job->look_place && job->look_generation != w->look.generation)
		job->look_place = 0; /* another one looks now */
	if (!job->look_place && !take_place(w, job))
		return;
	m.place = job->look_place - 1;
	for (size_t n; len > 0; data += n, len -= n) {
		n = len < LOOK_BYTES_MAX ? len : LOOK_BYTES_MAX;
		send_packet(w, &m, data, n);
	}
}

void look_over(struct warden *w, struct job *job)
{
	if (job->look_place && job->look_generation == w->look.generation)
		w->look.taken[job->look_place - 1] = false;
	job->look_place = 0;
}

/* One word of it; false: there is none, or it is gone. */
static bool take_word(struct warden *w, bool *ret_gone)
{
	struct look_found f;
	ssize_t n = recv(w->look.sock, &f, sizeof(f), MSG_DONTWAIT);

	*ret_gone = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n != (ssize_t)sizeof(f))
		return false;
	f.who.sandbox[sizeof(f.who.sandbox) - 1] = '\0';
	f.who.label[sizeof(f.who.label) - 1] = '\0';
	f.what[sizeof(f.what) - 1] = '\0';
	for (char *c = f.what; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (f.rule == ALERT_TERMINAL || f.rule == ALERT_PROMPT)
		ward_printed(w, &f);
	return true;
}

void look_event(struct warden *w)
{
	bool gone = false;

	if (take_word(w, &gone) || !gone)
		return;
	(void)fprintf(stderr, "pinfold: what looked at output has died: another one does\n");
	close_look(w);
}

void look_done(struct warden *w)
{
	struct pollfd p = {.fd = w->look.sock, .events = POLLIN};
	uint64_t end = warden_now_us() + LAST_MS * 1000u;
	bool gone = false;

	if (w->look.sock < 0)
		return;
	(void)shutdown(w->look.sock, SHUT_WR); /* it ends when it has read all */
	while (!gone && warden_now_us() < end && poll(&p, 1, LAST_MS) > 0)
		(void)take_word(w, &gone);
	close_look(w);
}
