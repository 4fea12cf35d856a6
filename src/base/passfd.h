/* SPDX-License-Identifier: Apache-2.0 */
/* One message of a SOCK_SEQPACKET socket, with descriptors. */
#ifndef BASE_PASSFD_H
#define BASE_PASSFD_H

#include <stddef.h>

#define PASSFD_MAX 10u

/* Never blocks, never raises SIGPIPE. `fds` are borrowed; the first negative one ends them. 0, or
 * -errno: -EAGAIN when the other end does not read. */
int passfd_send(int sock, const void *data, size_t len, const int *fds, unsigned n_fds);

/*
 * Take a message of exactly `len` bytes. Fills fds[] from the front, the rest is FD_NONE; the
 * caller owns them. Returns how many came, or -errno: -EPIPE when the other end is gone, -EPROTO
 * for a message of another length or with more descriptors (none is kept), -EAGAIN with
 * MSG_DONTWAIT in flags when there is none.
 */
int passfd_receive(int sock, void *data, size_t len, int *fds, unsigned max_fds, int flags);
/* As a flag: the sender may be anybody. A message with a descriptor whose end may wait
 * (base/discard.h) is refused with -EBADMSG, and nobody waits for its end. */
#define PASSFD_ANYBODYS 0x40000000
/* The same for a message of up to `max` bytes; *ret_len says how many. */
int passfd_receive_max(int sock, void *data, size_t max, size_t *ret_len, int *fds,
		       unsigned max_fds, int flags);

#endif
