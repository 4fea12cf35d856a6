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
	reads("/a...b/c...", "/a...b/c...", "/a...b/c");
	reads("/a./b%20. /c", "/a./b . /c", "/a/b/c");
	reads("/a%3fb", "/a?b", "/a");
	reads("/a/b%23/c", "/a/b#/c", "/a/b");
	reads("/a/%3F", "/a/?", "/a/");
	reads("/a.%3fb/c;d", "/a.?b/c;d", "/a");
	reads("/a;b%3fc/d", "/a;b?c/d", "/a");
	reads("/%ef%bc%a1d%ef%bd%8din",
	      "/\xef\xbc\xa1"
	      "d\xef\xbd\x8d"
	      "in",
	      "/admin");
	reads("/adm%c4%b1n", "/adm\xc4\xb1n", "/admin");
	reads("/a%ef%bc%8fb",
	      "/a\xef\xbc\x8f"
	      "b",
	      "/a/b");
	reads("/a%ef%bc%8ab",
	      "/a\xef\xbc\x8a"
	      "b",
	      "/a\xef\xbc\x8a"
	      "b");
	reads("/hello%e2%80%a6", "/hello\xe2\x80\xa6", "/hello");
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
		"a",
		"*",
		"/..",
		"/.",
		"/a/../b",
		"/a/./b",
		"/a/..",
		"/%2e%2e/b",
		"/%2E./b",
		"/.%2e",
		"/a/%2e",
		"//",
		"//a",
		"/a//b",
		"/a/%2f/b",
		"/a%2f%2fb",
		"/a%2f..%2fb",
		"/..%2fb",
		"/a/..;/b",
		"/a/;x/b",
		"/;",
		"/a/.;x",
		"/a\\b",
		"/a%5cb",
		"/a/..%5cb",
		"/%00",
		"/a%0ab",
		"/a%0d%0ab",
		"/a\nb",
		"/a\x7f",
		"/%252e%252e",
		"/%252f",
		"/a%25%32e",
		"/%25%32%65",
		"/%",
		"/%2",
		"/%zz",
		"/%c0%ae",
		"/%ff",
		"/%ed%a0%80",
		"/a%3b/..%2f",
		"/...",
		"/a/..../b",
		"/..%20/b",
		"/a/.%20./b",
		"/a/%20/b",
		"/..%c2%a0/b",
		"/%ef%bc%8e%ef%bc%8e/b",
		"/%e2%80%a5/b",
		"/.%ef%b9%92/b",
		"/..%ef%bc%8fb",
		"/..%e2%81%84b",
		"/a%ef%bc%bc..",
		"/%ef%bc%852e",
		"/a%3f/../b",
		"/..%3fb",
		"/a/.%23",
		"/a%3fb//c",
		"/a%3f/b/%2e",
		"/a%23/..",
		"/a%ef%bc%8f%2fb",
		"/a%2f",
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
	fits("/a.", "/a.", true, true);
	fits("/a./b", "/a./b", true, true);
	fits("/x/*.", "/x/a.", true, true);
	fits("/x/*.", "/x/a", false, false);
	fits("/wiki/Inc.*", "/wiki/Inc._(x)", true, true);
	fits("/\xef\xbc\xa1", "/%ef%bc%a1", true, true);
	fits("/a/**", "/a/What%3F", true, true);
	fits("/\xe8\xaa\xb0\xef\xbc\x9f", "/%e8%aa%b0%ef%bc%9f", true, true);
	/* what a lenient server would see is denied, and not allowed */
	fits("/admin", "/admin.", false, true);
	fits("/admin", "/admin%20", false, true);
	fits("/admin", "/admin%3fx", false, true);
	fits("/admin/**", "/admin./x", false, true);
	fits("/admin/**", "/%ef%bd%81dmin/x", false, true);
	fits("/admin/**", "/adm%c4%b1n/x", false, true);
	fits("/admin/**", "/admin%ef%bc%8fx", false, true);
	fits("/public/*/y", "/public/a%ef%bc%8fb/y", false, true);
	fits("/public/*", "/public/a%3f/b", false, true);
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
