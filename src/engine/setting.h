/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of this machine, or this user: settings.yaml in the configuration directory, a line for
 * each. A variable of the environment goes before it. */
#ifndef ENGINE_SETTING_H
#define ENGINE_SETTING_H

#include "base/err.h"
#include "ledger/sink.h"

#define SETTING_FILE "settings.yaml"

/* ledger.sync. 1: each event is on disk before the answer. Read once in a process; what cannot be
 * understood, or could have been written by somebody else, is an error each time. */
int setting_ledger_sync(struct err *e);

/* ledger.sink: where copies of the ledger go, beside those of `pinfold audit sink add`. */
#define SETTING_SINKS_MAX 8u
struct setting_sinks {
	unsigned n;
	char target[SETTING_SINKS_MAX][SINK_TARGET_SIZE];
};
int setting_ledger_sinks(struct setting_sinks *ret, struct err *e);

#endif
