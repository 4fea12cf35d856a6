/* SPDX-License-Identifier: Apache-2.0 */
/* Prints who it is: ids, the five capability sets, no_new_privs. As a file that is setuid, too. */
#include "attack.h"

int main(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	printf("euid %u egid %u\n", (unsigned)geteuid(), (unsigned)getegid());
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) ||
		    !strncmp(line, "Groups", 6))
			fputs(line, stdout);
	return 0;
}
