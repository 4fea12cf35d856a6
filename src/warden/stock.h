/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces for sandboxes that wait. To make one and to take it apart again is a sixth of
 * what a short-lived sandbox costs, and most programs never use it.
 *
 * One is used again only if it shows, to the last byte, what those showed that nobody had used yet
 * (kernel/netns.c says what that covers, and why it is enough), when no process of its sandbox is left.
 * Nor may a descriptor have got out by which it could be looked at: so only of runs whose standard
 * input, output and error carry bytes and nothing else (make.c).
 * It belongs to the user namespace of the sandbox that it was made for, which is empty by then: in the
 * next ones nobody has any right over it. Every other one is dropped, and so is that of a sandbox that
 * lived.
 *
 * Only root can enter one that is somebody else's; elsewhere each guest makes its own.
 */
#ifndef WARDEN_STOCK_H
#define WARDEN_STOCK_H

struct ward;
struct warden;

void stock_init(struct warden *w);
void stock_done(struct warden *w);
/* One for a sandbox that is about to be made, if there is one; else the guest makes it. */
void stock_give(struct warden *w, struct ward *ward);
/* A sandbox is ready, and nobody has used it: where its guest made the namespace, that is remembered. */
void stock_note(struct warden *w, struct ward *ward);
/* Its sandbox is gone: keep it or drop it. Takes the descriptor. */
void stock_return(struct warden *w, int *fd);

#endif
