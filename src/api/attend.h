/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that looks after the ways out of the sandboxes that this process made. */
#ifndef API_ATTEND_H
#define API_ATTEND_H

#include "base/err.h"

struct attendant;

int attendant_new(struct attendant **ret, struct err *e);
void attendant_free(struct attendant *a);

#endif
