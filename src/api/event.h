/* SPDX-License-Identifier: Apache-2.0 */
/* What of a call is in the ledger. Its row says it: arguments of the path always, others that
 * `event` lists; contents and values of variables never. What was run has events of its own, from
 * the engine. */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "api/call.h"

/* Before the handler, for what changes something: a call that cannot be recorded is not made. */
int event_begin(struct call *c, struct err *e);
/* Behind it, before the answer. */
void event_end(const struct call *c);

#endif
