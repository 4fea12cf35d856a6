/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is hashed, little-endian, in the order of a walk:
 *
 *	"pfhash\0" 1
 *	for every name:
 *	u8	'd' directory, 'f' file, 'l' link, 'p' FIFO, 's' socket, 'c' device, 'w' whiteout,
 *		'h' another name of an earlier file
 *	u16	bytes of the name, and the name
 *	unless 'w', 'h':
 *	u32 u32 u32	mode, uid, gid
 *	'd':	u8 opaque; u32 bytes of attributes, attributes
 *	'f':	i64 u32 mtime; u64 size; attributes as above; 32 bytes: hash of the content
 *	'l':	i64 u32 mtime; u16 bytes of the target, target
 *	'c':	u64 device
 *	'h':	u64 number of the file, counted from 1 in this walk
 *	after the last name of a directory: u8 '.'
 *
 * The root is a directory without a name. The content's hash is of every block of 4096 bytes that
 * is not all zero: u64 offset, u32 bytes, bytes; so a hole and a block of zeros are the same, and
 * terabytes of holes are not read.
 */
#include "tree/digest.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/attr.h"
#include "tree/file.h"
#include "tree/frame.h"
#include "tree/links.h"
#include "tree/stream.h"
#include "tree/walk.h"

#define BLOCK 4096u
#define READ_BYTES (32 * BLOCK)

struct digest {
	struct hash hash;
	struct tree_digest *ret;
	struct tree_cursor at;
	struct tree_links files;
	uint64_t n_files;
	uint8_t *buf;
};

static void add_name(struct digest *d, char kind, const char *name)
{
	uint8_t head[3] = {(uint8_t)kind};
	size_t len = strlen(name);

	(void)frame_le16(head + 1, (uint16_t)len);
	hash_add(&d->hash, head, sizeof(head));
	hash_add(&d->hash, name, len);
	d->ret->entries++;
}

static void add_owner(struct digest *d, const struct stat *st)
{
	uint8_t buf[12];

	(void)frame_le32(frame_le32(frame_le32(buf, st->st_mode & 07777), st->st_uid), st->st_gid);
	hash_add(&d->hash, buf, sizeof(buf));
}

static void add_time(struct digest *d, const struct stat *st)
{
	uint8_t buf[12];

	(void)frame_le32(frame_le64(buf, (uint64_t)st->st_mtim.tv_sec),
			 (uint32_t)st->st_mtim.tv_nsec);
	hash_add(&d->hash, buf, sizeof(buf));
}

static void add_number(struct digest *d, uint64_t n)
{
	uint8_t buf[8];

	(void)frame_le64(buf, n);
	hash_add(&d->hash, buf, sizeof(buf));
}

static int add_attrs(struct digest *d, int fd, struct err *e)
{
	struct tree_attrs attrs;
	uint8_t len[4];
	int r = tree_attrs_read(fd, true, &attrs, e);

	if (r < 0)
		return r;
	(void)frame_le32(len, (uint32_t)attrs.len);
	hash_add(&d->hash, len, sizeof(len));
	hash_add(&d->hash, attrs.bytes, attrs.len);
	tree_attrs_done(&attrs);
	return 0;
}

/* A block that is not zero; `at` is a multiple of BLOCK. */
static void add_block(struct hash *h, const uint8_t *p, size_t len, uint64_t at)
{
	static const uint8_t zero[BLOCK];
	uint8_t head[12];

	if (memcmp(p, zero, len) == 0)
		return;
	(void)frame_le32(frame_le64(head, at), (uint32_t)len);
	hash_add(h, head, sizeof(head));
	hash_add(h, p, len);
}

static int add_content(struct digest *d, int fd, uint64_t size, struct err *e)
{
	uint8_t content[HASH_BYTES];
	uint64_t at = 0, start, end;
	struct hash h;

	hash_init(&h);
	while (tree_file_extent(fd, at, size, &start, &end)) {
		at = start - start % BLOCK;
		while (at < end) {
			size_t want = size - at < READ_BYTES ? size - at : READ_BYTES;
			ssize_t n = tree_file_read(fd, d->buf, want, at);

			if (n < 0 || (size_t)n < want) {
				errno = n < 0 ? (int)-n : EIO;
				return err_sys(e, "read");
			}
			for (size_t i = 0; i < want; i += BLOCK)
				add_block(&h, d->buf + i, want - i < BLOCK ? want - i : BLOCK,
					  at + i);
			at += want;
			d->ret->bytes += want;
		}
	}
	hash_done(&h, content);
	hash_add(&d->hash, content, sizeof(content));
	return 0;
}

