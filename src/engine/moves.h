/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of lower layers that programs rename (sandbox/move.h): asked of a file server in the
 * sandbox, which is started with the first of them. Only in sandboxes of our own process.
 */
#ifndef ENGINE_MOVES_H
#define ENGINE_MOVES_H

#include "engine/run_int.h"
#include "sandbox/move.h"

/* Before the sandbox is made: are there such directories? */
void moves_begin(struct pinfold_run *run);
/* One that was taken by notify_take(). Negative: the listener is finished. */
int moves_event(struct pinfold_run *run, const struct notify_event *ev);
/* The file server says something (false: it has another fd). */
bool moves_answered(struct pinfold_run *run, int fd);
void moves_end(struct pinfold_run *run);

#endif
