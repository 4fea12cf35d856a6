/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "api/listfile.h"
#include "base/fd.h"
#include "base/hold.h"
#include "base/id.h"

#define PREFIX "pf_"
#define SECRET_BYTES 32

struct tokens {
	struct listfile file;
};

bool tenant_is_valid(const char *name)
{
	size_t n = strlen(name);

	return n && n < TENANT_SIZE && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool read_line(char *line, void *item)
{
	struct token *ret = item;
	int at = 0;

	*ret = (struct token){0};
	if (sscanf(line, "%31s %64s %u %63s %" SCNu64 " %" SCNu64 " %n", ret->id, ret->hash,
		   &ret->scopes, ret->tenant, &ret->created_s, &ret->expires_s, &at) != 6)
		return false;
	(void)snprintf(ret->label, sizeof(ret->label), "%s", line + at);
	return strlen(ret->hash) == HASH_TEXT_SIZE - 1 && tenant_is_valid(ret->tenant);
}

static int write_line(int fd, const void *item)
{
	const struct token *t = item;

	return dprintf(fd, "%s %s %u %s %" PRIu64 " %" PRIu64 " %s\n", t->id, t->hash, t->scopes,
		       t->tenant, t->created_s, t->expires_s, t->label);
}

static const struct listfile_kind kind = {
	.name = "tokens",
	.what = "the tokens",
	.size = sizeof(struct token),
	.most = TOKENS_MAX,
	.read = read_line,
	.write = write_line,
};

int tokens_new(int dir, struct tokens **ret, struct err *e)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "tokens");
	t->file = (struct listfile){.kind = &kind, .dir = dir};
	*ret = t;
	return 0;
}

void tokens_free(struct tokens *t)
{
	if (t)
		listfile_clear(&t->file);
	free(t);
}

/* Takes as long whatever differs. */
static bool same(const char *a, const char *b)
{
	unsigned char differs = 0;

	for (unsigned i = 0; i < HASH_TEXT_SIZE; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

static void hash_of(const char *text, size_t len, char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];

	hash_bytes(text, len, digest);
	hash_text(digest, ret);
}

int tokens_check(struct tokens *t, const char *text, size_t len, struct who *ret, struct err *e)
{
	char hash[HASH_TEXT_SIZE];
	const struct token *found = NULL;
	int r = listfile_refresh(&t->file, e);
	const struct token *list = t->file.list;

	if (r < 0)
		return r;
	hash_of(text, len, hash);
	for (size_t i = 0; i < t->file.n; i++)
		if (same(list[i].hash, hash))
			found = &list[i];
	if (!found) {
		(void)err_set(e, ERR_UNAUTHENTICATED, "the token is not known");
		return err_remedy(e, "make one with `pinfold token new`");
	}
	if (HOLD_API_EXPIRY && found->expires_s && (uint64_t)time(NULL) >= found->expires_s) {
		(void)err_set(e, ERR_UNAUTHENTICATED, "the token has expired");
		return err_remedy(e, "make another with `pinfold token new`");
	}
	*ret = (struct who){.scopes = found->scopes};
	(void)snprintf(ret->tenant, sizeof(ret->tenant), "%s", found->tenant);
	(void)snprintf(ret->token, sizeof(ret->token), "%s", found->id);
	return 0;
}

int token_list(int dir, struct token **ret, size_t *ret_n, struct err *e)
{
	void *list = NULL;
	int r = listfile_load(&kind, dir, &list, ret_n, e);

	*ret = list;
	return r;
}

static int make_secret(char ret[TOKEN_SIZE], struct err *e)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t bytes[SECRET_BYTES];
	size_t n = sizeof(PREFIX) - 1;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_sys(e, "getrandom");
	memcpy(ret, PREFIX, n);
	for (unsigned bit = 0; bit < 8 * SECRET_BYTES; bit += 5) {
		unsigned at = bit / 8, two = (unsigned)bytes[at] << 8;

		two |= at + 1 < SECRET_BYTES ? bytes[at + 1] : 0;
		ret[n++] = digits[two >> (11 - bit % 8) & 31];
	}
	ret[n] = '\0';
	return 0;
}

int token_make(int dir, const struct token *wanted, struct token *ret, char ret_text[TOKEN_SIZE],
	       struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct token *list = NULL;
	size_t n = 0;
	struct token made = *wanted;

	if (listfile_lock(&kind, dir, &held, e) < 0 || token_list(dir, &list, &n, e) < 0)
		return -EIO;
	if (n == TOKENS_MAX)
		return err_set(e, ERR_LIMIT, "there are %u tokens already", TOKENS_MAX);
	if (make_secret(ret_text, e) < 0 || id_make("tok", made.id, e) < 0)
		return -EIO;
	hash_of(ret_text, strlen(ret_text), made.hash);
	made.created_s = (uint64_t)time(NULL);
	list[n] = made;
	*ret = made;
	return listfile_save(&kind, dir, list, n + 1, e);
}

int token_remove(int dir, const char *id, struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct token *list = NULL;
	size_t n = 0, i = 0;

	if (listfile_lock(&kind, dir, &held, e) < 0 || token_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].id, id) != 0)
		i++;
	if (i == n)
		return err_set(e, ERR_MISSING, "there is no token %.40s", id);
	return listfile_save_without(&kind, dir, list, n, i, e);
}
