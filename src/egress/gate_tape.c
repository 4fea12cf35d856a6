/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording what servers answer, and answering from a recording. In a replay no server is ever
 * looked for: conn_resolve() refuses, and requests are answered by what was recorded for the same
 * method, host, port, path, query and body, or by a refusal.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "egress/gate_int.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

void box_record(struct box *b, int *taken)
{
	fd_close(&b->recording.fd);
	b->recording.fd = take_fd(taken);
	b->recording.is_on = true;
}

/* Whatever is wrong with it: a replay stays one, with nothing to answer from. */
void box_replay(struct box *b, int fd)
{
	struct stat st;

	b->replay.is_on = true;
	if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return;
	b->replay.len = (size_t)st.st_size;
	if (tape_is_good(p, b->replay.len))
		b->replay.tape = p;
	else
		(void)munmap(p, b->replay.len);
}

void tapes_close(struct box *b)
{
	fd_close(&b->recording.fd);
	if (b->replay.tape)
		(void)munmap((void *)(uintptr_t)b->replay.tape, b->replay.len);
	b->replay.tape = NULL;
}

static void put(struct box *b, enum tape_kind kind, uint64_t exchange, const void *data, size_t len)
{
	struct tape_frame f = {TAPE_MAGIC, kind, exchange, len};
	struct iovec parts[2] = {{&f, sizeof(f)}, {(void *)(uintptr_t)data, len}};

	if (b->recording.fd < 0)
		return;
	if (b->recording.bytes + sizeof(f) + len > TAPE_BYTES_MAX) {
		f = (struct tape_frame){TAPE_MAGIC, TAPE_FULL, 0, 0};
		(void)!write(b->recording.fd, &f, sizeof(f)); /* its end says the same */
		fd_close(&b->recording.fd);
		return;
	}
	b->recording.bytes += sizeof(f) + len;
	/* A frame that is cut ends what can be read of it. */
	if (writev(b->recording.fd, parts, 2) != (ssize_t)(sizeof(f) + len))
		fd_close(&b->recording.fd);
}

void tape_unseen(struct conn *c)
{
	char what[NAME_SIZE + 8];
	int n = snprintf(what, sizeof(what), "%s:%u", c->host.text, c->port);

	put(c->box, TAPE_UNSEEN, 0, what, (size_t)n);
}

bool taped_begin(struct taped *t, struct conn *c, const struct http_head *h, const char *scheme)
{
	struct box *b = c->box;
	char text[TAPE_REQUEST_MAX];

	t->is_on = b->recording.is_on || b->replay.is_on;
	if (!t->is_on)
		return true;
	int n = tape_request(h, scheme, c->host.text, c->port, b->secrets, text);
	if (n < 0)
		return false;
	hash_init(&t->body);
	hash_init(&t->key);
	hash_add(&t->key, text, (size_t)n);
	hash_add(&t->key, "\n", 1);
	t->answer = NULL;
	t->exchange = ++b->recording.exchanges;
	put(b, TAPE_REQUEST, t->exchange, text, (size_t)n);
	if (b->replay.is_on && !c->row) /* what was allowed, though nobody is connected to */
		c->row = box_row(b, c->host.text, c->port, GATE_ALLOWED, c->rule);
	return true;
}

void taped_head(struct taped *t, struct conn *c, const char *head, size_t len, bool bare)
{
	t->is_bare = bare;
	if (t->is_on)
		put(c->box, TAPE_HEAD, t->exchange, head, len);
}

void taped_data(struct taped *t, struct conn *c, const char *data, size_t len)
{
	if (t->is_on && len)
		put(c->box, TAPE_DATA, t->exchange, data, len);
}

void taped_trailers(struct taped *t, struct conn *c, const char *lines, size_t len)
{
	if (t->is_on && len)
		put(c->box, TAPE_TRAILERS, t->exchange, lines, len);
}

void taped_end(struct taped *t, struct conn *c)
{
	struct tape_end end = {.bare = t->is_bare};

	if (!t->is_on)
		return;
	if (!c->box->replay.is_on)
		hash_done(&t->body, end.body);
	put(c->box, TAPE_END, t->exchange, &end, sizeof(end));
	t->is_on = false;
}

/* The first answer to it that nobody had yet. */
static const struct tape_entry *find(struct box *b, const uint8_t key[HASH_BYTES])
{
	const struct tape *tape = b->replay.tape;
	const struct tape_entry *entries = tape ? (const void *)(tape + 1) : NULL;

	for (uint32_t i = 0; tape && i < tape->n; i++) {
		if (b->replay.used[i] || memcmp(entries[i].key, key, HASH_BYTES) != 0)
			continue;
		b->replay.used[i] = true;
		return &entries[i];
	}
	return NULL;
}

bool taped_answer(struct taped *t, struct conn *c, struct stage_io *io)
{
	const char *tape = (const char *)c->box->replay.tape;
	uint8_t digest[HASH_BYTES];
	char *at;
	size_t room;

	if (!t->answer) {
		hash_done(&t->body, digest);
		hash_add(&t->key, digest, sizeof(digest));
		hash_done(&t->key, digest);
		t->answer = find(c->box, digest);
		t->sent = 0;
		if (!t->answer) {
			box_deny(c->box, &c->host, c->port, NULL, "replay",
				 "the recording has no answer to this request");
			return false;
		}
	}
	conn_deadline(c, IDLE_MS);
	while (t->sent < t->answer->len && (room = stage_room(&io->from_server, &at)) > 0) {
		size_t n = t->answer->len - t->sent;

		n = n < room ? n : room;
		memcpy(at, tape + t->answer->at + t->sent, n);
		stage_added(&io->from_server, n);
		t->sent += n;
	}
	return true;
}
