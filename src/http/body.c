/* SPDX-License-Identifier: Apache-2.0 */
#include "http/body.h"

#include <assert.h>
#include <string.h>

#include "http/chars_int.h"

#define SIZE_DIGITS_MAX 16

static int refuse(struct http_body *b, struct http_error *e, const char *why)
{
	b->state = HTTP_BODY_BROKEN;
	return http_refuse(e, b->status, why);
}

static int too_large(struct http_body *b, struct http_error *e)
{
	b->state = HTTP_BODY_BROKEN;
	return http_refuse(e, b->status == 400 ? 413 : 502, "the body is larger than allowed");
}

static int begin(struct http_body *b, const struct http_head *h, enum http_body_kind kind,
		 uint64_t bytes_max, struct http_error *e)
{
	*b = (struct http_body){
		.kind = kind,
		.bytes_max = bytes_max,
		.status = h->status ? 502 : 400,
	};
	switch (kind) {
	case HTTP_BODY_NONE: b->state = HTTP_BODY_DONE; break;
	case HTTP_BODY_CHUNKED: b->state = HTTP_BODY_SIZE; break;
	case HTTP_BODY_TO_END:
		b->state = HTTP_BODY_DATA;
		b->left = UINT64_MAX;
		break;
	case HTTP_BODY_LENGTH:
		b->left = (uint64_t)h->content_length;
		b->state = b->left ? HTTP_BODY_DATA : HTTP_BODY_DONE;
		if (b->left > bytes_max)
			return too_large(b, e);
	}
	return 0;
}

int http_body_of_request(struct http_body *b, const struct http_head *h, uint64_t bytes_max,
			 struct http_error *e)
{
	enum http_body_kind kind = HTTP_BODY_NONE;

	assert(b && h && h->status == 0);
	if (h->chunked)
		kind = HTTP_BODY_CHUNKED;
	else if (h->content_length >= 0)
		kind = HTTP_BODY_LENGTH;
	return begin(b, h, kind, bytes_max, e);
}

int http_body_of_response(struct http_body *b, const struct http_head *h, enum http_method asked,
			  uint64_t bytes_max, struct http_error *e)
{
	enum http_body_kind kind = HTTP_BODY_TO_END;

	assert(b && h && h->status > 0);
	if (asked == HTTP_HEAD || h->status < 200 || h->status == 204 || h->status == 304 ||
	    (asked == HTTP_CONNECT && h->status < 300))
		kind = HTTP_BODY_NONE;
	else if (h->chunked)
		kind = HTTP_BODY_CHUNKED;
	else if (h->content_length >= 0)
		kind = HTTP_BODY_LENGTH;
	return begin(b, h, kind, bytes_max, e);
}

static int on_size(struct http_body *b, char c, struct http_error *e)
{
	int digit = chars_hex(c);

	if (digit >= 0) {
		if (++b->digits > SIZE_DIGITS_MAX || b->left >> 59)
			return refuse(b, e, "the size of a chunk is too large");
		b->left = b->left << 4 | (uint64_t)digit;
		return 0;
	}
	if (b->digits == 0 || (c != '\r' && c != ';'))
		return refuse(b, e, "the size of a chunk is no hexadecimal number");
	b->state = c == '\r' ? HTTP_BODY_SIZE_LF : HTTP_BODY_EXTENSION;
	return 0;
}

static bool is_text(char c)
{
	return c == '\t' || (c >= 0x20 && c < 0x7f) || (unsigned char)c >= 0x80;
}

static int on_extension(struct http_body *b, char c, struct http_error *e)
{
	if (++b->n_extension_bytes > HTTP_CHUNK_EXTENSIONS_MAX)
		return refuse(b, e, "extensions of chunks are longer than 4 KiB");
	if (c == '\r')
		b->state = HTTP_BODY_SIZE_LF;
	else if (!is_text(c))
		return refuse(b, e, "a control character in the extension of a chunk");
	return 0;
}

static int on_size_lf(struct http_body *b, char c, struct http_error *e)
{
	if (c != '\n')
		return refuse(b, e, "a CR stands alone behind the size of a chunk");
	if (b->left > b->bytes_max - b->bytes)
		return too_large(b, e);
	b->digits = 0;
	b->state = b->left ? HTTP_BODY_DATA : HTTP_BODY_LINE;
	return 0;
}

static void keep(struct http_body *b, char c)
{
	if (b->kept && b->kept_len < HTTP_TRAILERS_ROOM)
		b->kept[b->kept_len++] = c;
}

