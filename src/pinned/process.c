/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clocks meet: who starts a thread or a process gives it his time, and who has waited for a
 * child is later than it was. state.c notices a copy of a process by itself, but its children may
 * not find it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"

struct start {
	void *(*run)(void *);
	void *arg;
	struct pinned_thread as;
};

static void *begin_thread(void *p)
{
	struct start s = *(struct start *)p;

	free(p);
	pinned_begin(&s.as);
	return s.run(s.arg);
}

PINNED_API int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict attr,
			      void *(*run)(void *), void *restrict arg)
{
	static int (*behind)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct pinned_thread *t = pinned_thread();
	struct start *s = t ? malloc(sizeof(*s)) : NULL;

	if (!behind)
		behind = pinned_behind("pthread_create", NULL);
	if (!s)
		return t ? EAGAIN : behind(ret, attr, run, arg);
	*s = (struct start){.run = run, .arg = arg};
	pinned_child(t, &s->as);
	int r = behind(ret, attr, begin_thread, s);
	if (r != 0)
		free(s);
	return r;
}

PINNED_API pid_t fork(void)
{
	static pid_t (*behind)(void);

	struct pinned_thread *t = pinned_thread(); /* before there are two */
	if (!behind)
		behind = pinned_behind("fork", NULL);
	if (t)
		pinned_forks(t, true);
	pid_t r = behind();
	if (r == 0)
		(void)pinned_thread();
	else if (t)
		pinned_forks(t, false);
	return r;
}

/* What a child used depends on the machine and the moment. */
static pid_t reap(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own = 0;
	int *to = status ? status : &own;
	long r = sys4(SYS_wait4, pid, to, options, usage);
	struct pinned_thread *t = r > 0 ? pinned_thread() : NULL;

	if (t && (WIFEXITED(*to) || WIFSIGNALED(*to)))
		pinned_take_over(t, (int)r);
	if (t && usage)
		*usage = (struct rusage){0};
	return (pid_t)pinned_result(r);
}

PINNED_API pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return reap(pid, status, options, usage);
}

PINNED_API pid_t wait3(int *status, int options, struct rusage *usage)
{
	return reap(-1, status, options, usage);
}

PINNED_API pid_t waitpid(pid_t pid, int *status, int options)
{
	return reap(pid, status, options, NULL);
}

PINNED_API pid_t wait(int *status)
{
	return reap(-1, status, 0, NULL);
}

PINNED_API int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own;
	siginfo_t *to = info ? info : &own;

	to->si_pid = 0;
	long r = sys5(SYS_waitid, type, id, to, options, NULL);
	struct pinned_thread *t =
		r == 0 && to->si_pid > 0 && !(options & WNOWAIT) ? pinned_thread() : NULL;

	if (t &&
	    (to->si_code == CLD_EXITED || to->si_code == CLD_KILLED || to->si_code == CLD_DUMPED))
		pinned_take_over(t, to->si_pid);
	return (int)pinned_result(r);
}
