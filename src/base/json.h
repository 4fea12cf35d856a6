/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one JSON document straight to a descriptor through a small buffer: a result may carry
 * megabytes of output, and `pinfold run` has a memory budget. Commas and nesting are kept by the
 * writer. A failed write is remembered and returned by json_end().
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 8

struct json {
	int fd;
	int error;
	unsigned depth;
	bool first[JSON_DEPTH_MAX];
	size_t len;
	char buf[8192];
};

void json_init(struct json *j, int fd);
/* Flush. 0 or -errno of the first write that failed. */
int json_end(struct json *j);

/* A key, UTF-8, inside an object; a value must follow. NULL inside an array: nothing. */
void json_key(struct json *j, const char *key);
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_str(struct json *j, const char *key, const char *value); /* NULL: null */
void json_bytes(struct json *j, const char *key, const void *value, size_t len);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_ms(struct json *j, const char *key, uint64_t microseconds);
void json_bool(struct json *j, const char *key, bool value);
void json_none(struct json *j, const char *key);

/* A string value in pieces, for text that is not in one place. */
void json_text_begin(struct json *j, const char *key);
void json_text_part(struct json *j, const void *data, size_t len); /* valid UTF-8 */
/* Base64 of two pieces that follow each other. */
void json_base64(struct json *j, const char *key, const void *a, size_t a_len, const void *b,
		 size_t b_len);
void json_text_end(struct json *j);

#endif
