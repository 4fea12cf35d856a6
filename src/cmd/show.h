/* SPDX-License-Identifier: Apache-2.0 */
/* How the verbs that list something print it. */
#ifndef CMD_SHOW_H
#define CMD_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

uint64_t show_now_ms(void);
/* "12s", "5m", "3h", "2d": rounded down. */
/* RFC 3339 in UTC; ms 0: null. */
void show_instant(struct json *j, const char *key, uint64_t ms);
const char *show_span(uint64_t ms, char *text, size_t size);
/* "512", "1.5K", "20M", "3.2G" */
const char *show_size(uint64_t bytes, char *text, size_t size);
/* A line of somebody's own words, without what a terminal would act on. */
void show_text(const char *text);
/* Milliseconds since 1970 as RFC 3339, 0 as null. */
void show_time(struct json *j, const char *key, uint64_t ms);
/* {"items": [ ... ], "next": null} on standard output; 0, or -errno when that was said. */
void show_list_begin(struct json *j);
int show_list_end(struct json *j);
/* Ends a document of another shape. */
int show_end(struct json *j);

#endif
