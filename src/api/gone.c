/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gone.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/boxes.h"

struct gone {
	char tenant[TENANT_SIZE], id[32], name[BOX_NAME_SIZE], why[160];
	uint64_t at_ms;
	uint64_t number; /* they are counted; 0: this place is free */
};

struct gone_table {
	pthread_mutex_t lock;
	struct gone list[GONE_MAX]; /* under lock */
	uint64_t n;		    /* ever; under lock */
};

struct gone_table *gone_new(void)
{
	struct gone_table *t = calloc(1, sizeof(*t));

	if (t)
		(void)pthread_mutex_init(&t->lock, NULL);
	return t;
}

void gone_free(struct gone_table *t)
{
	if (!t)
		return;
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

static bool is_of(const struct gone *g, const char *tenant)
{
	return g->number && strcmp(g->tenant, tenant) == 0;
}

/* With the lock: a free place, or that of the oldest; the tenant's own when he has his share. */
static struct gone *place_for(struct gone_table *t, const char *tenant)
{
	struct gone *oldest = &t->list[0], *own = NULL;
	unsigned n_own = 0;

	for (struct gone *g = t->list; g < t->list + GONE_MAX; g++) {
		bool his = is_of(g, tenant);

		n_own += his;
		own = his && (!own || g->number < own->number) ? g : own;
		oldest = g->number < oldest->number ? g : oldest;
	}
	return own && (n_own >= GONE_EACH || oldest->number) ? own : oldest;
}

static struct gone *look_up(struct gone_table *t, const char *tenant, const char *id)
{
	struct gone *found = NULL;

	for (struct gone *g = t->list; g < t->list + GONE_MAX; g++)
		if (is_of(g, tenant) && (!strcmp(g->id, id) || !strcmp(g->name, id)) &&
		    (!found || g->number > found->number))
			found = g;
	return found;
}

void gone_add(struct gone_table *t, const char *tenant, const char *id, const char *name,
	      const char *why)
{
	(void)pthread_mutex_lock(&t->lock);
	if (!look_up(t, tenant, id)) {
		struct gone *g = place_for(t, tenant);

		*g = (struct gone){.at_ms = loop_now_ms(), .number = ++t->n};
		(void)snprintf(g->tenant, sizeof(g->tenant), "%s", tenant);
		(void)snprintf(g->id, sizeof(g->id), "%s", id);
		(void)snprintf(g->name, sizeof(g->name), "%s", name);
		(void)snprintf(g->why, sizeof(g->why), "%s", why);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

bool gone_find(struct gone_table *t, const char *tenant, const char *id, char *ret, size_t size)
{
	(void)pthread_mutex_lock(&t->lock);
	const struct gone *g = look_up(t, tenant, id);
	if (g) {
		unsigned long long s = (loop_now_ms() - g->at_ms) / 1000;

		(void)snprintf(ret, size, "ended %llu %s ago: %s", s < 120 ? s : s / 60,
			       s < 120 ? "s" : "min", g->why);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return g;
}
