/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_GUARD_TEXT_H
#define ENGINE_GUARD_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/guard.h"

/* "git push 'a branch'", "delete /work/x": one line of UTF-8, cut where it is too long and then
 * saying so. `a` is whole (guard_ask_fits()). */
void guard_text(const struct guard_ask *a, char *ret, size_t size);

#endif
