/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/frame.h"

#include <stdlib.h>

#include "base/fd.h"
#include "tree/path.h"

int frame_out_init(struct frame_out *out, int fd, const char *magic, struct err *e)
{
	*out = (struct frame_out){.fd = fd, .buf = malloc(FRAME_BUFFER_BYTES)};
	if (!out->buf)
		return err_sys(e, "begin a stream");
	hash_init(&out->hash);
	return frame_put(out, magic, FRAME_MAGIC_BYTES, e);
}

void frame_out_done(struct frame_out *out)
{
	free(out->buf);
	out->buf = NULL;
}

static int frame_flush(struct frame_out *out, struct err *e)
{
	hash_add(&out->hash, out->buf, out->used);
	int r = fd_write_all(out->fd, out->buf, out->used);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write a stream");
	}
	out->used = 0;
	return 0;
}

int frame_put(struct frame_out *out, const void *data, size_t len, struct err *e)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = FRAME_BUFFER_BYTES - out->used;

		n = n < len ? n : len;
		memcpy(out->buf + out->used, p, n);
		out->used += n;
		p += n;
		len -= n;
		if (out->used == FRAME_BUFFER_BYTES) {
			int r = frame_flush(out, e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int frame_seal(struct frame_out *out, struct err *e)
{
	uint8_t digest[HASH_BYTES];
	int r = frame_flush(out, e);

	if (r < 0)
		return r;
	hash_done(&out->hash, digest);
	r = fd_write_all(out->fd, digest, sizeof(digest));
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write a stream");
	}
	return 0;
}

int frame_in_init(struct frame_in *in, int fd, const char *magic, struct err *e)
{
	char got[FRAME_MAGIC_BYTES];

	*in = (struct frame_in){.fd = fd, .buf = malloc(FRAME_BUFFER_BYTES)};
	if (!in->buf)
		return err_sys(e, "read a stream");
	hash_init(&in->hash);
	int r = frame_take(in, got, sizeof(got), e);
	if (r >= 0 && memcmp(got, magic, FRAME_MAGIC_BYTES - 1) != 0)
		r = err_set(e, ERR_INVALID, "not a stream of this kind");
	else if (r >= 0 && got[FRAME_MAGIC_BYTES - 1] != magic[FRAME_MAGIC_BYTES - 1])
		r = err_set(e, ERR_UNSUPPORTED, "a stream of another version");
	if (r < 0)
		frame_in_done(in);
	return r;
}

void frame_in_done(struct frame_in *in)
{
	free(in->buf);
	in->buf = NULL;
}

/* 1: there is something in the buffer; 0: the stream is over. */
static int frame_fill(struct frame_in *in, struct err *e)
{
	ssize_t n;

	if (in->pos < in->have)
		return 1;
	do
		n = read(in->fd, in->buf, FRAME_BUFFER_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "read a stream");
	in->pos = 0;
	in->have = (size_t)n;
	return n > 0;
}

static int take(struct frame_in *in, void *data, size_t len, struct hash *hash, struct err *e)
{
	uint8_t *p = data;

	while (len > 0) {
		int r = frame_fill(in, e);
		if (r < 0)
			return r;
		if (r == 0)
			return err_set(e, ERR_INVALID, "the stream is cut");
		size_t n = in->have - in->pos;
		n = n < len ? n : len;
		memcpy(p, in->buf + in->pos, n);
		if (hash)
			hash_add(hash, p, n);
		in->pos += n;
		p += n;
		len -= n;
	}
	return 0;
}

int frame_take(struct frame_in *in, void *data, size_t len, struct err *e)
{
	return take(in, data, len, &in->hash, e);
}

int frame_check_seal(struct frame_in *in, struct err *e)
{
	uint8_t want[HASH_BYTES], got[HASH_BYTES];
	int r = take(in, got, sizeof(got), NULL, e);

	if (r < 0)
		return r;
	hash_done(&in->hash, want);
	if (memcmp(want, got, sizeof(want)) != 0)
		return err_set(e, ERR_INVALID, "the stream is damaged: its hash does not fit");
	r = frame_fill(in, e);
	return r > 0 ? err_set(e, ERR_INVALID, "the stream goes on after its end") : r;
}

_Static_assert(FRAME_ERR_BYTES == 8 + sizeof(((struct err *)0)->detail) +
					  sizeof(((struct err *)0)->text) +
					  sizeof(((struct err *)0)->remedy),
	       "an error travels whole");

int frame_put_err(struct frame_out *out, const struct err *what, struct err *e)
{
	uint8_t buf[FRAME_ERR_BYTES] = {0}, *p = buf;

	p = frame_le32(p, (uint32_t)what->kind);
	p = frame_le32(p, (uint32_t)what->num);
	memcpy(p, what->detail, strnlen(what->detail, sizeof(what->detail)));
	p += sizeof(what->detail);
	memcpy(p, what->text, strnlen(what->text, sizeof(what->text)));
	p += sizeof(what->text);
	memcpy(p, what->remedy, strnlen(what->remedy, sizeof(what->remedy)));
	return frame_put(out, buf, sizeof(buf), e);
}

/* Text of another process: ends within its field, and nothing in it acts on a terminal. */
static void harmless(char *to, const uint8_t *from, size_t size)
{
	size_t len = strnlen((const char *)from, size - 1);
	struct tree_shown s;

	for (size_t at = 0, end = 0; at < len && end + 1 < size;) {
		/* In pieces that tree_show() does not cut; a character on the seam is escaped. */
		size_t n = len - at < 40 ? len - at : 40;
		const char *shown = tree_show(&s, (const char *)from + at, n);
		size_t fits = strnlen(shown, size - 1 - end);

		memcpy(to + end, shown, fits);
		end += fits;
		to[end] = '\0';
		at += n;
	}
}

int frame_take_err(struct frame_in *in, struct err *e)
{
	uint8_t buf[FRAME_ERR_BYTES];
	const uint8_t *p = buf;
	int r = frame_take(in, buf, sizeof(buf), e);

	if (r < 0)
		return r;
	r = frame_check_seal(in, e);
	if (r < 0)
		return r;
	uint32_t kind = frame_get32(&p), num = frame_get32(&p);
	if (kind >= ERR_KINDS || num > 4095)
		return err_set(e, ERR_INVALID, "the stream ends with an error that is none");
	*e = (struct err){.kind = (enum err_kind)kind, .num = (int)num};
	harmless(e->detail, p, sizeof(e->detail));
	p += sizeof(e->detail);
	harmless(e->text, p, sizeof(e->text));
	p += sizeof(e->text);
	harmless(e->remedy, p, sizeof(e->remedy));
	/* The value that fits kind and number. */
	return err_remedy(e, "%s", "");
}
