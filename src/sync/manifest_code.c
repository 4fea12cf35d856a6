/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a manifest and of the difference between two. Version 1:
 *
 *	4	"PFM1"
 *	1	'W': whole, or 'D': a delta
 *	varint	number of entries
 *	and for each entry, in order:
 *	varint	how many bytes of the path before it are kept
 *	varint	how many follow
 *	...	those
 *	1	kind (enum manifest_kind); 'gone' in a delta alone, and then nothing follows
 *	varint	mode
 *	a link:
 *		varint	length of its target
 *		...	the target
 *	a file:
 *		varint	time of change, seconds, zigzag (0, -1, 1, -2, ...)
 *		varint	and nanoseconds
 *		varint	size
 *		32	SHA-256 of the content; left out when the size is 0
 *		above CHUNK_WHOLE_MAX bytes:
 *		varint	number of chunks
 *		...	for each: varint length, 32 SHA-256
 *
 * Nothing may follow. Every number has one encoding and every path is front-coded as far as it
 * goes, so that the same tree has the same bytes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/chunk.h"
#include "sync/manifest.h"

static const char magic[4] = {'P', 'F', 'M', '1'};

/* What decoding needs beside the entry itself: it borrows path, target and chunks from here. */
struct scratch {
	char path[MANIFEST_PATH_MAX + 1];
	size_t path_len;
	char target[MANIFEST_PATH_MAX + 1];
	struct manifest_chunk *chunks;
	size_t chunks_cap;
};

static void scratch_done(struct scratch *s)
{
	free(s->chunks);
}

