/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SANDBOX_ATTACH_H
#define SANDBOX_ATTACH_H

#include "base/err.h"
#include "sandbox/spec.h"
#include "wire/fds.h"

/*
 * As root, the caller's directory is handed to the sandbox as a detached mount whose owner appears
 * as the sandbox's own user. Sets spec->dir_attached and *ret_fd; does nothing without --dir, or
 * for an ordinary user, whose own id is the sandbox's.
 */
int attach_dir(struct sandbox_spec *spec, int *ret_fd, struct err *e);
/* The same for its git directory. Sets spec->git.attached. */
int attach_git(struct sandbox_spec *spec, int *ret_fd, struct err *e);
/* The same for /usr where the command is root inside and has to own it to change it. Sets
 * spec->usr_attached. */
int attach_usr(struct sandbox_spec *spec, int *ret_fd, struct err *e);

/* And for the layers of a workspace, whose files carry the ids that are seen inside: those become
 * ids of the sandbox's range. Sets spec->layers.attached. */
int attach_layers(struct sandbox_spec *spec, int *ret_fd, struct err *e);

/* Layers of packages that a caller gave, each by itself: to root as they are, to others as --dir
 * is. Sets spec->deps.attached. */
int attach_deps(struct sandbox_spec *spec, int ret_fds[DEPS_GIVEN_MAX], struct err *e);

/* The same for the state of a synchronisation. Sets spec->state.attached. */
int attach_state(struct sandbox_spec *spec, int *ret_fd, struct err *e);

/* Which of the inherited descriptors is which. */
#define ATTACH_DIR (GUEST_EXTRA + 0)
#define ATTACH_USR (GUEST_EXTRA + 1)
#define ATTACH_VOLUME (GUEST_EXTRA + 2)
#define ATTACH_LAYERS (GUEST_EXTRA + 3)
#define ATTACH_STATE (GUEST_EXTRA + 4)
#define ATTACH_GIT (GUEST_EXTRA + 5)
#define ATTACH_DEPS (GUEST_EXTRA + 6) /* and up to DEPS_GIVEN_MAX */

#endif
