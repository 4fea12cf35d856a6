/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with an Idempotency-Key are done once: who repeats one, because he never saw the answer,
 * gets the first one's. In the loop's thread alone. Answers are kept for an hour, up to
 * REPEAT_BYTES.
 */
#ifndef API_REPEAT_H
#define API_REPEAT_H

#include "api/call.h"
#include "base/hash.h"

#define REPEAT_MAX 4096u
#define REPEAT_BYTES (64u << 20)
/* Of a tenant: then his own make room, nobody else's. */
#define REPEAT_EACH 1024u
#define REPEAT_EACH_BYTES (16u << 20)
#define REPEAT_KEY_MAX 128u

struct repeats;

struct repeat {
	char tenant[TENANT_SIZE];
	char key[REPEAT_KEY_MAX + 1];
	uint8_t hash[HASH_BYTES]; /* of what was asked for */
	bool over;
	int status;
	char *text; /* the answer */
	size_t len;
	uint64_t at_ms;
	struct repeat *next;
};

int repeats_new(struct repeats **ret, struct err *e);
void repeats_free(struct repeats *r);

/* 1: done before, *ret is its answer. 0: it is new, and *ret its place: repeat_end() or
 * repeat_forget() it. < 0: it is being done (busy), or was another request (conflict). */
int repeat_begin(struct repeats *r, const char *tenant, const char *key,
		 const uint8_t hash[HASH_BYTES], struct repeat **ret, struct err *e);
/* Copies the text. What is too long is not kept: then a repetition is done again. */
void repeat_end(struct repeats *r, struct repeat *one, int status, const char *text, size_t len);
void repeat_forget(struct repeats *r, struct repeat *one);

/* All of them, by heirs_key(). */
struct heirs;
void repeats_tell(struct repeats *r, struct heirs *h);

#endif
