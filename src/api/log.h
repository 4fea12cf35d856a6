/* SPDX-License-Identifier: Apache-2.0 */
/* One line for every call, on standard error: who, what, how it went. Never what was in it. */
#ifndef API_LOG_H
#define API_LOG_H

#include "api/call.h"

void log_call(const struct call *c, uint64_t ms);

#endif
