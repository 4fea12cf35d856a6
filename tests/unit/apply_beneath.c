/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and links that stay below a directory, and those that do not. */
#include "apply/beneath.h"

#include "tree_help.h"

static void targets(void)
{
	static const struct {
		const char *path, *target;
		bool stays;
	} rows[] = {
		{"l", "a", true},
		{"l", "a/b/c", true},
		{"l", "./a", true},
		{"l", ".", true},
		{"d/l", "../a", true},
		{"d/l", "..", true},
		{"d/e/l", "../../a", true},
		{"d/e/l", ".././../a", true},
		{"l", "..", false},
		{"l", "../a", false},
		{"d/l", "../..", false},
		{"d/l", "../../etc/passwd", false},
		{"d/l", "./../../x", false},
		{"l", "/", false},
		{"l", "/work/a", false},
		{"l", "", false},
		/* A name before .. may be a link, and then .. is anywhere. */
		{"l", "a/..", false},
		{"d/l", "../a/../b", false},
		{"l", "..a/b", true},
		{"l", "a/..b", true},
		{"l", "...", true},
		{"d/l", "..//../x", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s -> %s %s", rows[i].path, rows[i].target,
			 rows[i].stays ? "stays" : "leads out");
		is_int(beneath_target(rows[i].path, rows[i].target), rows[i].stays, name);
	}
}

static void ways(void)
{
	struct err e = ERR_INIT;
	char top[64];
	struct stat st;
	int d = fresh(top), fd = FD_NONE;
	const char *name = NULL;

	(void)mkdirat(d, "a", 0755);
	put_file(d, "a/f", "x");
	(void)!symlinkat("a", d, "l");
	(void)!symlinkat("/", d, "root");
	(void)!symlinkat("nowhere", d, "a/dangling");
	is_int(beneath_parent(d, "a/f", &fd, &name, &e), 0, "a directory");
	is_str(name, "f", "and a name in it");
	close(fd);
	is_int(beneath_parent(d, "l/f", &fd, &name, &e) < 0, 1,
	       "not through a link, even one inside");
	is_int(beneath_parent(d, "../x", &fd, &name, &e), -EXDEV, "not up");
	is_int(beneath_parent(d, "/etc/passwd", &fd, &name, &e), -EXDEV, "not from the root");
	is_int(beneath_parent(d, "root/etc/passwd", &fd, &name, &e) < 0, 1, "not by a link out");
	is_int(beneath_look(d, "a/f", &st, &e) == 0 && S_ISREG(st.st_mode), 1, "a file");
	is_int(beneath_look(d, "a/dangling", &st, &e) == 0 && S_ISLNK(st.st_mode), 1,
	       "a link itself");
	is_int(beneath_look(d, "l/f", &st, &e) == 0 && !st.st_mode, 1, "nothing behind a link");
	is_int(beneath_look(d, "a/f/g", &st, &e) == 0 && !st.st_mode, 1, "nothing below a file");
	is_int(beneath_look(d, "b/c", &st, &e) == 0 && !st.st_mode, 1, "nothing where nothing is");
	close(d);
	remove_tree(top);
}

int main(void)
{
	TAP_RUN(targets);
	TAP_RUN(ways);
	return tap_done();
}
