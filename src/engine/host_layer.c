/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a list of packages takes longer than a run: so the number is kept, in this process and in
 * a file (`host`: two words, a hash of what stat() said of the files, and the number), and a run
 * only looks whether the files are the same.
 */
#include "engine/host_layer.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/owner.h"

#define KEPT "host"
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

static const char *const files[] = {"/usr/lib/os-release", "/var/lib/dpkg/status",
				    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
				    "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed"};
#define FILES (sizeof(files) / sizeof(*files))

struct known {
	char key[HASH_TEXT_SIZE], number[HASH_TEXT_SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known known; /* under the lock */

static void make_key(char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	for (size_t i = 0; i < FILES; i++) {
		struct stat st = {0};
		char text[128];

		if (stat(files[i], &st) < 0)
			st = (struct stat){0};
		int n = snprintf(text, sizeof(text), "%llu %llu %lld %lld %ld\n",
				 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
				 (long long)st.st_size, (long long)st.st_mtim.tv_sec,
				 st.st_mtim.tv_nsec);
		hash_add(&h, text, (size_t)n);
	}
	hash_done(&h, digest);
	hash_text(digest, ret);
}

static bool make_number(char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	for (size_t i = 0; i < FILES; i++) {
		auto_close int fd = open(files[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);
		char text[HASH_TEXT_SIZE];

		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		if (fd < 0 || hash_fd(fd, FILE_BYTES_MAX, text) < 0)
			return false;
		hash_add(&h, files[i], strlen(files[i]));
		hash_add(&h, " ", 1);
		hash_add(&h, text, strlen(text));
		hash_add(&h, "\n", 1);
	}
	hash_done(&h, digest);
	hash_text(digest, ret);
	return true;
}

static bool read_kept(int dir, const char *key, struct known *ret)
{
	auto_close int fd = openat(dir, KEPT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[2 * HASH_TEXT_SIZE + 1];
	size_t len = 0;
	const size_t digits = HASH_TEXT_SIZE - 1;

	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &len) < 0 || len != 2 * digits + 2 ||
	    text[digits] != ' ' || text[len - 1] != '\n' || memcmp(text, key, digits) != 0 ||
	    strspn(text + digits + 1, "0123456789abcdef") != digits)
		return false;
	memcpy(ret->key, key, sizeof(ret->key));
	memcpy(ret->number, text + digits + 1, digits);
	ret->number[digits] = '\0';
	return true;
}

/* What cannot be kept is made again. */
static void keep(int dir, const struct known *k)
{
	char text[2 * HASH_TEXT_SIZE + 2], name[32];
	struct err none = ERR_INIT;

	(void)snprintf(name, sizeof(name), ".%s.%d", KEPT, (int)getpid());
	auto_close int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int n = snprintf(text, sizeof(text), "%s %s\n", k->key, k->number);
	if (fd < 0)
		return;
	if (fd_write_all(fd, text, (size_t)n) < 0 || owner_match(dir, fd, &none) < 0 ||
	    renameat(dir, name, dir, KEPT) < 0)
		(void)unlinkat(dir, name, 0);
}

bool host_layer(int dir, char ret[HASH_TEXT_SIZE])
{
	char key[HASH_TEXT_SIZE];
	struct known k;

	make_key(key);
	(void)pthread_mutex_lock(&lock); /* cannot fail: it is of the plain kind */
	bool have = strcmp(known.key, key) == 0;
	if (!have && read_kept(dir, key, &k)) {
		known = k;
		have = true;
	}
	if (!have && make_number(k.number)) {
		memcpy(k.key, key, sizeof(key));
		keep(dir, &k);
		known = k;
		have = true;
	}
	if (have)
		memcpy(ret, known.number, sizeof(known.number));
	(void)pthread_mutex_unlock(&lock);
	return have;
}
