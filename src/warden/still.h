/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes of a sandbox stand still for a moment, without a control group: each is sent SIGSTOP,
 * until one look finds nobody who could start another. What they can see of it is SIGCONT.
 */
#ifndef WARDEN_STILL_H
#define WARDEN_STILL_H

#include <stdbool.h>
#include <sys/types.h>

struct still;

/* 0; -EPERM, -ENOMEM; -ETIMEDOUT: somebody went on, and all go on. */
int still_begin(pid_t guest, unsigned patience_ms, struct still **ret);
/* Did they stand still until now? */
bool still_holds(const struct still *s);
/* Whom we stopped goes on. Takes NULL. */
void still_end(struct still *s);

#endif
