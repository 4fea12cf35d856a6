/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values in memory: read whole, looked into, built and written. A thin face of jansson, which
 * only value.c sees; for one long document that goes straight to a descriptor use base/json.h.
 *
 * A value has one owner; functions that take one (value_set, value_add) own it from then on, also
 * when they fail, and take NULL for a value that could not be made: the document is then not whole
 * and value_text() returns NULL. So a tree is built without looking at every step.
 */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct value;

enum value_kind {
	VALUE_NONE, /* there is no value: a NULL pointer */
	VALUE_NULL,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_REAL,
	VALUE_STRING,
	VALUE_ARRAY,
	VALUE_OBJECT,
};

#define VALUE_DEPTH_MAX 64u

/* One JSON text: UTF-8, no duplicate keys, no more than VALUE_DEPTH_MAX levels, nothing behind it.
 * The error says what and where (line, column). Once, before threads begin: value_init(). */
int value_parse(const char *text, size_t len, struct value **ret, struct err *e);
void value_init(void);
/* Compact, on one line; malloced. NULL when memory was short, then or while it was built. */
char *value_text(const struct value *v, size_t *ret_len);
void value_free(struct value *v);
struct value *value_copy(const struct value *v); /* all the way down */
struct value *value_share(struct value *v);	 /* one more owner of the same */
bool value_equal(const struct value *a, const struct value *b);

enum value_kind value_kind(const struct value *v);
const char *value_kind_name(enum value_kind kind); /* "an object" */
/* Of another kind, or none: NULL, 0, false. */
const char *value_str(const struct value *v); /* may have NULs inside: value_len() */
size_t value_len(const struct value *v);      /* bytes of a string, items of an array or object */
int64_t value_int(const struct value *v);     /* of a real: cut */
double value_real(const struct value *v);
bool value_true(const struct value *v);
struct value *value_get(const struct value *object, const char *key); /* borrowed; or NULL */
struct value *value_at(const struct value *array, size_t i);	      /* borrowed; or NULL */
/* The first key, or that behind `key`; NULL: no more. In the order in which they were set. */
const char *value_next_key(const struct value *object, const char *key);

struct value *value_object(void);
struct value *value_array(void);
struct value *value_of_str(const char *text); /* NULL: null. What is not UTF-8 becomes U+FFFD */
struct value *value_of_bytes(const void *data, size_t len);
struct value *value_of_base64(const void *data, size_t len);
struct value *value_of_int(int64_t n);
struct value *value_of_u64(uint64_t n); /* more than an int64_t holds: the most that it holds */
struct value *value_of_real(double n);
struct value *value_of_bool(bool b);
struct value *value_of_null(void);
struct value *value_of_instant(uint64_t ms); /* since 1970, as RFC 3339 in UTC; 0: null */
/* Bytes as the contract has them: "text" and "encoding", utf-8 or base64. */
void value_set_text(struct value *object, const void *data, size_t len);
void value_set(struct value *object, const char *key, struct value *taken);
void value_del(struct value *object, const char *key);
void value_add(struct value *array, struct value *taken);

static inline void value_free_ptr(struct value **v)
{
	value_free(*v);
	*v = NULL;
}
#define auto_value __attribute__((cleanup(value_free_ptr))) struct value

/* Base64, standard alphabet with padding. -1 when it is none; *ret is malloced. */
int value_from_base64(const char *text, size_t len, void **ret, size_t *ret_len);

#endif
