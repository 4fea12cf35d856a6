/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what is in /proc beside the processes, and what can be had of it:
 *	NAME link | dir | readable | empty | refused
 * What is below /proc/sys is C01's and A10's, what is below /proc/net is in the own namespace.
 */
#include "attack.h"
#include <ctype.h>
#include <ftw.h>

#define DEPTH 3

static const char *file_state(const char *path)
{
	char bytes[16];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return "refused";
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	if (n == 0)
		return "empty";
	/* EAGAIN: there is something to wait for. */
	return n > 0 || errno == EAGAIN ? "readable" : "refused";
}

static int list(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + strlen("/proc/");

	(void)st;
	if (ftw->level == 0)
		return FTW_CONTINUE;
	if (isdigit((unsigned char)name[0]))
		return type == FTW_D || type == FTW_DNR ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
	if (type == FTW_SL)
		printf("%s link\n", name);
	else if (type == FTW_D)
		printf("%s dir\n", name);
	else
		printf("%s %s\n", name, type == FTW_F ? file_state(path) : "refused");
	if (type == FTW_D && (ftw->level >= DEPTH || !strcmp(name, "sys")))
		return FTW_SKIP_SUBTREE;
	return FTW_CONTINUE;
}

int main(void)
{
	return nftw("/proc", list, 32, FTW_PHYS | FTW_ACTIONRETVAL) < 0 ? 2 : 0;
}
