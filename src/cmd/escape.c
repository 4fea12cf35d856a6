/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/escape.h"

#include <assert.h>
#include <string.h>

/* Valid code points that a terminal acts on or that change how others are read. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x80, 0x9f},	    /* C1: CSI, OSC and DCS in one character */
	{0x61c, 0x61c},	    /* Arabic letter mark */
	{0x200e, 0x200f},   /* left-to-right and right-to-left mark */
	{0x2028, 0x202e},   /* line and paragraph separator, embeddings, overrides */
	{0x2066, 0x206f},   /* isolates, deprecated formatting */
	{0xfeff, 0xfeff},   /* byte order mark */
	{0xfff9, 0xfffb},   /* interlinear annotation */
	{0xe0000, 0xe007f}, /* tags: text that people cannot see and language models read */
};

static const char hex_lower[] = "0123456789abcdef";

static char *put_invalid(char *p, uint8_t c)
{
	*p++ = '\\';
	*p++ = 'x';
	*p++ = hex_lower[c >> 4];
	*p++ = hex_lower[c & 15];
	return p;
}

static char *put_caret(char *p, uint8_t c)
{
	*p++ = '^';
	*p++ = (char)(c ^ 0x40);
	return p;
}

static char *put_code_point(char *p, uint32_t u)
{
	memcpy(p, "<U+", 3);
	p += 3;
	for (int shift = u > 0xffff ? 16 : 12; shift >= 0; shift -= 4)
		*p++ = "0123456789ABCDEF"[u >> shift & 15];
	*p++ = '>';
	return p;
}

static char *put_ascii(struct escape *x, char *p, uint8_t c)
{
	if (c == '\r' && !x->one_line)
		x->held_cr = true;
	else if (c == '\t' || (c == '\n' && !x->one_line) || (c >= 0x20 && c != 0x7f))
		*p++ = (char)c;
	else
		p = put_caret(p, c);
	return p;
}

static unsigned sequence_len(uint8_t lead)
{
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	if (lead >= 0xf0 && lead <= 0xf4)
		return 4;
	return 0;
}

/* The second byte rules out overlong forms, surrogates and what is above U+10FFFF. */
static bool continues(const struct escape *x, uint8_t c)
{
	uint8_t first = 0x80, last = 0xbf;

	if (x->held_len == 1) {
		switch (x->held[0]) {
		case 0xe0: first = 0xa0; break;
		case 0xed: last = 0x9f; break;
		case 0xf0: first = 0x90; break;
		case 0xf4: last = 0x8f; break;
		}
	}
	return c >= first && c <= last;
}

static char *put_held_invalid(struct escape *x, char *p)
{
	for (unsigned i = 0; i < x->held_len; i++)
		p = put_invalid(p, x->held[i]);
	x->held_len = 0;
	return p;
}

static char *put_sequence(struct escape *x, char *p)
{
	uint32_t u = x->held[0] & (0xffu >> (x->held_len + 1));

	for (unsigned i = 1; i < x->held_len; i++)
		u = u << 6 | (x->held[i] & 0x3f);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (u >= hidden[i].first && u <= hidden[i].last) {
			x->held_len = 0;
			return put_code_point(p, u);
		}
	}
	memcpy(p, x->held, x->held_len);
	p += x->held_len;
	x->held_len = 0;
	return p;
}

static char *put_byte(struct escape *x, char *p, uint8_t c)
{
	if (x->held_cr) {
		x->held_cr = false;
		if (c == '\n') {
			*p++ = '\r';
			*p++ = '\n';
			return p;
		}
		p = put_caret(p, '\r');
	}
	if (x->held_len && continues(x, c)) {
		x->held[x->held_len++] = c;
		return x->held_len == sequence_len(x->held[0]) ? put_sequence(x, p) : p;
	}
	p = put_held_invalid(x, p);
	if (c < 0x80)
		return put_ascii(x, p, c);
	if (!sequence_len(c))
		return put_invalid(p, c);
	x->held[x->held_len++] = c;
	return p;
}

size_t escape_feed(struct escape *x, const void *in, size_t len, size_t *ret_used, char *out,
		   size_t room)
{
	const uint8_t *bytes = in;
	char *p = out;
	size_t i = 0;

	assert(room >= ESCAPE_ROOM);
	for (; i < len && room - (size_t)(p - out) >= ESCAPE_ROOM; i++)
		p = put_byte(x, p, bytes[i]);
	*ret_used = i;
	return (size_t)(p - out);
}

size_t escape_end(struct escape *x, char *out, size_t room)
{
	char *p = out;

	assert(room >= ESCAPE_ROOM);
	if (x->held_cr)
		p = put_caret(p, '\r');
	x->held_cr = false;
	p = put_held_invalid(x, p);
	return (size_t)(p - out);
}

void escape_line(const char *text, char *out, size_t room)
{
	struct escape x = {.one_line = true};
	size_t used = 0;

	assert(room > 2 * ESCAPE_ROOM);
	size_t n = escape_feed(&x, text, strlen(text), &used, out, room - ESCAPE_ROOM);
	n += escape_end(&x, out + n, room - n);
	assert(n < room);
	out[n] = '\0';
}
