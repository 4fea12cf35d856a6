/* SPDX-License-Identifier: Apache-2.0 */
/* Names in archives: what they mean, and which are refused. */
#include "archive/name.h"
#include "tap.h"

static void means(const char *raw, const char *path)
{
	struct err e = ERR_INIT;
	char clean[TREE_PATH_MAX + 1] = "";

	is_int(name_clean(raw, clean, &e), 0, raw);
	is_str(clean, path, "what it means");
}

static void refused(const char *raw, const char *why)
{
	struct err e = ERR_INIT;
	char clean[TREE_PATH_MAX + 1];

	ok(name_clean(raw, clean, &e) < 0, "a name is refused");
	has_str(e.text, why, "and it says why");
}

static void cleaning(void)
{
	char full[TREE_PATH_MAX + 2];

	means("a", "a");
	means("./a/", "a");
	means("a//b/./c", "a/b/c");
	means(".", "");
	means("./", "");
	means("C:\\x\\..\\y", "C:\\x\\..\\y");
	means("...", "...");
	means("..a/b..", "..a/b..");
	means("\xff\xfe", "\xff\xfe");
	refused("/", "absolute");
	refused("/a", "absolute");
	refused("..", "leads out");
	refused("../a", "leads out");
	refused("a/..", "leads out");
	refused("a/../b", "leads out");
	refused("./../b", "leads out");
	for (size_t i = 0; i < sizeof(full); i++)
		full[i] = i % 2 ? '/' : 'x';
	full[TREE_PATH_MAX + 1] = '\0';
	refused(full, "too long");
	memset(full, 'n', 300);
	full[300] = '\0';
	refused(full, "name of 300 bytes");
}

static void marked(const char *path, enum name_mark want, const char *rest)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", path);
	is_int(name_mark(copy), want, path);
	if (rest)
		is_str(copy, rest, "what it is about");
}

static void marks(void)
{
	marked("a/b", NAME_PLAIN, "a/b");
	marked("a/.whx", NAME_PLAIN, "a/.whx");
	marked("a/.wh.b", NAME_GONE, "a/b");
	marked(".wh.b", NAME_GONE, "b");
	marked("a/.wh..wh..opq", NAME_OPAQUE, "a");
	marked(".wh..wh..opq", NAME_OPAQUE, "");
	marked("a/.wh..wh.plnk", NAME_NOTE, NULL);
	marked("a/.wh...", NAME_NOTE, NULL);
	marked("a/.wh..", NAME_NOTE, NULL);
	marked("a/.wh.", NAME_NOTE, NULL);
	marked(".wh.d/b", NAME_PLAIN, ".wh.d/b");
}

static void images(void)
{
	ok(name_may_be_image("manifest.json"), "a manifest");
	ok(name_may_be_image("blobs/sha256"), "blobs");
	ok(name_may_be_image(
		   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/VERSION"),
	   "a layer of an old one");
	ok(!name_may_be_image("manifest.json5"), "another file");
	ok(!name_may_be_image("src/blobs"), "another directory");
}

int main(void)
{
	TAP_RUN(cleaning);
	TAP_RUN(marks);
	TAP_RUN(images);
	return tap_done();
}
