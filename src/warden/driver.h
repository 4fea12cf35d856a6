/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreters that can wait: how each is started, and which requests it can serve. */
#ifndef WARDEN_DRIVER_H
#define WARDEN_DRIVER_H

#include "warden/ward_int.h"

/* What is the command of a sandbox that waits, by its kind; nothing for KIND_PLAIN. */
void driver_spec(struct warden *w, struct ward *ward);
/* A Python that waits with these modules imported, or not at all. */
void driver_layered(struct ward *ward, const char *modules);
/* Which kind the request is for, with KIND_PLAIN for none in particular. */
enum ward_kind driver_kind(const struct ask *ask);

#endif
