/* SPDX-License-Identifier: Apache-2.0 */
/* Everything one process can do to look into another, tried on PID 1. */
#include "attack.h"
#include <dirent.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* That the numbers of descriptors are listed is no door; that one of them can be looked at is. */
static void try_list(const char *name)
{
	char path[64], target[128];
	struct dirent *entry;
	DIR *dir;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/1/%s", name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target)) >= 0)
			found = 1;
	if (dir)
		closedir(dir);
	door_if(name, found, "");
}

static void try_open(const char *file, int flags)
{
	char path[64], name[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/1/%s", file);
	snprintf(name, sizeof(name), "%s-%s", file, flags & O_WRONLY ? "w" : "r");
	fd = open(path, flags);
	/* Some of these can be opened by all and then show nothing, or refuse to be read. */
	if (fd >= 0 && !(flags & O_WRONLY)) {
		char buf[64];
		ssize_t n = flags & O_DIRECTORY ? 1 : read(fd, buf, sizeof(buf));

		if (n == 0)
			errno = ENODATA;
		door(name, n > 0 ? n : -1);
	} else {
		door(name, fd);
	}
}

int main(int argc, char **argv)
{
	static const char *const files[] = {"mem",   "environ", "auxv",	       "maps",	  "smaps",
					    "stack", "syscall", "personality", "pagemap", "io"};
	char word[16];
	struct iovec local = {word, sizeof(word)}, remote = {(void *)0x400000, sizeof(word)};
	long held;
	int pidfd;

	(void)argv;
	held = ptrace(PTRACE_ATTACH, 1, 0, 0);
	door("attach", held);
	/* It must go on: stopped, it would keep the run until its time is up. */
	if (held == 0 && waitpid(1, NULL, __WALL) == 1)
		ptrace(PTRACE_DETACH, 1, 0, 0);
	door("seize", ptrace(PTRACE_SEIZE, 1, 0, 0));
	door("vm_readv", process_vm_readv(1, &local, 1, &remote, 1, 0));
	door("vm_writev", process_vm_writev(1, &local, 1, &remote, 1, 0));
	door("kcmp", syscall(SYS_kcmp, 1, getpid(), KCMP_FILES, 0, 0));
	pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	for (int fd = 0; fd < 32; fd++)
		if (pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			door_if("getfd", 1, "a descriptor of PID 1");
	door_if("getfd", 0, "");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		try_open(files[i], O_RDONLY);
	try_open("mem", O_WRONLY);
	try_list("fd");
	try_list("map_files");
	try_open("root", O_RDONLY | O_DIRECTORY);
	try_open("cwd", O_RDONLY | O_DIRECTORY);
	try_open("ns/mnt", O_RDONLY);
	try_open("ns/user", O_RDONLY);
	/* Descriptors by number: the list may be shut and its entries not. */
	for (int fd = 0; fd < 64; fd++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		if (open(path, O_PATH) >= 0)
			door_if("fd-entry", 1, path);
	}
	door_if("fd-entry", 0, "");
	return argc > 5;
}
