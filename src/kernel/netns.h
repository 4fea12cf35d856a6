/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces by descriptor, and what they show. For a process with
 * one thread and the right to do so: it is in another namespace than its own only within these
 * functions, or between netns_enter() and netns_return(). Where there is no way back it ends.
 */
#ifndef KERNEL_NETNS_H
#define KERNEL_NETNS_H

#include <stddef.h>

#include "base/err.h"

#define NETNS_TEXT_MAX 16384u

/* The one that we are in. */
int netns_own(int *ret_fd, struct err *e);
int netns_enter(int fd, struct err *e);
void netns_return(int own);

/* What is there of sockets, packets, routes and leases, as text of at most NETNS_TEXT_MAX bytes: of two
 * that nobody has used it is the same. */
int netns_look(int fd, int own, char *text, size_t *ret_len, struct err *e);

#endif
