/* SPDX-License-Identifier: Apache-2.0 */
/* How much a workspace has: of its own, and of what it was forked with; and what is in a layer that
 * somebody is writing to. */
#include "store_help.h"

#include <unistd.h>

#include "store/measure.h"
#include "store/merge.h"

static struct space used(struct store *s, const char *name)
{
	struct space found = {0};
	struct upper *u = NULL;

	if (upper_open(s, name, USE_ALONE, false, &u, &error) < 0)
		return (struct space){~0ull, ~0ull};
	found = u->used;
	upper_drop(u);
	return found;
}

static void has(struct store *s, const char *name, uint64_t bytes, uint64_t files, const char *what)
{
	struct space found = used(s, name);

	is_int((long long)found.bytes, (long long)bytes, what);
	is_int((long long)found.files, (long long)files, "files, too");
}

static void merge_all(struct store *s, const char *name)
{
	struct merge m;

	is_int(merge_begin(s, name, true, &m, &error), 1, "there is something to merge");
	is_int(merge_commit(s, &m, &error), 0, "it is merged");
	merge_end(s, &m);
}

/* A command leaves one file and 100 bytes. */
static void forked(void)
{
	struct store *s = store_fresh();
	struct snap snap;
	uint64_t freed = 0;

	(void)make(s, "w");
	(void)make(s, "other");
	has(s, "w", 0, 0, "a new one");
	(void)command(s, "w", "a");
	(void)command(s, "w", "b");
	(void)command(s, "other", "c");
	has(s, "w", 200, 2, "after two commands");
	is_int(history_fork(s, "w", NULL, "f", &snap, &error), 0, "a fork");
	has(s, "f", 200, 2, "has what it began with");
	(void)command(s, "f", "d");
	has(s, "f", 300, 3, "and what it made");
	has(s, "w", 200, 2, "which is not the first one's");
	merge_all(s, "w");
	has(s, "w", 200, 2, "merged, it has no more");
	is_int(history_fork(s, "w", NULL, "g", &snap, &error), 0, "a fork of what was merged");
	has(s, "g", 200, 2, "has as much");
	is_int(workspace_remove(s, "w", &error), 0, "the first one goes");
	is_int(workspace_remove(s, "f", &error), 0, "and the fork");
	is_int(store_collect(s, &freed, &error), 0, "and their layers");
	has(s, "g", 200, 2, "the other fork has what it had");
	store_away(s);
}

static void measured(void)
{
	char dir[] = "/tmp/pinfold-measure-XXXXXX";
	struct measure m;

	ok(mkdtemp(dir) != NULL, "a layer");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(mkdirat(fd, "root", 0755) == 0 && mkdirat(fd, "root/w.x", 0755) == 0 &&
		   mkdirat(fd, "w.root", 0700) == 0 && mkdirat(fd, "w.root/work", 0) == 0,
	   "with its parts");
	measure_layer(fd, ~0ull, ~0ull, &m);
	is_int((long long)m.files, 2, "what is in them counts");
	ok(!m.beyond, "what the kernel alone may look into does not");
	measure_layer(fd, ~0ull, 1, &m);
	is_int((long long)m.files, 1, "it stops when there is enough");
	ok(mkdirat(fd, "root/shut", 0) == 0, "a directory that is shut");
	measure_layer(fd, ~0ull, ~0ull, &m);
	ok(geteuid() == 0 || m.beyond, "may hold anything");
	close(fd);
	(void)remove_tree(dir);
}

int main(void)
{
	TAP_RUN(forked);
	TAP_RUN(measured);
	return tap_done();
}
