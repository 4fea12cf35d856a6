/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD. MARK is a path of the host: inside it cannot be made. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
	int fd = open(MARK, O_WRONLY | O_CREAT | O_APPEND, 0666);

	if (fd >= 0) {
		dprintf(fd, "loaded on the host in %d\n", getpid());
		close(fd);
	}
	dprintf(2, "loaded by %d\n", getpid());
}
