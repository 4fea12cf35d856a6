/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces by descriptor. */
#ifndef KERNEL_USERNS_H
#define KERNEL_USERNS_H

#include "base/err.h"
#include "kernel/idmap.h"

/* A new one with these ids that nobody is in: its descriptor. */
int userns_make(const struct idmap *map, struct err *e);

/* Calls `fn` in a user namespace that is ours, and returns what it returns. Nobody gets back from one, so
 * who calls it is a child that shares our memory and our descriptors while we wait for it: what it
 * changes is changed, what it starts with CLONE_PARENT is our child. It has every right in there, and ours outside. */
typedef int userns_fn(void *arg, struct err *e);
int userns_inside(int userns, userns_fn *fn, void *arg, struct err *e);

#endif
