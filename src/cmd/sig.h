/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as something to poll for. Handlers and a pipe, not a blocked mask and a signalfd, and a
 * handler that does nothing for SIGPIPE, not SIG_IGN: an exec resets handlers by itself, so nothing
 * of this can be inherited by what the library starts. A signal that the caller ignores (nohup)
 * stays ignored.
 */
#ifndef CMD_SIG_H
#define CMD_SIG_H

#include <stdbool.h>

#include "base/err.h"

/* Catches SIGINT, SIGTERM, SIGHUP and SIGQUIT. */
int sig_init(struct err *e);
/* And SIGWINCH and SIGCONT, of which one may have come before. */
void sig_terminal(void);
/* And SIGCONT alone. */
void sig_continue(void);
/* Poll this for reading. */
int sig_fd(void);
/* The next signal that came, 0 when there is none. */
int sig_take(void);
/* From here on signals do what they did before, but SIGPIPE stays harmless. */
void sig_done(void);

#endif
