/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a policy has `commands`: what is about to happen inside, and whether it may. In the daemon
 * the warden, who can look into a sandbox, asks who has its policy, over a SOCK_SEQPACKET socket
 * that came with the request; fixed layout, native integers. Who made the sandbox by himself asks
 * himself.
 *
 *	warden -> holder	guard_ask: somebody inside waits
 *	holder -> warden	guard_answer, for each, in any order, whenever it is known
 *
 * When either end is gone, whoever waits is refused.
 */
#ifndef WIRE_GUARD_H
#define WIRE_GUARD_H

#include <stdint.h>
#include <string.h>

#define GUARD_MAGIC 0x70666775u
#define GUARD_TEXT_MAX 8000u
#define GUARD_WAITING_MAX 64u /* who wait at once in one sandbox; more are refused */

enum guard_kind {
	GUARD_EXEC = 1, /* the program, links followed, then its argv */
	GUARD_DELETE,	/* a path */
	GUARD_MOVE,	/* two paths */
	GUARD_SWAP,	/* the same, and the second goes to the place of the first */
};

struct guard_ask {
	uint32_t magic;
	uint16_t kind;	 /* enum guard_kind */
	uint16_t is_cut; /* there was more than fits */
	uint64_t id;	 /* the kernel's */
	uint32_t pid;	 /* who waits */
	uint32_t len;
	char text[GUARD_TEXT_MAX]; /* strings, each with its NUL */
};

#define GUARD_BY_RULE 1	  /* a rule denies it */
#define GUARD_BY_PERSON 2 /* a person, or that there was no answer */

struct guard_answer {
	uint32_t magic;
	uint32_t refused; /* 0: it goes on; else GUARD_BY_* */
	uint64_t id;
	char what[96], hint[256]; /* of what is refused */
};

/* Is it whole? The first string is there, and the last ends. */
static inline int guard_ask_fits(const struct guard_ask *a)
{
	const char *second = a->len ? (const char *)memchr(a->text, 0, a->len) : NULL;
	int paths = a->kind == GUARD_MOVE || a->kind == GUARD_SWAP;

	return a->magic == GUARD_MAGIC && a->kind >= GUARD_EXEC && a->kind <= GUARD_SWAP &&
	       a->len > 0 && a->len <= GUARD_TEXT_MAX && a->text[a->len - 1] == '\0' &&
	       (!paths || second + 1 < a->text + a->len);
}

#endif
