/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the warden asks the zygote for: one more interpreter, in the sandbox of a guest. Fixed
 * layout, SOCK_SEQPACKET; there is no answer, the guest hears from the interpreter. driver.py reads
 * it.
 *
 * Descriptors: the guest's pidfd, its children's time namespace, the interpreter's end of the
 * socket to the guest; with `group` the v2 group to be in; `tasks` files of v1 groups to enter.
 */
#ifndef WIRE_FORK_H
#define WIRE_FORK_H

#include <stdint.h>

#define FORK_MAGIC 0x70696e7au

struct fork_ask {
	uint32_t magic;
	uint32_t group;
};

#endif
