/* SPDX-License-Identifier: Apache-2.0 */
#include "api/repeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/heirs.h"

#define KEEP_MS (3600u * 1000)
#define ANSWER_MAX (4u << 20)

struct repeats {
	struct repeat *newest;
	unsigned n;
	size_t bytes;
};

int repeats_new(struct repeats **ret, struct err *e)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_sys(e, "table of repeated requests");
}

static void drop(struct repeats *r, struct repeat **at)
{
	struct repeat *one = *at;

	*at = one->next;
	r->n--;
	r->bytes -= one->len;
	free(one->text);
	free(one);
}

void repeats_free(struct repeats *r)
{
	while (r && r->newest)
		drop(r, &r->newest);
	free(r);
}

void repeat_forget(struct repeats *r, struct repeat *one)
{
	for (struct repeat **at = &r->newest; *at; at = &(*at)->next)
		if (*at == one) {
			drop(r, at);
			return;
		}
}

/* Those that are over and too old, or too many: of this tenant, or of all. */
static void make_room(struct repeats *r, const char *tenant)
{
	uint64_t now = loop_now_ms();
	unsigned n = 0, own = 0;
	size_t bytes = 0, own_bytes = 0;

	for (struct repeat **at = &r->newest; *at;) {
		struct repeat *one = *at;
		bool his = strcmp(one->tenant, tenant) == 0;

		n++;
		bytes += one->len;
		own += his;
		own_bytes += his ? one->len : 0;
		bool many = his && (own >= REPEAT_EACH || own_bytes > REPEAT_EACH_BYTES);
		if (one->over &&
		    (one->at_ms + KEEP_MS < now || many || n >= REPEAT_MAX || bytes > REPEAT_BYTES))
			drop(r, at);
		else
			at = &one->next;
	}
}

static struct repeat *find(struct repeats *r, const char *tenant, const char *key)
{
	struct repeat *one = r->newest;

	while (one && (strcmp(one->tenant, tenant) != 0 || strcmp(one->key, key) != 0))
		one = one->next;
	return one;
}

static unsigned own_of(const struct repeats *r, const char *tenant)
{
	unsigned n = 0;

	for (const struct repeat *one = r->newest; one; one = one->next)
		n += strcmp(one->tenant, tenant) == 0;
	return n;
}

int repeat_begin(struct repeats *r, const char *tenant, const char *key,
		 const uint8_t hash[HASH_BYTES], struct repeat **ret, struct err *e)
{
	make_room(r, tenant);
	struct repeat *one = find(r, tenant, key);
	if (one && memcmp(one->hash, hash, HASH_BYTES) != 0) {
		(void)err_set(e, ERR_CONFLICT, "the Idempotency-Key was used for another request");
		(void)err_detail(e, "idempotency");
		return err_remedy(e, "use a new key for each request");
	}
	if (one && !one->over) {
		e->retry_ms = 1000;
		return err_set(e, ERR_BUSY, "the request with this Idempotency-Key is being done");
	}
	*ret = one;
	if (one)
		return 1;
	if (r->n >= REPEAT_MAX || own_of(r, tenant) >= REPEAT_EACH ||
	    !(one = calloc(1, sizeof(*one))))
		return err_set(e, ERR_BUSY, "too many requests with an Idempotency-Key");
	(void)snprintf(one->tenant, sizeof(one->tenant), "%s", tenant);
	(void)snprintf(one->key, sizeof(one->key), "%s", key);
	memcpy(one->hash, hash, HASH_BYTES);
	one->at_ms = loop_now_ms();
	one->next = r->newest;
	r->newest = one;
	r->n++;
	*ret = one;
	return 0;
}

void repeat_end(struct repeats *r, struct repeat *one, int status, const char *text, size_t len)
{
	char *copy = len <= ANSWER_MAX ? malloc(len + 1) : NULL;

	if (!copy) {
		repeat_forget(r, one);
		return;
	}
	memcpy(copy, text, len);
	one->text = copy;
	one->len = len;
	one->status = status;
	one->over = true;
	r->bytes += len;
}

void repeats_tell(struct repeats *r, struct heirs *h)
{
	char key[LINK_KEY_SIZE];

	for (const struct repeat *one = r->newest; one; one = one->next) {
		(void)snprintf(key, sizeof(key), "idempotency-key %s", one->key);
		heirs_key(h, one->tenant, key);
	}
}
