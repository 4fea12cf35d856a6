/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs rename directories, and overlayfs refuses that (EXDEV) for those of a lower layer: what an
 * earlier command made in a workspace, or what a directory of the host has. So rename() is asked
 * about (spec.moves), and where it is about a directory the file server inside does it instead
 * (guest/files_rename.c), with the rights of a command and not ours.
 *
 * What is read from the caller's memory can be changed by another thread before anybody uses it: then
 * something else is renamed, which that thread could have done as well. Callers with other rights
 * than the file server has are not helped.
 */
#ifndef SANDBOX_MOVE_H
#define SANDBOX_MOVE_H

#include "sandbox/notify.h"
#include "sandbox/spec.h"
#include "wire/files.h"

struct move_ask {
	union {
		struct files_ask head;
		char bytes[sizeof(struct files_ask) + 2 * FILES_PATH_SIZE];
	} ask; /* seq is yet to be filled in */
	size_t len;
	int fds[2]; /* that go along, from the front; FD_NONE: no more. The caller closes them. */
};

/* What `ev`, with ev->guard, is about. 1: *ret is to be asked of a file server, then
 * move_reply(); 0: it was answered, by the kernel; -errno: the listener is finished. *off: there is
 * somebody in a domain of his own now, and nothing is to be asked about any more. */
int move_read(int listener, const struct notify_event *ev, const struct sandbox_spec *spec,
	      struct move_ask *ret, bool *off);
/* done: it was; else the kernel tries, and says why not. 0, or -errno: the listener is finished. */
int move_reply(int listener, uint64_t id, bool done);

#endif
