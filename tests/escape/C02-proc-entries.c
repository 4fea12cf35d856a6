/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what is in /proc beside the processes, two levels deep, and what can be read of it:
 *	NAME link | dir | empty-dir | readable | empty | refused
 * /proc/sys is C01's and A10's.
 */
#include "attack.h"
#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

static const char *file_state(const char *path)
{
	char byte[16];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return "refused";
	n = read(fd, byte, sizeof(byte));
	close(fd);
	/* EAGAIN: there is something to wait for. */
	return n > 0 || (n < 0 && errno == EAGAIN) ? "readable" : n == 0 ? "empty" : "refused";
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static void list(const char *dir_path, const char *prefix, int depth)
{
	DIR *dir = opendir(dir_path);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char path[512], name[300];
		struct stat st;

		if (d->d_name[0] == '.' || (!*prefix && isdigit((unsigned char)d->d_name[0])))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir_path, d->d_name);
		snprintf(name, sizeof(name), "%s%s", prefix, d->d_name);
		if (lstat(path, &st) < 0)
			printf("%s refused\n", name);
		else if (S_ISLNK(st.st_mode))
			printf("%s link\n", name);
		else if (!S_ISDIR(st.st_mode))
			printf("%s %s\n", name, file_state(path));
		else if (!entries(path))
			printf("%s empty-dir\n", name);
		else {
			printf("%s dir\n", name);
			strncat(name, "/", sizeof(name) - strlen(name) - 1);
			if (depth > 1 && strcmp(name, "sys/") != 0)
				list(path, name, depth - 1);
		}
	}
	if (dir)
		closedir(dir);
}

int main(void)
{
	list("/proc", "", 2);
	return 0;
}
