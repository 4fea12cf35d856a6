/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seccomp filters as bytes, and what to say of a call that they refuse. Data only: no I/O, no
 * heap, no libc. The rows are in seccomp.def; the bytes are made at build time.
 *
 * Whoever loads a filter needs no_new_privs and SECCOMP_FILTER_FLAG_NEW_LISTENER, best with
 * SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: else a signal takes a caller out of the wait and its call
 * is asked about again, for ever in a program with a fast timer. The notifications are answered
 * with EPERM, or with SECCOMP_USER_NOTIF_FLAG_CONTINUE where seccomp_report_network() or
 * seccomp_report_guard() holds and for nothing else, since whatever is behind a pointer can change
 * between the look and the call.
 * When the listener is closed the kernel answers ENOSYS.
 */
#ifndef KERNEL_SECCOMP_H
#define KERNEL_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

struct seccomp_filter {
	const struct sock_filter *code;
	unsigned len; /* instructions; fits sock_fprog's 16 bits */
};

const struct seccomp_filter *seccomp_strict(void);
/* For the level without namespaces: no sockets, no System V IPC, no debugging. */
const struct seccomp_filter *seccomp_landlock(void);

/* strict, where it is asked about what is executed, and about what is deleted. */
const struct seccomp_filter *seccomp_guard(bool deletes);

/* strict, where nobody is asked about addresses; with what seccomp_move() asks, or without. */
const struct seccomp_filter *seccomp_gated(bool moves);

/* strict, where it is asked about what is renamed, and about landlock_restrict_self(); but of that and
 * of renameat2() not where this is in the upper half of the flags, which the kernel does not look
 * at. */
#define SECCOMP_MOVE_PASS 0x70666d76u
#define SECCOMP_MOVE_FLAGS(flags) ((uint64_t)SECCOMP_MOVE_PASS << 32 | (flags))
const struct seccomp_filter *seccomp_move(void);

/* For the number in a notification. NULL: no filter of ours asks about it. */
const char *seccomp_report_name(int nr);
const char *seccomp_report_hint(int nr);
/* An address is to be recorded and the call continued: connect, and sendto with an address. */
bool seccomp_report_network(int nr);
/* Somebody says whether it goes on: a program that is executed, a file that is deleted; or does it
 * for the caller: a directory that is renamed. */
bool seccomp_report_guard(int nr);

#endif
