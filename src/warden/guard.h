/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a sandbox's policy has `commands`: who executes or deletes something inside is looked at
 * here, and waits for the word of who has the policy, at the other end of a socket that came with
 * the request (wire/guard.h). Without that word he is refused: nobody listens, does not read, or is
 * gone.
 */
#ifndef WARDEN_GUARD_H
#define WARDEN_GUARD_H

#include "warden/ward_int.h"

/* A copy of `fd` is the ward's from now on. */
int ward_guard(struct warden *w, struct ward *ward, int fd, struct err *e);
/* Somebody waits. Negative: the listener is finished. */
int ward_guard_ask(struct warden *w, struct ward *ward, const struct notify_event *ev);
/* An answer came. */
void ward_guard_event(struct warden *w, struct ward *ward);
void ward_guard_end(const struct warden *w, struct ward *ward);

#endif
