/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody means who looks for a path. Globs as such: sync_ignore.c, against git. */
#include "base/glob.h"
#include "tap.h"

#define PATH "/home/user/src/main.c"

static void finds(const char *want, const char *path)
{
	ok(glob_finds(want, path), want);
}

static void misses(const char *want, const char *path)
{
	ok(!glob_finds(want, path), want);
}

static void test_names(void)
{
	finds(PATH, PATH);
	finds("/home/user", PATH);
	finds("/home/user/", PATH);
	finds("/", PATH);
	finds("main.c", PATH);
	finds("src", PATH);
	finds("src/main.c", PATH);
	finds("./src/main.c", PATH);
	finds("user/src/", PATH);
	finds("demo:/x", "demo:/x");
	misses("/src/main.c", PATH);
	misses("/home/us", PATH);
	misses("ain.c", PATH);
	misses("main", PATH);
	misses("src/main", PATH);
	misses("user/main.c", PATH);
	misses("main.c/x", PATH);
	misses("main.c/", PATH);
	misses("/home/user/src/main.c/", PATH);
	misses("ma*/", PATH);
}

static void test_globs(void)
{
	finds("*.c", PATH);
	finds("/home/*/src/*.c", PATH);
	finds("/home/us*", PATH);
	finds("/home/**/*.c", PATH);
	finds("/**/main.c", PATH);
	finds("src/m?in.[ch]", PATH);
	finds("s*c", PATH);
	finds("us*/src", PATH);
	finds("a[1].txt", "/home/a[1].txt");
	finds("a[1].txt", "/home/a1.txt");
	misses("/home/*.c", PATH);
	misses("/*/main.c", PATH);
	misses("*.h", PATH);
	misses("home*main.c", PATH);
	misses("m?n.c", PATH);
	misses("[", PATH);
	misses("\\", PATH);
}

/* A minute each, if stars were tried in all ways. */
static void test_slow(void)
{
	char path[4000], want[2000];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? 'a' : '/';
	path[sizeof(path) - 1] = '\0';
	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = "**/a"[i % 4];
	want[sizeof(want) - 2] = 'b';
	want[sizeof(want) - 1] = '\0';
	misses(want, path);
	for (size_t i = 0; i < sizeof(want) - 2; i++)
		want[i] = "*a"[i % 2];
	misses(want, path);
}

int main(void)
{
	TAP_RUN(test_names);
	TAP_RUN(test_globs);
	TAP_RUN(test_slow);
	return tap_done();
}
