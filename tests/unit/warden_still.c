/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/still.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

#include "tap.h"

#define MANY 150
#define PATIENCE_MS 500

static long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Who is killed before this would leave us behind, for ever: so it is told when it is done. */
static void end_with_parent(int told)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!write(told, "x", 1);
}

static void stay(int told)
{
	end_with_parent(told);
	for (;;)
		pause();
}

/* A child that waits for what it started by vfork() hears no signal until that is a program. */
static void be_deaf(int told)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (vfork() == 0)
		stay(told);
	_exit(0);
}

/* A process with children that is no sandbox: each says so when it is there. */
static pid_t make_guest(unsigned n, bool deaf)
{
	int there[2];
	char c;

	if (pipe(there) < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		for (unsigned i = 0; i < n; i++)
			if (fork() == 0)
				stay(there[1]);
		if (deaf && fork() == 0)
			be_deaf(there[1]);
		stay(there[1]);
	}
	for (unsigned i = 0; i < n + deaf + 1; i++)
		(void)!read(there[0], &c, 1);
	close(there[0]);
	close(there[1]);
	return pid;
}

static void end(pid_t guest)
{
	kill(guest, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void holds(void)
{
	struct still *s = NULL;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t guest = make_guest(5, false);
	is_int(still_begin(guest, 20000, &s), 0, "five processes stand still");
	ok(s && still_holds(s), "and still do");
	if (s)
		still_end(s);
	end(guest);
}

/* Patience is time, however long one look takes: whoever could be stopped stands still meanwhile. */
static void gives_up(void)
{
	struct still *s = NULL;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t guest = make_guest(MANY, true);
	long look = now_ms();
	is_int(still_begin(guest, 0, &s), -ETIMEDOUT, "one look");
	look = now_ms() - look;
	long began = now_ms();
	is_int(still_begin(guest, PATIENCE_MS, &s), -ETIMEDOUT, "one who does not stop");
	long took = now_ms() - began;
	diag("%ld ms, a look %ld ms", took, look);
	/* There is room for a thousand looks that take no time. */
	ok(took >= PATIENCE_MS && took < 3 * PATIENCE_MS + 100 * look,
	   "is waited for as long as was said");
	end(guest);
}

int main(void)
{
	TAP_RUN(holds);
	TAP_RUN(gives_up);
	return tap_done();
}
