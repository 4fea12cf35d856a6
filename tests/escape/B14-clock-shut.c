/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the clock to what it shows already, and reaches for each call that could. */
#include "B-doors.h"
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>

int main(void)
{
	struct timespec now, bad = {0, -1};
	struct timeval wrong = {0, 2000000};
	struct timex adjust = {.modes = ADJ_OFFSET | ADJ_FREQUENCY | ADJ_STATUS};
	struct timex look = {.modes = 0};

	clock_gettime(CLOCK_REALTIME, &now);
	filtered("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &now));
	filtered("clock_settime-reached", syscall(SYS_clock_settime, CLOCK_REALTIME, &bad));
	filtered("clock_settime-pointer", syscall(SYS_clock_settime, CLOCK_REALTIME, BAD_POINTER));
	filtered("settimeofday-reached", syscall(SYS_settimeofday, &wrong, NULL));
	filtered("settimeofday-pointer", syscall(SYS_settimeofday, BAD_POINTER, NULL));
	filtered("adjtimex", syscall(SYS_adjtimex, &adjust));
	filtered("adjtimex-reached", syscall(SYS_adjtimex, &look));
	filtered("clock_adjtime", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &adjust));
	filtered("clock_adjtime-reached", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &look));
	/* Wakes the machine from sleep. */
	door("alarm", timerfd_create(CLOCK_BOOTTIME_ALARM, 0));
	door("rtc", open("/dev/rtc0", O_RDONLY));
	works("read",
	      clock_gettime(CLOCK_REALTIME, &now) == 0 && clock_gettime(CLOCK_BOOTTIME, &now) == 0);
	works("timer", timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
	return 0;
}
