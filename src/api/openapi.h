/* SPDX-License-Identifier: Apache-2.0 */
/* OpenAPI 3.1 of the table of operations. */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include "api/op.h"

struct value *openapi_document(void);
/* JSON Schema of an argument. REST: with the texts that stand for sizes and times; else
 * integers. */
struct value *schema_of_arg(const struct op_arg *a);

#endif
