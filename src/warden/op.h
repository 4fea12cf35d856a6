/* SPDX-License-Identifier: Apache-2.0 */
/* What callers ask for, one function an operation; who may is decided here. */
#ifndef WARDEN_OP_H
#define WARDEN_OP_H

#include "warden/ward_int.h"

/* fds[0] is the connection, which becomes FD_NONE when somebody keeps it; the others are
 * borrowed. */
void op_handle(struct warden *w, const struct link_ask *ask, int fds[1 + LINK_FDS_MAX]);

#endif
