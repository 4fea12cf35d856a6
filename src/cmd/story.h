/* SPDX-License-Identifier: Apache-2.0 */
/* An event of the ledger in plain words. What is in it came from callers and sandboxes: it is
 * escaped. */
#ifndef CMD_STORY_H
#define CMD_STORY_H

#include "base/value.h"

struct pinfold_audit_options;
/* One line of the table of pinfold audit. by: what it was found by; NULL: it is alone, and no ledger
 * is asked for more. */
void story_row(const struct value *event, const struct pinfold_audit_options *by);
/* story_match.c: the connections or files by which it was, "" for none. */
void story_match(const struct value *event, const char *host, const char *path, char *to,
		 size_t size);
/* Of the event of a beginning: so that the row of its end can say what it was. */
void story_remember(const struct value *event);
/* A few lines. */
void story_tell(const struct value *event);

#endif
