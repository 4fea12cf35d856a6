/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that are gone, and why: for who still asks for one. The last few of each tenant; who
 * starts us anew finds none.
 */
#ifndef API_GONE_H
#define API_GONE_H

#include <stdbool.h>
#include <stddef.h>

struct gone_table;

#define GONE_MAX 512u
#define GONE_EACH 32u /* of a tenant: then his oldest is forgotten */

struct gone_table *gone_new(void); /* NULL: no memory */
void gone_free(struct gone_table *t);

/* `why` completes "it ended 12 min ago: …". Known already: the first reason stays. */
void gone_add(struct gone_table *t, const char *tenant, const char *id, const char *name,
	      const char *why);
/* By id or name, the last of that name. "ended 12 min ago: …" */
bool gone_find(struct gone_table *t, const char *tenant, const char *id, char *ret, size_t size);

#endif
