/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/frame.h"

static int flush(struct pieces_out *out, struct err *e)
{
	(void)frame_le32(out->buf, (uint32_t)out->used);
	int r = fd_write_all(out->fd, out->buf, 4 + out->used);
	out->used = 0;
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write the archive");
	}
	return 0;
}

int pieces_put(struct pieces_out *out, const void *data, size_t len, struct err *e)
{
	const uint8_t *p = data;
	int r = 0;

	while (len > 0 && r >= 0) {
		size_t room = PIECE_BYTES_MAX - out->used, n = len < room ? len : room;

		memcpy(out->buf + 4 + out->used, p, n);
		out->used += n;
		p += n;
		len -= n;
		if (out->used == PIECE_BYTES_MAX)
			r = flush(out, e);
	}
	return r;
}

int pieces_end(struct pieces_out *out, struct err *e)
{
	int r = out->used ? flush(out, e) : 0;

	return r < 0 ? r : flush(out, e);
}

static int take(int fd, void *data, size_t len, struct err *e)
{
	size_t have = 0;
	int r = fd_read_max(fd, data, len, &have);

	if (r < 0) {
		errno = -r;
		return err_sys(e, "read the archive");
	}
	return have == len ? 0 : err_set(e, ERR_INTERNAL, "the archive ends too early");
}

int pieces_copy(int from, int to, uint64_t *ret_bytes, struct err *e)
{
	auto_free uint8_t *buf = malloc(PIECE_BYTES_MAX);
	uint8_t head[4];

	*ret_bytes = 0;
	if (!buf)
		return err_sys(e, "export");
	for (;;) {
		const uint8_t *p = head;
		int r = take(from, head, sizeof(head), e);
		uint32_t len = r < 0 ? 0 : frame_get32(&p);

		if (r < 0 || len == 0)
			return r;
		if (len > PIECE_BYTES_MAX)
			return err_set(e, ERR_INTERNAL, "the archive comes in a piece too large");
		r = take(from, buf, len, e);
		if (r < 0)
			return r;
		r = fd_write_all(to, buf, len);
		if (r < 0) {
			errno = -r;
			return err_sys(e, "write the archive");
		}
		*ret_bytes += len;
	}
}
