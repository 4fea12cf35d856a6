/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks for more of the machine than others have: real-time classes, negative nice, better I/O,
 * a lower score for the out-of-memory killer, higher limits.
 *	priority [SCORE]: the score that may not be gone below
 */
#include "B-doors.h"
#include <linux/ioprio.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

struct attributes {
	unsigned size, policy;
	unsigned long long flags;
	int nice;
	unsigned priority;
	unsigned long long runtime, deadline, period;
};

static void try_classes(void)
{
	struct sched_param param = {.sched_priority = 1};
	struct attributes deadline = {sizeof(deadline), SCHED_DEADLINE, 0,	 0, 0,
				      1000000,		10000000,	10000000};
	struct attributes nice = {sizeof(nice), SCHED_OTHER, 0, -5, 0, 0, 0, 0};

	door("fifo", sched_setscheduler(0, SCHED_FIFO, &param));
	door("rr", sched_setscheduler(0, SCHED_RR, &param));
	door("fifo-forked", sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param));
	door("deadline", syscall(SYS_sched_setattr, 0, &deadline, 0));
	door("attr-nice", syscall(SYS_sched_setattr, 0, &nice, 0));
	door("nice", setpriority(PRIO_PROCESS, 0, -1));
	/* As far as it goes: the caller may be nice himself. */
	setpriority(PRIO_PROCESS, 0, 19);
	works("nice-down", getpriority(PRIO_PROCESS, 0) == 19);
	door("nice-back-and-beyond", setpriority(PRIO_PROCESS, 0, -1));
	door("io-realtime",
	     syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0)));
	works("io-idle", syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
				 IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) == 0);
	/* Keeps the other hardware thread of the core idle for us. */
	filtered("core-scheduling", prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0));
}

static void try_limits(void)
{
	static const struct {
		const char *name;
		int resource;
	} limits[] = {{"limit-core", RLIMIT_CORE},	   {"limit-nofile", RLIMIT_NOFILE},
		      {"limit-nproc", RLIMIT_NPROC},	   {"limit-memlock", RLIMIT_MEMLOCK},
		      {"limit-msgqueue", RLIMIT_MSGQUEUE}, {"limit-sigpending", RLIMIT_SIGPENDING},
		      {"limit-rtprio", RLIMIT_RTPRIO},	   {"limit-nice", RLIMIT_NICE}};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit now = {0, 0}, more;

		getrlimit(limits[i].resource, &now);
		if (now.rlim_max == RLIM_INFINITY) {
			door_if(limits[i].name, 1, "there is none");
			continue;
		}
		more = (struct rlimit){now.rlim_max + 1, now.rlim_max + 1};
		setrlimit(limits[i].resource, &more);
		/* What it answers counts for nothing, only what holds then. */
		getrlimit(limits[i].resource, &more);
		door_if(limits[i].name, more.rlim_max > now.rlim_max, "");
	}
}

static void try_score(long floor)
{
	char text[24];
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

	snprintf(text, sizeof(text), "%ld", floor - 1);
	door("oom-score", fd < 0 ? -1 : write(fd, text, strlen(text)));
	door("oom-score-least", fd < 0 ? -1 : pwrite(fd, "-1000", 5, 0));
	close(fd);
}

int main(int argc, char **argv)
{
	try_score(argc > 1 ? number(argv[1]) : 0);
	try_limits();
	try_classes();
	return 0;
}
