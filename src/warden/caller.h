/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers who stay on their connection (LINK_KEEP) and ask again on it: without front, which has had
 * their first request. What they say is checked as front checks it, and once more by who handles it.
 */
#ifndef WARDEN_CALLER_H
#define WARDEN_CALLER_H

#include "warden/ward_int.h"

/* Nothing is asked for on it just now. Takes *link, which is FD_NONE then; where too many stay, the one
 * who has been silent for longest is hung up on: he connects anew. */
void caller_keep(struct warden *w, int *link);

/* What somebody says on a connection of his: as passfd_receive(), fds[0] is left for the connection. -EPIPE
 * also for what is no request of this version. */
int caller_receive(struct warden *w, int link, struct link_ask *ret, int fds[1 + LINK_FDS_MAX]);

/* Is it a request that may come on a connection that is there already? */
bool caller_asks_again(const struct link_ask *ask);

/* He asks for the next thing; nobody watches the connection any more. fds[0] is that, all are taken. */
void caller_ask(struct warden *w, const struct link_ask *ask, int fds[1 + LINK_FDS_MAX]);

void caller_event(struct warden *w, const struct source *source);
/* The daemon ends: nobody is let in by this door either. */
void callers_done(struct warden *w);

#endif
