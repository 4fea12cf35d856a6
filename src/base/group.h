/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GROUP_H
#define BASE_GROUP_H

#include <sys/types.h>

/* The number of a group in /etc/group, or -1. Not getgrnam(): a static program cannot load what
 * that would ask. */
gid_t group_find(const char *name);

#endif
