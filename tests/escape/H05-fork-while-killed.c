/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that fork all the time and leave their place to the child: there is always one that was
 * not there a moment ago. They are as many as the limit allows.
 */
#include "attack.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Arguments: seconds after which the storm is over even when nobody ends it; and how many processes
 * the user may have, where nobody else limits them. */
int main(int argc, char **argv)
{
	struct rlimit most = {argc > 2 ? strtoul(argv[2], NULL, 10) : RLIM_INFINITY, RLIM_INFINITY};
	struct sigaction sa = {.sa_handler = SIG_IGN};
	double until = now() + (argc > 1 ? strtod(argv[1], NULL) : 1);

	most.rlim_max = most.rlim_cur;
	if (argc > 2 && setrlimit(RLIMIT_NPROC, &most) < 0)
		return 2;
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
