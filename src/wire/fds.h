/* SPDX-License-Identifier: Apache-2.0 */
/* Where the guest finds its descriptors when it starts. */
#ifndef WIRE_FDS_H
#define WIRE_FDS_H

#define GUEST_CTL 3   /* SOCK_SEQPACKET to the host side; its end is the end of the sandbox */
#define GUEST_EXTRA 4 /* first of the descriptors that ATTACH steps name */
#define GUEST_EXTRA_MAX 3

#endif
