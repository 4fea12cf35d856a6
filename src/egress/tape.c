/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/tape.h"

#include <stdio.h>
#include <string.h>

#include "http/target.h"

/* One placeholder after the other becomes the name of what it stands for. */
static size_t name_secrets(const struct secret_set *s, char *text, size_t len)
{
	for (unsigned i = 0; s && i < s->n; i++) {
		const char *mark = s->list[i].placeholder;
		size_t n = strlen(s->list[i].name);
		char *at;

		/* A name that is longer than a placeholder is cut: it is the same each time. */
		n = n > SECRET_MARK_LEN ? SECRET_MARK_LEN : n;
		while ((at = memmem(text, len, mark, SECRET_MARK_LEN))) {
			size_t behind = len - (size_t)(at - text) - SECRET_MARK_LEN;

			memcpy(at, s->list[i].name, n);
			memmove(at + n, at + SECRET_MARK_LEN, behind);
			len -= SECRET_MARK_LEN - n;
		}
	}
	return len;
}

int tape_request(const struct http_head *h, const char *scheme, const char *host, uint16_t port,
		 const struct secret_set *secrets, char *ret)
{
	struct http_target t;

	http_target_split(h, &t);
	int n = snprintf(ret, TAPE_REQUEST_MAX, "%.*s %s://%s:%u %.*s%s%.*s", (int)h->method_len,
			 h->method_text, scheme, host, port, t.path_len ? (int)t.path_len : 1,
			 t.path_len ? t.path : "/", t.query ? "?" : "", (int)t.query_len,
			 t.query ? t.query : "");
	if (n < 0 || (size_t)n >= TAPE_REQUEST_MAX)
		return -1;
	return (int)name_secrets(secrets, ret, (size_t)n);
}

void tape_key(const char *request, size_t len, const uint8_t body[HASH_BYTES],
	      uint8_t ret[HASH_BYTES])
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, request, len);
	hash_add(&h, "\n", 1);
	hash_add(&h, body, HASH_BYTES);
	hash_done(&h, ret);
}

bool tape_is_good(const void *block, size_t len)
{
	const struct tape *t = block;
	const struct tape_entry *entries = (const void *)(t + 1);

	if (len < sizeof(*t) || t->magic != TAPE_MAGIC || t->n > TAPE_ENTRIES_MAX ||
	    len - sizeof(*t) < t->n * sizeof(*entries))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		if (entries[i].at > len || entries[i].len > len - entries[i].at)
			return false;
	return true;
}