static int add_file(struct digest *d, const char *name, struct stat *st, struct err *e)
{
	uint64_t number = 0;

	if (st->st_nlink > 1 && tree_links_find(&d->files, st->st_dev, st->st_ino, &number)) {
		add_name(d, 'h', name);
		add_number(d, number);
		return 0;
	}
	auto_close int fd = FD_NONE;
	int r = tree_file_open(d->at.fd, name, st, &fd, e);
	d->n_files++;
	if (r >= 0 && st->st_nlink > 1)
		r = tree_links_note(&d->files, st->st_dev, st->st_ino, "", d->n_files, e);
	if (r < 0)
		return r;
	add_name(d, 'f', name);
	add_owner(d, st);
	add_time(d, st);
	add_number(d, (uint64_t)st->st_size);
	d->ret->size += (uint64_t)st->st_size;
	d->ret->blocks += (uint64_t)st->st_blocks;
	r = add_attrs(d, fd, e);
	return r < 0 ? r : add_content(d, fd, (uint64_t)st->st_size, e);
}

static int add_link(struct digest *d, const char *name, const struct stat *st, struct err *e)
{
	char target[TREE_PATH_MAX + 1];
	uint8_t len[2];
	ssize_t n = readlinkat(d->at.fd, name, target, sizeof(target));

	if (n < 0)
		return err_sys(e, "read the link");
	add_name(d, 'l', name);
	add_owner(d, st);
	add_time(d, st);
	(void)frame_le16(len, (uint16_t)n);
	hash_add(&d->hash, len, sizeof(len));
	hash_add(&d->hash, target, (size_t)n);
	return 0;
}

/* The directory that we are in now. */
static int add_dir(struct digest *d, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(d->at.fd, &st) < 0)
		return err_sys(e, "look at it");
	uint8_t opaque = tree_is_opaque(d->at.fd) ? 1 : 0;
	add_name(d, 'd', name);
	add_owner(d, &st);
	hash_add(&d->hash, &opaque, 1);
	return add_attrs(d, d->at.fd, e);
}

static int digest_list(struct tree_walk *w, struct tree_names *names, struct err *e)
{
	struct tree_shown s;
	int r = tree_names_add(names, ((struct digest *)w->ctx)->at.fd, e);

	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

static int add_any(struct digest *d, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(d->at.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at it");
	if (tree_is_whiteout(d->at.fd, name, &st)) {
		add_name(d, 'w', name);
		return 0;
	}
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR: {
		int r = tree_cursor_down(&d->at, name, e);
		if (r >= 0)
			r = add_dir(d, name, e);
		return r < 0 ? r : 1;
	}
	case S_IFREG: return add_file(d, name, &st, e);
	case S_IFLNK: return add_link(d, name, &st, e);
	case S_IFIFO:
	case S_IFSOCK:
		add_name(d, S_ISFIFO(st.st_mode) ? 'p' : 's', name);
		add_owner(d, &st);
		return 0;
	default:
		add_name(d, 'c', name);
		add_owner(d, &st);
		add_number(d, (uint64_t)st.st_rdev);
		return 0;
	}
}

static int digest_visit(struct tree_walk *w, const char *name, uint64_t *ret_mark, struct err *e)
{
	struct tree_shown s;
	int r = add_any(w->ctx, name, e);

	(void)ret_mark;
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : r;
}

static int digest_leave(struct tree_walk *w, struct err *e)
{
	struct digest *d = w->ctx;
	struct tree_shown s;

	hash_add(&d->hash, ".", 1);
	int r = w->depth > 0 ? tree_cursor_up(&d->at, e) : 0;
	return r < 0 ? err_wrap(e, "%s", tree_walk_show(w, &s)) : 0;
}

int tree_digest(int layer_fd, struct tree_digest *ret, struct err *e)
{
	static const struct tree_walk_ops ops = {digest_list, digest_visit, digest_leave};
	struct tree_digest found = {0};
	struct digest d = {.ret = &found, .at = TREE_CURSOR_INIT, .buf = malloc(READ_BYTES)};

	assert(layer_fd >= 0);
	hash_init(&d.hash);
	hash_add(&d.hash, "pfhash\0\1", 8);
	tree_links_init(&d.files, TREE_ENTRIES_MAX, TREE_ENTRIES_MAX);
	int r = d.buf ? tree_cursor_init(&d.at, layer_fd, e) : err_sys(e, "hash a layer");
	if (r >= 0)
		r = add_dir(&d, "", e);
	if (r >= 0)
		r = tree_walk(&ops, &d, 0, "", e);
	tree_cursor_done(&d.at);
	tree_links_done(&d.files);
	free(d.buf);
	if (r < 0)
		return r;
	hash_done(&d.hash, found.hash);
	*ret = found;
	return 0;
}
