/* SPDX-License-Identifier: Apache-2.0 */
#define OPENSSL_SUPPRESS_DEPRECATED /* EVP would bring every provider into every start */
#include "egress/vault.h"

#include <assert.h>
#include <fcntl.h>
#include <openssl/aes.h>
#include <openssl/modes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "egress/source.h"

#define MAGIC "pfvault1"
#define MAGIC_LEN 8u
#define NONCE_LEN 12u
#define TAG_LEN 16u
#define KEY_LEN 32u
#define ZERO_LEN 4u /* so that records are aligned */
#define FRONT (MAGIC_LEN + NONCE_LEN + ZERO_LEN)
#define PLAIN_MAX (VAULT_MAX * (sizeof(struct vault_entry) + SECRET_VALUE_MAX))
#define FILE_MAX (FRONT + PLAIN_MAX + TAG_LEN)

/* The file, open and locked, and what is in it: in memory that is in no core dump and is wiped. */
struct vault {
	char path[4096 + 16];
	int lock;
	uint8_t key[KEY_LEN];
	uint8_t *file; /* FILE_MAX bytes; records are behind FRONT */
	size_t len;    /* of the records */
};

#define VAULT_INIT                                                                                 \
	{                                                                                          \
		.lock = FD_NONE                                                                    \
	}

static void vault_close(struct vault *v)
{
	if (v->file) {
		explicit_bzero(v->file, FILE_MAX);
		(void)munmap(v->file, FILE_MAX);
	}
	explicit_bzero(v->key, sizeof(v->key));
	fd_close(&v->lock);
	v->file = NULL;
}
#define auto_vault __attribute__((cleanup(vault_close))) struct vault

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The key */

static int key_path(char *ret, size_t size, bool *ret_given, struct err *e)
{
	const char *given = getenv("CREDENTIALS_DIRECTORY");
	char dir[PATH_MAX];
	int n = 0;

	*ret_given = false;
	if (given && *given == '/') {
		n = snprintf(ret, size, "%s/pinfold-vault.key", given);
		*ret_given = n < (int)size && access(ret, F_OK) == 0;
	}
	if (*ret_given)
		return 0;
	if (source_config_dir(dir, e) < 0)
		return -EIO;
	n = snprintf(ret, size, "%s/vault.key", dir);
	return n < (int)size ? 0
			     : err_set(e, ERR_INVALID, "the path of the vault's key is too long");
}

static int make_parents(char *path, struct err *e)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, SOURCE_DIR_MODE) < 0 && errno != EEXIST) {
			(void)err_sys(e, "make %s", path);
			*p = '/';
			return -EIO;
		}
		*p = '/';
	}
	return 0;
}

static int make_key(char *path, struct err *e)
{
	uint8_t key[KEY_LEN];

	if (make_parents(path, e) < 0)
		return -EIO;
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST)
		return 0; /* somebody was quicker */
	bool good = fd >= 0 && getrandom(key, sizeof(key), 0) == sizeof(key) &&
		    fd_write_all(fd, key, sizeof(key)) == 0 && fsync(fd) == 0;
	explicit_bzero(key, sizeof(key));
	return good ? 0 : err_sys(e, "make %s", path);
}

static int read_key(struct vault *v, bool make, struct err *e)
{
	char path[4096];
	bool given = false;
	struct stat st;
	size_t len = 0;

	if (key_path(path, sizeof(path), &given, e) < 0)
		return -EINVAL;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT && make) {
		if (make_key(path, e) < 0)
			return -EIO;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open the key of secrets, %s", path);
	if (!given && (st.st_uid != geteuid() || st.st_mode & 077)) {
		(void)err_set(e, ERR_DENIED, "others may read the key of secrets, %s", path);
		return err_remedy(e, "chmod 600 %s, and let it be your own", path);
	}
	if (!S_ISREG(st.st_mode) || fd_read_max(fd, v->key, KEY_LEN, &len) < 0 || len != KEY_LEN)
		return err_set(e, ERR_INVALID, "%s is no key: it has to be %u bytes", path,
			       KEY_LEN);
	return 0;
}

int vault_key(char *ret_path, size_t size, struct err *e)
{
	struct vault v = VAULT_INIT;
	bool given = false;

	if (key_path(ret_path, size, &given, e) < 0)
		return -EINVAL;
	if (access(ret_path, F_OK) < 0 && errno == ENOENT)
		return 0;
	int r = read_key(&v, false, e);
	explicit_bzero(v.key, sizeof(v.key));
	return r < 0 ? r : 1;
}

/* The cipher: AES-256-GCM by its parts */

