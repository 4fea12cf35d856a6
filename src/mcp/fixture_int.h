/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance suite wants to find. In test builds alone (make FIXTURES=1). */
#ifndef MCP_FIXTURE_INT_H
#define MCP_FIXTURE_INT_H

#include "api/call.h"
#include "api/op.h"
#include "base/value.h"

#define FIXTURE_PNG                                                                                    \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJg" \
	"gg=="

/* A literal as a value. */
struct value *fixture_json(const char *text);
/* {content: [{type: text}]} as the answer. Returns 0. */
int fixture_text(struct call *c, const char *text);

/* fixture_ask.c: tools that ask. */
extern const struct op fixture_asking[];
extern const size_t fixture_n_asking;
int fixture_prompt_asking(struct call *c, struct err *e);

#endif
