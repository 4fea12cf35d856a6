/* SPDX-License-Identifier: Apache-2.0 */
/* What `pinfold bench` found, as a table or as a document. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include <stdbool.h>

#include "cmd/contest.h"

/* `load` is what the machine did before. Returns the exit status. */
int report(struct contest *t, double load, bool json);

#endif