static int on_trailer(struct http_body *b, char c, struct http_error *e)
{
	bool is_begin = b->state == HTTP_BODY_LINE;

	if (++b->n_trailer_bytes > HTTP_TRAILERS_MAX)
		return refuse(b, e, "trailers are longer than 8 KiB");
	if (b->state == HTTP_BODY_VALUE) {
		if (c == '\r')
			b->state = HTTP_BODY_VALUE_LF;
		else if (!is_text(c))
			return refuse(b, e, "a control character in a trailer");
	} else if (is_begin && c == '\r') {
		b->state = HTTP_BODY_LAST_LF;
	} else if (!is_begin && c == ':') {
		b->state = HTTP_BODY_VALUE;
	} else if (!chars_has(&chars_token, c)) {
		return refuse(b, e, "a trailer is no field");
	} else if (is_begin) {
		if (++b->n_trailers > HTTP_TRAILER_FIELDS_MAX)
			return refuse(b, e, "there are more than 32 trailers");
		b->state = HTTP_BODY_NAME;
	}
	if (b->state != HTTP_BODY_LAST_LF)
		keep(b, c);
	return 0;
}

/* One byte of framing. */
static int on_byte(struct http_body *b, char c, struct http_error *e)
{
	switch (b->state) {
	case HTTP_BODY_SIZE: return on_size(b, c, e);
	case HTTP_BODY_EXTENSION: return on_extension(b, c, e);
	case HTTP_BODY_SIZE_LF: return on_size_lf(b, c, e);
	case HTTP_BODY_LINE:
	case HTTP_BODY_NAME:
	case HTTP_BODY_VALUE: return on_trailer(b, c, e);
	case HTTP_BODY_DATA_CR:
		b->state = HTTP_BODY_DATA_LF;
		return c == '\r' ? 0 : refuse(b, e, "a chunk is longer than its size");
	case HTTP_BODY_DATA_LF:
	case HTTP_BODY_VALUE_LF:
	case HTTP_BODY_LAST_LF:
		if (c != '\n')
			return refuse(b, e, "a CR stands alone in the framing of a body");
		if (b->state == HTTP_BODY_VALUE_LF)
			keep(b, c);
		b->state = b->state == HTTP_BODY_DATA_LF    ? HTTP_BODY_SIZE
			   : b->state == HTTP_BODY_VALUE_LF ? HTTP_BODY_LINE
							    : HTTP_BODY_DONE;
		return 0;
	case HTTP_BODY_DATA:
	case HTTP_BODY_DONE:
	case HTTP_BODY_BROKEN: break;
	}
	assert(!"a state without framing");
	return -EINVAL;
}

static int give_data(struct http_body *b, size_t n, size_t *ret_len, struct http_error *e)
{
	size_t len = n < b->left ? n : (size_t)b->left;

	if (len > b->bytes_max - b->bytes)
		return too_large(b, e);
	if (b->kind != HTTP_BODY_TO_END) {
		b->left -= len;
		if (b->left == 0)
			b->state =
				b->kind == HTTP_BODY_CHUNKED ? HTTP_BODY_DATA_CR : HTTP_BODY_DONE;
	}
	b->bytes += len;
	*ret_len = len;
	return 0;
}

int http_body_feed(struct http_body *b, const char *in, size_t n, size_t *ret_used,
		   const char **ret_data, size_t *ret_len, struct http_error *e)
{
	size_t i = 0;
	int r;

	assert(b && (in || n == 0) && ret_used && ret_data && ret_len && e);
	*ret_used = *ret_len = 0;
	*ret_data = in;
	if (b->state == HTTP_BODY_BROKEN)
		return refuse(b, e, "what came before was refused");
	while (i < n && b->state != HTTP_BODY_DATA && b->state != HTTP_BODY_DONE) {
		r = on_byte(b, in[i++], e);
		if (r < 0)
			return r;
	}
	if (i < n && b->state == HTTP_BODY_DATA) {
		*ret_data = in + i;
		r = give_data(b, n - i, ret_len, e);
		if (r < 0)
			return r;
		i += *ret_len;
	}
	*ret_used = i;
	return b->state == HTTP_BODY_DONE;
}

int http_body_eof(const struct http_body *b, struct http_error *e)
{
	if (b->state == HTTP_BODY_DONE ||
	    (b->kind == HTTP_BODY_TO_END && b->state == HTTP_BODY_DATA))
		return 0;
	return http_refuse(e, b->status, "the connection ended within a body");
}
