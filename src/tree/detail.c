/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/detail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/file.h"
#include "tree/text.h"

/* One side of a change: its bytes as far as they are wanted. */
struct side {
	char *bytes; /* only when text is wanted */
	size_t len;
	bool binary, hashed, unreadable;
	uint8_t hash[HASH_BYTES];
};

void tree_detail_done(struct tree_detail *detail)
{
	free_ptr(&detail->out);
}

static int read_target(struct side *s, int dir, const char *name, struct err *e)
{
	char target[TREE_PATH_MAX + 1];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));
	struct hash h;

	if (n < 0)
		return err_sys(e, "read a link");
	s->bytes = malloc((size_t)n + 1);
	if (!s->bytes)
		return err_sys(e, "read a link");
	memcpy(s->bytes, target, (size_t)n);
	s->len = (size_t)n;
	hash_init(&h);
	hash_add(&h, target, (size_t)n);
	hash_done(&h, s->hash);
	s->hashed = true;
	return 0;
}

static int hash_all(int fd, uint8_t ret[HASH_BYTES], struct err *e)
{
	char buf[64 << 10];
	struct hash h;
	uint64_t at = 0;
	ssize_t n;

	hash_init(&h);
	while ((n = tree_file_read(fd, buf, sizeof(buf), at)) > 0) {
		hash_add(&h, buf, (size_t)n);
		at += (uint64_t)n;
	}
	hash_done(&h, ret);
	if (n < 0) {
		errno = (int)-n;
		return err_sys(e, "read");
	}
	return 0;
}

static int read_file(const struct tree_detail *detail, struct side *s, int dir, const char *name,
		     struct stat st, struct err *e)
{
	auto_close int fd = FD_NONE;
	int r = tree_file_open(dir, name, &st, &fd, e);

	if (r == -EACCES || r == -EPERM) {
		s->unreadable = true;
		return 0;
	}
	if (r >= 0 && detail->hash && (uint64_t)st.st_size <= detail->hash_max) {
		r = hash_all(fd, s->hash, e);
		s->hashed = r >= 0;
	}
	if (r < 0 || !detail->text)
		return r;
	s->binary = st.st_size > (off_t)TREE_TEXT_FILE_MAX;
	if (s->binary)
		return 0;
	s->bytes = malloc((size_t)st.st_size + 1);
	ssize_t n = s->bytes ? tree_file_read(fd, s->bytes, (size_t)st.st_size, 0) : -ENOMEM;
	if (n < 0) {
		errno = (int)-n;
		return err_sys(e, "read");
	}
	s->len = (size_t)n;
	s->binary = tree_text_is_binary(s->bytes, s->len);
	return 0;
}

static int read_side(const struct tree_detail *detail, struct side *s, int dir, const char *name,
		     const struct stat *st, struct err *e)
{
	if (S_ISREG(st->st_mode) && dir >= 0)
		return read_file(detail, s, dir, name, *st, e);
	if (S_ISLNK(st->st_mode) && dir >= 0)
		return read_target(s, dir, name, e);
	return 0;
}

static bool has_text(enum tree_type type)
{
	return type == TREE_TYPE_FILE || type == TREE_TYPE_SYMLINK;
}

/* One kind of thing before and after, or nothing on one side: else there is no text of it. */
static bool comparable(const struct tree_change *c)
{
	return (has_text(c->type_old) || c->type_old == TREE_TYPE_NONE) &&
	       (has_text(c->type_new) || c->type_new == TREE_TYPE_NONE) &&
	       (c->type_old == c->type_new || c->kind != TREE_MODIFIED);
}

static int put_text(struct tree_detail *detail, struct tree_change *c, const struct side *old,
		    const struct side *new, struct err *e)
{
	char *text = NULL;
	size_t len;

	if (!comparable(c) || old->unreadable || new->unreadable || !(c->flags & TREE_DIFF_CONTENT))
		return 0;
	if (old->binary || new->binary) {
		c->flags |= TREE_DIFF_BINARY;
		return 0;
	}
	if (detail->text_left == 0) {
		c->flags |= TREE_DIFF_TEXT_LEFT;
		return 0;
	}
	int r = tree_text_diff(old->bytes, old->len, new->bytes, new->len, &text, &len, e);
	if (r < 0 && e->kind == ERR_LIMIT && !e->num) {
		c->flags |= TREE_DIFF_TEXT_LEFT;
		return 0;
	}
	if (r < 0)
		return r;
	detail->out = text;
	if (len > detail->text_left || len > TREE_TEXT_MAX) {
		c->flags |= TREE_DIFF_TEXT_LEFT;
		return 0;
	}
	detail->text_left -= len;
	c->flags |= TREE_DIFF_TEXT;
	c->text = text;
	c->text_len = len;
	return 0;
}

int tree_detail_fill(struct tree_detail *detail, struct tree_change *c,
		     const struct tree_diff_at *at, struct err *e)
{
	struct side old = {0}, new = {0};

	free_ptr(&detail->out);
	if (!detail->hash && !detail->text)
		return 0;
	int r = read_side(detail, &old, at->old_dir, at->name, &at->old_st, e);
	if (r >= 0)
		r = read_side(detail, &new, at->new_dir, at->name, &at->new_st, e);
	if (r >= 0 && (old.unreadable || new.unreadable))
		c->flags |= TREE_DIFF_UNREADABLE;
	if (r >= 0 && detail->hash && old.hashed) {
		memcpy(c->hash_old, old.hash, HASH_BYTES);
		c->flags |= TREE_DIFF_HASH_OLD;
	}
	if (r >= 0 && detail->hash && new.hashed) {
		memcpy(c->hash_new, new.hash, HASH_BYTES);
		c->flags |= TREE_DIFF_HASH_NEW;
	}
	if (r >= 0 && detail->text)
		r = put_text(detail, c, &old, &new, e);
	free(old.bytes);
	free(new.bytes);
	return r;
}
