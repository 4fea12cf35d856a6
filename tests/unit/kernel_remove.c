/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a hostile tree: deep, locked, linked out of; only what is inside goes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
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

/* E04: while a tree is removed, a directory in it is swapped for a link out, and moved out and
 * back. */
struct race {
	char dir[128], link[128], away[128];
	atomic_bool stop;
};

static void *swap(void *arg)
{
	struct race *r = arg;

	while (!atomic_load(&r->stop)) {
		(void)renameat2(AT_FDCWD, r->dir, AT_FDCWD, r->link, RENAME_EXCHANGE);
		(void)renameat2(AT_FDCWD, r->dir, AT_FDCWD, r->away, RENAME_NOREPLACE);
		(void)renameat2(AT_FDCWD, r->away, AT_FDCWD, r->dir, RENAME_NOREPLACE);
	}
	return NULL;
}

static void fill(const char *at, const char *base, const struct race *r)
{
	char path[160];

	(void)mkdir(base, 0700);
	(void)mkdir(r->dir, 0700);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/d%d", r->dir, i);
		(void)mkdir(path, 0700);
	}
	(void)!symlink(at, r->link); /* may be there */
}

static void races(void)
{
	char base[] = "/tmp/pinfold-race-XXXXXX", outside[] = "/tmp/pinfold-outside-XXXXXX";
	char tree[64], kept[96], inner[96];
	struct race r = {.stop = false};
	struct stat st;
	pthread_t thread;
	int lost = 0;

	ok(mkdtemp(base) && mkdtemp(outside), "two directories");
	snprintf(tree, sizeof(tree), "%s/tree", base);
	snprintf(r.dir, sizeof(r.dir), "%s/sub", tree);
	snprintf(r.link, sizeof(r.link), "%s/link", tree);
	snprintf(r.away, sizeof(r.away), "%s/away", base);
	snprintf(kept, sizeof(kept), "%s/kept", outside);
	snprintf(inner, sizeof(inner), "%s/inner", outside);
	close(open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	(void)mkdir(inner, 0700);
	ok(pthread_create(&thread, NULL, swap, &r) == 0, "somebody swaps");
	for (int i = 0; i < 20; i++) {
		fill(outside, tree, &r);
		(void)remove_tree(tree); /* what comes back into it meanwhile may be left */
		lost += stat(kept, &st) < 0 || stat(inner, &st) < 0;
	}
	atomic_store(&r.stop, true);
	(void)pthread_join(thread, NULL);
	is_int(lost, 0, "what a swapped link leads to stays");
	is_int(remove_tree(base), 0, "the tree goes");
	is_int(remove_tree(outside), 0, "and the rest");
}

int main(void)
{
	TAP_RUN(removes);
	TAP_RUN(races);
	return tap_done();
}
