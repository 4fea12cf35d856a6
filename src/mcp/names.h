/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names for models: r1, r2, … for what ran in a sandbox, p1, p2, … for its background
 * processes. They cost fewer tokens than ids and are copied without mistakes. Any thread.
 */
#ifndef MCP_NAMES_H
#define MCP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct names;

int names_new(struct names **ret, struct err *e);
void names_free(struct names *n);

/* The number of a run; it gets one where it has none. 0: no memory. */
unsigned names_of_run(struct names *n, const char *sandbox, const char *run);
/* "r17" -> its id; false: it is not known any more. */
bool names_run(struct names *n, const char *sandbox, const char *name, char ret[32]);

unsigned names_add_process(struct names *n, const char *sandbox, uint32_t pid);
/* "p3" -> its pid inside. */
bool names_process(struct names *n, const char *sandbox, const char *name, uint32_t *ret_pid);
/* Its number; it gets one where it has none. */
unsigned names_of_process(struct names *n, const char *sandbox, uint32_t pid);
/* Up to where its output was read. */
uint64_t names_offset(struct names *n, const char *sandbox, uint32_t pid);
void names_set_offset(struct names *n, const char *sandbox, uint32_t pid, uint64_t offset);

/* It is gone. */
void names_forget(struct names *n, const char *sandbox);

#endif
