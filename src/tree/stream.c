/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the tree stream, little-endian:
 *
 *	"pftree\0" 1	magic, version
 *	record...
 *	32		SHA-256 of all before
 *
 * A record:
 *	 0  u8	kind
 *	 1  u8	flags: 1 linked, 2 opaque
 *	 2  u16	bytes of the path
 *	 4  u32	mode
 *	 8  u32	uid
 *	12  u32	gid
 *	16  i64	mtime, seconds
 *	24  u32	mtime, nanoseconds
 *	28  u32	bytes of extended attributes
 *	32  u64	size of a file, bytes of a target, number of records before the end
 *	40	path, extended attributes, target
 *
 * After a file, its data: u64 offset, u32 length, bytes; at last offset and length 0. A length of
 * 2^32-1 breaks the file off: TREE_ERROR follows. After TREE_ERROR comes an error (frame.h) and the
 * hash.
 */
#include "tree/stream.h"

#include <assert.h>
#include <stdlib.h>

#define HEAD_BYTES 40
#define CHUNK_HEAD_BYTES 12
#define FLAG_LINKED 1u
#define FLAG_OPAQUE 2u
#define CHUNK_BROKEN UINT32_MAX
#define MODE_MASK 01777u
#define TARGET_MAX TREE_PATH_MAX

static const char magic[FRAME_MAGIC_BYTES] = {'p', 'f', 't', 'r', 'e', 'e', 0, 1};

int tree_enc_init(struct tree_enc *enc, int fd, struct err *e)
{
	*enc = (struct tree_enc){0};
	return frame_out_init(&enc->out, fd, magic, e);
}

void tree_enc_done(struct tree_enc *enc)
{
	frame_out_done(&enc->out);
}

static int put_head(struct tree_enc *enc, const struct tree_entry *entry, uint64_t size,
		    struct err *e)
{
	uint8_t head[HEAD_BYTES], *p = head;

	*p++ = (uint8_t)entry->kind;
	*p++ = (uint8_t)((entry->linked ? FLAG_LINKED : 0) | (entry->opaque ? FLAG_OPAQUE : 0));
	p = frame_le16(p, (uint16_t)entry->path_len);
	p = frame_le32(p, entry->mode);
	p = frame_le32(p, entry->uid);
	p = frame_le32(p, entry->gid);
	p = frame_le64(p, (uint64_t)entry->mtime.tv_sec);
	p = frame_le32(p, (uint32_t)entry->mtime.tv_nsec);
	p = frame_le32(p, (uint32_t)entry->attrs_len);
	p = frame_le64(p, size);
	assert(p == head + HEAD_BYTES);
	return frame_put(&enc->out, head, sizeof(head), e);
}

int tree_enc_entry(struct tree_enc *enc, const struct tree_entry *entry, struct err *e)
{
	bool has_target = entry->kind == TREE_SYMLINK || entry->kind == TREE_LINK;
	uint64_t size = entry->kind == TREE_FILE ? entry->size : has_target ? entry->target_len : 0;

	assert(!enc->in_file && entry->path_len <= TREE_PATH_MAX);
	int r = put_head(enc, entry, size, e);
	if (r >= 0)
		r = frame_put(&enc->out, entry->path, entry->path_len, e);
	if (r >= 0)
		r = frame_put(&enc->out, entry->attrs, entry->attrs_len, e);
	if (r >= 0 && has_target)
		r = frame_put(&enc->out, entry->target, entry->target_len, e);
	enc->in_file = entry->kind == TREE_FILE;
	enc->entries++;
	return r;
}

static int put_chunk(struct tree_enc *enc, uint64_t offset, uint32_t len, struct err *e)
{
	uint8_t head[CHUNK_HEAD_BYTES];

	(void)frame_le32(frame_le64(head, offset), len);
	return frame_put(&enc->out, head, sizeof(head), e);
}

int tree_enc_data(struct tree_enc *enc, uint64_t offset, const void *data, size_t len,
		  struct err *e)
{
	assert(enc->in_file && len > 0 && len <= TREE_CHUNK_MAX);
	int r = put_chunk(enc, offset, (uint32_t)len, e);
	return r < 0 ? r : frame_put(&enc->out, data, len, e);
}

