/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/audit.h"
#include "cmd/say.h"

#define TEXT_SIZE (16u << 10) /* some 300 chains */

static int read_kept(struct audit_cursor *c, struct err *e)
{
	auto_close int fd = open(c->path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "--cursor-file: %s", c->path);
	int r = fd_read_max(fd, c->kept, TEXT_SIZE - 1, &n);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "--cursor-file: %s", c->path);
	}
	c->kept[n] = '\0';
	c->kept[strcspn(c->kept, "\n")] = '\0';
	return c->kept[0] != '\0';
}

int audit_cursor_open(struct audit_cursor *c, struct pinfold_audit_options *o, bool wanted,
		      struct err *e)
{
	if (!c->path && !wanted)
		return 0;
	c->text = calloc(1, TEXT_SIZE);
	c->kept = calloc(1, TEXT_SIZE);
	if (!c->text || !c->kept)
		return err_sys(e, "audit");
	o->ret_cursor = c->text;
	o->ret_cursor_size = TEXT_SIZE;
	int r = c->path ? read_kept(c, e) : 0;
	if (r > 0)
		o->cursor = c->kept;
	return r;
}

/* Whole or not at all: a half would be a wrong place. */
static int write_kept(const struct audit_cursor *c)
{
	char made[PATH_MAX];
	int n = snprintf(made, sizeof(made), "%s.new", c->path);

	if (n < 0 || (size_t)n >= sizeof(made))
		return -ENAMETOOLONG;
	auto_close int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, c->text, strlen(c->text));
	if (r >= 0)
		r = fd_write_all(fd, "\n", 1);
	if (r >= 0 && rename(made, c->path) < 0)
		r = -errno;
	return r;
}

int audit_cursor_keep(struct audit_cursor *c)
{
	struct err e = ERR_INIT;

	if (!c->path || !c->text[0] || strcmp(c->text, c->kept) == 0)
		return 0;
	int r = write_kept(c);
	if (r < 0) {
		errno = -r;
		(void)err_sys(&e, "--cursor-file: %s", c->path);
		(void)say_failure(&e, false);
		return r;
	}
	/* The library may have begun with it: to that it is only nearer to where it is now. */
	memcpy(c->kept, c->text, strlen(c->text) + 1);
	return 0;
}

void audit_cursor_done(struct audit_cursor *c)
{
	free(c->text);
	free(c->kept);
}
