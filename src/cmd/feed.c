/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"

void feed_init(struct feed *f, int fd)
{
	*f = (struct feed){.in = {.fd = FD_NONE}, .ended = true};
	if (fd < 0)
		return;
	f->in = ownfd_open(fd, O_RDONLY);
	f->buf = malloc(FEED_MAX);
	f->ended = !f->buf;
}

void feed_done(struct feed *f)
{
	ownfd_close(&f->in);
	free(f->buf);
	f->buf = NULL;
}

bool feed_in_background(const struct feed *f)
{
	if (!f->in.tty)
		return false;
	pid_t group = tcgetpgrp(f->in.fd);
	return group > 0 && group != getpgrp();
}

bool feed_wants_input(const struct feed *f)
{
	return !f->ended && !f->len;
}

void feed_read(struct feed *f)
{
	if (!feed_wants_input(f))
		return;
	ssize_t n = ownfd_read(&f->in, f->buf, FEED_MAX);
	if (n > 0) {
		f->off = 0;
		f->len = (size_t)n;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		f->ended = true;
	}
}

bool feed_write(struct feed *f, int to_fd)
{
	while (f->len > 0) {
		ssize_t n = write(to_fd, f->buf + f->off, f->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0)
			return false;
		f->off += (size_t)n;
		f->len -= (size_t)n;
	}
	return !f->ended;
}
