/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far somebody has read several chains, as text that he may come back with:
 *
 *	led…:12.led…:40		of each chain the place of the first event that he has not seen
 *
 * A chain that is not named has none that he saw. Pure.
 */
#ifndef ENGINE_CURSOR_H
#define ENGINE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Is it one? NULL and "" are: nothing was seen. */
int cursor_check(const char *text, struct err *e);
/* Of one that was checked: the place in this chain. */
uint64_t cursor_place(const char *text, const char *chain);
/* Behind what is there; what has no room is left out. */
void cursor_add(char *text, size_t size, const char *chain, uint64_t place);

#endif
