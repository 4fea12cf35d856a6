/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zlib.h>

#include "api/coding.h"

#define LEVEL 4	  /* a third of the time of the usual 6, for a few per cent */
#define WINDOW 31 /* 32 KiB, and gzip's head around it: no zlib, no raw deflate */
#define MEMORY_LEVEL 8
#define STEP_MAX (1u << 30)

static void *make(bool open)
{
	z_stream *z = calloc(1, sizeof(*z));
	int r = !z     ? Z_MEM_ERROR
		: open ? inflateInit2(z, WINDOW)
		       : deflateInit2(z, LEVEL, Z_DEFLATED, WINDOW, MEMORY_LEVEL,
				      Z_DEFAULT_STRATEGY);

	if (r == Z_OK)
		return z;
	free(z);
	return NULL;
}

static int step(void *state, bool open, struct coder_io *io)
{
	z_stream *z = state;
	size_t in = io->in_len < STEP_MAX ? io->in_len : STEP_MAX;
	size_t room = io->room < STEP_MAX ? io->room : STEP_MAX;

	z->next_in = (Bytef *)(uintptr_t)io->in;
	z->avail_in = (uInt)in;
	z->next_out = (Bytef *)io->out;
	z->avail_out = (uInt)room;
	int r = open ? inflate(z, Z_NO_FLUSH)
		     : deflate(z, io->last && in == io->in_len ? Z_FINISH : Z_NO_FLUSH);
	io->in += in - z->avail_in;
	io->in_len -= in - z->avail_in;
	io->out += room - z->avail_out;
	io->room -= room - z->avail_out;
	if (r == Z_STREAM_END)
		return 1;
	return r == Z_OK || r == Z_BUF_ERROR ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

static void done(void *state, bool open)
{
	(void)(open ? inflateEnd(state) : deflateEnd(state)); /* says whether all was written */
	free(state);
}

const struct coder_ops coder_gzip = {make, step, done};
