/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where we are: a child of the warden, without privilege (serve.c); open: the listening socket, the
 * socket to the warden, connections that have not asked yet.
 */
#include "engine/front.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/discard.h"
#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/ask.h"
#include "warden/queue.h"
#include "wire/link.h"

#define ASKERS_MAX 256
#define PATIENCE_S 5 /* for a caller who connects and says nothing */

struct asker {
	int fd; /* FD_NONE: a free place */
	time_t until;
};

struct front {
	int listener, warden, epoll;
	struct asker askers[ASKERS_MAX];
	struct shunned shunned;
};

static time_t now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return ts.tv_sec;
}

static void refuse(int fd, const struct err *e)
{
	struct link_msg msg = {.kind = LINK_ERROR, .error = *e};

	(void)passfd_send(fd, &msg, sizeof(msg), NULL, 0); /* or he is gone */
}

static int check(int block, struct err *e)
{
	struct ask ask;
	int r = ask_open(block, &ask, e);

	ask_close(&ask);
	return r;
}

static int hand_over(struct front *f, int fd, const struct link_ask *ask,
		     const int asked[LINK_FDS_MAX], struct err *e)
{
	int fds[1 + LINK_FDS_MAX] = {fd};

	memcpy(fds + 1, asked, LINK_FDS_MAX * sizeof(int));
	int r = passfd_send(f->warden, ask, sizeof(*ask), fds, 1 + LINK_FDS_MAX);
	if (r == -EAGAIN || r == -ETOOMANYREFS) {
		(void)err_set(e, ERR_BUSY, "the daemon has too much to do");
		e->retry_ms = 1000;
		return err_remedy(e, "try again in a second");
	}
	if (r < 0)
		queue_ending(e);
	return r;
}

/* Closing is not enough: the warden has a copy, and its events would come to us. */
static void forget(struct front *f, struct asker *asker)
{
	if (asker->fd >= 0)
		(void)epoll_ctl(f->epoll, EPOLL_CTL_DEL, asker->fd, NULL); /* or it was not there */
	fd_close(&asker->fd);
}

static uid_t peer_of(int fd)
{
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t len = sizeof(who);

	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len); /* or nobody */
	return who.uid;
}

static void on_asker(struct front *f, struct asker *asker)
{
	struct link_ask ask;
	struct err e = ERR_INIT;
	int fds[LINK_FDS_MAX];
	int r = passfd_receive(asker->fd, &ask, sizeof(ask), fds, LINK_FDS_MAX,
			       MSG_DONTWAIT | PASSFD_ANYBODYS);

	if (r == -EAGAIN)
		return;
	if (r == -EBADMSG)
		shunned_add(&f->shunned, peer_of(asker->fd));
	if (r >= 0 && (ask.magic != LINK_MAGIC || ask.op == 0 || ask.op >= LINK_OP_END ||
		       !link_fds_are(ask.op, r)))
		r = err_set(&e, ERR_INVALID, "malformed request");
	else if (r >= 0 && ask.version != LINK_VERSION)
		r = err_set(&e, ERR_UNSUPPORTED, "the daemon is of another version of pinfold"),
		(void)err_remedy(&e, "restart the daemon, or run with --no-daemon");
	else if (r < 0)
		(void)err_set(&e, ERR_INVALID, "malformed request");
	if (r >= 0)
		r = link_has_block(ask.op) ? check(fds[0], &e) : 0;
	if (r >= 0)
		r = hand_over(f, asker->fd, &ask, fds, &e);
	if (r < 0)
		refuse(asker->fd, &e);
	for (unsigned i = 0; i < LINK_FDS_MAX; i++)
		fd_close(&fds[i]);
	forget(f, asker); /* the warden has it now */
}

/* The place of who has been silent for too long is given to the next. */
static struct asker *find_place(struct front *f)
{
	time_t now = now_s();

	for (int i = 0; i < ASKERS_MAX; i++) {
		if (f->askers[i].fd >= 0 && f->askers[i].until < now)
			forget(f, &f->askers[i]);
		if (f->askers[i].fd < 0)
			return &f->askers[i];
	}
	return NULL;
}

static void on_listener(struct front *f)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct err e = ERR_INIT;
	int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct asker *asker = fd < 0 ? NULL : find_place(f);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		(void)poll(NULL, 0, 10); /* until somebody has left */
	if (fd >= 0 && f->shunned.n > 0 && shunned_has(&f->shunned, peer_of(fd))) {
		(void)shunned_refuse(&e);
		refuse(fd, &e);
		fd_close(&fd);
		return;
	}
	if (!asker) {
		(void)err_set(&e, ERR_BUSY, "too many callers at once");
		(void)err_remedy(&e, "try again in a second");
		e.retry_ms = 1000;
		if (fd >= 0)
			refuse(fd, &e);
		fd_close(&fd);
		return;
	}
	*asker = (struct asker){fd, now_s() + PATIENCE_S};
	ev.data.ptr = asker;
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		forget(f, asker);
	else
		on_asker(f, asker); /* he usually asked at once */
}

/* The daemon ends: who has called is told so, accepted or not. */
static void end(struct front *f)
{
	struct err e = ERR_INIT;
	struct pollfd pfd = {.fd = f->listener, .events = POLLIN};
	int fd;

	queue_ending(&e);
	for (int i = 0; i < ASKERS_MAX; i++)
		if (f->askers[i].fd >= 0)
			refuse(f->askers[i].fd, &e);
	/* systemd's socket may be one that blocks. */
	while (poll(&pfd, 1, 0) == 1 &&
	       (fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		refuse(fd, &e);
		close(fd);
	}
}

int front_run(int listener, int warden)
{
	static struct front f;
	struct epoll_event ev = {.events = EPOLLIN};

	f = (struct front){.listener = listener, .warden = warden};
	for (int i = 0; i < ASKERS_MAX; i++)
		f.askers[i].fd = FD_NONE;
	f.epoll = epoll_create1(EPOLL_CLOEXEC);
	ev.data.ptr = &f.listener;
	if (f.epoll < 0 || epoll_ctl(f.epoll, EPOLL_CTL_ADD, listener, &ev) < 0)
		return -errno;
	ev.data.ptr = &f.warden;
	if (epoll_ctl(f.epoll, EPOLL_CTL_ADD, warden, &ev) < 0)
		return -errno;
	for (;;) {
		int n = epoll_wait(f.epoll, &ev, 1, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		if (ev.data.ptr == &f.warden) { /* it says nothing to us but its end */
			end(&f);
			return 0;
		}
		if (ev.data.ptr == &f.listener)
			on_listener(&f);
		else
			on_asker(&f, ev.data.ptr);
	}
}
