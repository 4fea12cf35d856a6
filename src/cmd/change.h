/* SPDX-License-Identifier: Apache-2.0 */
/* How diff, review and apply print a change. What is in it was chosen by an untrusted program. */
#ifndef CMD_CHANGE_H
#define CMD_CHANGE_H

#include <pinfold/pinfold.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"

/* A, M or D. */
char change_letter(const struct pinfold_change *c);
/* A path on standard output, as one line, whatever is in it. */
void change_name(const char *path, size_t len);
/* Text as it is, or such that a terminal only displays it. `comment`: a # before every line. */
void change_text(FILE *to, const char *data, size_t len, bool terminal, bool comment);
/* The same of hunks, with colours. */
void change_colour(FILE *to, const char *data, size_t len, bool comment);
/* All fields but the patch, in an object that is open. */
void change_json(struct json *j, const struct pinfold_change *c);
/* What was written to a temporary file, to standard output, behind an empty line. */
void change_patches(FILE *from);

#endif
