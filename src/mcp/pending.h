/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that the client did not, or could not, put before a person: they lie in the box of
 * `pinfold approvals`, and the call that wanted it is told to come again. Any thread.
 */
#ifndef MCP_PENDING_H
#define MCP_PENDING_H

#include <pinfold/approval.h>

#include "base/err.h"
#include "base/hash.h"

struct api;
struct pendings;

#define PENDING_MS (600u * 1000) /* how long a question waits, and an answer for the call */

int pendings_new(struct api *api, struct pendings **ret, struct err *e);
void pendings_free(struct pendings *p);
/* Where they are asked, borrowed; < 0: nothing was yet. */
int pendings_box(struct pendings *p);

/* What a person said to the question that `key` stands for: NONE also when there is none. An answer
 * is taken once. */
enum pinfold_answer pending_take(struct pendings *p, const uint8_t key[HASH_BYTES],
				 uint64_t *ret_seconds);
/* Ask, or leave it as it was asked already; its id goes to ret_id. */
int pending_ask(struct pendings *p, const uint8_t key[HASH_BYTES],
		const struct pinfold_question *question, char ret_id[32], struct err *e);

#endif
