/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands in the background print, on its way to the process that looks at it
 * (engine/look.c), and what that found. Packets of one socket (SOCK_SEQPACKET), in order:
 *
 *	to it	LOOK_NEW	struct look_msg, struct look_who: the place is this command's now
 *		LOOK_OUTPUT	struct look_msg, up to LOOK_BYTES_MAX of what it printed
 *	from it			struct look_found
 */
#ifndef WIRE_LOOK_H
#define WIRE_LOOK_H

#include <stdint.h>

#include "base/id.h"

#define LOOK_PLACES 4096u
#define LOOK_BYTES_MAX 32768u

enum look_kind { LOOK_NEW = 1, LOOK_OUTPUT };

struct look_msg {
	uint32_t kind;
	uint32_t place;
	uint32_t stream; /* 0: standard output, or a terminal's; 1: standard error */
	uint32_t pty;
};

/* Whose output it is; comes back as it was given. */
struct look_who {
	char sandbox[ID_SIZE];
	uint32_t owner;
	uint32_t pid;	/* inside */
	char label[96]; /* as warden_news has it */
};

struct look_found {
	struct look_who who;
	uint32_t rule;
	char what[96];
};

#endif
