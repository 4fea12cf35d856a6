/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/canon.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define EXACT_MAX (INT64_C(1) << 53) /* a double holds every integer up to there */

struct text {
	char *data;
	size_t len, room;
	bool broken; /* memory was short */
};

static void put(struct text *t, const char *data, size_t len)
{
	if (t->broken)
		return;
	if (t->len + len + 1 > t->room) {
		size_t room = t->room ? t->room : 512;

		while (room < t->len + len + 1)
			room *= 2;
		char *more = realloc(t->data, room);

		if (!more) {
			t->broken = true;
			return;
		}
		t->data = more;
		t->room = room;
	}
	memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
}

static void put_text(struct text *t, const char *text)
{
	put(t, text, strlen(text));
}

static void put_escaped(struct text *t, unsigned char c)
{
	static const char letter[] = "btn\0fr";
	char text[8];

	if (c == '"' || c == '\\')
		(void)snprintf(text, sizeof(text), "\\%c", c);
	else if (c >= 8 && c <= 13 && letter[c - 8])
		(void)snprintf(text, sizeof(text), "\\%c", letter[c - 8]);
	else
		(void)snprintf(text, sizeof(text), "\\u%04x", c);
	put_text(t, text);
}

/* Values hold well-formed UTF-8 only; it is written as it is. */
static void put_string(struct text *t, const char *data, size_t len)
{
	size_t from = 0;

	put(t, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		put(t, data + from, i - from);
		put_escaped(t, c);
		from = i + 1;
	}
	put(t, data + from, len - from);
	put(t, "\"", 1);
}

/* The shortest digits that mean the same number, laid out as ECMAScript does. */
static void put_real(struct text *t, double n)
{
	char text[40], digits[24];
	int precision = 0, exponent = 0;

	if (n == 0) { /* also -0 */
		put_text(t, "0");
		return;
	}
	do
		(void)snprintf(text, sizeof(text), "%.*e", precision, n);
	while (strtod(text, NULL) != n &&
	       ++precision < 17); /* tidy: it is a number that we wrote */
	const char *p = text;
	if (*p == '-')
		put(t, p++, 1);
	int count = 0;
	for (; *p != 'e'; p++)
		if (*p != '.')
			digits[count++] = *p;
	(void)sscanf(p, "e%d", &exponent);
	int point = exponent + 1; /* digits in front of the decimal point */
	if (point > 21 || point < -5) {
		put(t, digits, 1);
		if (count > 1) {
			put(t, ".", 1);
			put(t, digits + 1, (size_t)count - 1);
		}
		(void)snprintf(text, sizeof(text), "e%+d", exponent);
		put_text(t, text);
		return;
	}
	if (point <= 0)
		put_text(t, "0.");
	for (int i = point; i < 0; i++)
		put(t, "0", 1);
	for (int i = 0; i < count; i++) {
		if (i == point && i > 0)
			put(t, ".", 1);
		put(t, digits + i, 1);
	}
	for (int i = count; i < point; i++)
		put(t, "0", 1);
}

static void put_int(struct text *t, int64_t n)
{
	char text[24];

	if (n > EXACT_MAX || n < -EXACT_MAX) {
		put_real(t, (double)n);
		return;
	}
	(void)snprintf(text, sizeof(text), "%lld", (long long)n);
	put_text(t, text);
}

/* Keys are in the order of their UTF-16 units. That is the order of bytes but for what lies beyond
 * the first plane, whose surrogates stand before U+E000: F0 and above before EE and EF. */
static unsigned rank(unsigned char c)
{
	return c >= 0xf0 ? 0xeeu - 0xf0u + c : c >= 0xee ? c + 0x20u : c;
}

static int compare(const void *a, const void *b)
{
	const unsigned char *p = *(const unsigned char *const *)a;
	const unsigned char *q = *(const unsigned char *const *)b;

	while (*p && *p == *q) {
		p++;
		q++;
	}
	return (int)rank(*p) - (int)rank(*q);
}

static void put_value(struct text *t, const struct value *v);

static void put_object(struct text *t, const struct value *v)
{
	size_t n = value_len(v), i = 0;
	auto_free const char **keys = calloc(n + 1, sizeof(*keys));

	if (!keys) {
		t->broken = true;
		return;
	}
	for (const char *key = value_next_key(v, NULL); key && i < n; key = value_next_key(v, key))
		keys[i++] = key;
	qsort(keys, i, sizeof(*keys), compare);
	put(t, "{", 1);
	for (size_t k = 0; k < i; k++) {
		if (k)
			put(t, ",", 1);
		put_string(t, keys[k], strlen(keys[k]));
		put(t, ":", 1);
		put_value(t, value_get(v, keys[k]));
	}
	put(t, "}", 1);
}

static void put_array(struct text *t, const struct value *v)
{
	put(t, "[", 1);
	for (size_t i = 0; i < value_len(v); i++) {
		if (i)
			put(t, ",", 1);
		put_value(t, value_at(v, i));
	}
	put(t, "]", 1);
}

static void put_value(struct text *t, const struct value *v)
{
	switch (value_kind(v)) {
	case VALUE_NONE: t->broken = true; return;
	case VALUE_NULL: put_text(t, "null"); return;
	case VALUE_BOOL: put_text(t, value_true(v) ? "true" : "false"); return;
	case VALUE_INT: put_int(t, value_int(v)); return;
	case VALUE_REAL: put_real(t, value_real(v)); return;
	case VALUE_STRING: put_string(t, value_str(v), value_len(v)); return;
	case VALUE_ARRAY: put_array(t, v); return;
	case VALUE_OBJECT: put_object(t, v); return;
	}
}

int canon_text(const struct value *v, char **ret, size_t *ret_len, struct err *e)
{
	struct text t = {0};

	assert(ret && ret_len);
	put_value(&t, v);
	if (t.broken) {
		free(t.data);
		errno = ENOMEM;
		return err_sys(e, "canonical JSON");
	}
	*ret = t.data;
	*ret_len = t.len;
	return 0;
}
