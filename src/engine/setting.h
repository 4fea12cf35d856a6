/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of this machine, or this user: settings.yaml in the configuration directory, a line for
 * each. A variable of the environment goes before it. */
#ifndef ENGINE_SETTING_H
#define ENGINE_SETTING_H

#include "base/err.h"

#define SETTING_FILE "settings.yaml"

/* ledger.sync. 1: each event is on disk before the answer. Read once in a process; what cannot be
 * understood, or could have been written by somebody else, is an error each time. */
int setting_ledger_sync(struct err *e);

#endif
