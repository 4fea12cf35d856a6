/* SPDX-License-Identifier: Apache-2.0 */
/* The call, with the flag that works without privilege, and the device that does the same. */
#include "B-doors.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

int main(void)
{
	filtered("user-mode-only", syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
	filtered("full", syscall(SYS_userfaultfd, O_CLOEXEC));
	filtered("reached", syscall(SYS_userfaultfd, ~0));
	door("device", open("/dev/userfaultfd", O_RDWR));
	return 0;
}
