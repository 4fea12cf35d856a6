/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEDGER_OPEN_H
#define LEDGER_OPEN_H

#include "base/err.h"

/* A file of a ledger to read. Ledgers come from strangers: what is no file, such as a pipe that would
 * be waited for, is an error, and no link is followed. -ENOENT in e->num: it is not there. */
int ledger_open(int dir, const char *name, struct err *e);

#endif
