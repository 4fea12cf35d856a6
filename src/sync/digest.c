/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/digest.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync/chunk.h"

void digest_done(struct digest *d)
{
	free(d->chunks);
	d->chunks = NULL;
}

int open_below(int root, const char *path, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC |
				    (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	/* EAGAIN: something was renamed meanwhile, and the kernel could not be sure. */
	for (int i = 0; i < 100; i++) {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	return (int)fd;
}

static ssize_t read_some(int fd, uint8_t *to, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, to + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return n;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

int read_all_at(int fd, void *to, size_t len, uint64_t offset)
{
	uint8_t *at = to;

	while (len > 0) {
		ssize_t n = pread(fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		at += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

struct cutter {
	struct chunker chunker;
	struct hash whole, part;
	struct digest *d;
	size_t cap;
	uint32_t len; /* of the chunk that is open */
};

static int end_chunk(struct cutter *c)
{
	struct digest *d = c->d;

	if (d->n_chunks == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 16;
		struct manifest_chunk *grown = reallocarray(d->chunks, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		d->chunks = grown;
		c->cap = cap;
	}
	d->chunks[d->n_chunks].len = c->len;
	hash_done(&c->part, d->chunks[d->n_chunks++].hash);
	hash_init(&c->part);
	c->len = 0;
	return 0;
}

static int feed(struct cutter *c, const uint8_t *data, size_t len)
{
	hash_add(&c->whole, data, len);
	c->d->size += len;
	while (len > 0) {
		bool cut = false;
		size_t n = chunk_feed(&c->chunker, data, len, &cut);

		hash_add(&c->part, data, n);
		c->len += (uint32_t)n;
		data += n;
		len -= n;
		if (cut && end_chunk(c) < 0)
			return -ENOMEM;
	}
	return 0;
}

int digest_fd(int fd, uint8_t *buffer, struct digest *ret, struct err *e)
{
	auto_digest struct digest d = {0};
	struct cutter c = {.d = &d};
	ssize_t n = read_some(fd, buffer, DIGEST_BUFFER);

	if (n < 0)
		return err_sys(e, "read");
	hash_init(&c.whole);
	hash_init(&c.part);
	if (n <= (ssize_t)CHUNK_WHOLE_MAX) {
		hash_bytes(buffer, (size_t)n, d.hash);
		d.size = (uint64_t)n;
		*ret = d;
		return 0;
	}
	while (n > 0) {
		if (feed(&c, buffer, (size_t)n) < 0)
			return err_sys(e, "read");
		n = read_some(fd, buffer, DIGEST_BUFFER);
	}
	if (n < 0 || (c.len && end_chunk(&c) < 0))
		return err_sys(e, "read");
	hash_done(&c.whole, d.hash);
	*ret = d;
	d.chunks = NULL;
	return 0;
}
