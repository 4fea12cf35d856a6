/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal while the command has one of its own: every key goes inside, and on every
 * way out, a crash included, the terminal is what it was. */
#ifndef CMD_TERM_H
#define CMD_TERM_H

#include <stdbool.h>
#include <stdint.h>

/* Raw mode for the terminal at fd; does nothing when it is none. Repeat it after SIGCONT. */
void term_raw(int fd);
/* Undoes term_raw(); may be called without it. */
void term_restore(void);
/* The size of the first of the standard descriptors that is a terminal. */
bool term_size(uint16_t *ret_rows, uint16_t *ret_cols);

#endif
