/* SPDX-License-Identifier: Apache-2.0 */
#include <zstd.h>

#include "api/coding.h"

#define LEVEL 3
#define WINDOW_LOG_MAX 23 /* 8 MiB, as RFC 9659 wants of HTTP: a stranger says how much we hold */

static void *make(bool open)
{
	if (!open) {
		ZSTD_CCtx *c = ZSTD_createCCtx();

		if (c)
			(void)ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, LEVEL);
		return c;
	}
	ZSTD_DCtx *d = ZSTD_createDCtx();
	if (d && ZSTD_isError(ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		(void)ZSTD_freeDCtx(d);
		return NULL;
	}
	return d;
}

static int step(void *state, bool open, struct coder_io *io)
{
	ZSTD_inBuffer in = {io->in, io->in_len, 0};
	ZSTD_outBuffer out = {io->out, io->room, 0};
	size_t r = open ? ZSTD_decompressStream(state, &out, &in)
			: ZSTD_compressStream2(state, &out, &in,
					       io->last ? ZSTD_e_end : ZSTD_e_continue);

	io->in += in.pos;
	io->in_len -= in.pos;
	io->out += out.pos;
	io->room -= out.pos;
	if (ZSTD_isError(r))
		return -EINVAL;
	return r == 0 && (open || io->last) && (open || !io->in_len);
}

static void done(void *state, bool open)
{
	(void)(open ? ZSTD_freeDCtx(state) : ZSTD_freeCCtx(state));
}

const struct coder_ops coder_zstd = {make, step, done};
