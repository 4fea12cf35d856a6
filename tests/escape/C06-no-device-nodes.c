/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes device nodes wherever something can be written, and opens those that others made for it.
 *	nodes NODE...
 */
#include "B-doors.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void try_node(const char *dir, const char *kind, mode_t type, dev_t dev)
{
	char path[128], name[128];
	int ret, fd;

	snprintf(path, sizeof(path), "%s/node", dir);
	snprintf(name, sizeof(name), "%s-%s", kind, dir);
	ret = mknod(path, type | 0666, dev);
	if (ret < 0) {
		door(name, ret);
		return;
	}
	/* Made, but it must be of no use. */
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	door(name, fd);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	static const char *const dirs[] = {"/home/user", "/tmp", "/var/tmp", "/run", "/dev/shm",
					   "/work",	 "/dev", "/usr/bin", "/"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char path[128];

		try_node(dirs[i], "block", S_IFBLK, makedev(254, 0));
		try_node(dirs[i], "mem", S_IFCHR, makedev(1, 1));
		try_node(dirs[i], "zero", S_IFCHR, makedev(1, 5));
		try_node(dirs[i], "whiteout", S_IFCHR, makedev(0, 0));
		snprintf(path, sizeof(path), "%s/fifo", dirs[i]);
		if (!strcmp(dirs[i], "/tmp"))
			works("fifo", mkfifo(path, 0600) == 0);
	}
	/* Landlock knows the two kinds and has no reason to allow either. */
	door("make-whiteout", mknod("/tmp/whiteout", S_IFCHR | 0600, makedev(0, 0)));
	door("make-zero", mknod("/tmp/zero", S_IFCHR | 0600, makedev(1, 5)));
	for (int i = 1; i < argc; i++)
		door("given", open(argv[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	works("null", open("/dev/null", O_RDWR | O_CLOEXEC) >= 0);
	works("zero", open("/dev/zero", O_RDONLY | O_CLOEXEC) >= 0);
	return 0;
}
