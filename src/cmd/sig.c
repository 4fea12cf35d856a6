/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sig.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/fd.h"

/* A handler has no other way to reach its state. Those that end a run come first. */
static struct {
	const int signo;
	int count; /* atomic: the handler may come between our reading and writing */
	bool caught;
	struct sigaction old;
} watched[] = {
	{.signo = SIGINT},  {.signo = SIGTERM},	 {.signo = SIGHUP},
	{.signo = SIGQUIT}, {.signo = SIGWINCH}, {.signo = SIGCONT},
};

#define WATCHED (sizeof(watched) / sizeof(watched[0]))
#define FATAL_COUNT 4

static int wake[2] = {FD_NONE, FD_NONE};
static pid_t owner;

static void on_signal(int signo)
{
	int saved = errno;

	/* A child of the library that shares our memory or our pipe until it execs is not us. */
	if (getpid() != owner)
		return;
	for (size_t i = 0; i < WATCHED; i++)
		if (watched[i].signo == signo)
			(void)__atomic_fetch_add(&watched[i].count, 1, __ATOMIC_SEQ_CST);
	(void)!write(wake[1], "", 1); /* when the pipe is full the loop will wake anyway */
	errno = saved;
}

static void on_nothing(int signo)
{
	(void)signo;
}

static void catch (size_t i)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(watched[i].signo, NULL, &watched[i].old);
	if (i < FATAL_COUNT && watched[i].old.sa_handler == SIG_IGN)
		return;
	watched[i].caught = sigaction(watched[i].signo, &sa, NULL) == 0;
}

int sig_init(struct err *e)
{
	struct sigaction sa = {.sa_handler = on_nothing, .sa_flags = SA_RESTART};

	owner = getpid();
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, "cannot make a pipe for signals");
	(void)sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGPIPE, &sa, NULL);
#ifdef DROP_SIGNALS
	return 0;
#endif
	for (size_t i = 0; i < FATAL_COUNT; i++)
		catch (i);
	return 0;
}

void sig_terminal(void)
{
#ifdef DROP_SIGNALS
	return;
#endif
	for (size_t i = FATAL_COUNT; i < WATCHED; i++)
		catch (i);
	on_signal(SIGWINCH); /* its size may be another since it was looked at */
}

void sig_continue(void)
{
	catch (WATCHED - 1);
}

int sig_fd(void)
{
	return wake[0];
}

int sig_take(void)
{
	char rest[64];

	while (read(wake[0], rest, sizeof(rest)) > 0)
		;
	for (size_t i = 0; i < WATCHED; i++) {
		if (__atomic_load_n(&watched[i].count, __ATOMIC_SEQ_CST) > 0) {
			(void)__atomic_fetch_sub(&watched[i].count, 1, __ATOMIC_SEQ_CST);
			return watched[i].signo;
		}
	}
	return 0;
}

void sig_done(void)
{
	for (size_t i = 0; i < WATCHED; i++) {
		if (watched[i].caught)
			(void)sigaction(watched[i].signo, &watched[i].old, NULL);
		watched[i].caught = false;
	}
	fd_close(&wake[0]);
	fd_close(&wake[1]);
}
