/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine speaks to who typed a command line. Here its words become those of a caller who sent a
 * request: fields instead of options, a path of ours where output was kept.
 */
#ifndef API_WORDS_H
#define API_WORDS_H

#include <stddef.h>

/* "--cpu-time" is "cpu_time" where a request has such a field. In place: it only becomes
 * shorter. */
void words_of_fields(char *text);
/* The same in every hint of a result; and where a stream was cut, where all of it is. `doc` is
 * malloced and taken, so is what is returned; NULL stays NULL. */
char *words_of_result(char *doc, const char *run);

#endif
