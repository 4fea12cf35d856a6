/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/moves.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"

#define WAITING_MAX 64u

struct moves {
	int channel;
	uint32_t seq;
	struct {
		uint64_t id;  /* the kernel's */
		uint32_t seq; /* of the question, 0: a free place */
	} waiting[WAITING_MAX];
	struct move_ask now;
	bool off;
};

void moves_begin(struct pinfold_run *run)
{
	struct sandbox_spec *spec = &run->req.spec;
	bool lower = (spec->layers.upper && spec->layers.n > 0) || spec->dir_fd >= 0 ||
		     spec_on_image(spec);

	spec->moves = lower && run->link < 0 && !run->lives && spec->level == LEVEL_STRICT &&
		      !spec->peek && !spec->tool && !spec->as_user && !spec->live && !spec->session;
}

/* Whoever still waits hears what the kernel says. */
static void let_go(struct pinfold_run *run)
{
	struct moves *m = run->moves;

	for (unsigned i = 0; i < WAITING_MAX; i++) {
		if (m->waiting[i].seq && run->listener >= 0)
			(void)move_reply(run->listener, m->waiting[i].id,
					 false); /* or he is gone */
		m->waiting[i].seq = 0;
	}
	fd_close(&m->channel);
}

static bool open_channel(struct pinfold_run *run)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct err ignored = ERR_INIT;
	int pair[2];

	if (run->moves->channel >= 0)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	run->moves->channel = ev.data.fd = pair[0];
	int r = epoll_ctl(run->epoll, EPOLL_CTL_ADD, pair[0], &ev);
	if (r >= 0)
		r = sandbox_serve_files(&run->live.sb, pair[1], &ignored);
	fd_close(&pair[1]);
	if (r < 0)
		fd_close(&run->moves->channel);
	return r >= 0;
}

/* Ask; false: it cannot be asked now. */
static bool ask(struct pinfold_run *run, uint64_t id)
{
	struct moves *m = run->moves;
	unsigned at = 0;

	while (at < WAITING_MAX && m->waiting[at].seq)
		at++;
	if (at == WAITING_MAX || !open_channel(run))
		return false;
	m->now.ask.head.seq = ++m->seq;
	if (passfd_send(m->channel, &m->now.ask, m->now.len, m->now.fds, 2) < 0)
		return false;
	m->waiting[at].id = id;
	m->waiting[at].seq = m->seq;
	return true;
}

int moves_event(struct pinfold_run *run, const struct notify_event *ev)
{
	if (!run->moves) {
		run->moves = calloc(1, sizeof(*run->moves));
		if (!run->moves)
			return move_reply(run->listener, ev->id, false);
		run->moves->channel = FD_NONE;
	}
	struct moves *m = run->moves;
	int r = move_read(run->listener, ev, &run->req.spec, &m->now, &m->off);
	if (r <= 0)
		return r;
	bool asked = ask(run, ev->id);
	fd_close(&m->now.fds[0]);
	fd_close(&m->now.fds[1]);
	return asked ? 0 : move_reply(run->listener, ev->id, false);
}

static void answered(struct pinfold_run *run, const struct files_answer *a)
{
	struct moves *m = run->moves;

	for (unsigned i = 0; a->seq && !a->more && i < WAITING_MAX; i++) {
		if (m->waiting[i].seq != a->seq)
			continue;
		m->waiting[i].seq = 0;
		if (run->listener >= 0)
			(void)move_reply(run->listener, m->waiting[i].id, a->error == 0);
	}
}

bool moves_answered(struct pinfold_run *run, int fd)
{
	struct files_answer a;

	if (!run->moves || fd != run->moves->channel)
		return false;
	int n = passfd_receive(fd, &a, sizeof(a), NULL, 0, MSG_DONTWAIT);
	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n < 0 || files_answer_check(&a, sizeof(a), a.seq) < 0)
		let_go(run); /* it ended, or was ended from inside: the next one begins anew */
	else
		answered(run, &a);
	return true;
}

void moves_end(struct pinfold_run *run)
{
	if (!run->moves)
		return;
	let_go(run);
	free(run->moves);
	run->moves = NULL;
}
