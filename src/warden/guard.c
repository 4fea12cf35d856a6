/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "sandbox/guard.h"
#include "warden/visit.h"

struct ward_guard {
	int fd; /* FD_NONE: nobody decides any more */
	uint64_t waiting[GUARD_WAITING_MAX];
	unsigned n;
};

/* Whatever else it is, it could make us wait. */
static bool is_ours(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

int ward_guard(struct warden *w, struct ward *ward, int fd, struct err *e)
{
	if (!is_ours(fd))
		return err_set(e, ERR_INVALID, "malformed request: who decides about commands?");
	ward->guard = calloc(1, sizeof(*ward->guard));
	if (!ward->guard)
		return err_sys(e, "run");
	ward->guard->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (ward->guard->fd < 0)
		return err_sys(e, "run");
	return warden_watch(w, ward->guard->fd, &ward->sources[SOURCE_GUARD], e);
}

/* He is gone: nobody says yes any more. */
static void lose(const struct warden *w, struct ward *ward)
{
	struct ward_guard *g = ward->guard;

	if (g->fd >= 0)
		warden_unwatch(w, g->fd);
	fd_close(&g->fd);
	while (g->n > 0 && ward->listener >= 0)
		(void)guard_reply(ward->listener, g->waiting[--g->n], -EPERM); /* or he is gone */
}

/* Who was killed while he waited needs no answer. */
static void forget_dead(struct ward *ward)
{
	struct ward_guard *g = ward->guard;

	for (unsigned i = 0; i < g->n;) {
		if (guard_waits(ward->listener, g->waiting[i]))
			i++;
		else
			g->waiting[i] = g->waiting[--g->n];
	}
}

int ward_guard_ask(struct warden *w, struct ward *ward, const struct notify_event *ev)
{
	struct ward_guard *g = ward->guard;
	static struct guard_ask a;

	if (!g || g->fd < 0)
		return guard_reply(ward->listener, ev->id, -EPERM);
	int r = guard_read(ward->listener, ev, &a);
	if (r <= 0)
		return r;
	if (g->n == GUARD_WAITING_MAX)
		forget_dead(ward);
	if (g->n == GUARD_WAITING_MAX)
		return guard_reply(ward->listener, ev->id, -EPERM);
	g->waiting[g->n++] = ev->id;
	r = passfd_send(g->fd, &a, sizeof(a), NULL, 0);
	if (r == -EAGAIN) {
		g->n--;
		return guard_reply(ward->listener, ev->id, -EPERM);
	}
	if (r < 0)
		lose(w, ward);
	return 0;
}

static bool take_waiting(struct ward_guard *g, uint64_t id)
{
	for (unsigned i = 0; i < g->n; i++)
		if (g->waiting[i] == id) {
			g->waiting[i] = g->waiting[--g->n];
			return true;
		}
	return false;
}

/* Who made the sandbox knows what he refused; who only has a command in it does not. */
static void tell_refused(const struct ward *ward, const struct guard_answer *m)
{
	struct link_msg msg = {.kind = LINK_DENIAL,
			       .denial = {.network = m->refused == GUARD_BY_RULE
							     ? LINK_COMMAND_RULE
							     : LINK_COMMAND_ASKED}};

	memcpy(msg.denial.what, m->what, sizeof(msg.denial.what));
	memcpy(msg.denial.hint, m->hint, sizeof(msg.denial.hint));
	msg.denial.what[sizeof(msg.denial.what) - 1] = '\0';
	msg.denial.hint[sizeof(msg.denial.hint) - 1] = '\0';
	visitors_tell(ward, &msg);
}

void ward_guard_event(struct warden *w, struct ward *ward)
{
	struct ward_guard *g = ward->guard;
	struct guard_answer m;
	int r = passfd_receive(g->fd, &m, sizeof(m), NULL, 0, MSG_DONTWAIT);

	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r < 0 || m.magic != GUARD_MAGIC) {
		lose(w, ward);
		return;
	}
	if (!take_waiting(g, m.id) || ward->listener < 0)
		return;
	if (m.refused)
		tell_refused(ward, &m);
	(void)guard_reply(ward->listener, m.id, m.refused ? -EPERM : 0); /* or he is gone */
}

void ward_guard_end(const struct warden *w, struct ward *ward)
{
	if (!ward->guard)
		return;
	lose(w, ward);
	free(ward->guard);
	ward->guard = NULL;
}
