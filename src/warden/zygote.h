/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygote: a Python with its modules imported that never runs anybody's program. For each
 * sandbox that is to wait with a Python it forks, and the fork goes into that sandbox
 * (guest/forked.c). Its forks share what is the same for all of a process's life (addresses, the
 * hash seed), so it is replaced now and then.
 *
 * It has to be one level above the user namespaces of its sandboxes, as the one who made them. Root's
 * is where root is. An ordinary user may have no tree of his own there, so his zygotes are in a user
 * namespace that is their pool, and the sandboxes that wait for a fork are below that.
 */
#ifndef WARDEN_ZYGOTE_H
#define WARDEN_ZYGOTE_H

#include "warden/ward_int.h"

/* True: there is one that can be asked; makes one where that is due. */
bool zygote_ready(struct warden *w);
/* Where one has to be that a fork can enter. */
void zygote_pool(const struct warden *w, struct sandbox_spec *spec);
/* Ask for an interpreter for the ward. When it cannot be had the guest notices: `end` is
 * borrowed. */
void zygote_ask(struct warden *w, struct ward *ward, int end);
/* One of its forks is ready. */
void zygote_succeeded(struct warden *w);
/* Now and then: one that is stuck is given up. */
void zygote_check(struct warden *w);
/* It is gone. */
void zygote_event(struct warden *w);
void zygote_end(struct warden *w);

#endif
