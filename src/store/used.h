/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers are in use by whom: one bit for each. */
#ifndef STORE_USED_H
#define STORE_USED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct used {
	uint8_t *bits; /* owned */
	uint32_t n;
};

/* Room for every layer that there is now, none of them marked. */
int used_init(struct used *u, struct store *s, struct err *e);
void used_done(struct used *u);
/* Room also for what only snapshots and images know of; those that they have are marked. What is
 * unreadable is left out. */
int used_init_all(struct used *u, struct store *s, struct err *e);
/* Mark those of a query whose column 0 is a stack; ?1 is `workspace`. */
int used_mark(struct used *u, struct store *s, const char *sql, int64_t workspace, struct err *e);
void used_add(struct used *u, int64_t number);
bool used_has(const struct used *u, int64_t number);
#define auto_used __attribute__((cleanup(used_done)))

#endif
