/* SPDX-License-Identifier: Apache-2.0 */
/* An event of the ledger in plain words. What is in it came from callers and sandboxes: it is
 * escaped. */
#ifndef CMD_STORY_H
#define CMD_STORY_H

#include "base/value.h"

/* One line of the table of pinfold audit. */
void story_row(const struct value *event);
/* Of the event of a beginning: so that the row of its end can say what it was. */
void story_remember(const struct value *event);
/* A few lines. */
void story_tell(const struct value *event);

#endif
