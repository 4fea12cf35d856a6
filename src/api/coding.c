/* SPDX-License-Identifier: Apache-2.0 */
#include "api/coding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/spool.h"
#include "base/fd.h"

#define CHUNK (64u << 10)

struct coder {
	const struct coder_ops *ops;
	void *state;
	bool open, over;
};

struct coder *coder_new(enum http_coding coding, bool open)
{
	struct coder *c = coding == HTTP_IDENTITY ? NULL : calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = coding == HTTP_GZIP ? &coder_gzip : &coder_zstd;
	c->open = open;
	c->state = c->ops->make(open);
	if (c->state)
		return c;
	free(c);
	return NULL;
}

void coder_free(struct coder *c)
{
	if (c)
		c->ops->free(c->state, c->open);
	free(c);
}

int coder_step(struct coder *c, struct coder_io *io)
{
	if (c->over)
		return io->in_len ? -EINVAL : 1;
	int r = c->ops->step(c->state, c->open, io);
	c->over = r > 0;
	if (c->over && io->in_len)
		return -EINVAL;
	/* The end of the input, and nothing is left to be written: it was cut. */
	if (r == 0 && c->open && io->last && !io->in_len && io->room)
		return -EINVAL;
	return r;
}

int coding_text(enum http_coding coding, char **text, size_t *len)
{
	struct coder *c = coder_new(coding, false);
	auto_free char *to = c ? malloc(*len) : NULL;
	/* With no room for as much as there was it is not worth it. */
	struct coder_io io = {*text, *len, to, *len, true};
	int r = to ? coder_step(c, &io) : -ENOMEM;

	coder_free(c);
	if (r <= 0)
		return 0;
	*len -= io.room;
	free(*text);
	*text = take_ptr(&to);
	return 1;
}

/* The state of coding_file(). */
struct pour {
	struct coder *coder;
	int from, to;
	uint64_t at, left, made, most;
	char in[CHUNK], out[CHUNK];
};

static int pour_out(struct pour *p, struct coder_io *io)
{
	size_t n = sizeof(p->out) - io->room;

	p->made += n;
	if (p->made >= p->most || fd_write_all(p->to, p->out, n) < 0)
		return -EFBIG;
	io->out = p->out;
	io->room = sizeof(p->out);
	return 0;
}

static int pour_all(struct pour *p)
{
	struct coder_io io = {.out = p->out, .room = sizeof(p->out)};
	int r = 0;

	while (r == 0) {
		if (!io.in_len && p->left) {
			size_t want = p->left < sizeof(p->in) ? (size_t)p->left : sizeof(p->in);
			ssize_t n = pread(p->from, p->in, want, (off_t)p->at);

			if (n <= 0)
				return -EIO; /* it shrank */
			p->at += (uint64_t)n;
			p->left -= (uint64_t)n;
			io.in = p->in;
			io.in_len = (size_t)n;
		}
		io.last = !p->left;
		r = coder_step(p->coder, &io);
		if (r >= 0 && pour_out(p, &io) < 0)
			return -EFBIG;
	}
	return r;
}

int coding_file(enum http_coding coding, int *fd, uint64_t *offset, uint64_t *length)
{
	auto_close int to = spool_open_file();
	auto_free struct pour *p = calloc(1, sizeof(*p));

	if (to < 0 || !p || !(p->coder = coder_new(coding, false)))
		return 0;
	p->from = *fd;
	p->to = to;
	p->at = *offset;
	p->left = p->most = *length;
	int r = pour_all(p);
	coder_free(p->coder);
	if (r <= 0)
		return 0;
	fd_close(fd);
	*fd = take_fd(&to);
	*offset = 0;
	*length = p->made;
	return 1;
}

bool coding_is_worth(const char *type, uint64_t length)
{
	static const char *const good[] = {"text/", "application/json", "application/octet-stream",
					   "image/svg"};

	if (length < CODING_MIN || length > CODING_FILE_MAX)
		return false;
	for (unsigned i = 0; type && i < sizeof(good) / sizeof(*good); i++)
		if (strncmp(type, good[i], strlen(good[i])) == 0)
			return strcmp(type, "text/event-stream") != 0;
	return !type;
}

bool coding_find(const char *name, size_t len, enum http_coding *ret)
{
	static const struct {
		const char *name;
		enum http_coding coding;
	} known[] = {{"identity", HTTP_IDENTITY},
		     {"gzip", HTTP_GZIP},
		     {"x-gzip", HTTP_GZIP},
		     {"zstd", HTTP_ZSTD}};

	for (unsigned i = 0; i < 4; i++)
		if (strlen(known[i].name) == len && strncasecmp(known[i].name, name, len) == 0) {
			*ret = known[i].coding;
			return true;
		}
	return false;
}
