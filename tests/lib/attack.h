/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For attack programs, which run inside. Each door that is tried becomes one line of output:
 * `open NAME [DETAIL]` or `shut NAME ERRNO`; the case then says `shut NAME...` to check that every
 * door it names was tried and that none was open.
 */
#ifndef ATTACK_H
#define ATTACK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The result of a system call wrapper: negative means refused, with errno. Returns ret. */
static inline long door(const char *name, long ret)
{
	int saved = errno;
	const char *text = ret < 0 ? strerrorname_np(saved) : NULL;

	if (ret < 0)
		printf("shut %s %s\n", name, text ? text : "?");
	else
		printf("open %s %ld\n", name, ret);
	fflush(stdout);
	errno = saved;
	return ret;
}

/* The same for tests that are not one call. */
static inline void door_if(const char *name, int is_open, const char *detail)
{
	printf("%s %s %s\n", is_open ? "open" : "shut", name, detail ? detail : "");
	fflush(stdout);
}

#endif
