/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the attacks on the kernel's surface. A call that the filter refuses looks like one that is
 * refused for want of a capability. So the calls are made with arguments that the kernel answers
 * with something else (EFAULT, EINVAL, EBADF) before it asks for rights: any answer but the
 * filter's means that the kernel was reached. That does no harm either, whoever runs it.
 */
#ifndef B_DOORS_H
#define B_DOORS_H

#include "attack.h"
#include <sys/wait.h>

#define BAD_POINTER ((void *)-4096L)

static inline const char *answer(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "done";
}

/* A call that must end in the filter: EPERM, or ENOSYS as for every number that is not listed. */
static inline void filtered(const char *name, long ret)
{
	door_if(name, ret >= 0 || (errno != EPERM && errno != ENOSYS), answer(ret));
}

/* A call that must not exist at all, so that programs fall back to another. */
static inline void missing(const char *name, long ret)
{
	door_if(name, ret >= 0 || errno != ENOSYS, answer(ret));
}

/* Something that must work inside. */
static inline void works(const char *name, int ok)
{
	printf("%s %s %s\n", ok ? "works" : "broken", name, ok ? "" : strerrorname_np(errno));
	fflush(stdout);
}

/* A number from the command line, which the case itself wrote. */
static inline long number(const char *text)
{
	char *end = NULL;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end) {
		fprintf(stderr, "not a number: %s\n", text);
		exit(2);
	}
	return n;
}

/* Calls fn in a child, since an attack that succeeds changes the process that made it. */
static inline int in_child(void (*fn)(long), long arg)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

#endif
