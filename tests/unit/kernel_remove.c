/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a hostile tree: deep, locked, linked out of; only what is inside goes. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/remove.h"
#include "tap.h"

static char top[] = "/tmp/pinfold-remove-XXXXXX";

static void deep(int levels)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < levels && fd >= 0; i++) {
		(void)mkdirat(fd, "a-long-name-for-a-directory", 0700);
		int file = openat(fd, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		int next = openat(fd, "a-long-name-for-a-directory",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		close(file);
		close(fd);
		fd = next;
	}
	close(fd);
}

static void removes(void)
{
	char outside[] = "/tmp/pinfold-outside-XXXXXX", path[128];
	struct stat st;

	ok(mkdtemp(top) && mkdtemp(outside), "two directories");
	deep(2000);
	snprintf(path, sizeof(path), "%s/link", top);
	ok(symlink(outside, path) == 0, "a link out");
	snprintf(path, sizeof(path), "%s/locked", top);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/locked/inner", top);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/locked", top);
	(void)chmod(path, 0);
	snprintf(path, sizeof(path), "%s/kept", outside);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	is_int(remove_tree(top), 0, "removed");
	ok(stat(top, &st) < 0, "it is gone");
	ok(stat(path, &st) == 0, "what a link leads to is not");
	is_int(remove_tree(top), 0, "removing what is not there is no error");
	is_int(remove_tree(outside), 0, "the other one, too");
}

int main(void)
{
	TAP_RUN(removes);
	return tap_done();
}
