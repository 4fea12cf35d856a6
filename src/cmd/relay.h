/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --result-fd: a program of ours stands between the caller and us (api/keeper.h). Output streams
 * through standard output and standard error as ever, byte for byte, and nothing of ours is said
 * there; what we have to say goes to a descriptor, one line each: a word, a blank, an object of
 * JSON.
 *
 *	started {"sandbox": ...}	the command runs: what fails from here on is a result
 *	denial {"text": ...}	something was refused
 *	alert {"text": ...}	an alert was raised: its rule, a blank, what it is about
 *	approval {"text": ...}	a person is asked: the question's id, a blank, what it is about
 *	result {...}		the document; the last line
 *	failed {...}		the document of a failure: nothing of the command ran; the last line
 */
#ifndef CMD_RELAY_H
#define CMD_RELAY_H

#include <pinfold/pinfold.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* From here on; the descriptor must be open for writing. */
int relay_to(uint64_t fd, struct err *e);
bool relay_on(void);

void relay_started(const struct pinfold_run *run);
/* Left out when nobody has read the ones before: the result has it, too. */
void relay_denial(const struct pinfold_run *run);
void relay_alert(const void *text, size_t len);
void relay_question(const void *text, size_t len);
/* 0 or -errno. */
int relay_result(const struct pinfold_run *run);
void relay_failed(const struct pinfold_error *error);

#endif
