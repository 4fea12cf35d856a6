/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside: looks at what every process runs from, and where that is not this program, tries to get a
 * writable descriptor to it: at once, and later through a kept O_PATH descriptor.
 * On the host (`host PID`): the same against the guest, as the strongest attacker there is; the
 * sandbox is then ended by a line on standard input, so that nobody executes the file any more.
 */
#include "attack.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int is_own(const char *exe)
{
	struct stat a, b;

	return stat("/proc/self/exe", &a) == 0 && stat(exe, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int reopen_writable(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR);
	if (again < 0)
		return -1;
	/* Open is not yet written: a sealed file can be opened but not changed. Same byte back. */
	char byte = 0;
	if (pread(again, &byte, 1, 0) != 1 || pwrite(again, &byte, 1, 0) != 1)
		return -1;
	return again;
}

static void try_pid(const char *pid)
{
	char path[300], name[320];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	if (is_own(path))
		return;
	snprintf(name, sizeof(name), "exe-of-%s", pid);
	fd = open(path, O_PATH);
	if (fd < 0) {
		door(name, -1);
		return;
	}
	door(name, reopen_writable(fd));
	close(fd);
}

static void inside(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			try_pid(entry->d_name);
	if (dir)
		closedir(dir);
}

static int host(const char *pid)
{
	char path[64], line[8];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	fd = open(path, O_PATH);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	door("running", reopen_writable(fd));
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	door("ended", reopen_writable(fd));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return host(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "leaf"))
		return 0;
	inside();
	/* Children that are between fork and exec, or that run the file that this path names
	 * now. */
	for (int i = 0; i < 200; i++) {
		char pid[32];
		pid_t child = fork();

		if (child == 0) {
			execl("/proc/1/exe", "x", NULL);
			execl("/proc/self/exe", "x", "leaf", NULL);
			_exit(0);
		}
		snprintf(pid, sizeof(pid), "%d", child);
		try_pid(pid);
		waitpid(child, NULL, 0);
		if (i == 0 && argc == 1)
			break;
	}
	return 0;
}
