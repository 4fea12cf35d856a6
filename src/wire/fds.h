/* SPDX-License-Identifier: Apache-2.0 */
/* Where the guest finds its descriptors when it starts, and an interpreter that waits finds its
 * own. */
#ifndef WIRE_FDS_H
#define WIRE_FDS_H

#define GUEST_CTL 3   /* SOCK_SEQPACKET to the host side; its end is the end of the sandbox */
#define GUEST_EXTRA 4 /* first of the descriptors that ATTACH steps name */
#define GUEST_EXTRA_MAX 10
#define GUEST_GATE (GUEST_EXTRA + GUEST_EXTRA_MAX) /* with a policy: the gate's socket */

/* Out of the way: what an interpreter opens by itself gets the numbers that it has without us. The
 * drivers' texts know these, too. */
#define DRIVER_FD 100 /* SOCK_STREAM to the guest; after the claim: the plan */
#define LOADER_FD 101 /* the loader's object, for interpreters that can load one */

/* An interpreter that stays: SOCK_STREAM to whoever executes code in it, in frames (wire/frame.h).
 * So high that no program comes across it. The loader is at LOADER_FD, as above. */
#define SESSION_FD 200

#endif
