/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in their two readings, those that have none, and patterns. */
#include "egress/path.h"
#include "tap.h"

static void reads(const char *text, const char *strict, const char *loose)
{
	const char *why = NULL;
	struct path p;
	int r = path_read(text, strlen(text), &p, &why);

	ok(strict ? r == 0 && !strcmp(p.strict, strict) && !strcmp(p.loose, loose)
		  : r == -EINVAL && why && *why,
	   text);
	if (strict && r == 0 && (strcmp(p.strict, strict) || strcmp(p.loose, loose)))
		diag("got %s and %s", p.strict, p.loose);
}

static void readings(void)
{
	reads("/", "/", "/");
	reads("", "/", "/");
	reads("/a/b", "/a/b", "/a/b");
	reads("/a/", "/a/", "/a/");
	reads("/A/b", "/A/b", "/a/b");
	reads("/%61", "/a", "/a");
	reads("/a%20b", "/a b", "/a b");
	reads("/@scope%2fname", "/@scope%2Fname", "/@scope/name");
	reads("/a;v=1/b", "/a;v=1/b", "/a/b");
	reads("/a...b/...", "/a...b/...", "/a...b/...");
	reads("/b%C3%BCcher",
	      "/b\xc3\xbc"
	      "cher",
	      "/b\xc3\xbc"
	      "cher");
	reads("/100%25", "/100%", "/100%");
	reads("/.well-known/x", "/.well-known/x", "/.well-known/x");
}

static void without_reading(void)
{
	static const char *const bad[] = {
		"a",	       "*",	    "/..",	 "/.",	       "/a/../b",     "/a/./b",
		"/a/..",       "/%2e%2e/b", "/%2E./b",	 "/.%2e",      "/a/%2e",      "//",
		"//a",	       "/a//b",	    "/a/%2f/b",	 "/a%2f%2fb",  "/a%2f..%2fb", "/..%2fb",
		"/a/..;/b",    "/a/;x/b",   "/;",	 "/a/.;x",     "/a\\b",	      "/a%5cb",
		"/a/..%5cb",   "/%00",	    "/a%0ab",	 "/a%0d%0ab",  "/a\nb",	      "/a\x7f",
		"/%252e%252e", "/%252f",    "/a%25%32e", "/%25%32%65", "/%",	      "/%2",
		"/%zz",	       "/%c0%ae",   "/%ff",	 "/%ed%a0%80", "/a%3b/..%2f", "/a%2f",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]) - 1; i++)
		reads(bad[i], NULL, NULL);
	reads("/a%2f", "/a%2F", "/a/");
}

static void fits(const char *pattern, const char *text, bool allow, bool deny)
{
	const char *why = NULL;
	char line[200];
	struct path p;

	snprintf(line, sizeof(line), "%s against %.80s", pattern, text);
	if (path_read(text, strlen(text), &p, &why) < 0) {
		ok(0, line);
		return;
	}
	ok(path_fits(pattern, strlen(pattern), &p, true) == allow &&
		   path_fits(pattern, strlen(pattern), &p, false) == deny,
	   line);
}

static void patterns(void)
{
	fits("/", "/", true, true);
	fits("/", "/a", false, false);
	fits("/a", "/a", true, true);
	fits("/a", "/a/", false, false);
	fits("/a", "/A", false, true);
	fits("/a/*", "/a/b", true, true);
	fits("/a/*", "/a/", true, true);
	fits("/a/*", "/a/b/c", false, false);
	fits("/a/*/c", "/a/b/c", true, true);
	fits("/a/*/c", "/a/b/x/c", false, false);
	fits("/a/**", "/a/b/c", true, true);
	fits("/a/**", "/a", false, false);
	fits("/a/**", "/ab", false, false);
	fits("/**", "/", true, true);
	fits("/**", "/x/y/z", true, true);
	fits("/**/x", "/a/b/x", true, true);
	fits("/**/x", "/a/b/xy", false, false);
	fits("/a*b*c", "/aXbYc", true, true);
	fits("/a*b*c", "/abcbc", true, true);
	fits("/a*b*c", "/ab/c", false, false);
	fits("/*.tar.gz", "/x.tar.tar.gz", true, true);
	fits("/**.git/info/refs", "/o/r.git/info/refs", true, true);
	/* what a lenient server would see is denied, and not allowed */
	fits("/admin/**", "/admin%2fx", false, true);
	fits("/admin/**", "/ADMIN/x", false, true);
	fits("/admin/**", "/admin;x/y", false, true);
	fits("/public/*", "/public/a%2fb", false, true);
	fits("/*", "/@scope%2fname", false, true);
	fits("/**", "/@scope%2fname", true, true);
}

static void linear(void)
{
	static char text[PATH_LEN_MAX], pattern[PATH_PATTERN_MAX + 1];
	const char *why = NULL;
	static struct path p;

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	for (size_t i = 0; i < PATH_PATTERN_MAX; i++)
		pattern[i] = i % 3 == 2 ? 'a' : '*';
	pattern[0] = '/';
	pattern[PATH_PATTERN_MAX - 1] = 'b';
	is_int(path_read(text, sizeof(text), &p, &why), 0, "a path of 8192 bytes");
	ok(!path_fits(pattern, PATH_PATTERN_MAX, &p, true), "does not take for ever");
	is_int(path_read(text, sizeof(text) + 1, &p, &why), -EINVAL, "a longer one is refused");
}

static void pattern_checks(void)
{
	static const char *const bad[] = {"",	   "a",	 "/a%20b", "/a?b", "/a#b", "/a;b",
					  "/a\\b", "//", "/../a",  "/***", "/a\nb"};
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(path_pattern_check(bad[i], strlen(bad[i]), &e) < 0 && e.kind == ERR_INVALID,
		   "no pattern");
	ok(path_pattern_check("/a/**", 5, &e) == 0, "a pattern");
}

int main(void)
{
	TAP_RUN(readings);
	TAP_RUN(without_reading);
	TAP_RUN(patterns);
	TAP_RUN(linear);
	TAP_RUN(pattern_checks);
	return tap_done();
}
