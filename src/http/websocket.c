/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame: FIN, three reserved bits, opcode (4 bits); MASK, length (7 bits); 126: two more bytes of
 * length, 127: eight; four bytes of mask; payload. Numbers have their high byte first.
 */
#include "http/websocket.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "http/chars_int.h"

#define KEY_LEN 24 /* base64 of 16 bytes */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_key(const struct http_field *f)
{
	if (!f || f->value_len != KEY_LEN || memcmp(f->value + KEY_LEN - 2, "==", 2) != 0)
		return false;
	for (int i = 0; i < KEY_LEN - 2; i++)
		if (!memchr(base64, f->value[i], sizeof(base64) - 1))
			return false;
	return true;
}

/* Twenty bytes: six groups of three and one of two. */
static void accept_of(const char *key, char ret[WS_ACCEPT_SIZE])
{
	uint8_t digest[HASH_SHA1_BYTES + 1] = {0};
	char text[KEY_LEN + sizeof(GUID)];

	memcpy(text, key, KEY_LEN);
	memcpy(text + KEY_LEN, GUID, sizeof(GUID));
	hash_sha1(text, KEY_LEN + sizeof(GUID) - 1, digest);
	for (int i = 0; i < 7; i++) {
		const uint8_t *p = digest + 3 * i;
		uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

		for (int k = 0; k < 4; k++)
			ret[4 * i + k] = base64[bits >> (18 - 6 * k) & 63];
	}
	ret[27] = '=';
	ret[28] = '\0';
}

int ws_handshake(const struct http_head *h, char ret_accept[WS_ACCEPT_SIZE], struct http_error *e)
{
	const struct http_field *key = http_head_field(h, "sec-websocket-key");
	const struct http_field *version = http_head_field(h, "sec-websocket-version");

	if (h->method != HTTP_GET || h->chunked || h->content_length > 0)
		return http_refuse(e, 400, "a WebSocket is opened by GET without a body");
	if (!h->upgrade || !http_head_lists(h, "upgrade", "websocket"))
		return http_refuse(e, 400, "Upgrade and Connection do not ask for a WebSocket");
	if (!version || !chars_same(version->value, version->value_len, "13"))
		return http_refuse(e, 426, "Sec-WebSocket-Version is not 13");
	if (!is_key(key))
		return http_refuse(e, 400, "Sec-WebSocket-Key is no base64 of 16 bytes");
	accept_of(key->value, ret_accept);
	return 0;
}

void ws_init(struct ws *w, uint64_t message_bytes_max)
{
	assert(w);
	memset(w, 0, sizeof(*w));
	w->message_bytes_max = message_bytes_max;
}

static int refuse(struct ws *w, struct http_error *e, uint16_t code, const char *why)
{
	w->state = WS_BROKEN;
	return http_refuse(e, code, why);
}

static bool is_control(enum ws_op op)
{
	return op & 8;
}

/* The first two bytes say how long the head is. */
static size_t head_len(const struct ws *w)
{
	if (w->n_head < 2)
		return 2;
	switch (w->head[1] & 127) {
	case 126: return 8;
	case 127: return 14;
	default: return 6;
	}
}

static int check_first(struct ws *w, struct http_error *e)
{
	unsigned op = w->head[0] & 15, len = w->head[1] & 127;

	w->is_last = w->head[0] >> 7;
	w->op = (enum ws_op)op;
	if (w->head[0] & 0x70)
		return refuse(w, e, 1002, "a reserved bit is set");
	if ((op > WS_BINARY && op < WS_CLOSE) || op > WS_PONG)
		return refuse(w, e, 1002, "an opcode that there is not");
	if (!(w->head[1] & 0x80))
		return refuse(w, e, 1002, "a client's frame without a mask");
	if (is_control(w->op)) {
		if (!w->is_last || len > WS_CONTROL_MAX)
			return refuse(w, e, 1002, "a control frame that is long or in pieces");
		return 0;
	}
	if ((w->op == WS_MORE) != (w->begun != WS_MORE))
		return refuse(w, e, 1002,
			      w->op == WS_MORE ? "nothing was begun that could go on"
					       : "a message within another");
	return 0;
}

/* The whole head is there. */
static int begin_payload(struct ws *w, struct http_error *e)
{
	unsigned len = w->head[1] & 127, n = len == 127 ? 8 : len == 126 ? 2 : 0;

	w->left = n ? 0 : len;
	for (unsigned i = 0; i < n; i++)
		w->left = w->left << 8 | w->head[2 + i];
	if ((n == 2 && w->left < 126) || (n == 8 && (w->left <= UINT16_MAX || w->left >> 63)))
		return refuse(w, e, 1002, "a length that is not written as short as can be");
	memcpy(w->mask, w->head + 2 + n, sizeof(w->mask));
	w->mask_at = 0;
	w->n_head = 0;
	w->n_control = 0;
	w->state = WS_IN_PAYLOAD;
	if (is_control(w->op))
		return 0;
	if (w->op != WS_MORE) {
		w->begun = w->op;
		w->bytes = 0;
		w->text_need = 0;
	}
	if (w->left > w->message_bytes_max - w->bytes)
		return refuse(w, e, 1009, "a message is larger than allowed");
	w->bytes += w->left;
	return 0;
}

