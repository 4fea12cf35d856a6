/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all workspaces of a data directory may have together. A user has one, and so has each tenant
 * of the HTTP API, so that is what one of them may have. Kept in the table meta; not set: no limit.
 */
#ifndef STORE_TOTAL_H
#define STORE_TOTAL_H

#include <stdint.h>

#include "base/err.h"

struct store;

struct total {
	uint64_t bytes, workspaces;
};

/* 0 for what is not limited. */
int total_get(struct store *s, struct total *ret, struct err *e);
int total_set(struct store *s, const struct total *t, struct err *e);
/* What there is: all frozen layers, those of images and packages, too. */
int total_used(struct store *s, struct total *ret, struct err *e);
/* Bytes that may still be written; UINT64_MAX: no limit. */
int total_room(struct store *s, uint64_t *ret, struct err *e);
/* May there be one workspace more? ERR_LIMIT. In the transaction that makes it. */
int total_take_workspace(struct store *s, struct err *e);
int total_refuse(struct store *s, struct err *e);

#endif
