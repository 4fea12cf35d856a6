/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that live: the daemon has them, their way out is this process's, which made them. What
 * is left of the run that made one looks after it: it hears what the gate decides, has people
 * asked, and is told to change the policy. One thread, or a process that does nothing else, waits
 * for all.
 */
#include <errno.h>
#include <fcntl.h>
#include <pinfold/policy.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "engine/egress_live.h"
#include "engine/guard.h"
#include "engine/record.h"

#define HELD_MAX 1024u
#define EVENTS 16
#define TELL_MS 1000

static struct {
	pthread_mutex_t lock; /* for all but `epoll`, once that is there */
	int epoll;
	struct pinfold_run *runs[HELD_MAX];
	unsigned n;
	bool attended;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = FD_NONE};

unsigned pinfold_policy_held(void)
{
	pthread_mutex_lock(&held.lock);
	unsigned n = held.n;
	pthread_mutex_unlock(&held.lock);
	return n;
}

static struct pinfold_run *find(const char *id)
{
	for (unsigned i = 0; i < held.n; i++)
		if (strcmp(held.runs[i]->req.spec.id, id) == 0)
			return held.runs[i];
	return NULL;
}

int pinfold_policy_holds(const char *id)
{
	pthread_mutex_lock(&held.lock);
	bool yes = find(id);
	pthread_mutex_unlock(&held.lock);
	return yes;
}

void pinfold_policy_attend(void)
{
	pthread_mutex_lock(&held.lock);
	held.attended = true;
	pthread_mutex_unlock(&held.lock);
}

bool egress_attended(void)
{
	pthread_mutex_lock(&held.lock);
	bool yes = held.attended;
	pthread_mutex_unlock(&held.lock);
	return yes;
}

static void let_go(unsigned i)
{
	struct pinfold_run *run = held.runs[i];

	held.runs[i] = held.runs[--held.n];
	run->epoll = FD_NONE; /* it is everybody's */
	if (run->n_rows)
		record_live_network(run);
	pinfold_run_free(run);
}

/* Where nobody attends, those that ended are noticed when the next one comes. */
static void sweep(void)
{
	for (unsigned i = held.n; i-- > 0;) {
		struct pinfold_run *run = held.runs[i];
		bool more = true;

		while (!held.attended && more && run->reports >= 0) {
			struct gate_report r;
			ssize_t n = recv(run->reports, &r, sizeof(r), MSG_DONTWAIT | MSG_PEEK);

			more = n > 0 && egress_report(run);
			if (n == 0 || (n < 0 && errno != EAGAIN)) {
				let_go(i);
				break;
			}
		}
	}
}

