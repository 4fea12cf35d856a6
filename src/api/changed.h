/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files changed in /home/user while something ran. All of them are looked at, which is cheap
 * as long as they are few. A session where that took long watches them from then on: what its next
 * execution costs depends on what it changes, no more on what is there.
 */
#ifndef API_CHANGED_H
#define API_CHANGED_H

#include "api/boxes.h"

/* The clock that stamps files stands still for some milliseconds. What a call changed in that time
 * would be told of the next one, too: that one waits until the clock goes on. */
void changed_now(struct box *b);
/* `since_ns` of what changes from here on. */
int64_t changed_begin(const struct box *b);

/* Since then, at most 100, by name. */
struct value *changed_files(struct box *b, int64_t since_ns);

/* By whoever has the session, after an execution. */
struct value *session_changes(struct box *b, struct session *s, int64_t since_ns);

#endif
