/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API keys: a file `tokens` in the directory of the API, one line each:
 *
 *	ID SHA256 SCOPES TENANT CREATED EXPIRES LABEL
 *
 * SCOPES is a number of bits, times are seconds since 1970 (EXPIRES 0: never), LABEL may be empty
 * and goes to the end of the line. Only hashes are kept; a token is shown once. The file is
 * replaced as a whole by `pinfold token`; who serves reads it again when it has changed.
 */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include "api/call.h"
#include "base/hash.h"

#define TOKENS_MAX 4096u
#define TOKEN_SIZE 64 /* of the text, with NUL */
#define TOKEN_LABEL_SIZE 64

struct token {
	char id[32];
	char hash[HASH_TEXT_SIZE];
	unsigned scopes;
	char tenant[TENANT_SIZE];
	uint64_t created_s, expires_s;
	char label[TOKEN_LABEL_SIZE];
};

struct tokens;

/* `dir` is borrowed. The file need not be there. */
int tokens_new(int dir, struct tokens **ret, struct err *e);
void tokens_free(struct tokens *t);
/* Whose token is it? 0, or unauthenticated. */
int tokens_check(struct tokens *t, const char *text, size_t len, struct who *ret, struct err *e);

/* `pinfold token`: on the file itself, with a lock. */
int token_make(int dir, const struct token *wanted, struct token *ret, char ret_text[TOKEN_SIZE],
	       struct err *e);
int token_list(int dir, struct token **ret, size_t *ret_n, struct err *e);
int token_remove(int dir, const char *id, struct err *e);
bool tenant_is_valid(const char *name); /* [a-z0-9][a-z0-9-]{0,62} */

#endif
