/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes after asking for a core dump.
 *	core limits	asks for every limit and prints what holds: soft and hard
 *	core crash	asks, makes itself dumpable, crashes
 */
#include "B-doors.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void show(const char *when)
{
	struct rlimit now = {9, 9};

	getrlimit(RLIMIT_CORE, &now);
	printf("limit %s %lld %lld\n", when, (long long)now.rlim_cur, (long long)now.rlim_max);
	fflush(stdout);
}

static void ask(rlim_t soft, rlim_t hard)
{
	struct rlimit want = {soft, hard};

	setrlimit(RLIMIT_CORE, &want);
	prlimit(getpid(), RLIMIT_CORE, &want, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "limits")) {
		show("first");
		ask(RLIM_INFINITY, RLIM_INFINITY);
		show("raised");
		ask(0, 1);
		show("soft-lowered");
		ask(0, 0);
		show("lowered");
		return 0;
	}
	ask(RLIM_INFINITY, RLIM_INFINITY);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	puts("crashing");
	fflush(stdout);
	raise(SIGSEGV);
	return 0;
}
