/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/name.h"

#include <assert.h>
#include <string.h>

#include "base/hold.h"

#define MARK ".wh."
#define OPAQUE ".wh..wh..opq"

static int refuse(struct err *e, const char *raw, const char *why)
{
	struct tree_shown s;

	(void)err_set(e, ERR_INVALID, "%s: a name in the archive %s",
		      tree_show(&s, raw, strlen(raw)), why);
	return err_remedy(e, "make the archive again with names below one directory: "
			     "tar -C DIR -cf FILE .");
}

int name_clean(const char *raw, char ret[TREE_PATH_MAX + 1], struct err *e)
{
	size_t n = 0;

	if (HOLD_ARCHIVE_NAMES && raw[0] == '/')
		return refuse(e, raw, "is absolute");
	for (const char *at = raw; *at;) {
		size_t len = strcspn(at, "/");

		if (HOLD_ARCHIVE_NAMES && len == 2 && memcmp(at, "..", 2) == 0)
			return refuse(e, raw, "leads out, by ..");
		if (len > 0 && !(len == 1 && at[0] == '.')) {
			if (n + (n > 0) + len > TREE_PATH_MAX)
				return refuse(e, raw, "is too long");
			if (n > 0)
				ret[n++] = '/';
			memcpy(ret + n, at, len);
			n += len;
		}
		at += len + (at[len] == '/');
	}
	ret[n] = '\0';
	return HOLD_ARCHIVE_NAMES && n > 0 ? tree_path_check(ret, n, e) : 0;
}

static char *last(char *path)
{
	char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum name_mark name_mark(char *path)
{
	char *name = last(path);

	if (!name_is_mark(name))
		return NAME_PLAIN;
	if (strcmp(name, OPAQUE) == 0) {
		*(name > path ? name - 1 : name) = '\0';
		return NAME_OPAQUE;
	}
	const char *what = name + strlen(MARK);
	/* What it names is a component like any other: .wh... must not mean the parent. */
	if (name_is_mark(what) || !*what || strcmp(what, ".") == 0 || strcmp(what, "..") == 0)
		return NAME_NOTE;
	memmove(name, what, strlen(what) + 1);
	return NAME_GONE;
}

bool name_is_mark(const char *name)
{
	return strncmp(name, MARK, strlen(MARK)) == 0;
}

bool name_may_be_image(const char *path)
{
	static const char *const names[] = {"blobs", "manifest.json", "oci-layout", "index.json",
					    "repositories"};
	size_t len = strcspn(path, "/");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (len == strlen(names[i]) && memcmp(path, names[i], len) == 0)
			return true;
	return strspn(path, "0123456789abcdef") == 64;
}
