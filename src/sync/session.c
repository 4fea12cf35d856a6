/* SPDX-License-Identifier: Apache-2.0 */
/* What the two sides of a session have in common. */
#include <string.h>
#include <time.h>

#include "sync/session_int.h"

static const char magic[4] = {'P', 'F', 'S', 'Y'};

uint64_t session_ms(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool session_is_none(const uint8_t name[HASH_BYTES])
{
	static const uint8_t none[HASH_BYTES];

	return memcmp(name, none, HASH_BYTES) == 0;
}

int session_hello(struct stream *s, const uint8_t last[HASH_BYTES], struct err *e)
{
	auto_buf struct buf hello = {0};

	buf_init(&hello, SESSION_HEAD_MAX);
	buf_add(&hello, magic, sizeof(magic));
	buf_u16(&hello, SESSION_VERSION);
	buf_u16(&hello, 0);
	buf_add(&hello, last, HASH_BYTES);
	return stream_send(s, STREAM_HELLO, &hello, NULL, e);
}

int session_expect_hello(struct stream *s, uint8_t ret_last[HASH_BYTES], struct err *e)
{
	struct cursor c;
	int r = stream_expect(s, STREAM_HELLO, &c, e);

	if (r < 0)
		return r;
	const uint8_t *start = cursor_bytes(&c, sizeof(magic));
	uint16_t version = cursor_u16(&c), zero = cursor_u16(&c);
	cursor_copy(&c, ret_last, HASH_BYTES);
	if (!start || memcmp(start, magic, sizeof(magic)) != 0 || c.bad || cursor_left(&c) || zero)
		return err_set(e, ERR_INVALID, "the other side does not speak this protocol");
	if (version != SESSION_VERSION)
		return err_set(e, ERR_UNSUPPORTED, "the other side speaks version %u, not %d",
			       version, SESSION_VERSION);
	return 0;
}
