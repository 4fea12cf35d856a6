/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project of a workspace: the number by which the filesystem holds its disk limit.
 *
 * One for the workspace, not one for each layer: layers that were frozen before count by
 * themselves, commands that share the workspace share the limit, and what was undone gives its room
 * back when it is removed. Merged layers have none: they are links to files that count already.
 *
 * Kept in the table meta as `project:WORKSPACE:PLACE`, before anything has the number, where PLACE
 * says which directory on which filesystem it was chosen for: on another it may be somebody's.
 * project_collect() takes limits off that a workspace left, however it went.
 */
#ifndef STORE_PROJECT_H
#define STORE_PROJECT_H

#include "store/upper.h"

/* Can the store's filesystem hold limits, for us? Asks only. */
bool project_possible(const struct store *s);
/* Its number, chosen now if it has none; 0: its limit cannot be held that way. */
int project_find(struct store *s, int64_t workspace, uint32_t *ret, struct err *e);
/* What the last command was held to is no limit for what is made for the next one. */
void project_lift(const struct upper *u);
/* From now on the workspace of `u` grows by no more than `room`. While others run in it nobody
 * raises what they began with. False: it is not held. */
bool project_limit(const struct upper *u, const struct space *room);
/* How much of it is left. False: it is not known. */
bool project_left(const struct upper *u, struct space *ret);
int project_collect(struct store *s, struct err *e);

#endif