static size_t shared(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static void put_entry(struct buf *b, const char *last, const struct manifest_entry *entry,
		      enum manifest_kind kind)
{
	size_t kept = shared(last, entry->path);

	buf_varint(b, kept);
	buf_varint(b, entry->path_len - kept);
	buf_add(b, entry->path + kept, entry->path_len - kept);
	buf_u8(b, (uint8_t)kind);
	if (kind == MANIFEST_GONE)
		return;
	buf_varint(b, entry->mode);
	if (kind == MANIFEST_LINK) {
		buf_varint(b, strlen(entry->target));
		buf_add(b, entry->target, strlen(entry->target));
	}
	if (kind != MANIFEST_FILE)
		return;
	buf_varint(b, ((uint64_t)entry->mtime_s << 1) ^ (uint64_t)(entry->mtime_s >> 63));
	buf_varint(b, entry->mtime_ns);
	buf_varint(b, entry->size);
	if (entry->size)
		buf_add(b, entry->hash, HASH_BYTES);
	if (entry->size <= CHUNK_WHOLE_MAX)
		return;
	buf_varint(b, entry->n_chunks);
	for (uint32_t i = 0; i < entry->n_chunks; i++) {
		buf_varint(b, entry->chunks[i].len);
		buf_add(b, entry->chunks[i].hash, HASH_BYTES);
	}
}

static int finish(const struct buf *b, struct err *e)
{
	if (b->error == -E2BIG)
		return err_set(e, ERR_LIMIT, "manifest: larger than %zu bytes", b->max);
	errno = -b->error;
	return b->error ? err_sys(e, "manifest") : 0;
}

int manifest_encode(const struct manifest *m, struct buf *ret, struct err *e)
{
	const char *last = "";

	buf_add(ret, magic, sizeof(magic));
	buf_u8(ret, 'W');
	buf_varint(ret, m->n);
	for (size_t i = 0; i < m->n; i++) {
		put_entry(ret, last, &m->entries[i], m->entries[i].kind);
		last = m->entries[i].path;
	}
	return finish(ret, e);
}

static void get_path(struct cursor *c, struct scratch *s, struct manifest_entry *ret)
{
	size_t kept = (size_t)cursor_upto(c, s->path_len);
	size_t more = (size_t)cursor_upto(c, MANIFEST_PATH_MAX - kept);
	const uint8_t *bytes = cursor_bytes(c, more);

	/* One encoding: what could have been kept was kept. */
	if (!bytes || (more && kept < s->path_len && (char)bytes[0] == s->path[kept])) {
		c->bad = true;
		return;
	}
	memcpy(s->path + kept, bytes, more);
	s->path_len = kept + more;
	s->path[s->path_len] = 0;
	ret->path = s->path;
	ret->path_len = (uint16_t)s->path_len;
}

static void get_target(struct cursor *c, struct scratch *s, struct manifest_entry *ret)
{
	size_t len = (size_t)cursor_upto(c, MANIFEST_PATH_MAX);

	cursor_copy(c, s->target, len);
	s->target[len] = 0;
	if (memchr(s->target, 0, len))
		c->bad = true;
	ret->target = s->target;
}

static int get_chunks(struct cursor *c, struct scratch *s, struct manifest_entry *ret)
{
	/* At least 33 bytes each: a number that cannot be true takes no memory. */
	size_t n = (size_t)cursor_upto(c, cursor_left(c) / (HASH_BYTES + 1));

	if (n > s->chunks_cap) {
		struct manifest_chunk *grown = reallocarray(s->chunks, n, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->chunks = grown;
		s->chunks_cap = n;
	}
	for (size_t i = 0; i < n; i++) {
		s->chunks[i].len = (uint32_t)cursor_upto(c, CHUNK_MAX);
		cursor_copy(c, s->chunks[i].hash, HASH_BYTES);
	}
	ret->chunks = s->chunks;
	ret->n_chunks = (uint32_t)n;
	return 0;
}

static int get_file(struct cursor *c, struct scratch *s, struct manifest_entry *ret)
{
	uint64_t zigzag = cursor_varint(c);

	ret->mtime_s = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
	ret->mtime_ns = (uint32_t)cursor_upto(c, 999999999);
	ret->size = cursor_varint(c);
	if (ret->size)
		cursor_copy(c, ret->hash, HASH_BYTES);
	else
		hash_bytes("", 0, ret->hash);
	return ret->size > CHUNK_WHOLE_MAX ? get_chunks(c, s, ret) : 0;
}

/* Whatever it returns, the bytes may still be wrong: c->bad. */
static int get_entry(struct cursor *c, struct scratch *s, struct manifest_entry *ret)
{
	*ret = (struct manifest_entry){.path = "", .target = ""};
	get_path(c, s, ret);
	ret->kind = cursor_u8(c);
	if (c->bad || ret->kind == MANIFEST_GONE)
		return 0;
	ret->mode = (uint16_t)cursor_upto(c, 07777);
	if (ret->kind == MANIFEST_LINK)
		get_target(c, s, ret);
	return ret->kind == MANIFEST_FILE ? get_file(c, s, ret) : 0;
}

static int bad(struct err *e)
{
	return err_set(e, ERR_INVALID, "manifest: its bytes make no sense");
}

static int get_head(struct cursor *c, char form, const struct manifest_limits *limits,
		    uint64_t *ret_n, struct err *e)
{
	const uint8_t *start = cursor_bytes(c, sizeof(magic));

	if (!start || memcmp(start, magic, sizeof(magic)) != 0)
		return err_set(e, ERR_UNSUPPORTED, "manifest: not one, or of another version");
	if (cursor_u8(c) != form)
		return bad(e);
	*ret_n = cursor_varint(c);
	if (*ret_n > limits->entries_max)
		return err_set(e, ERR_LIMIT, "manifest: more than %u files and directories",
			       limits->entries_max);
	return c->bad ? bad(e) : 0;
}

int manifest_decode(const void *data, size_t len, const struct manifest_limits *limits,
		    struct manifest *ret, struct err *e)
{
	__attribute__((cleanup(scratch_done))) struct scratch s = {0};
	struct cursor c = cursor_of(data, len);
	auto_manifest struct manifest m = {0};
	struct manifest_entry entry;
	uint64_t n = 0;

	manifest_init(&m, limits);
	int head = get_head(&c, 'W', limits, &n, e);
	if (head < 0)
		return head;
	for (uint64_t i = 0; i < n; i++) {
		if (get_entry(&c, &s, &entry) < 0)
			return err_sys(e, "manifest");
		if (c.bad)
			return bad(e);
		int r = manifest_add(&m, &entry, e);
		if (r < 0)
			return r;
	}
	if (cursor_left(&c))
		return bad(e);
	*ret = m;
	m = (struct manifest){0};
	return 0;
}

int manifest_diff(const struct manifest *from, const struct manifest *to, struct buf *ret,
		  struct err *e)
{
	auto_buf struct buf body = {0};
	const char *last = "";
	size_t a = 0, b = 0, n = 0;

	buf_init(&body, ret->max);
	while (a < from->n || b < to->n) {
		const struct manifest_entry *old = &from->entries[a], *new = &to->entries[b];
		int order = a == from->n ? 1
			    : b == to->n ? -1
					 : manifest_path_cmp(old->path, new->path);
		a += order <= 0;
		b += order >= 0;
		if (order == 0 && manifest_same(old, new))
			continue;
		if (order < 0)
			put_entry(&body, last, old, MANIFEST_GONE);
		else
			put_entry(&body, last, new, new->kind);
		last = order < 0 ? old->path : new->path;
		n++;
	}
	buf_add(ret, magic, sizeof(magic));
	buf_u8(ret, 'D');
	buf_varint(ret, n);
	buf_add(ret, body.data, body.len);
	ret->error = ret->error ? ret->error : body.error;
	return finish(ret, e);
}

/* Entries of `from` up to `path` (all: NULL) stay. 1: the next one is `path` itself. */
static int keep_until(const struct manifest *from, size_t *at, const char *path,
		      struct manifest *to, struct err *e)
{
	while (*at < from->n) {
		int order = path ? manifest_path_cmp(from->entries[*at].path, path) : -1;

		if (order >= 0)
			return order == 0;
		int r = manifest_add(to, &from->entries[(*at)++], e);
		if (r < 0)
			return r;
	}
	return 0;
}

int manifest_patch(const struct manifest *from, const void *data, size_t len,
		   const struct manifest_limits *limits, struct manifest *ret, struct err *e)
{
	__attribute__((cleanup(scratch_done))) struct scratch s = {0};
	struct cursor c = cursor_of(data, len);
	auto_manifest struct manifest m = {0};
	struct manifest_entry entry;
	uint64_t n = 0;
	size_t at = 0;

	manifest_init(&m, limits);
	int head = get_head(&c, 'D', limits, &n, e);
	if (head < 0)
		return head;
	for (uint64_t i = 0; i < n; i++) {
		if (get_entry(&c, &s, &entry) < 0)
			return err_sys(e, "manifest");
		int there = c.bad ? bad(e) : keep_until(from, &at, entry.path, &m, e);
		if (there < 0)
			return there;
		if (entry.kind == MANIFEST_GONE && !there)
			return bad(e);
		at += (size_t)there;
		int r = entry.kind == MANIFEST_GONE ? 0 : manifest_add(&m, &entry, e);
		if (r < 0)
			return r;
	}
	if (cursor_left(&c))
		return bad(e);
	int r = keep_until(from, &at, NULL, &m, e);
	if (r < 0)
		return r;
	*ret = m;
	m = (struct manifest){0};
	return 0;
}
