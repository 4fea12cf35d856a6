/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands in the background print is kept here, but looked at for alerts by a process without
 * rights (config->start_look), which is started when there is something to look at. It says what it
 * found; alarm.c acts on that.
 */
#ifndef WARDEN_LOOK_H
#define WARDEN_LOOK_H

#include "warden/job_int.h"

void look_init(struct warden *w);
/* There is room for what one read gives. Else that has to wait, and it is tried again soon. */
bool look_ready(struct warden *w);
/* The same, for the last that a command printed: so long at most. */
bool look_ready_within(struct warden *w, int ms);
void look_output(struct warden *w, struct job *job, unsigned stream, const char *data, size_t len);
/* Nothing more comes of it. */
void look_over(struct warden *w, struct job *job);
void look_event(struct warden *w);
/* What it has not said yet. */
void look_done(struct warden *w);

#endif
