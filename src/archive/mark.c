/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/mark.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/pax.h"
#include "archive/tar.h"

/* The first block of a compressor is rarely larger; one that is makes the archive a foreign one. */
#define HEAD_MAX ((size_t)1 << 20)
#define PIECE ((size_t)64 << 10)

struct search {
	int fd; /* borrowed */
	struct mark *mark;
	int failed;
};

static ssize_t from_fd(void *context, const void **ret, struct err *e)
{
	struct search *s = context;
	uint8_t *at = s->mark->head + s->mark->len;
	size_t room = HEAD_MAX - s->mark->len;
	ssize_t n;

	*ret = at;
	if (room == 0)
		return 0;
	do
		n = read(s->fd, at, room < PIECE ? room : PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		s->failed = err_sys(e, "read the archive");
		return n;
	}
	s->mark->len += (size_t)n;
	return n;
}

struct bytes {
	uint8_t at[PAX_MARK_BYTES];
	size_t len;
};

static int put(void *context, const void *data, size_t len, struct err *e)
{
	struct bytes *b = context;

	(void)e;
	assert(len <= sizeof(b->at) - b->len);
	memcpy(b->at + b->len, data, len);
	b->len += len;
	return 0;
}

/* As many bytes of it as the mark has. */
static int begin(struct tar_in *t, struct bytes *have, struct err *e)
{
	struct tar_entry en;
	const void *data;
	uint64_t at;
	size_t len;
	int r = tar_in_next(t, &en, e);

	while (r > 0 && have->len < sizeof(have->at) &&
	       (r = tar_in_data(t, &at, &data, &len, e)) > 0) {
		size_t want = sizeof(have->at) - have->len;

		if (at != have->len)
			break; /* never seen where there is no format */
		r = put(have, data, len < want ? len : want, e) < 0 ? -EINVAL : 1;
	}
	return r;
}

int mark_find(int fd, struct mark *ret, struct err *e)
{
	struct search s = {.fd = fd, .mark = ret};
	struct bytes want = {.len = 0}, have = {.len = 0};
	struct err none = ERR_INIT;
	struct tar_in *t = NULL;
	struct pax_out out;

	assert(fd >= 0);
	*ret = (struct mark){.head = malloc(HEAD_MAX)};
	if (!ret->head)
		return err_sys(e, "import");
	pax_init(&out, put, &want);
	int r = pax_begin(&out, e);
	pax_done(&out);
	if (r < 0)
		return r;
	assert(want.len == sizeof(want.at));
	if (tar_in_open_any(&t, from_fd, &s, &none) >= 0)
		(void)begin(t, &have, &none); /* what is damaged has no mark */
	tar_in_close(t);
	if (s.failed < 0) {
		*e = none;
		return s.failed;
	}
	ret->found = have.len == want.len && memcmp(have.at, want.at, want.len) == 0;
	return 0;
}

void mark_done(struct mark *mark)
{
	free(mark->head);
	*mark = (struct mark){0};
}
