/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>

struct pack {
	ZSTD_CCtx *press;
	ZSTD_DCtx *open;
};

int pack_new(int level, struct pack **ret, struct err *e)
{
	auto_pack struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return err_sys(e, "zstd");
	p->press = ZSTD_createCCtx();
	p->open = ZSTD_createDCtx();
	if (!p->press || !p->open) {
		errno = ENOMEM;
		return err_sys(e, "zstd");
	}
	/* Levels out of range are brought into it by the library. */
	if (ZSTD_isError(ZSTD_CCtx_setParameter(p->press, ZSTD_c_compressionLevel, level)))
		return err_set(e, ERR_INVALID, "zstd: level %d", level);
	*ret = p;
	p = NULL;
	return 0;
}

void pack_free(struct pack **p)
{
	if (!*p)
		return;
	ZSTD_freeCCtx((*p)->press);
	ZSTD_freeDCtx((*p)->open);
	free(*p);
	*p = NULL;
}

int pack_press(struct pack *p, const void *data, size_t len, struct buf *to, struct err *e)
{
	size_t before = to->len, bound = ZSTD_compressBound(len);
	uint8_t *room = buf_room(to, bound);

	assert(len <= PACK_RAW_MAX);
	if (!room)
		return err_set(e, ERR_LIMIT, "zstd: no room for %zu bytes", bound);
	size_t n = ZSTD_compress2(p->press, room, bound, data, len);
	if (ZSTD_isError(n))
		return err_set(e, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(n));
	to->len = before + n;
	return 0;
}

int pack_open(struct pack *p, const void *data, size_t len, void *to, size_t raw_len, struct err *e)
{
	assert(raw_len <= PACK_RAW_MAX);
	/* Straight into the room that there is: the library keeps no window beside it, whatever the
	 * block asks for. */
	size_t n = ZSTD_decompressDCtx(p->open, to, raw_len, data, len);
	if (ZSTD_isError(n) || n != raw_len)
		return err_set(e, ERR_INVALID, "a pack that does not hold what it says: %s",
			       ZSTD_isError(n) ? ZSTD_getErrorName(n) : "too little");
	return 0;
}
