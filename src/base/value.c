/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "base/utf8.h"

/* What a value that could not be made leaves behind in its parent, so that value_text() knows. */
static json_t *broken;

static json_t *in(const struct value *v)
{
	return (json_t *)(uintptr_t)v;
}

static struct value *out(json_t *j)
{
	return (struct value *)j;
}

void value_init(void)
{
	uint64_t seed = 0;

	/* What jansson finds by itself is /dev/urandom, which takes three calls. */
	(void)!getrandom(&seed, sizeof(seed), 0);
	json_object_seed((size_t)seed);
	if (!broken)
		broken = json_string("broken");
}

/* jansson would go 2,048 levels deep, and our own walks are recursive. */
static int check_depth(const char *text, size_t len, struct err *e)
{
	unsigned depth = 0;
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (string && c == '\\')
			i++;
		else if (c == '"')
			string = !string;
		else if (!string && (c == '[' || c == '{') && ++depth > VALUE_DEPTH_MAX)
			return err_set(e, ERR_INVALID, "JSON: more than %u levels",
				       VALUE_DEPTH_MAX);
		else if (!string && (c == ']' || c == '}') && depth)
			depth--;
	}
	return 0;
}

int value_parse(const char *text, size_t len, struct value **ret, struct err *e)
{
	json_error_t why;

	if (check_depth(text, len, e) < 0)
		return -EINVAL;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
			       &why);
	if (!j)
		return err_set(e, ERR_INVALID, "JSON, line %d, column %d: %s", why.line, why.column,
			       why.text);
	*ret = out(j);
	return 0;
}

static bool is_broken(json_t *j)
{
	for (void *at = json_object_iter(j); at; at = json_object_iter_next(j, at))
		if (is_broken(json_object_iter_value(at)))
			return true;
	for (size_t i = 0; i < json_array_size(j); i++)
		if (is_broken(json_array_get(j, i)))
			return true;
	return j == broken;
}

char *value_text(const struct value *v, size_t *ret_len)
{
	if (!v || is_broken(in(v)))
		return NULL;
	char *text = json_dumps(in(v), JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	if (text && ret_len)
		*ret_len = strlen(text);
	return text;
}

void value_free(struct value *v)
{
	json_decref(in(v));
}

struct value *value_copy(const struct value *v)
{
	return out(json_deep_copy(in(v)));
}

struct value *value_share(struct value *v)
{
	return out(json_incref(in(v)));
}

bool value_equal(const struct value *a, const struct value *b)
{
	return a && b ? json_equal(in(a), in(b)) : a == b;
}

enum value_kind value_kind(const struct value *v)
{
	static const enum value_kind kinds[] = {
		[JSON_OBJECT] = VALUE_OBJECT, [JSON_ARRAY] = VALUE_ARRAY,
		[JSON_STRING] = VALUE_STRING, [JSON_INTEGER] = VALUE_INT,
		[JSON_REAL] = VALUE_REAL,     [JSON_TRUE] = VALUE_BOOL,
		[JSON_FALSE] = VALUE_BOOL,    [JSON_NULL] = VALUE_NULL,
	};

	return v ? kinds[json_typeof(in(v))] : VALUE_NONE;
}

const char *value_kind_name(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_NONE] = "nothing",   [VALUE_NULL] = "null",
		[VALUE_BOOL] = "a boolean", [VALUE_INT] = "an integer",
		[VALUE_REAL] = "a number",  [VALUE_STRING] = "a string",
		[VALUE_ARRAY] = "an array", [VALUE_OBJECT] = "an object",
	};

	return names[kind];
}

const char *value_str(const struct value *v)
{
	return json_string_value(in(v));
}

size_t value_len(const struct value *v)
{
	const json_t *j = in(v);

	return json_is_string(j)  ? json_string_length(j)
	       : json_is_array(j) ? json_array_size(j)
				  : json_object_size(j);
}

int64_t value_int(const struct value *v)
{
	const json_t *j = in(v);

	if (!json_is_real(j))
		return json_integer_value(j);
	double n = json_real_value(j);
	return n >= 9.2e18 ? INT64_MAX : n <= -9.2e18 ? INT64_MIN : (int64_t)n;
}

double value_real(const struct value *v)
{
	return json_number_value(in(v));
}

bool value_true(const struct value *v)
{
	return json_is_true(in(v));
}

struct value *value_get(const struct value *object, const char *key)
{
	return out(json_object_get(in(object), key));
}

struct value *value_at(const struct value *array, size_t i)
{
	return out(json_array_get(in(array), i));
}

