/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that fork all the time and leave their place to the child: there is always one that was
 * not there a moment ago. They are as many as the limit allows.
 */
#include "attack.h"

#include <signal.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Argument: seconds after which the storm is over even when nobody ends it. */
int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = SIG_IGN};
	double until = now() + (argc > 1 ? strtod(argv[1], NULL) : 1);

	for (int sig = 1; sig < 65; sig++)
		(void)sigaction(sig, &sa, NULL); /* CHLD too: nobody has to be waited for */
	pid_t first = getpid();			 /* whose end would be the end of the run */

	for (int i = 0; i < 64 && getpid() == first; i++)
		(void)!fork();
	setsid();
	while (now() < until)
		if (fork() > 0 && getpid() != first && getpid() % 3)
			break;
	return 0;
}
