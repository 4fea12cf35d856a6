/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/caller.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "warden/op.h"

#define CALLERS_MAX 256u /* who stay and ask for nothing: each is a descriptor of ours */

struct caller {
	struct source source; /* first: it is how an event finds it */
	int link;
	struct caller *next; /* who came later */
};

static void forget(struct warden *w, struct caller *c)
{
	struct caller **at = &w->callers.first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	w->callers.n--;
	warden_unwatch(w, c->link);
	fd_close(&c->link);
	free(c);
}

void caller_keep(struct warden *w, int *link)
{
	struct caller *c = w->draining || *link < 0 ? NULL : calloc(1, sizeof(*c));
	struct caller **at = &w->callers.first;
	struct err e = ERR_INIT;

	if (!c) {
		fd_close(link); /* he connects anew */
		return;
	}
	*c = (struct caller){.source = {SOURCE_CALLER, NULL, NULL}, .link = take_fd(link)};
	while (*at)
		at = &(*at)->next;
	*at = c;
	w->callers.n++;
	if (warden_watch(w, c->link, &c->source, &e) < 0)
		forget(w, c);
	else if (w->callers.n > CALLERS_MAX)
		forget(w, w->callers.first);
}

int caller_receive(struct warden *w, int link, struct link_ask *ret, int fds[1 + LINK_FDS_MAX])
{
	struct ucred who = {.uid = (uid_t)-1};
	socklen_t len = sizeof(who);

	fds[0] = FD_NONE;
	int n = passfd_receive(link, ret, sizeof(*ret), fds + 1, LINK_FDS_MAX,
			       MSG_DONTWAIT | PASSFD_ANYBODYS);
	if (n == -EBADMSG && getsockopt(link, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
		shunned_add(&w->shunned, who.uid);
	if (n < 0 || (ret->magic == LINK_MAGIC && ret->version == LINK_VERSION))
		return n;
	while (n > 0)
		fd_close(&fds[n--]);
	return -EPIPE;
}

bool caller_asks_again(const struct link_ask *ask)
{
	return ask->op == LINK_RUN || (ask->op == LINK_EXEC && !(ask->flags & LINK_DETACH));
}

void caller_ask(struct warden *w, const struct link_ask *ask, int fds[1 + LINK_FDS_MAX])
{
	struct err e = ERR_INIT;

	queue_ending(&e);
	if (w->draining)
		ward_refuse(fds[0], &e);
	else
		op_handle(w, ask, fds);
	for (unsigned i = 0; i < 1 + LINK_FDS_MAX; i++)
		fd_close(&fds[i]);
}

void caller_event(struct warden *w, const struct source *source)
{
	struct caller *c = (struct caller *)(uintptr_t)source;
	struct link_ask ask = {0};
	int fds[1 + LINK_FDS_MAX];
	int n = caller_receive(w, c->link, &ask, fds);

	if (n == -EAGAIN || (n == 0 && ask.op == LINK_TELL))
		return; /* he takes leave of what has ended meanwhile */
	if (n < 0 || !caller_asks_again(&ask)) {
		while (n > 0)
			fd_close(&fds[n--]);
		forget(w, c);
		return;
	}
	warden_unwatch(w, c->link);
	fds[0] = take_fd(&c->link);
	forget(w, c);
	caller_ask(w, &ask, fds);
}

void callers_done(struct warden *w)
{
	while (w->callers.first)
		forget(w, w->callers.first);
}
