/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules of mounted packages a Python program imports before it does anything else: an
 * interpreter may wait with these imported (warden/layered.h). A guess that need not be complete,
 * made of the program's text without parsing it; what counts for --deps is scan.py's. Pure.
 */
#ifndef DEPS_IMPORTS_H
#define DEPS_IMPORTS_H

#include <stddef.h>

#define IMPORTS_SIZE 512u /* with its NUL, as in wire/bundle.h */

/*
 * "numpy.linalg,pandas" of lines that begin with import or from, as far as one of the files in
 * `watched` (guest/seen.c) is of that module. "": none; or the program prepares what it imports (a
 * variable, a path), so that nobody may do it before.
 */
void imports_of(const char *text, size_t len, const char *watched, size_t watched_len,
		char ret[IMPORTS_SIZE]);

#endif
