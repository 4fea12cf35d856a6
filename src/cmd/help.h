/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, printed from the tables of verbs and options. All return an exit status. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/verb.h"

int help_overview(void);
int help_verb(const struct verb *v);
/* Ends printing with stdio: 0, or EXIT_PINFOLD when it could not be written. */
int help_flush(void);

#endif
