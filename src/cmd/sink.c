/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

void sink_init(struct sink *k, int fd)
{
	*k = (struct sink){.out = ownfd_open(fd, O_WRONLY)};
}

void sink_drop(struct sink *k)
{
	k->dropped = true;
	k->off = 0;
	k->len = 0;
}

void sink_done(struct sink *k)
{
	ownfd_close(&k->out);
	free(k->buf);
	k->buf = NULL;
}

/* Returns how much was written; less than len when the reader takes no more now. */
static size_t write_some(struct sink *k, const char *data, size_t len)
{
	size_t done = 0;

	while (done < len && !k->dropped) {
		ssize_t n = ownfd_write(&k->out, data + done, len - done);
		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno == EAGAIN)
			break;
		/* A reader that went away is its own decision, a full disk is not. */
		if (errno != EPIPE && errno != ECONNRESET)
			k->error = errno;
		sink_drop(k);
	}
	return done;
}

static void keep(struct sink *k, const char *data, size_t len)
{
	assert(k->len + len <= SINK_MAX);
	/* Early, so that the pages behind are never touched. */
	if (k->off >= 2 * SINK_HIGH || k->off + k->len + len > SINK_MAX) {
		memmove(k->buf, k->buf + k->off, k->len);
		k->off = 0;
	}
	memcpy(k->buf + k->off + k->len, data, len);
	k->len += len;
}

void sink_flush(struct sink *k)
{
	if (!k->len)
		return;
	size_t n = write_some(k, k->buf + k->off, k->len);
	if (k->dropped)
		return;
	k->len -= n;
	k->off = k->len ? k->off + n : 0;
}

/* Only without memory, or when the library hands out far more than it was asked for. */
static void wait_for_reader(struct sink *k)
{
	struct pollfd p = {.fd = k->out.fd, .events = POLLOUT};

	(void)poll(&p, 1, -1); /* the next write tells */
	sink_flush(k);
}

void sink_put(struct sink *k, const void *data, size_t len)
{
	const char *p = data;

	if (len > 0)
		k->mid_line = p[len - 1] != '\n';
	while (len > 0 && !k->dropped) {
		size_t n = k->len ? 0 : write_some(k, p, len);
		p += n;
		len -= n;
		if (len == 0 || k->dropped)
			return;
		if (!k->buf)
			k->buf = malloc(SINK_MAX); /* only what is used becomes memory */
		n = k->buf ? SINK_MAX - k->len : 0;
		n = n < len ? n : len;
		if (n == 0) {
			wait_for_reader(k);
			continue;
		}
		keep(k, p, n);
		p += n;
		len -= n;
	}
}
