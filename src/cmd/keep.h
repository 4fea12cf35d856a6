/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside the daemon: a process that looks after its ledger, once a second, and ends with it. It signs
 * for events whose writer could not, joins the chains (engine/join.c), and brings copies to where
 * they are wanted.
 */
#ifndef CMD_KEEP_H
#define CMD_KEEP_H

void keep_ledger(void);

#endif