int tree_enc_data_end(struct tree_enc *enc, struct err *e)
{
	assert(enc->in_file);
	enc->in_file = false;
	return put_chunk(enc, 0, 0, e);
}

int tree_enc_end(struct tree_enc *enc, struct err *e)
{
	struct tree_entry end = {.kind = TREE_END};
	int r = put_head(enc, &end, enc->entries, e);

	return r < 0 ? r : frame_seal(&enc->out, e);
}

int tree_enc_error(struct tree_enc *enc, const struct err *what, struct err *e)
{
	struct tree_entry end = {.kind = TREE_ERROR};
	int r = enc->in_file ? put_chunk(enc, 0, CHUNK_BROKEN, e) : 0;

	if (r >= 0)
		r = put_head(enc, &end, enc->entries, e);
	if (r >= 0)
		r = frame_put_err(&enc->out, what, e);
	return r < 0 ? r : frame_seal(&enc->out, e);
}

int tree_dec_init(struct tree_dec *dec, int fd, const struct tree_limits *limits, struct err *e)
{
	*dec = (struct tree_dec){.limits = *limits};
	if (!dec->limits.entries || dec->limits.entries > TREE_ENTRIES_MAX)
		dec->limits.entries = TREE_ENTRIES_MAX;
	if (!dec->limits.bytes)
		dec->limits.bytes = UINT64_MAX;
	dec->attrs = malloc(TREE_ATTRS_MAX);
	dec->chunk = malloc(TREE_CHUNK_MAX);
	int r = dec->attrs && dec->chunk ? 0 : err_sys(e, "read a tree stream");
	if (r >= 0)
		r = frame_in_init(&dec->in, fd, magic, e);
	if (r < 0)
		tree_dec_done(dec);
	return r;
}

void tree_dec_done(struct tree_dec *dec)
{
	frame_in_done(&dec->in);
	free(dec->attrs);
	free(dec->chunk);
	free(dec->linked);
	free(dec->linked_at);
	*dec = (struct tree_dec){0};
}

/* What the head alone tells. */
static int check_head(const struct tree_entry *en, uint8_t flags, uint64_t size, struct err *e)
{
	bool has_target = en->kind == TREE_SYMLINK || en->kind == TREE_LINK;
	bool has_attrs = en->kind == TREE_FILE || en->kind == TREE_DIR;

	if (en->kind < TREE_DIR || en->kind > TREE_ERROR)
		return err_set(e, ERR_INVALID, "record of an unknown kind %d", (int)en->kind);
	if ((flags & ~(FLAG_LINKED | FLAG_OPAQUE)) || (en->linked && en->kind != TREE_FILE) ||
	    (en->opaque && en->kind != TREE_DIR))
		return err_set(e, ERR_INVALID, "record with flags that it cannot have");
	if (en->path_len > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "path of %zu bytes, the most is %d", en->path_len,
			       TREE_PATH_MAX);
	if (en->kind != TREE_SKIPPED && (en->mode & ~MODE_MASK))
		return err_set(e, ERR_INVALID, "mode %o has bits that no file may have", en->mode);
	if (en->mtime.tv_nsec < 0 || en->mtime.tv_nsec >= 1000000000)
		return err_set(e, ERR_INVALID, "time with too many nanoseconds");
	if (en->attrs_len > (has_attrs ? TREE_ATTRS_MAX : 0))
		return err_set(e, ERR_LIMIT, "%zu bytes of extended attributes", en->attrs_len);
	if (has_target && (size == 0 || size > TARGET_MAX))
		return err_set(e, ERR_INVALID, "target of %llu bytes", (unsigned long long)size);
	if (en->kind == TREE_FILE && size > INT64_MAX)
		return err_set(e, ERR_LIMIT, "file of more bytes than there can be");
	if (!has_target && en->kind != TREE_FILE && en->kind < TREE_END && size)
		return err_set(e, ERR_INVALID, "record with a size that it cannot have");
	return 0;
}

