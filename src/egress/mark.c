/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders in bytes that somebody sends: any sandbox's, as they are, in base64 (wherever a
 * group of three begins), in hexadecimal and with percent escapes. Each has a beginning that is
 * looked for; what follows is decoded and held against the form of a placeholder.
 */
#include <ctype.h>
#include <string.h>

#include "egress/hold.h"
#include "egress/secret.h"

#define MARK_FRONT (sizeof(SECRET_MARK) - 1)
#define DECODED_MAX 65536u /* at a time */

static bool is_mark(const uint8_t *text, size_t len)
{
	if (len < SECRET_MARK_LEN || memcmp(text, SECRET_MARK, MARK_FRONT) != 0)
		return false;
	for (size_t i = MARK_FRONT; i < SECRET_MARK_LEN; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '2' && text[i] <= '7'))
			return false;
	return true;
}

static bool plain(const char *at, size_t len)
{
	return is_mark((const uint8_t *)at, len);
}

static int digit64(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
				      : -1; /* a placeholder has no others */
}

/* `bits` of the first digit are not its own. */
static bool in_base64(const char *at, size_t len, unsigned bits)
{
	uint8_t out[SECRET_MARK_LEN];
	unsigned have = 0, held = 0;
	size_t n = 0;

	for (size_t i = 0; i < len && n < sizeof(out); i++) {
		int d = digit64(at[i]);

		if (d < 0)
			return false;
		held = held << 6 | (unsigned)d;
		have += i == 0 ? 6 - bits : 6;
		if (have < 8)
			continue;
		have -= 8;
		out[n++] = (uint8_t)(held >> have);
	}
	return is_mark(out, n);
}

static bool base64_first(const char *at, size_t len)
{
	return in_base64(at, len, 0);
}

/* One byte before: the digit in front of `at` has the first four bits. */
static bool base64_second(const char *at, size_t len)
{
	return in_base64(at - 1, len + 1, 2);
}

static bool base64_third(const char *at, size_t len)
{
	return in_base64(at - 1, len + 1, 4);
}

static bool in_hex(const char *at, size_t len)
{
	uint8_t out[SECRET_MARK_LEN];

	if (len < 2 * sizeof(out))
		return false;
	for (size_t i = 0; i < sizeof(out); i++) {
		char hi = at[2 * i], lo = at[2 * i + 1];

		if (!isxdigit((unsigned char)hi) || !isxdigit((unsigned char)lo))
			return false;
		out[i] = (uint8_t)((isdigit((unsigned char)hi) ? hi - '0' : (hi | 32) - 'a' + 10)
					   << 4 |
				   (isdigit((unsigned char)lo) ? lo - '0' : (lo | 32) - 'a' + 10));
	}
	return is_mark(out, sizeof(out));
}

static const struct {
	const char *front;
	size_t before; /* bytes that have to be there */
	bool (*is)(const char *at, size_t len);
} forms[] = {
	{SECRET_MARK, 0, plain},    {"cGZzX", 0, base64_first}, {"Bmc1", 1, base64_second},
	{"wZnNf", 1, base64_third}, {"7066735f", 0, in_hex},	{"7066735F", 0, in_hex},
};

static bool find(const char *data, size_t len)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *at = data, *end = data + len;
		size_t front = strlen(forms[i].front);

		while ((at = memmem(at, (size_t)(end - at), forms[i].front, front))) {
			if ((size_t)(at - data) >= forms[i].before &&
			    forms[i].is(at, (size_t)(end - at)))
				return true;
			at++;
		}
	}
	return false;
}

static size_t unescape(const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char hi = i + 2 < len ? (unsigned char)in[i + 1] : 0;
		unsigned char lo = i + 2 < len ? (unsigned char)in[i + 2] : 0;

		if (in[i] != '%' || !isxdigit(hi) || !isxdigit(lo)) {
			out[n++] = in[i];
			continue;
		}
		out[n++] = (char)((isdigit(hi) ? hi - '0' : (hi | 32) - 'a' + 10) << 4 |
				  (isdigit(lo) ? lo - '0' : (lo | 32) - 'a' + 10));
		i += 2;
	}
	return n;
}

bool mark_in(const char *data, size_t len)
{
	static char decoded[DECODED_MAX];

	if (!HOLD_GATE_STRAY)
		return false;
	if (find(data, len))
		return true;
	if (!len || !memchr(data, '%', len))
		return false;
	for (size_t at = 0; at < len; at += DECODED_MAX - SECRET_SCAN_TAIL) {
		size_t n = len - at < DECODED_MAX ? len - at : DECODED_MAX;

		if (find(decoded, unescape(data + at, n, decoded)))
			return true;
		if (n < DECODED_MAX)
			break;
	}
	return false;
}

bool secret_scan(struct secret_scan *c, const char *data, size_t len)
{
	char both[2 * SECRET_SCAN_TAIL];
	size_t n = len < SECRET_SCAN_TAIL ? len : SECRET_SCAN_TAIL;

	if (len == 0)
		return false;
	/* Across the cut, then inside. */
	memcpy(both, c->tail, c->len);
	memcpy(both + c->len, data, n);
	if (mark_in(both, c->len + n) || mark_in(data, len))
		return true;
	size_t all = c->len + n, keep = SECRET_SCAN_TAIL - 1;
	if (len >= keep) {
		memcpy(c->tail, data + len - keep, keep);
		c->len = keep;
	} else {
		keep = all < keep ? all : keep;
		memcpy(c->tail, both + all - keep, keep);
		c->len = keep;
	}
	return false;
}
