/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that brings the ledger's events to disk and under a checkpoint, as they come. */
#ifndef API_SETTLER_H
#define API_SETTLER_H

#include "base/err.h"

struct settler;

int settler_new(struct settler **ret, struct err *e);
/* When this returns, all that was written is settled. */
void settler_free(struct settler *s);

#endif