const char *value_next_key(const struct value *object, const char *key)
{
	json_t *j = in(object);
	void *at =
		key ? json_object_iter_next(j, json_object_iter_at(j, key)) : json_object_iter(j);

	return at ? json_object_iter_key(at) : NULL;
}

struct value *value_object(void)
{
	return out(json_object());
}

struct value *value_array(void)
{
	return out(json_array());
}

/* Every byte that begins no character becomes U+FFFD. */
static struct value *mended(const unsigned char *data, size_t len)
{
	auto_free char *text = malloc(3 * len + 1);
	size_t n = 0;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t one = utf8_len(data + i, len - i);

		memcpy(text + n, one ? (const char *)data + i : "\xef\xbf\xbd", one ? one : 3);
		n += one ? one : 3;
		i += one ? one : 1;
	}
	return out(json_stringn_nocheck(text, n));
}

struct value *value_of_bytes(const void *data, size_t len)
{
	return utf8_valid(data, len) ? out(json_stringn_nocheck(data ? data : "", len))
				     : mended(data, len);
}

struct value *value_of_str(const char *text)
{
	return text ? value_of_bytes(text, strlen(text)) : out(json_null());
}

struct value *value_of_int(int64_t n)
{
	return out(json_integer(n));
}

struct value *value_of_u64(uint64_t n)
{
	return out(json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n));
}

struct value *value_of_real(double n)
{
	return out(json_real(n));
}

struct value *value_of_bool(bool b)
{
	return out(json_boolean(b));
}

struct value *value_of_null(void)
{
	return out(json_null());
}

void value_set(struct value *object, const char *key, struct value *taken)
{
	(void)json_object_set_new(in(object), key, taken ? in(taken) : json_incref(broken));
}

void value_del(struct value *object, const char *key)
{
	(void)json_object_del(in(object), key); /* or it was not there */
}

void value_add(struct value *array, struct value *taken)
{
	(void)json_array_append_new(in(array), taken ? in(taken) : json_incref(broken));
}

struct value *value_of_instant(uint64_t ms)
{
	/* By hand: gmtime_r() reads the time zone's file first, although it needs none. Years begin
	 * in March here, so that a leap day is the last. */
	uint64_t s = ms / 1000, days = s / 86400 + 719468, era = days / 146097;
	unsigned doe = (unsigned)(days % 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), m = (5 * doy + 2) / 153;
	unsigned day = doy - (153 * m + 2) / 5 + 1, month = m < 10 ? m + 3 : m - 9;
	uint64_t year = yoe + era * 400 + (month <= 2);
	char text[64];

	if (!ms || year > 9999)
		return value_of_null();
	(void)snprintf(text, sizeof(text), "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)year,
		       month, day, (unsigned)(s / 3600 % 24), (unsigned)(s / 60 % 60),
		       (unsigned)(s % 60), (unsigned)(ms % 1000));
	return value_of_str(text);
}

void value_set_text(struct value *object, const void *data, size_t len)
{
	bool text = utf8_valid(data, len);

	value_set(object, "text", text ? value_of_bytes(data, len) : value_of_base64(data, len));
	value_set(object, "encoding", value_of_str(text ? "utf-8" : "base64"));
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct value *value_of_base64(const void *data, size_t len)
{
	const unsigned char *p = data;
	auto_free char *text = malloc((len + 2) / 3 * 4 + 1);
	size_t n = 0;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)p[i] << 16;

		if (i + 1 < len)
			three |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < len)
			three |= p[i + 2];
		text[n++] = alphabet[three >> 18];
		text[n++] = alphabet[three >> 12 & 63];
		text[n++] = i + 1 < len ? alphabet[three >> 6 & 63] : '=';
		text[n++] = i + 2 < len ? alphabet[three & 63] : '=';
	}
	return out(json_stringn_nocheck(text, n));
}

static int digit64(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

int value_from_base64(const char *text, size_t len, void **ret, size_t *ret_len)
{
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	auto_free unsigned char *data = malloc(len / 4 * 3 + 1);
	size_t n = 0;

	if (!data || len % 4)
		return -1;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t three = 0;

		for (size_t k = 0; k < 4; k++) {
			int d = i + k >= len - pad ? 0 : digit64(text[i + k]);

			if (d < 0)
				return -1;
			three = three << 6 | (uint32_t)d;
		}
		data[n++] = (unsigned char)(three >> 16);
		data[n++] = (unsigned char)(three >> 8);
		data[n++] = (unsigned char)three;
	}
	*ret_len = n - pad;
	*ret = take_ptr(&data);
	return 0;
}
