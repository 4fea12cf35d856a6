/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D02-terminal-of-the-caller DEVICE [own]: looks for the caller's terminal, whose directory of
 * terminals is on DEVICE, and for the console; tries the calls that act on either. With `own` the
 * sandbox has a terminal itself. What it writes is a mark.
 */
#include "attack.h"

#include <linux/kd.h>
#include <linux/vt.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MARK "written-by-D02"

static unsigned long host_device;

static int is_host_terminal(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_dev == host_device;
}

static void look_at_descriptors(void)
{
	int found = 0, of_init = 0;
	char path[64];

	for (int fd = 0; fd < 1024; fd++)
		found |= is_host_terminal(fd);
	door_if("descriptor", found, "");
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		of_init |= is_host_terminal(open(path, O_RDWR | O_NOCTTY));
	}
	door_if("descriptor-of-init", of_init, "");
}

static void look_at_names(void)
{
	static const char *const names[] = {"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0",
					    "/dev/vcs",	    "/dev/vcsa", "/dev/vcs1", "/dev/hvc0"};
	int written = 0, other = 0;
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = open(names[i], O_WRONLY | O_NOCTTY | O_NONBLOCK);

		written |= fd >= 0 && write(fd, MARK, strlen(MARK)) > 0;
	}
	door_if("console", written, "");
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		other |= is_host_terminal(open(path, O_RDWR | O_NOCTTY));
	}
	door_if("pts", other, "");
}

/* Whoever has no terminal of his own and can open this has the caller's. */
static void look_at_tty(int has_own)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY);

	if (fd >= 0 && !has_own && write(fd, MARK, strlen(MARK)) < 0)
		door_if("tty-write", 0, "");
	door_if("tty", fd >= 0 && !has_own, "");
}

/* On our own terminal, or on whatever there is: none of them is for the likes of us. */
static void act(int fd)
{
	static const char subcodes[] = {2, 3, 4, 13};
	int discipline = 0, allowed = 0;

	for (size_t i = 0; i < sizeof(subcodes); i++) {
		char data[32] = {subcodes[i]};

		allowed |= ioctl(fd, TIOCLINUX, data) >= 0;
	}
	door_if("TIOCLINUX", allowed, "");
	door("TIOCCONS", ioctl(fd, TIOCCONS, 0));
	door("TIOCSETD", ioctl(fd, TIOCSETD, &discipline));
	door("TIOCSETD-high", syscall(SYS_ioctl, fd, (long)TIOCSETD | 1L << 32, &discipline));
	door("KDSKBMODE", ioctl(fd, KDSKBMODE, K_UNICODE));
	door("VT_ACTIVATE", ioctl(fd, VT_ACTIVATE, 1));
	door("vhangup", syscall(SYS_vhangup));
}

/* Taking a terminal that is another session's, and reaching the slave of one that is not ours. */
static void steal(void)
{
	int opened = 0;

	for (int fd = 0; fd < 3; fd++) {
		int peer = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY);

		opened |= is_host_terminal(peer);
	}
	door_if("TIOCGPTPEER", opened, "");
	setsid();
	for (int fd = 0; fd < 3; fd++)
		opened |= is_host_terminal(fd) && ioctl(fd, TIOCSCTTY, 1) == 0;
	door_if("TIOCSCTTY", opened, "");
}

int main(int argc, char **argv)
{
	host_device = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	look_at_descriptors();
	look_at_names();
	look_at_tty(argc > 2);
	act(0);
	if (fork() == 0) {
		steal();
		_exit(0);
	}
	wait(NULL);
	return 0;
}
