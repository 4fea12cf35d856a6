/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/attr.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "tree/frame.h"
#include "tree/path.h"

#define HEAD_BYTES 6
#define LIST_MAX 65536

static bool starts(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool is_content(const char *name, bool raw)
{
	if (!starts(name, "user.") || !name[strlen("user.")])
		return false;
	if (raw && starts(name, "user.overlay.overlay."))
		return true;
	return !starts(name, "user.overlay.");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that count, sorted, as pointers into `list`. Returns how many. */
static size_t pick(char *list, size_t len, bool raw, const char **names)
{
	size_t n = 0;

	for (size_t at = 0; at < len; at += strlen(list + at) + 1)
		if (is_content(list + at, raw))
			names[n++] = list + at;
	qsort(names, n, sizeof(*names), by_name);
	return n;
}

static int add(int fd, const char *name, struct tree_attrs *to, struct err *e)
{
	struct tree_shown s;
	size_t name_len = strlen(name), at = to->len + HEAD_BYTES + name_len;

	if (at > TREE_ATTRS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u KiB of extended attributes",
			       TREE_ATTRS_MAX >> 10);
	ssize_t n = fgetxattr(fd, name, to->bytes + at, TREE_ATTRS_MAX - at);
	if (n < 0 && errno == ENODATA)
		return 0; /* it was removed since it was listed */
	if (n < 0 && errno == ERANGE)
		return err_set(e, ERR_LIMIT, "more than %u KiB of extended attributes",
			       TREE_ATTRS_MAX >> 10);
	if (n < 0)
		return err_sys(e, "read attribute %s", tree_show(&s, name, name_len));
	uint8_t *p = frame_le16(to->bytes + to->len, (uint16_t)name_len);
	p = frame_le32(p, (uint32_t)n);
	memcpy(p, name, name_len);
	to->len = at + (size_t)n;
	return 0;
}

int tree_attrs_read(int fd, bool raw, struct tree_attrs *ret, struct err *e)
{
	*ret = (struct tree_attrs){0};
	/* Almost every file has none: ask before there is a buffer. */
	ssize_t size = flistxattr(fd, NULL, 0);
	if (size == 0 || (size < 0 && errno == ENOTSUP))
		return 0;
	auto_free char *list = malloc(LIST_MAX);
	auto_free const char **names = malloc(LIST_MAX / 2 * sizeof(*names));
	struct tree_attrs found = {.bytes = malloc(TREE_ATTRS_MAX + HEAD_BYTES)};
	int r = 0;

	if (size < 0 || !list || !names || !found.bytes)
		r = err_sys(e, "list extended attributes");
	size = r < 0 ? 0 : flistxattr(fd, list, LIST_MAX);
	if (size < 0)
		r = err_sys(e, "list extended attributes");
	size_t n = r < 0 ? 0 : pick(list, (size_t)size, raw, names);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = add(fd, names[i], &found, e);
	if (r < 0 || found.len == 0)
		tree_attrs_done(&found);
	*ret = found;
	return r;
}

void tree_attrs_done(struct tree_attrs *attrs)
{
	free(attrs->bytes);
	*attrs = (struct tree_attrs){0};
}

int tree_attrs_check(const uint8_t *bytes, size_t len, struct err *e)
{
	char name[TREE_NAME_MAX + 1], before[TREE_NAME_MAX + 1] = "";
	const uint8_t *p = bytes, *end = bytes + len;
	struct tree_shown s;

	while (p < end) {
		if (end - p < HEAD_BYTES)
			return err_set(e, ERR_INVALID, "extended attributes of a wrong length");
		size_t n = frame_get16(&p), value = frame_get32(&p);
		if (n > TREE_NAME_MAX || n + value > (size_t)(end - p))
			return err_set(e, ERR_INVALID, "extended attributes of a wrong length");
		memcpy(name, p, n);
		name[n] = '\0';
		if (strlen(name) != n || !is_content(name, false))
			return err_set(e, ERR_INVALID, "extended attribute that may not be: %s",
				       tree_show(&s, (const char *)p, n));
		if (strcmp(before, name) >= 0)
			return err_set(e, ERR_INVALID, "extended attributes out of order");
		memcpy(before, name, n + 1);
		p += n + value;
	}
	return 0;
}

unsigned tree_attrs_write(int fd, const uint8_t *bytes, size_t len)
{
	const uint8_t *p = bytes, *end = bytes + len;
	char name[TREE_NAME_MAX + 1];
	unsigned lost = 0;

	while (p < end) {
		size_t n = frame_get16(&p), value = frame_get32(&p);

		memcpy(name, p, n);
		name[n] = '\0';
		lost += fsetxattr(fd, name, p + n, value, 0) < 0;
		p += n + value;
	}
	return lost;
}

static char overlay_note(int fd, const char *name)
{
	char value = 0;

	return fgetxattr(fd, name, &value, 1) == 1 ? value : 0;
}

bool tree_is_opaque(int fd)
{
	return overlay_note(fd, "user.overlay.opaque") == 'y';
}

bool tree_has_xwhiteouts(int dirfd)
{
	return overlay_note(dirfd, "user.overlay.opaque") == 'x';
}

bool tree_is_whiteout(int dirfd, const char *name, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(0, 0);
	if (!S_ISREG(st->st_mode) || st->st_size != 0 || !tree_has_xwhiteouts(dirfd))
		return false;
	auto_close int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fgetxattr(fd, "user.overlay.whiteout", NULL, 0) >= 0;
}
