/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Five daemons, each out of the session, of the process group and of its parent's family, with
 * every signal ignored that can be and no descriptor left. The program ends once all five are
 * there.
 */
#include "attack.h"

#include <signal.h>
#include <sys/wait.h>

enum { DAEMONS = 5 };

static void deaf(void)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};

	for (int sig = 1; sig < 65; sig++)
		(void)sigaction(sig, &sa, NULL); /* KILL and STOP refuse */
}

static void daemon_main(int ready)
{
	setsid();
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
	deaf();
	if (write(ready, "", 1) != 1)
		_exit(1);
	close_range(0, ~0u, 0);
	for (;;)
		pause();
}

int main(void)
{
	int pair[2];
	char c;

	if (pipe(pair) < 0)
		return 1;
	for (int i = 0; i < DAEMONS; i++)
		if (fork() == 0)
			daemon_main(pair[1]);
	for (int i = 0; i < DAEMONS; i++) {
		if (read(pair[0], &c, 1) != 1)
			return 1;
	}
	printf("daemons %d\n", DAEMONS);
	return 7;
}
