/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a Landlock domain that wants its refusals logged, and is refused: a signal to whoever started it.
 * `shut domain` where the kernel is too old for such a wish.
 */
#include "attack.h"

#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

#define LOG_NEW_EXEC_ON (1u << 1) /* linux/landlock.h has it from 6.15 on */
#define SCOPE_SIGNAL (1ull << 1)

int main(void)
{
	const struct {
		uint64_t fs, net, scoped;
	} attr = {.scoped = SCOPE_SIGNAL};
	long fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	door("domain", fd < 0 ? fd : syscall(SYS_landlock_restrict_self, fd, LOG_NEW_EXEC_ON));
	/* Our own parent, and then PID 1, which is outside of our domain in any case. */
	for (int i = 0; i < 20; i++)
		(void)kill(i % 2 ? getppid() : 1, 0);
	return 0;
}
