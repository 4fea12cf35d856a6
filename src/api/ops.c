/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "api/handlers.h"
#include "api/op.h"

static const struct op own[] = {
#include "api/ops.def"
};
#define OWN (sizeof(own) / sizeof(*own))

static const struct op *added;
static size_t n_added;

void op_register(const struct op *rows, size_t n)
{
	assert(!added); /* one other room has tools */
	added = rows;
	n_added = n;
}

size_t op_count(void)
{
	return OWN + n_added;
}

const struct op *op_at(size_t i)
{
	assert(i < OWN + n_added);
	return i < OWN ? &own[i] : &added[i - OWN];
}
