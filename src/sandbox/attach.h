/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_ATTACH_H
#define SANDBOX_ATTACH_H

#include "base/err.h"
#include "sandbox/spec.h"

/*
 * As root, the caller's directory is handed to the sandbox as a detached mount whose owner appears
 * as the sandbox's own user. Sets spec->dir_attached and *ret_fd; does nothing without --dir, or
 * for an ordinary user, whose own id is the sandbox's.
 */
int attach_dir(struct sandbox_spec *spec, int *ret_fd, struct err *e);

#endif