static int take_head(struct tree_dec *dec, struct tree_entry *en, uint64_t *ret_size, struct err *e)
{
	uint8_t head[HEAD_BYTES];
	const uint8_t *p = head;
	int r = frame_take(&dec->in, head, sizeof(head), e);

	if (r < 0)
		return r;
	*en = (struct tree_entry){.kind = (enum tree_kind) * p++};
	uint8_t flags = *p++;
	en->linked = flags & FLAG_LINKED;
	en->opaque = flags & FLAG_OPAQUE;
	en->path_len = frame_get16(&p);
	en->mode = frame_get32(&p);
	en->uid = frame_get32(&p);
	en->gid = frame_get32(&p);
	en->mtime.tv_sec = (time_t)frame_get64(&p);
	en->mtime.tv_nsec = frame_get32(&p);
	en->attrs_len = frame_get32(&p);
	*ret_size = frame_get64(&p);
	return check_head(en, flags, *ret_size, e);
}

/* Its place among those before: later, and not below something that can hold nothing. */
static int check_place(struct tree_dec *dec, const struct tree_entry *en, struct err *e)
{
	struct tree_shown s, t;
	const char *shown = tree_show(&s, en->path, en->path_len);

	if (en->path_len == 0) {
		if (dec->any)
			return err_set(e, ERR_INVALID, "the root is not the first record");
		if (en->kind == TREE_LINK || en->kind == TREE_GONE)
			return err_set(e, ERR_INVALID, "the root cannot be that");
	} else {
		int r = tree_path_check(en->path, en->path_len, e);
		if (r < 0)
			return r;
	}
	if (!dec->any)
		return 0;
	int order = tree_path_cmp(dec->last, dec->last_len, en->path, en->path_len);
	if (order == 0)
		return err_set(e, ERR_INVALID, "two records for %s", shown);
	if (order > 0)
		return err_set(e, ERR_INVALID, "%s is out of order", shown);
	if (!dec->last_is_dir && tree_path_below(en->path, en->path_len, dec->last, dec->last_len))
		return err_set(e, ERR_INVALID, "%s is below %s, which is no directory", shown,
			       tree_show(&t, dec->last, dec->last_len));
	return 0;
}

static int note_linked(struct tree_dec *dec, const struct tree_entry *en, struct err *e)
{
	if (dec->n_linked >= TREE_LINKED_MAX ||
	    dec->linked_len + en->path_len + 1 > TREE_LINKED_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "too many files with more than one name");
	if (dec->linked_len + en->path_len + 1 > dec->linked_room) {
		size_t room = (dec->linked_room + en->path_len + 4096) * 2;
		char *p = realloc(dec->linked, room);
		if (!p)
			return err_sys(e, "remember files with more than one name");
		dec->linked = p;
		dec->linked_room = room;
	}
	if (dec->n_linked == dec->linked_at_room) {
		size_t room = dec->linked_at_room * 2 + 64;
		size_t *p = reallocarray(dec->linked_at, room, sizeof(*p));
		if (!p)
			return err_sys(e, "remember files with more than one name");
		dec->linked_at = p;
		dec->linked_at_room = room;
	}
	dec->linked_at[dec->n_linked++] = dec->linked_len;
	memcpy(dec->linked + dec->linked_len, en->path, en->path_len + 1);
	dec->linked_len += en->path_len + 1;
	return 0;
}

