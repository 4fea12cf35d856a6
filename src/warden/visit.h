/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers with an interest in a sandbox that is not theirs alone: one has a command inside, another
 * waits until it is gone. They are told of what is refused and of its end; when they hang up they
 * are forgotten.
 */
#ifndef WARDEN_VISIT_H
#define WARDEN_VISIT_H

#include "warden/ward_int.h"

/* Takes the connection when it returns 0. */
int visit(struct warden *w, struct ward *ward, int link, bool keep, struct err *e);
/* Tell all; who does not read misses it. */
void visitors_tell(const struct ward *ward, const struct link_msg *msg);
void visitors_leave(struct warden *w, struct ward *ward);
void visit_event(struct warden *w, const struct source *source);

#endif
