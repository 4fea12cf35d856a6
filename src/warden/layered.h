/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreters that wait with packages: who runs Python programs with the same layers again and
 * again finds one that has imported their main modules.
 *
 * To import a package is to execute it. So each such interpreter is one of its own, started in the
 * very sandbox that will be its program's, under all of its rules, with no network, and given away
 * once; none is forked from another, as those of zygote.h are. Whatever a package does there, it
 * does to a sandbox that has it anyway and that nobody else will ever be in, and the zygote, which
 * could enter sandboxes, never sees it.
 *
 * Who may have it: a request of the same user that brings the very same directories (mount and
 * inode, of descriptors that he opened himself), for the same modules, which his program's text
 * imports; with no variable, directory or limit of its own. The locks of a store go with requests,
 * not with what waits: a layer may be removed under one, and then nobody can ask for it any more.
 *
 * A layer is waited with while it is used often (demand.h): an agent that goes on with the same set
 * comes again within minutes, and who came twice may never come again. One whose import fails, takes too long, prints, leaves a process or goes on computing is not.
 */
#ifndef WARDEN_LAYERED_H
#define WARDEN_LAYERED_H

#include "warden/ward_int.h"

struct bundle;

/* A request with packages: counted; one that waits for it, or NULL. */
struct ward *layered_choose(struct warden *w, const struct ask *ask, const struct ucred *who,
			    const struct bundle *said, const int fds[DEPS_GIVEN_MAX]);
/* It waits from now on; or, without an interpreter, ends. */
void layered_ready(struct warden *w, struct ward *ward, bool interpreter);
/* It does not wait any more, if it did. */
void layered_forget(struct warden *w, struct ward *ward);
/* It could not be made. */
void layered_failed(const struct ward *ward);

/* Is there one to be made, with so many bytes to be had for all of them? */
bool layered_due(const struct warden *w, uint64_t bytes);
void layered_make(struct warden *w, uint64_t bytes);
/* What all that wait hold. */
uint64_t layered_bytes(const struct warden *w);
/* Every DEMAND_FADE_S seconds: those that go on computing, that hang, that nobody uses. */
void layered_tick(struct warden *w);
/* Some go where they hold more. */
void layered_limit(struct warden *w, uint64_t bytes);
/* All of them go, and may be made again: packages, too, may have been refused for a while only. */
void layered_renew(struct warden *w);
void layered_done(struct warden *w);

#endif
