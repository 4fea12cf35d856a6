/* SPDX-License-Identifier: Apache-2.0 */
#include "api/op.h"

#include "api/handlers.h"

#define ARGS(...)                                                                                  \
	.args = (const struct op_arg[]){__VA_ARGS__},                                              \
	.n_args = sizeof((const struct op_arg[]){__VA_ARGS__}) / sizeof(struct op_arg)
#define OP(title, ...) {.name = title, __VA_ARGS__},

const struct op op_table[] = {
#include "api/ops.def"
};
const size_t op_count = sizeof(op_table) / sizeof(*op_table);
