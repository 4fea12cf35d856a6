/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clocks meet: who starts a thread or a process gives it his time, and who has waited for a
 * child is later than it was. state.c notices a copy of a process by itself, but its children may
 * not find it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "pinned/pinned.h"
#include "pinned/ring.h"

#define YIELDS 4u
#define TOLD 16u
#define LOOK_NS 1000000
#define LOOKS 20u		   /* with pauses of so long */
#define PATIENCE_NS (2 * NS_PER_S) /* of a process, in all */

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
	if (r > 0 && t)
		pinned_ring_expect((uint32_t)r);
	return r;
}

/* A child of vfork() is in its parent's memory until it executes something: the one moment in which
 * both can be told of each other. libc's own ways from one of these to another do not come by. */
#define EXEC(name, parameters, arguments)                                                          \
	PINNED_API int name parameters                                                             \
	{                                                                                          \
		static int(*behind) parameters;                                                    \
		if (!behind)                                                                       \
			behind = pinned_behind(#name, NULL);                                       \
		pinned_executes();                                                                 \
		return behind arguments;                                                           \
	}

EXEC(execve, (const char *path, char *const argv[], char *const env[]), (path, argv, env))
EXEC(execv, (const char *path, char *const argv[]), (path, argv))
EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
EXEC(execvpe, (const char *file, char *const argv[], char *const env[]), (file, argv, env))

/* The child finds its own way, but its clock begins where ours is now. */
#define SPAWN(name)                                                                                \
	PINNED_API int name(pid_t *restrict ret, const char *restrict path,                        \
			    const posix_spawn_file_actions_t *restrict actions,                    \
			    const posix_spawnattr_t *restrict attr, char *const argv[restrict],    \
			    char *const env[restrict])                                             \
	{                                                                                          \
		static __typeof__(name) *behind;                                                   \
		pid_t own = 0;                                                                     \
		if (!behind)                                                                       \
			behind = pinned_behind(#name, "GLIBC_2.15");                               \
		int r = behind(&own, path, actions, attr, argv, env);                              \
		if (r == 0)                                                                        \
			pinned_spawned(own);                                                       \
		if (r == 0 && ret)                                                                 \
			*ret = own;                                                                \
		return r;                                                                          \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

static pid_t told[TOLD]; /* the last that were sent a signal */
static unsigned n_told;

PINNED_API int kill(pid_t pid, int sig)
{
	if (pid > 0 && sig > 0 && pinned_thread())
		told[__atomic_fetch_add(&n_told, 1, __ATOMIC_RELAXED) % TOLD] = pid;
	return (int)pinned_result(sys2(SYS_kill, pid, sig));
}

/* A child that has been told to end does so in a moment, and on a machine with other work in
 * several. */
static long look_again(pid_t pid, int *status, int options, struct rusage *usage)
{
	static uint64_t waited_ns;
	const struct timespec pause = {0, LOOK_NS};
	bool is_told = false;
	long r = 0;

	for (unsigned i = 0; i < TOLD; i++)
		is_told |= told[i] == pid;
	for (unsigned i = 0; is_told && r == 0 && i < LOOKS && waited_ns < PATIENCE_NS; i++) {
		(void)sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause,
			   NULL); /* it may be short */
		waited_ns += LOOK_NS;
		r = sys4(SYS_wait4, pid, status, options, usage);
	}
	return r;
}

/* What a child used depends on the machine and the moment. */
static pid_t reap(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own = 0;
	int *to = status ? status : &own;
	long r = sys4(SYS_wait4, pid, to, options, usage);

	/* Whose pipes have ended is about to: who looks now would sleep, and look again. */
	for (unsigned i = 0; r == 0 && i < YIELDS && pinned_thread(); i++) {
		(void)sys0(SYS_sched_yield); /* cannot fail */
		r = sys4(SYS_wait4, pid, to, options, usage);
	}
	if (r == 0 && pid > 0 && pinned_thread())
		r = look_again(pid, to, options, usage);
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
