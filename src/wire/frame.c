/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/frame.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

void frame_put_head(char head[FRAME_HEAD], char kind, uint32_t len)
{
	head[0] = kind;
	for (unsigned i = 8; i > 0; i--, len >>= 4)
		head[i] = digits[len & 15];
}

bool frame_take_head(const char head[FRAME_HEAD], char *ret_kind, uint32_t *ret_len)
{
	uint32_t len = 0;

	if (!head[0] || !strchr("HPREID", head[0]))
		return false;
	for (unsigned i = 1; i < FRAME_HEAD; i++) {
		const char *at = head[i] ? strchr(digits, head[i]) : NULL;

		if (!at)
			return false;
		len = len << 4 | (uint32_t)(at - digits);
	}
	if (len > FRAME_MAX)
		return false;
	*ret_kind = head[0];
	*ret_len = len;
	return true;
}
