/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/contender.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool contender_init(struct contender *c, const char *name, char **argv, size_t max)
{
	*c = (struct contender){.name = name, .argv = argv, .max = max};
	c->samples = calloc(max ? max : 1, sizeof(*c->samples));
	return c->samples != NULL;
}

void contenders_done(struct contender *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(c[i].samples);
}

void contender_sample(struct contender *c, uint64_t ns)
{
	if (c->n < c->max)
		c->samples[c->n++] = ns;
}

bool contender_failed(struct contender *c, const char *fmt, ...)
{
	va_list ap;

	c->failures++;
	va_start(ap, fmt);
	(void)vsnprintf(c->reason, sizeof(c->reason), fmt, ap); /* one that is cut still helps */
	va_end(ap);
	return false;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void contenders_sort(struct contender *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		qsort(c[i].samples, c[i].n, sizeof(*c[i].samples), by_value);
}

uint64_t contender_percentile(const struct contender *c, unsigned percent)
{
	if (c->n < 100 / (100 - percent))
		return 0;
	return c->samples[(c->n * percent + 99) / 100 - 1];
}

const struct contender *contender_find(const struct contender *c, size_t n, const char *name)
{
	for (size_t i = 0; name && i < n; i++)
		if (strcmp(c[i].name, name) == 0)
			return &c[i];
	return NULL;
}

void shuffle(size_t *order, size_t n)
{
	static uint64_t state = 88172645463325252u; /* the same order in every run */

	for (size_t i = n; i > 1; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		size_t j = state % i, kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}
