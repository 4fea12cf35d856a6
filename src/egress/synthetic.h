/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses that stand for names. A sandbox asks for a name and gets one; when it connects there,
 * the name is found again, so a rule is judged by the name that was meant and nobody can rebind it.
 *
 * The n-th name of a sandbox has 198.18.0.0 + n and fd70:6966:6f6c:6400::n (n from 1); a name keeps
 * its address as long as the table lives, and no address is given twice. Bounded: when it is full,
 * new names have none. Pure but for the heap.
 */
#ifndef EGRESS_SYNTHETIC_H
#define EGRESS_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "egress/address.h"
#include "egress/name.h"

#define SYNTHETIC_NAMES_MAX 4096u
#define SYNTHETIC_BYTES_MAX (256u << 10) /* of all names together */

struct synthetic;

struct synthetic *synthetic_new(void); /* NULL: no memory */
void synthetic_free(struct synthetic *s);
/* The address of a name (kind NAME_DNS), a new one where it has none. 0, -ENOSPC, -ENOMEM. */
int synthetic_address(struct synthetic *s, const struct name *name, bool ip6, struct address *ret);
/* The name that an address stands for; false: for none. */
bool synthetic_name(const struct synthetic *s, const struct address *a, struct name *ret);
/* Of the ranges above, whether it stands for a name or not: nothing is ever connected to there. */
bool synthetic_is(const struct address *a);
unsigned synthetic_count(const struct synthetic *s);

#endif