static GCM128_CONTEXT *gcm_begin(const struct vault *v, AES_KEY *aes)
{
	AES_set_encrypt_key(v->key, KEY_LEN * 8, aes);
	GCM128_CONTEXT *gcm = CRYPTO_gcm128_new(aes, (block128_f)AES_encrypt);
	if (gcm) {
		CRYPTO_gcm128_setiv(gcm, v->file + MAGIC_LEN, NONCE_LEN);
		CRYPTO_gcm128_aad(gcm, v->file, MAGIC_LEN);
		CRYPTO_gcm128_aad(gcm, v->file + MAGIC_LEN + NONCE_LEN, ZERO_LEN);
	}
	return gcm;
}

static bool decrypt(struct vault *v)
{
	AES_KEY aes;
	GCM128_CONTEXT *gcm = gcm_begin(v, &aes);
	uint8_t *records = v->file + FRONT;
	bool good = gcm && CRYPTO_gcm128_decrypt(gcm, records, records, v->len) == 0 &&
		    CRYPTO_gcm128_finish(gcm, records + v->len, TAG_LEN) == 0;

	CRYPTO_gcm128_release(gcm);
	explicit_bzero(&aes, sizeof(aes));
	return good;
}

static bool encrypt(struct vault *v)
{
	AES_KEY aes;
	uint8_t *records = v->file + FRONT;

	memcpy(v->file, MAGIC, MAGIC_LEN);
	memset(v->file + MAGIC_LEN + NONCE_LEN, 0, ZERO_LEN);
	if (getrandom(v->file + MAGIC_LEN, NONCE_LEN, 0) != NONCE_LEN)
		return false;
	GCM128_CONTEXT *gcm = gcm_begin(v, &aes);
	bool good = gcm && CRYPTO_gcm128_encrypt(gcm, records, records, v->len) == 0;
	if (good)
		CRYPTO_gcm128_tag(gcm, records + v->len, TAG_LEN);
	CRYPTO_gcm128_release(gcm);
	explicit_bzero(&aes, sizeof(aes));
	return good;
}

/* The file */

/* The next record, NULL at the end; 0 lengths and those beyond the end were refused at opening. */
static struct vault_entry *next_entry(const struct vault *v, size_t *at)
{
	struct vault_entry *one = (struct vault_entry *)(void *)(v->file + FRONT + *at);

	if (*at >= v->len)
		return NULL;
	*at += sizeof(*one) + (one->len + 7u) / 8 * 8;
	return one;
}

static bool records_are_good(const struct vault *v)
{
	size_t at = 0;

	while (at < v->len) {
		struct vault_entry one;

		if (v->len - at < sizeof(one))
			return false;
		memcpy(&one, v->file + FRONT + at, sizeof(one));
		at += sizeof(one) + (one.len + 7u) / 8 * 8;
		if (!memchr(one.name, '\0', sizeof(one.name)) || one.len > SECRET_VALUE_MAX ||
		    at > v->len)
			return false;
	}
	return true;
}

static int read_file(struct vault *v, struct err *e)
{
	auto_close int fd = open(v->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t len = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fd_read_max(fd, v->file, FILE_MAX, &len) < 0)
		return err_sys(e, "open %s", v->path);
	v->len = len < FRONT + TAG_LEN ? 0 : len - FRONT - TAG_LEN;
	if (len < FRONT + TAG_LEN || memcmp(v->file, MAGIC, MAGIC_LEN) != 0 || !decrypt(v) ||
	    !records_are_good(v)) {
		(void)err_set(e, ERR_INVALID, "%s is damaged, or its key is another", v->path);
		return err_remedy(e, "put the key back that it was made with, or remove the file "
				     "and set the secrets again");
	}
	return 0;
}

static int vault_open(struct vault *v, const char *home, bool make, struct err *e)
{
	char lock[sizeof(v->path) + 8];

	if (snprintf(v->path, sizeof(v->path), "%s/secrets", home) >= (int)sizeof(v->path))
		return err_set(e, ERR_INVALID, "the data directory's path is too long");
	if (!make && access(v->path, F_OK) < 0)
		return err_set(e, ERR_MISSING, "there are no secrets yet");
	if (make_parents(v->path, e) < 0)
		return -EIO;
	(void)snprintf(lock, sizeof(lock), "%s.lock", v->path);
	v->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (v->lock < 0 || flock(v->lock, LOCK_EX) < 0)
		return err_sys(e, "lock %s", v->path);
	v->file = mmap(NULL, FILE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v->file == MAP_FAILED) {
		v->file = NULL;
		return err_sys(e, "secrets");
	}
	(void)madvise(v->file, FILE_MAX, MADV_DONTDUMP); /* core dumps may be off anyway */
	int r = read_key(v, make, e);
	return r < 0 ? r : read_file(v, e);
}

