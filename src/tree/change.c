/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the stream of changes, little-endian:
 *
 *	"pfdiff\0" 1	magic, version
 *	record...
 *	32		SHA-256 of all before
 *
 * A record:
 *	 0  u8	1 change, 2 end, 3 error
 *	 1  u8	kind of the change
 *	 2  u8	type before
 *	 3  u8	type after
 *	 4  u32	flags
 *	 8  u32	mode before
 *	12  u32	mode after
 *	16  u64	size before
 *	24  u64	size after
 *	32  u32	bytes of the path
 *	36  u32	bytes of the text
 *	40	hash before, if known; hash after, if known; path; text
 *
 * The end has 40 bytes, too: behind its first 8 the numbers of those added, modified, deleted and
 * omitted, u64 each. After the head of an error comes the error (frame.h).
 */
#include "tree/change.h"

#include <assert.h>
#include <stdlib.h>

#define HEAD_BYTES 40

enum record { RECORD_CHANGE = 1, RECORD_END, RECORD_ERROR };

static const char magic[FRAME_MAGIC_BYTES] = {'p', 'f', 'd', 'i', 'f', 'f', 0, 1};

enum tree_type tree_type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return TREE_TYPE_FILE;
	case S_IFDIR: return TREE_TYPE_DIR;
	case S_IFLNK: return TREE_TYPE_SYMLINK;
	case S_IFIFO: return TREE_TYPE_FIFO;
	case S_IFSOCK: return TREE_TYPE_SOCKET;
	case 0: return TREE_TYPE_NONE;
	default: return TREE_TYPE_DEVICE;
	}
}

int tree_change_enc_init(struct tree_change_enc *enc, int fd, struct err *e)
{
	*enc = (struct tree_change_enc){0};
	return frame_out_init(&enc->out, fd, magic, e);
}

void tree_change_enc_done(struct tree_change_enc *enc)
{
	frame_out_done(&enc->out);
}

int tree_change_enc_put(struct tree_change_enc *enc, const struct tree_change *c, struct err *e)
{
	uint8_t head[HEAD_BYTES + 2 * HASH_BYTES], *p = head;

	assert(c->path_len <= TREE_PATH_MAX && c->text_len <= TREE_TEXT_MAX);
	*p++ = RECORD_CHANGE;
	*p++ = (uint8_t)c->kind;
	*p++ = (uint8_t)c->type_old;
	*p++ = (uint8_t)c->type_new;
	p = frame_le32(p, c->flags);
	p = frame_le32(p, c->mode_old);
	p = frame_le32(p, c->mode_new);
	p = frame_le64(p, c->size_old);
	p = frame_le64(p, c->size_new);
	p = frame_le32(p, (uint32_t)c->path_len);
	p = frame_le32(p, (uint32_t)c->text_len);
	if (c->flags & TREE_DIFF_HASH_OLD)
		p = (uint8_t *)memcpy(p, c->hash_old, HASH_BYTES) + HASH_BYTES;
	if (c->flags & TREE_DIFF_HASH_NEW)
		p = (uint8_t *)memcpy(p, c->hash_new, HASH_BYTES) + HASH_BYTES;
	int r = frame_put(&enc->out, head, (size_t)(p - head), e);
	if (r >= 0)
		r = frame_put(&enc->out, c->path, c->path_len, e);
	if (r >= 0)
		r = frame_put(&enc->out, c->text, c->text_len, e);
	enc->sent++;
	return r;
}

int tree_change_enc_end(struct tree_change_enc *enc, const struct tree_change_counts *counts,
			struct err *e)
{
	uint8_t head[HEAD_BYTES] = {RECORD_END}, *p = head + 8;

	p = frame_le64(p, counts->added);
	p = frame_le64(p, counts->modified);
	p = frame_le64(p, counts->deleted);
	(void)frame_le64(p, counts->omitted);
	int r = frame_put(&enc->out, head, sizeof(head), e);
	return r < 0 ? r : frame_seal(&enc->out, e);
}

int tree_change_enc_error(struct tree_change_enc *enc, const struct err *what, struct err *e)
{
	uint8_t head[HEAD_BYTES] = {RECORD_ERROR};
	int r = frame_put(&enc->out, head, sizeof(head), e);

	if (r >= 0)
		r = frame_put_err(&enc->out, what, e);
	return r < 0 ? r : frame_seal(&enc->out, e);
}

int tree_change_dec_init(struct tree_change_dec *dec, int fd,
			 const struct tree_change_limits *limits, struct err *e)
{
	*dec = (struct tree_change_dec){.limits = *limits};
	if (!dec->limits.changes || dec->limits.changes > TREE_CHANGES_MAX)
		dec->limits.changes = TREE_CHANGES_MAX;
	if (!dec->limits.text_bytes)
		dec->limits.text_bytes = UINT64_MAX;
	return frame_in_init(&dec->in, fd, magic, e);
}

void tree_change_dec_done(struct tree_change_dec *dec)
{
	frame_in_done(&dec->in);
	free(dec->text);
	*dec = (struct tree_change_dec){0};
}

static bool fits_kind(const struct tree_change *c)
{
	bool before = c->type_old != TREE_TYPE_NONE, after = c->type_new != TREE_TYPE_NONE;

	switch (c->kind) {
	case TREE_ADDED: return !before && after;
	case TREE_DELETED: return before && !after;
	case TREE_MODIFIED: return before && after;
	case TREE_CHANGE_KINDS: break;
	}
	return false;
}

/* One side: what is not there has neither mode nor size nor hash. */
static bool fits_side(enum tree_type type, uint32_t mode, uint64_t size, bool hash)
{
	bool has_bytes = type == TREE_TYPE_FILE || type == TREE_TYPE_SYMLINK;

	return type < TREE_TYPES && !(mode & ~07777u) && (type != TREE_TYPE_NONE || !mode) &&
	       (has_bytes || (!size && !hash)) && size <= INT64_MAX;
}