static int watch(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	return fd < 0 ? 0 : epoll_ctl(held.epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int add(struct pinfold_run *run, struct err *e)
{
	if (held.epoll < 0)
		held.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (held.n == HELD_MAX)
		return err_set(e, ERR_LIMIT, "more than %u sandboxes with a network policy",
			       HELD_MAX);
	if (held.epoll < 0 || watch(run->reports) < 0 || watch(run->changes) < 0 ||
	    watch(run->guard_fd) < 0)
		return err_sys(e, "hold a sandbox's way out");
	run->epoll = held.epoll;
	held.runs[held.n++] = run;
	return 1;
}

int egress_hold(struct pinfold_run *run, const char *sandbox, struct err *e)
{
	if (!run->uses_gate && !run->guard)
		return 0;
	memcpy(run->req.spec.id, sandbox, sizeof(run->req.spec.id));
	fd_close(&run->gate_end); /* the daemon has them */
	fd_close(&run->guard_end);
	if (!(run->req.flags & PINFOLD_FOREIGN)) /* who made it for others is asked by them */
		egress_live_open(run);
	pthread_mutex_lock(&held.lock);
	sweep();
	int r = add(run, e);
	pthread_mutex_unlock(&held.lock);
	return r;
}

static void dispatch(int fd)
{
	for (unsigned i = 0; i < held.n; i++) {
		struct pinfold_run *run = held.runs[i];

		if (fd == run->reports && !egress_report(run)) {
			let_go(i);
			return;
		}
		if (fd == run->guard_fd && !guard_message(run)) {
			(void)epoll_ctl(held.epoll, EPOLL_CTL_DEL, fd, NULL);
			if (!run->uses_gate)
				let_go(i);
			return;
		}
		if (fd == run->changes)
			egress_live_take(run);
		if (fd == run->reports || fd == run->changes || fd == run->guard_fd ||
		    egress_answered(run, fd) || guard_answered(run, fd))
			return;
	}
}

int pinfold_policy_stay(int stop_fd, struct pinfold_error *ret_error)
{
	struct epoll_event stop = {.events = EPOLLIN, .data.fd = stop_fd};
	struct err e = ERR_INIT;

	pthread_mutex_lock(&held.lock);
	held.attended = true;
	if (held.epoll < 0)
		held.epoll = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_unlock(&held.lock);
	if (held.epoll < 0 ||
	    (stop_fd >= 0 && epoll_ctl(held.epoll, EPOLL_CTL_ADD, stop_fd, &stop) < 0)) {
		(void)err_sys(&e, "look after sandboxes");
		error_public(&e, ret_error);
		return -1;
	}
	for (bool stopped = false; !stopped && (stop_fd >= 0 || pinfold_policy_held() > 0);) {
		struct epoll_event ev[EVENTS];
		int n = epoll_wait(held.epoll, ev, EVENTS, -1);

		pthread_mutex_lock(&held.lock);
		for (int i = 0; i < n; i++) {
			if (stop_fd >= 0 && ev[i].data.fd == stop_fd)
				stopped = true;
			else
				dispatch(ev[i].data.fd);
		}
		pthread_mutex_unlock(&held.lock);
	}
	pthread_mutex_lock(&held.lock);
	if (held.n == 0)
		fd_close(&held.epoll);
	else if (stop_fd >= 0)
		(void)epoll_ctl(held.epoll, EPOLL_CTL_DEL, stop_fd, NULL);
	pthread_mutex_unlock(&held.lock);
	return 0;
}

int hold_ask(const char *id, enum live_op op, int policy, int reply, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&held.lock);
	struct pinfold_run *run = find(id);
	if (run) {
		r = egress_live_answer(run, op, policy, reply, e);
		r = r < 0 ? r : 1;
	}
	pthread_mutex_unlock(&held.lock);
	return r;
}

/* Rows that changed are told once a second; who asks has them now. */
static void have_told(struct pinfold_run *run)
{
	const struct gate_answer m = {.magic = GATE_MAGIC, .answer = GATE_TELL};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	if (passfd_send(run->reports, &m, sizeof(m), &theirs, 1) < 0)
		return;
	fd_close(&theirs); /* a gate that dies is noticed */
	struct pollfd pfd = {.fd = ours, .events = POLLIN};
	(void)poll(&pfd, 1, TELL_MS); /* then its rows come with the next look */
}

/* With the lock: the run that holds it, which knows all that the gate has decided. */
static struct pinfold_run *heard(const char *id)
{
	struct pinfold_run *run = find(id);
	struct pollfd pfd = {.fd = run ? run->reports : FD_NONE, .events = POLLIN};

	if (run)
		have_told(run);
	while (run && poll(&pfd, 1, 0) == 1 && egress_report(run))
		;
	return run;
}

void egress_share_begin(struct pinfold_run *run)
{
	pthread_mutex_lock(&held.lock);
	const struct pinfold_run *from = heard(run->req.spec.id);
	if (from)
		run->shared = calloc(GATE_ROWS_MAX, sizeof(*run->shared));
	for (unsigned i = 0; run->shared && i < from->n_rows; i++)
		run->shared[i] = (struct run_shared){from->rows[i].count, from->rows[i].bytes_in,
						     from->rows[i].bytes_out, from->rows[i].ms};
	run->shared_requests = from ? egress_noted_count(from) : 0;
	pthread_mutex_unlock(&held.lock);
}

/* Who ran beside it may have done it as well: nobody can tell them apart. */
void egress_share_end(struct pinfold_run *run)
{
	unsigned rows[GATE_ROWS_MAX]; /* what is where here */

	if (!run->shared)
		return;
	pthread_mutex_lock(&held.lock);
	const struct pinfold_run *from = heard(run->req.spec.id);
	if (from && !run->rows)
		run->rows = calloc(GATE_ROWS_MAX, sizeof(*run->rows));
	for (unsigned i = 0; from && run->rows && i < from->n_rows; i++) {
		const struct run_shared *before = &run->shared[i];
		struct gate_report r = from->rows[i];

		rows[i] = GATE_ROWS_MAX;
		if (r.count == before->count)
			continue;
		r.row = rows[i] = run->n_rows;
		r.count -= before->count;
		r.bytes_in -= before->bytes_in;
		r.bytes_out -= before->bytes_out;
		r.ms -= before->ms;
		egress_take(run, &r);
	}
	if (from && run->rows)
		egress_noted_since(run, from, run->shared_requests, rows);
	pthread_mutex_unlock(&held.lock);
	free(run->shared);
	run->shared = NULL;
}