static int vault_save(struct vault *v, struct err *e)
{
	char temporary[sizeof(v->path) + 8];

	(void)snprintf(temporary, sizeof(temporary), "%s.new", v->path);
	(void)unlink(temporary); /* of one that died; the lock is ours */
	auto_close int fd =
		open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, "make %s", temporary);
	if (!encrypt(v))
		return err_set(e, ERR_INTERNAL, "encrypt the secrets");
	if (fd_write_all(fd, v->file, FRONT + v->len + TAG_LEN) < 0 || fsync(fd) < 0 ||
	    rename(temporary, v->path) < 0)
		return err_sys(e, "write %s", v->path);
	return 0;
}

static bool drop(struct vault *v, const char *name)
{
	uint8_t *records = v->file + FRONT;

	for (size_t at = 0, begin = 0; at < v->len; begin = at) {
		const struct vault_entry *one = next_entry(v, &at);

		if (strcmp(one->name, name) != 0)
			continue;
		memmove(records + begin, records + at, v->len - at);
		v->len -= at - begin;
		return true;
	}
	return false;
}

static unsigned count(const struct vault *v)
{
	unsigned n = 0;

	for (size_t at = 0; next_entry(v, &at);)
		n++;
	return n;
}

int vault_set(const char *home, const struct vault_entry *entry, const char *value, struct err *e)
{
	auto_vault v = VAULT_INIT;

	assert(secret_is_name(entry->name) && secret_is_value(value, entry->len));
	int r = vault_open(&v, home, true, e);
	if (r < 0)
		return r;
	(void)drop(&v, entry->name);
	if (count(&v) >= VAULT_MAX) {
		(void)err_set(e, ERR_LIMIT, "there are %u secrets already", VAULT_MAX);
		return err_remedy(e, "remove some with `pinfold secret rm`");
	}
	uint8_t *at = v.file + FRONT + v.len;
	size_t room = (entry->len + 7u) / 8 * 8;
	memcpy(at, entry, sizeof(*entry));
	memset(at + sizeof(*entry), 0, room);
	memcpy(at + sizeof(*entry), value, entry->len);
	v.len += sizeof(*entry) + room;
	return vault_save(&v, e);
}

static int missing(const char *name, struct err *e)
{
	(void)err_set(e, ERR_MISSING, "there is no secret %.63s", name);
	(void)err_detail(e, "secret");
	return err_remedy(e, "pinfold secret set %.63s", name);
}

static int over(const char *name, struct err *e)
{
	(void)err_set(e, ERR_MISSING, "secret %.63s is used up or too old", name);
	(void)err_detail(e, "secret");
	return err_remedy(e, "pinfold secret set %.63s", name);
}

int vault_remove(const char *home, const char *name, struct err *e)
{
	auto_vault v = VAULT_INIT;
	int r = vault_open(&v, home, false, e);

	if (r < 0)
		return e->kind == ERR_MISSING ? missing(name, e) : r;
	if (!drop(&v, name))
		return missing(name, e);
	return vault_save(&v, e);
}

int vault_list(const char *home, struct vault_entry *ret, struct err *e)
{
	auto_vault v = VAULT_INIT;
	int r = vault_open(&v, home, false, e), n = 0;

	if (r < 0)
		return e->kind == ERR_MISSING ? 0 : r;
	for (size_t at = 0; n < (int)VAULT_MAX && at < v.len;)
		ret[n++] = *next_entry(&v, &at);
	return n;
}

static struct vault_entry *find(const struct vault *v, const char *name)
{
	struct vault_entry *one;

	for (size_t at = 0; (one = next_entry(v, &at));)
		if (strcmp(one->name, name) == 0)
			return one;
	return NULL;
}

int vault_take(const char *home, struct secret_set *s, struct err *e)
{
	auto_vault v = VAULT_INIT;
	bool counted = false;
	int r = s->n ? vault_open(&v, home, false, e) : 0;

	if (r < 0 && e->kind == ERR_MISSING)
		return missing(s->list[0].name, e);
	for (unsigned i = 0; r >= 0 && i < s->n; i++) {
		struct secret *to = &s->list[i];
		struct vault_entry *one = find(&v, to->name);

		if (!one || (one->expires_ms && one->expires_ms <= now_ms()) || !one->uses_left) {
			r = one ? over(to->name, e) : missing(to->name, e);
			break;
		}
		to->len = one->len;
		to->expires_ms = one->expires_ms;
		memcpy(to->value, one + 1, one->len);
		counted |= one->uses_left != UINT32_MAX;
		one->uses_left -= one->uses_left != UINT32_MAX;
	}
	if (r >= 0 && counted)
		r = vault_save(&v, e);
	if (r < 0)
		for (unsigned i = 0; i < s->n; i++)
			explicit_bzero(s->list[i].value, sizeof(s->list[i].value));
	return r;
}