static int check_change(const struct tree_change *c, struct err *e)
{
	uint32_t words = c->flags & (TREE_DIFF_BINARY | TREE_DIFF_TEXT | TREE_DIFF_TEXT_LEFT);

	if (!fits_kind(c))
		return err_set(e, ERR_INVALID, "change of kind %d from type %d to %d", (int)c->kind,
			       (int)c->type_old, (int)c->type_new);
	if (!fits_side(c->type_old, c->mode_old, c->size_old, c->flags & TREE_DIFF_HASH_OLD) ||
	    !fits_side(c->type_new, c->mode_new, c->size_new, c->flags & TREE_DIFF_HASH_NEW))
		return err_set(e, ERR_INVALID, "change with fields that do not fit its type");
	if ((c->flags & ~TREE_DIFF_ALL) || (words & (words - 1)) ||
	    (c->text_len && !(c->flags & TREE_DIFF_TEXT)))
		return err_set(e, ERR_INVALID, "change with flags that do not fit");
	if (c->path_len > TREE_PATH_MAX)
		return err_set(e, ERR_LIMIT, "path of %zu bytes, the most is %d", c->path_len,
			       TREE_PATH_MAX);
	if (c->text_len > TREE_TEXT_MAX)
		return err_set(e, ERR_LIMIT, "difference of %zu bytes, the most is %u", c->text_len,
			       TREE_TEXT_MAX);
	return 0;
}

static int take_text(struct tree_change_dec *dec, size_t len, struct err *e)
{
	if (len > dec->limits.text_bytes - dec->text_bytes)
		return err_set(e, ERR_LIMIT, "more than %llu bytes of differences",
			       (unsigned long long)dec->limits.text_bytes);
	dec->text_bytes += len;
	if (len + 1 > dec->text_room) {
		char *p = realloc(dec->text, len + 1);
		if (!p)
			return err_sys(e, "read changes");
		dec->text = p;
		dec->text_room = len + 1;
	}
	dec->text[len] = '\0';
	return frame_take(&dec->in, dec->text, len, e);
}

static int take_change(struct tree_change_dec *dec, const uint8_t *head, struct tree_change *c,
		       struct err *e)
{
	const uint8_t *p = head + 4;

	*c = (struct tree_change){.kind = (enum tree_change_kind)head[1],
				  .type_old = (enum tree_type)head[2],
				  .type_new = (enum tree_type)head[3]};
	c->flags = frame_get32(&p);
	c->mode_old = frame_get32(&p);
	c->mode_new = frame_get32(&p);
	c->size_old = frame_get64(&p);
	c->size_new = frame_get64(&p);
	c->path_len = frame_get32(&p);
	c->text_len = frame_get32(&p);
	int r = check_change(c, e);
	if (r >= 0 && (c->flags & TREE_DIFF_HASH_OLD))
		r = frame_take(&dec->in, c->hash_old, HASH_BYTES, e);
	if (r >= 0 && (c->flags & TREE_DIFF_HASH_NEW))
		r = frame_take(&dec->in, c->hash_new, HASH_BYTES, e);
	if (r >= 0)
		r = frame_take(&dec->in, dec->path, c->path_len, e);
	if (r >= 0)
		r = tree_path_check(dec->path, c->path_len, e);
	if (r >= 0)
		r = take_text(dec, c->text_len, e);
	if (r < 0)
		return r;
	dec->path[c->path_len] = '\0';
	c->path = dec->path;
	c->text = dec->text;
	dec->counts.added += c->kind == TREE_ADDED;
	dec->counts.modified += c->kind == TREE_MODIFIED;
	dec->counts.deleted += c->kind == TREE_DELETED;
	return 1;
}

/* What was counted there and what came here, but for what was omitted. */
static int take_end(struct tree_change_dec *dec, const uint8_t *head, struct err *e)
{
	struct tree_change_counts got = dec->counts, *c = &dec->counts;
	const uint8_t *p = head + 8;

	c->added = frame_get64(&p);
	c->modified = frame_get64(&p);
	c->deleted = frame_get64(&p);
	c->omitted = frame_get64(&p);
	/* Each bounded first, so that the sum cannot wrap around. */
	if (c->added > TREE_CHANGES_MAX || c->modified > TREE_CHANGES_MAX ||
	    c->deleted > TREE_CHANGES_MAX || c->omitted > 4 * TREE_CHANGES_MAX ||
	    c->added < got.added || c->modified < got.modified || c->deleted < got.deleted ||
	    c->added + c->modified + c->deleted > dec->got + c->omitted)
		return err_set(e, ERR_INVALID,
			       "the end tells of other changes than those that came");
	return frame_check_seal(&dec->in, e);
}

int tree_change_dec_next(struct tree_change_dec *dec, struct tree_change *ret, struct err *e)
{
	uint8_t head[HEAD_BYTES];

	assert(!dec->ended);
	int r = frame_take(&dec->in, head, sizeof(head), e);
	if (r < 0)
		return r;
	dec->ended = head[0] == RECORD_END || head[0] == RECORD_ERROR;
	if (head[0] == RECORD_END)
		return take_end(dec, head, e);
	if (head[0] == RECORD_ERROR)
		return frame_take_err(&dec->in, e);
	if (head[0] != RECORD_CHANGE)
		return err_set(e, ERR_INVALID, "record of an unknown kind %d", head[0]);
	if (dec->got >= dec->limits.changes)
		return err_set(e, ERR_LIMIT, "more than %llu changes",
			       (unsigned long long)dec->limits.changes);
	dec->got++;
	return take_change(dec, head, ret, e);
}