/* Records come in order, so what we noted is sorted. */
static bool is_linked(const struct tree_dec *dec, const char *path, size_t len)
{
	size_t low = 0, high = dec->n_linked;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const char *at = dec->linked + dec->linked_at[mid];
		int order = tree_path_cmp(at, strlen(at), path, len);

		if (order == 0)
			return true;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static int take_target(struct tree_dec *dec, struct tree_entry *en, size_t len, struct err *e)
{
	struct tree_shown s, t;
	int r = frame_take(&dec->in, dec->target, len, e);

	if (r < 0)
		return r;
	dec->target[len] = '\0';
	en->target = dec->target;
	en->target_len = len;
	if (strlen(dec->target) != len)
		return err_set(e, ERR_INVALID, "%s: target with a NUL",
			       tree_show(&s, en->path, en->path_len));
	if (en->kind == TREE_LINK && !is_linked(dec, dec->target, len))
		return err_set(e, ERR_INVALID, "%s is a link to %s, which is no earlier file",
			       tree_show(&s, en->path, en->path_len),
			       tree_show(&t, dec->target, len));
	return 0;
}

static int take_body(struct tree_dec *dec, struct tree_entry *en, uint64_t size, struct err *e)
{
	struct tree_shown s;
	int r = frame_take(&dec->in, dec->path, en->path_len, e);

	if (r < 0)
		return r;
	dec->path[en->path_len] = '\0';
	en->path = dec->path;
	r = check_place(dec, en, e);
	if (r >= 0 && en->attrs_len > 0)
		r = frame_take(&dec->in, dec->attrs, en->attrs_len, e);
	if (r >= 0 && tree_attrs_check(dec->attrs, en->attrs_len, e) < 0)
		r = err_wrap(e, "%s", tree_show(&s, en->path, en->path_len));
	en->attrs = dec->attrs;
	if (r >= 0 && (en->kind == TREE_SYMLINK || en->kind == TREE_LINK))
		r = take_target(dec, en, (size_t)size, e);
	if (r >= 0 && en->linked)
		r = note_linked(dec, en, e);
	if (r < 0)
		return r;
	en->size = en->kind == TREE_FILE ? size : 0;
	memcpy(dec->last, dec->path, en->path_len + 1);
	dec->last_len = en->path_len;
	dec->last_is_dir = en->kind == TREE_DIR;
	dec->any = true;
	dec->in_file = en->kind == TREE_FILE;
	dec->file_size = en->size;
	dec->file_at = 0;
	return 1;
}

static int take_end(struct tree_dec *dec, const struct tree_entry *en, uint64_t count,
		    struct err *e)
{
	dec->ended = true;
	if (en->path_len || en->attrs_len || count != dec->entries)
		return err_set(e, ERR_INVALID, "%llu records came, the end tells of %llu",
			       (unsigned long long)dec->entries, (unsigned long long)count);
	return en->kind == TREE_ERROR ? frame_take_err(&dec->in, e) : frame_check_seal(&dec->in, e);
}

static int no_room(uint64_t most, const char *what, struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "more than %llu %s", (unsigned long long)most, what);
	return err_detail(e, "disk");
}

int tree_dec_next(struct tree_dec *dec, struct tree_entry *ret, struct err *e)
{
	struct tree_entry en;
	const void *data;
	uint64_t size;
	size_t len;
	int r;

	assert(!dec->ended);
	while (dec->in_file) {
		r = tree_dec_data(dec, &size, &data, &len, e);
		if (r < 0)
			return r;
	}
	r = take_head(dec, &en, &size, e);
	if (r < 0)
		return r;
	if (en.kind >= TREE_END)
		return take_end(dec, &en, size, e);
	if (dec->entries >= dec->limits.entries)
		return no_room(dec->limits.entries, "files", e);
	dec->entries++;
	r = take_body(dec, &en, size, e);
	if (r > 0)
		*ret = en;
	return r;
}

/* The file was broken off: only an error may follow. */
static int take_broken(struct tree_dec *dec, struct err *e)
{
	struct tree_entry en;
	uint64_t size;
	int r = take_head(dec, &en, &size, e);

	if (r < 0)
		return r;
	if (en.kind != TREE_ERROR)
		return err_set(e, ERR_INVALID, "a file breaks off without an error");
	r = take_end(dec, &en, size, e);
	return r < 0 ? r : err_set(e, ERR_INVALID, "an error that is none");
}

int tree_dec_data(struct tree_dec *dec, uint64_t *ret_offset, const void **ret_data,
		  size_t *ret_len, struct err *e)
{
	uint8_t head[CHUNK_HEAD_BYTES];
	const uint8_t *p = head;

	if (!dec->in_file)
		return 0;
	int r = frame_take(&dec->in, head, sizeof(head), e);
	if (r < 0)
		return r;
	uint64_t offset = frame_get64(&p);
	uint32_t len = frame_get32(&p);
	if ((len == 0 && offset == 0) || len == CHUNK_BROKEN) {
		dec->in_file = false;
		return len ? take_broken(dec, e) : 0;
	}
	if (len == 0 || len > TREE_CHUNK_MAX || offset < dec->file_at || offset > dec->file_size ||
	    len > dec->file_size - offset)
		return err_set(e, ERR_INVALID, "data outside of their file");
	if (len > dec->limits.bytes - dec->bytes)
		return no_room(dec->limits.bytes, "bytes of files", e);
	r = frame_take(&dec->in, dec->chunk, len, e);
	if (r < 0)
		return r;
	dec->file_at = offset + len;
	dec->bytes += len;
	*ret_offset = offset;
	*ret_data = dec->chunk;
	*ret_len = len;
	return 1;
}
