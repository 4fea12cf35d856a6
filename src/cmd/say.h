/* SPDX-License-Identifier: Apache-2.0 */
/* What Pinfold itself says on standard error: `pinfold: …`, one line each, in one write. What an
 * untrusted program could have put into the text is escaped, so it cannot forge a line. */
#ifndef CMD_SAY_H
#define CMD_SAY_H

#include <pinfold/pinfold.h>
#include <stdbool.h>

#include "base/err.h"

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "pinfold: CODE: message" and, where there is one, "pinfold: remedy: …". */
void say_error(const struct pinfold_error *error);
/* Ends a verb that failed: says the error and, with json, prints its document on standard output.
 * Returns EXIT_PINFOLD. */
int say_failure(const struct err *e, bool json);
/* Is that the document of a run (as long as nobody says), or {"error": …}? */
void say_as_run(bool run);
/* Standard output took nothing: says so, once, but of a reader who left. 0 for him, else
 * EXIT_PINFOLD. */
int say_unwritten(int error);
int say_library_failure(const struct pinfold_error *error, bool json);

#endif
