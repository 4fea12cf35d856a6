/* SPDX-License-Identifier: Apache-2.0 */
/* Background processes, for the operations on them. */
#ifndef API_PROCESS_H
#define API_PROCESS_H

#include "base/value.h"

struct pinfold_process_state;

struct value *process_describe(const struct pinfold_process_state *s);
/* "INT" or "SIGINT"; 0: none that may be sent. */
int process_signal_of(const char *name);

#endif
