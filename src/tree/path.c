/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/path.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static int component_check(const char *name, size_t len, struct err *e)
{
	struct tree_shown s;

	if (len == 0)
		return err_set(e, ERR_INVALID, "path with an empty component");
	if (len > TREE_NAME_MAX)
		return err_set(e, ERR_LIMIT, "name of %zu bytes, the most is %d: %s", len,
			       TREE_NAME_MAX, tree_show(&s, name, len));
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return err_set(e, ERR_INVALID, "path with the component %.*s", (int)len, name);
	return 0;
}

int tree_path_check(const char *path, size_t len, struct err *e)
{
	struct tree_shown s;

	if (len == 0)
		return err_set(e, ERR_INVALID, "empty path");
	if (len > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "path of %zu bytes, the most is %d", len,
			       TREE_PATH_MAX);
	if (memchr(path, '\0', len))
		return err_set(e, ERR_INVALID, "path with a NUL: %s", tree_show(&s, path, len));
	if (path[0] == '/')
		return err_set(e, ERR_INVALID, "absolute path: %s", tree_show(&s, path, len));
	for (size_t at = 0; at <= len;) {
		const char *end = memchr(path + at, '/', len - at);
		size_t n = end ? (size_t)(end - path) - at : len - at;

		if (component_check(path + at, n, e) < 0)
			return err_wrap(e, "%s", tree_show(&s, path, len));
		at += n + 1;
	}
	return 0;
}

int tree_path_cmp(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;

	for (size_t i = 0; i < n; i++) {
		/* A slash ends a name: what is below `a` comes before `a-`. */
		int x = a[i] == '/' ? 0 : (unsigned char)a[i];
		int y = b[i] == '/' ? 0 : (unsigned char)b[i];

		if (x != y)
			return x - y;
	}
	return a_len < b_len ? -1 : a_len > b_len;
}

bool tree_path_below(const char *path, size_t len, const char *dir, size_t dir_len)
{
	if (dir_len == 0)
		return len > 0;
	return len > dir_len && path[dir_len] == '/' && memcmp(path, dir, dir_len) == 0;
}

const char *tree_show(struct tree_shown *s, const char *path, size_t len)
{
	static const char cut[] = "...";
	const unsigned char *p = (const unsigned char *)path;
	size_t at = 0, most = sizeof(s->text) - sizeof(cut);

	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(p + i, len - i);
		/* C1 controls are two bytes in UTF-8 and act on terminals as well. */
		bool plain = n > 2 || (n == 2 && !(p[i] == 0xc2 && p[i + 1] < 0xa0)) ||
			     (n == 1 && p[i] >= 0x20 && p[i] < 0x7f);

		if (at + (plain ? n : 4) > most) {
			memcpy(s->text + at, cut, sizeof(cut));
			return s->text;
		}
		if (plain) {
			memcpy(s->text + at, p + i, n);
		} else {
			n = 1;
			(void)snprintf(s->text + at, 5, "\\x%02x", p[i]);
		}
		at += plain ? n : 4;
		i += n;
	}
	s->text[at] = '\0';
	return s->text;
}
