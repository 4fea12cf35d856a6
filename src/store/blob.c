/* SPDX-License-Identifier: Apache-2.0 */
#include "store/blob.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"

#define PLACE "deps/files"

static bool is_hash(const char *s)
{
	return strlen(s) == HASH_TEXT_SIZE - 1 && strspn(s, "0123456789abcdef") == strlen(s);
}

static int make_place(const struct store *s, struct err *e)
{
	if ((mkdirat(s->home_fd, "deps", 0700) < 0 && errno != EEXIST) ||
	    (mkdirat(s->home_fd, PLACE, 0700) < 0 && errno != EEXIST))
		return err_sys(e, "make %s/" PLACE, s->home);
	return 0;
}

static void path_of(const char *sha256, char ret[96])
{
	assert(is_hash(sha256));
	(void)snprintf(ret, 96, PLACE "/%s", sha256);
}

int blob_begin(struct store *s, struct blob *ret, struct err *e)
{
	*ret = (struct blob){.store = s, .fd = FD_NONE};
	hash_init(&ret->hash);
	if (make_place(s, e) < 0)
		return -EIO;
	/* Without a name: after a crash it never was. */
	ret->fd = openat(s->home_fd, PLACE, O_TMPFILE | O_RDWR | O_CLOEXEC, 0400);
	return ret->fd < 0 ? err_sys(e, "write to %s/" PLACE, s->home) : 0;
}

int blob_add(struct blob *b, const void *data, size_t len, struct err *e)
{
	int r = fd_write_all(b->fd, data, len);

	hash_add(&b->hash, data, len);
	b->bytes += len;
	if (r >= 0)
		return 0;
	errno = -r;
	return err_sys(e, "write to %s/" PLACE, b->store->home);
}

int blob_keep(struct blob *b, const char *sha256, struct err *e)
{
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE], from[40], to[96];
	int r = 0;

	path_of(sha256, to);
	hash_done(&b->hash, digest);
	hash_text(digest, text);
	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", b->fd);
	if (HOLD_PACKAGE_HASH && strcmp(text, sha256) != 0)
		r = err_set(e, ERR_CONFLICT, "what was fetched has the hash %.16s..., not %.16s...",
			    text, sha256);
	else if (linkat(AT_FDCWD, from, b->store->home_fd, to, AT_SYMLINK_FOLLOW) < 0 &&
		 errno != EEXIST)
		r = err_sys(e, "write to %s/" PLACE, b->store->home);
	blob_end(b);
	return r;
}

void blob_end(struct blob *b)
{
	fd_close(&b->fd);
}

bool blob_size(const struct store *s, const char *sha256, uint64_t *ret)
{
	char path[96];
	struct stat st;

	path_of(sha256, path);
	if (fstatat(s->home_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret = (uint64_t)st.st_size;
	return true;
}

bool blob_is_there(const struct store *s, const char *sha256)
{
	uint64_t bytes;

	return blob_size(s, sha256, &bytes);
}

int blob_open(const struct store *s, const char *sha256, int *ret_fd, uint64_t *ret_bytes,
	      struct err *e)
{
	char path[96];
	struct stat st;

	path_of(sha256, path);
	auto_close int fd =
		openat(s->home_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%s/%s", s->home, path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INTERNAL, "%s/%s is no file", s->home, path);
	(void)futimens(fd, NULL); /* or it is collected earlier */
	*ret_bytes = (uint64_t)st.st_size;
	*ret_fd = take_fd(&fd);
	return 1;
}

void blob_drop(const struct store *s, const char *sha256)
{
	char path[96];

	path_of(sha256, path);
	(void)unlinkat(s->home_fd, path, 0); /* the next who uses it sees the same */
}

int blob_collect(const struct store *s, int64_t unused_ms, unsigned *ret_n, uint64_t *ret_bytes,
		 struct err *e)
{
	int64_t before = store_now_ms() - unused_ms;
	int place = openat(s->home_fd, PLACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = place < 0 ? NULL : fdopendir(place);
	struct dirent *d;
	struct stat st;

	*ret_n = 0;
	*ret_bytes = 0;
	if (!dir) {
		fd_close(&place);
		return errno == ENOENT ? 0 : err_sys(e, "%s/" PLACE, s->home);
	}
	while ((d = readdir(dir)) != NULL) {
		if (!is_hash(d->d_name) ||
		    fstatat(place, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_mtim.tv_sec * 1000 > before || unlinkat(place, d->d_name, 0) < 0)
			continue;
		++*ret_n;
		*ret_bytes += (uint64_t)st.st_size;
	}
	(void)closedir(dir); /* only read */
	return 0;
}
