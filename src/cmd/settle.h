/* SPDX-License-Identifier: Apache-2.0 */
/* What can wait is done by a process that nobody waits for, once the verb has ended. */
#ifndef CMD_SETTLE_H
#define CMD_SETTLE_H

/* Before a verb: events of one that lasts are settled while it does. */
void settle_begin(int argc, char **argv);
/* The same now, if there are any. */
void settle_now(void);
/* The store has something to settle. */
void settle_store(void);
/* The end of every verb: the ledger's events, and the store. */
void settle_leave(void);
/* The end of a daemon: whoever stopped it may end all that it left (systemd does), so nothing is left
 * for later. */
void settle_end(void);
/* For a process with threads, at its end: the ledger, here and now. */
void settle_here(void);

#endif
