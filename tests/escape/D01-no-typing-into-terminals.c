/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types into every terminal in reach (TIOCSTI), with the number as it is and with the upper half of
 * the register set, which a filter that compares 64 bits does not recognise (CVE-2019-10063). What
 * is typed is a comment.
 */
#include "attack.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

static void type(const char *name, int fd)
{
	static const char text[] = "#typed\n";
	char door_name[64];
	long plain = 0, high = 0;

	for (const char *p = text; *p && plain >= 0; p++)
		plain = syscall(SYS_ioctl, fd, (long)TIOCSTI, p);
	door(name, plain);
	for (const char *p = text; *p && high >= 0; p++)
		high = syscall(SYS_ioctl, fd, (long)TIOCSTI | 1L << 32, p);
	snprintf(door_name, sizeof(door_name), "%s-high", name);
	door(door_name, high);
}

static void type_path(const char *name, const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY);

	type(name, fd);
	if (fd >= 0)
		close(fd);
}

/* A pair of our own: a terminal that nobody else reads, made our controlling one. */
static void type_own(void)
{
	char path[64];
	int zero = 0, n = 0, slave = -1;
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	if (master >= 0 && ioctl(master, TIOCSPTLCK, &zero) == 0 &&
	    ioctl(master, TIOCGPTN, &n) == 0) {
		snprintf(path, sizeof(path), "/dev/pts/%d", n);
		slave = open(path, O_RDWR | O_NOCTTY);
	}
	setsid();
	ioctl(slave, TIOCSCTTY, 0);
	type("own", slave);
}

int main(void)
{
	char path[64];

	type("stdin", 0);
	type("stdout", 1);
	type("stderr", 2);
	type_path("tty", "/dev/tty");
	type_path("console", "/dev/console");
	type_path("tty0", "/dev/tty0");
	for (int i = 0; i < 32; i++) {
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		if (access(path, F_OK) == 0)
			type_path("pts", path);
	}
	if (fork() == 0) {
		type_own();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
