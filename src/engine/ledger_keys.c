/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ledger_keys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "ledger/chain.h"
#include "ledger/open.h"

#define PEM_END "-----END PUBLIC KEY-----"

static void add(struct ledger_keys *to, const char *text, size_t len)
{
	struct err none = ERR_INIT;

	if (to->n < LEDGER_KEYS_MAX && note_parse_key(text, len, &to->key[to->n], &none) >= 0)
		to->n++;
}

/* One key from here on; where it ends. */
static const char *one_key(const char *text)
{
	if (strncmp(text, "-----", 5) != 0)
		return text + strcspn(text, "\n");
	const char *end = strstr(text, PEM_END);
	return end ? end + strlen(PEM_END) : text + strlen(text);
}

int ledger_keys_parse(const char *text, struct ledger_keys *ret, struct err *e)
{
	int r = 0;

	for (const char *p = text + strspn(text, " \n"); r >= 0 && *p;) {
		const char *end = one_key(p);

		if (ret->n == LEDGER_KEYS_MAX)
			return err_set(e, ERR_LIMIT, "--key: more than %u keys", LEDGER_KEYS_MAX);
		r = note_parse_key(p, (size_t)(end - p), &ret->key[ret->n], e);
		if (r >= 0)
			ret->n++;
		p = end + strspn(end, " \n");
	}
	if (r >= 0 && ret->n == 0)
		r = err_set(e, ERR_INVALID, "--key: there is no key in it");
	return r < 0 ? r : 0;
}

static char *read_file(int dir, const char *name)
{
	struct err none = ERR_INIT;
	auto_close int fd = ledger_open(dir, name, &none);
	char *text = calloc(1, CHAIN_KEYS_BYTES + 1);
	size_t len = 0;

	if (text && (fd < 0 || fd_read_max(fd, text, CHAIN_KEYS_BYTES, &len) < 0))
		text[0] = '\0';
	return text;
}

void ledger_keys_of(int dir, struct ledger_keys *to)
{
	auto_free char *keys = read_file(dir, CHAIN_KEYS), *now = read_file(dir, "key.pem");

	for (char *p = keys; p && *p;) {
		size_t len = strcspn(p, "\n");

		add(to, p, len);
		p += len + (p[len] == '\n');
	}
	if (now && *now)
		add(to, now, strlen(now));
}

bool ledger_chain_id(int dir, char ret[256])
{
	auto_free char *text = read_file(dir, "key.verifier");
	const char *slash = text ? strchr(text, '/') : NULL;
	size_t len = slash ? strcspn(slash + 1, "+") : 0;

	if (!len || len > 255)
		return false;
	memcpy(ret, slash + 1, len);
	ret[len] = '\0';
	return true;
}