static int take_head(struct ws *w, const char *in, size_t n, size_t *used, struct http_error *e)
{
	while (*used < n && w->n_head < head_len(w)) {
		w->head[w->n_head++] = (uint8_t)in[(*used)++];
		if (w->n_head == 2 && check_first(w, e) < 0)
			return -EBADMSG;
	}
	if (w->n_head >= 2 && w->n_head == head_len(w))
		return begin_payload(w, e);
	return 0;
}

static void unmask(struct ws *w, char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(p[i] ^ w->mask[(w->mask_at + i) & 3]);
	w->mask_at = (uint8_t)((w->mask_at + n) & 3);
}

/* The first byte of a character: how many follow, and between what the next must be. */
static bool begin_char(struct ws *w, uint8_t c)
{
	if (c < 0x80)
		return true;
	if (c < 0xc2 || c > 0xf4)
		return false;
	w->text_need = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	w->text_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	w->text_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return true;
}

static bool is_text(struct ws *w, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)p[i];

		if (w->text_need == 0) {
			if (!begin_char(w, c))
				return false;
			continue;
		}
		if (c < w->text_low || c > w->text_high)
			return false;
		w->text_low = 0x80;
		w->text_high = 0xbf;
		w->text_need--;
	}
	return true;
}

static bool is_close_code(unsigned code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
	       (code >= 3000 && code <= 4999);
}

static int give_close(struct ws *w, struct ws_event *ret, struct http_error *e)
{
	*ret = (struct ws_event){
		.op = WS_CLOSE, .data = w->control, .close = 1005, .is_last = true};
	if (w->n_control == 1)
		return refuse(w, e, 1002, "half a code in a close frame");
	if (w->n_control >= 2) {
		ret->close = (uint16_t)((uint8_t)w->control[0] << 8 | (uint8_t)w->control[1]);
		ret->data = w->control + 2;
		ret->len = w->n_control - 2u;
		if (!is_close_code(ret->close))
			return refuse(w, e, 1002, "a close frame with a code that there is not");
		if (!utf8_valid(ret->data, ret->len))
			return refuse(w, e, 1007, "the reason of a close frame is no UTF-8");
	}
	w->state = WS_CLOSED;
	return 1;
}

static int take_control(struct ws *w, const char *p, size_t n, struct ws_event *ret,
			struct http_error *e)
{
	if (n > 0)
		memcpy(w->control + w->n_control, p, n);
	w->n_control = (uint8_t)(w->n_control + n);
	if (w->left > 0)
		return 0;
	w->state = WS_IN_HEAD;
	if (w->op == WS_CLOSE)
		return give_close(w, ret, e);
	*ret = (struct ws_event){
		.op = w->op, .data = w->control, .len = w->n_control, .is_last = true};
	return 1;
}

static int take_data(struct ws *w, char *p, size_t n, struct ws_event *ret, struct http_error *e)
{
	bool is_end = w->left == 0 && w->is_last;

	*ret = (struct ws_event){.op = w->begun, .data = p, .len = n, .is_last = is_end};
	if (w->begun == WS_TEXT && (!is_text(w, p, n) || (is_end && w->text_need)))
		return refuse(w, e, 1007, "a text is no UTF-8");
	if (w->left == 0)
		w->state = WS_IN_HEAD;
	if (is_end)
		w->begun = WS_MORE;
	return n > 0 || is_end;
}

int ws_feed(struct ws *w, char *in, size_t n, size_t *ret_used, struct ws_event *ret,
	    struct http_error *e)
{
	size_t used = 0;
	int r = 0;

	assert(w && (in || n == 0) && ret_used && ret && e);
	*ret_used = 0;
	if (w->state == WS_BROKEN)
		return refuse(w, e, 1002, "what came before was refused");
	while (r == 0 && used < n && w->state != WS_CLOSED) {
		if (w->state == WS_IN_HEAD)
			r = take_head(w, in, n, &used, e);
		if (r < 0 || w->state != WS_IN_PAYLOAD || (used == n && w->left > 0))
			continue;
		size_t len = n - used < w->left ? n - used : (size_t)w->left;
		unmask(w, in + used, len);
		w->left -= len;
		r = is_control(w->op) ? take_control(w, in + used, len, ret, e)
				      : take_data(w, in + used, len, ret, e);
		used += len;
	}
	if (r < 0)
		return r;
	*ret_used = w->state == WS_CLOSED && r == 0 ? n : used;
	return r;
}

size_t ws_frame_head(char out[WS_HEAD_MAX], enum ws_op op, bool is_last, uint64_t len)
{
	unsigned n = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;

	assert(!is_control(op) || (is_last && len <= WS_CONTROL_MAX));
	out[0] = (char)((is_last ? 0x80 : 0) | op);
	out[1] = (char)(n == 0 ? len : n == 2 ? 126 : 127);
	for (unsigned i = 0; i < n; i++)
		out[2 + i] = (char)(len >> (8 * (n - 1 - i)) & 255);
	return 2 + n;
}

size_t ws_close_frame(char out[2 + WS_CONTROL_MAX], uint16_t code, const char *reason)
{
	size_t n = strlen(reason), max = WS_CONTROL_MAX - 2;

	if (n > max)
		n = max - utf8_cut_tail(reason, max);
	size_t head = ws_frame_head(out, WS_CLOSE, true, n + 2);
	out[head] = (char)(code >> 8);
	out[head + 1] = (char)(code & 255);
	memcpy(out + head + 2, reason, n);
	return head + 2 + n;
}
