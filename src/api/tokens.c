/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tokens.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/id.h"

#define FILE_NAME "tokens"
#define FILE_MAX (1u << 20)
#define PREFIX "pf_"
#define SECRET_BYTES 32

struct tokens {
	int dir; /* borrowed */
	struct timespec changed;
	uint64_t inode;
	struct token *list;
	size_t n;
};

bool tenant_is_valid(const char *name)
{
	size_t n = strlen(name);

	return n && n < TENANT_SIZE && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static bool read_line(char *line, struct token *ret)
{
	int at = 0;

	*ret = (struct token){0};
	if (sscanf(line, "%31s %64s %u %63s %" SCNu64 " %" SCNu64 " %n", ret->id, ret->hash,
		   &ret->scopes, ret->tenant, &ret->created_s, &ret->expires_s, &at) != 6)
		return false;
	(void)snprintf(ret->label, sizeof(ret->label), "%s", line + at);
	return strlen(ret->hash) == HASH_TEXT_SIZE - 1 && tenant_is_valid(ret->tenant);
}

static int read_all(int fd, struct token **ret, size_t *ret_n, struct err *e)
{
	auto_free char *text = malloc(FILE_MAX + 1);
	auto_free struct token *list = calloc(TOKENS_MAX, sizeof(*list));
	size_t len = 0, n = 0;
	char *save = NULL;

	if (!text || !list || fd_read_max(fd, text, FILE_MAX, &len) < 0)
		return err_sys(e, "read the tokens");
	text[len] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (n == TOKENS_MAX || !read_line(line, &list[n]))
			return err_set(e, ERR_INTERNAL, "the file of tokens is damaged, line %zu",
				       n + 1);
		n++;
	}
	*ret_n = n;
	*ret = take_ptr(&list);
	return 0;
}

int tokens_new(int dir, struct tokens **ret, struct err *e)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "tokens");
	t->dir = dir;
	*ret = t;
	return 0;
}

void tokens_free(struct tokens *t)
{
	if (t)
		free(t->list);
	free(t);
}

/* A token that was removed must not go on working: what cannot be read has no token in it. */
static int refresh(struct tokens *t, struct err *e)
{
	auto_close int fd = openat(t->dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == t->inode &&
	    st.st_mtim.tv_sec == t->changed.tv_sec && st.st_mtim.tv_nsec == t->changed.tv_nsec)
		return 0;
	free(t->list);
	t->list = NULL;
	t->n = 0;
	t->inode = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open the tokens");
	int r = read_all(fd, &t->list, &t->n, e);
	if (r == 0) {
		t->inode = st.st_ino;
		t->changed = st.st_mtim;
	}
	return r;
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
	int r = refresh(t, e);

	if (r < 0)
		return r;
	hash_of(text, len, hash);
	for (size_t i = 0; i < t->n; i++)
		if (same(t->list[i].hash, hash))
			found = &t->list[i];
	if (!found) {
		(void)err_set(e, ERR_UNAUTHENTICATED, "the token is not known");
		return err_remedy(e, "make one with `pinfold token new`");
	}
	if (found->expires_s && (uint64_t)time(NULL) >= found->expires_s) {
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
	auto_close int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*ret = NULL;
	*ret_n = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open the tokens");
	return read_all(fd, ret, ret_n, e);
}

/* Who serves may read it and no more: it keeps the group of the directory. */
static int write_all(int dir, const struct token *list, size_t n, struct err *e)
{
	auto_close int fd = openat(dir, FILE_NAME ".new",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	struct stat st;

	if (fd < 0 || fstat(dir, &st) < 0)
		return err_sys(e, "write the tokens");
	if (geteuid() == 0 && fchown(fd, 0, st.st_gid) < 0)
		return err_sys(e, "give the tokens to group %u", st.st_gid);
	for (size_t i = 0; i < n; i++)
		if (dprintf(fd, "%s %s %u %s %" PRIu64 " %" PRIu64 " %s\n", list[i].id,
			    list[i].hash, list[i].scopes, list[i].tenant, list[i].created_s,
			    list[i].expires_s, list[i].label) < 0)
			return err_sys(e, "write the tokens");
	if (fchmod(fd, 0640) < 0 || fsync(fd) < 0 ||
	    renameat(dir, FILE_NAME ".new", dir, FILE_NAME) < 0 || fsync(dir) < 0)
		return err_sys(e, "write the tokens");
	return 0;
}

static int lock(int dir, int *ret, struct err *e)
{
	*ret = openat(dir, FILE_NAME ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 || flock(*ret, LOCK_EX) < 0 ? err_sys(e, "lock the tokens") : 0;
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

	if (lock(dir, &held, e) < 0 || token_list(dir, &list, &n, e) < 0)
		return -EIO;
	if (n == TOKENS_MAX)
		return err_set(e, ERR_LIMIT, "there are %u tokens already", TOKENS_MAX);
	if (make_secret(ret_text, e) < 0 || id_make("tok", made.id, e) < 0)
		return -EIO;
	hash_of(ret_text, strlen(ret_text), made.hash);
	made.created_s = (uint64_t)time(NULL);
	struct token *more = realloc(list, (n + 1) * sizeof(*list));
	if (!more)
		return err_sys(e, "tokens");
	list = more;
	list[n] = made;
	*ret = made;
	return write_all(dir, list, n + 1, e);
}

int token_remove(int dir, const char *id, struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct token *list = NULL;
	size_t n = 0, i = 0;

	if (lock(dir, &held, e) < 0 || token_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].id, id) != 0)
		i++;
	if (i == n)
		return err_set(e, ERR_MISSING, "there is no token %.40s", id);
	memmove(&list[i], &list[i + 1], (n - i - 1) * sizeof(*list));
	return write_all(dir, list, n - 1, e);
}
