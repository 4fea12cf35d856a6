/* SPDX-License-Identifier: Apache-2.0 */
/* Where things of ours are on the host. */
#ifndef WARDEN_PLACE_H
#define WARDEN_PLACE_H

#include <stddef.h>

#include "base/err.h"

/* What must not outlive a boot; the data directory where the session has no such place. */
int place_runtime(char *ret, size_t size, struct err *e);
int place_data(char *ret, size_t size, struct err *e);
/* Does the environment name places that can be used? */
int place_check(struct err *e);
/* The daemon's socket. */
int place_socket(char *ret, size_t size, struct err *e);
/* Make a directory and those above it, for ourselves alone. */
int place_make(const char *path, struct err *e);

#endif
