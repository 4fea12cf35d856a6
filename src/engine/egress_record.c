/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings. The gate appends what servers answer to a file without a name (egress/tape.h); when
 * the run has ended, each answer becomes a file of its own, and so does the list of all of them:
 *
 *	recordings/SHA256	an answer, as a server sends it: head, Content-Length, body
 *	recordings/SHA256	a list: "pinfold-recording 1", then for each answer, in the order in which
 *				they were asked for, a line: digest of the request's body, digest of
 *				the answer, and the request as tape_request() has it
 *
 * The list's digest names the recording. Files appear whole; who reads them back hashes them again.
 */
#include "engine/egress_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/passfd.h"
#include "egress/tape.h"
#include "warden/place.h"

#define LIST_HEAD "pinfold-recording 1\n"
#define LIST_MAX ((size_t)TAPE_ENTRIES_MAX * (TAPE_REQUEST_MAX + 160))
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

/* One exchange, as far as it is known: pieces of the file. */
struct piece {
	const char *at;
	size_t len;
	struct piece *next;
};

struct exchange {
	uint64_t number;
	const char *request, *head, *trailers;
	size_t request_len, head_len, body_len, trailers_len;
	struct piece *first, *last;
	const struct tape_end *end; /* NULL: it never ended */
};

static int open_dir(struct err *e)
{
	char path[4096 + 16], data[4096];

	if (place_data(data, sizeof(data), e) < 0)
		return -EINVAL;
	if (snprintf(path, sizeof(path), "%s/recordings", data) >= (int)sizeof(path))
		return err_set(e, ERR_INVALID, "the data directory's path is too long");
	if (place_make(path, e) < 0)
		return -EIO;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? err_sys(e, "open %s", path) : fd;
}

static int tell_gate(const struct pinfold_run *run, enum gate_said what, int fd, struct err *e)
{
	const struct gate_answer m = {.magic = GATE_MAGIC, .answer = what};
	int r = passfd_send(run->reports, &m, sizeof(m), &fd, 1);

	return r < 0 ? err_set(e, ERR_INTERNAL, "the gate takes no recording") : 0;
}

int egress_record_begin(struct pinfold_run *run, struct err *e)
{
	if (run->req.replays) {
		auto_close int tape = FD_NONE;
		int r = recording_tape(run->req.replays, &tape, e);

		return r < 0 ? r : tell_gate(run, GATE_REPLAY, tape, e);
	}
	if (!run->req.records)
		return 0;
	auto_close int dir = open_dir(e);
	if (dir < 0)
		return dir;
	run->recorded_fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	if (run->recorded_fd < 0)
		return err_sys(e, "a file for what is recorded");
	return tell_gate(run, GATE_RECORD, run->recorded_fd, e);
}

static struct exchange *exchange_of(struct exchange *list, unsigned n, uint64_t number)
{
	for (unsigned i = n; i-- > 0;)
		if (list[i].number == number)
			return &list[i];
	return NULL;
}

static bool add_piece(struct exchange *x, const char *at, size_t len)
{
	struct piece *p = malloc(sizeof(*p));

	if (!p)
		return false;
	*p = (struct piece){at, len, NULL};
	if (x->last)
		x->last->next = p;
	else
		x->first = p;
	x->last = p;
	x->body_len += len;
	return true;
}

/* False: not all that happened is known. */
static bool take_frame(const struct tape_frame *f, const char *data, struct exchange *list,
		       unsigned *n)
{
	struct exchange *x = exchange_of(list, *n, f->exchange);

	switch (f->kind) {
	case TAPE_REQUEST:
		if (*n == TAPE_ENTRIES_MAX || x || f->len >= TAPE_REQUEST_MAX)
			return false;
		list[(*n)++] = (struct exchange){
			.number = f->exchange, .request = data, .request_len = f->len};
		return true;
	case TAPE_HEAD:
		if (!x || x->head)
			return false;
		x->head = data;
		x->head_len = f->len;
		return true;
	case TAPE_DATA: return x && x->head && add_piece(x, data, f->len);
	case TAPE_TRAILERS:
		if (!x || !x->head || x->trailers_len)
			return false;
		x->trailers = data;
		x->trailers_len = f->len;
		return true;
	case TAPE_END:
		if (!x || !x->head || f->len != sizeof(struct tape_end))
			return false;
		x->end = (const void *)data;
		return true;
	default: return false; /* UNSEEN, FULL */
	}
}

static unsigned read_frames(const char *file, size_t size, struct exchange *list, bool *ret_whole)
{
	unsigned n = 0;
	size_t at = 0;

	while (size - at >= sizeof(struct tape_frame)) {
		struct tape_frame f;

		memcpy(&f, file + at, sizeof(f));
		at += sizeof(f);
		if (f.magic != TAPE_MAGIC || f.len > size - at)
			break;
		*ret_whole &= take_frame(&f, file + at, list, &n);
		at += f.len;
	}
	*ret_whole &= at == size;
	return n;
}

/* A file that is there has this name because it has these bytes. */
static int keep(int dir, const char *data, size_t len, char ret[HASH_TEXT_SIZE], struct err *e)
{
	uint8_t digest[HASH_BYTES];
	char name[HASH_TEXT_SIZE + 32];

	hash_bytes(data, len, digest);
	hash_text(digest, ret);
	if (faccessat(dir, ret, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	(void)snprintf(name, sizeof(name), ".%s.%d", ret, (int)getpid());
	(void)unlinkat(dir, name, 0); /* of one that died */
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, data, len) < 0 || renameat(dir, name, dir, ret) < 0) {
		(void)err_sys(e, "keep what was recorded");
		(void)unlinkat(dir, name, 0);
		return -EIO;
	}
	return 0;
}

static void append(char *text, size_t *len, const char *from, size_t n)
{
	if (n)
		memcpy(text + *len, from, n);
	*len += n;
}

/* As a server sends it: one framing, whatever it had. */
static int keep_answer(int dir, const struct exchange *x, char ret[HASH_TEXT_SIZE], struct err *e)
{
	const char *behind = "";
	char framing[96] = "\r\n";
	size_t len = 0;

	/* Behind a length there is no place for trailers: then the body is one chunk. */
	if (!x->end->bare && x->trailers_len) {
		(void)snprintf(framing, sizeof(framing),
			       x->body_len ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
					   : "Transfer-Encoding: chunked\r\n\r\n",
			       x->body_len);
		behind = x->body_len ? "\r\n0\r\n" : "0\r\n";
	} else if (!x->end->bare) {
		(void)snprintf(framing, sizeof(framing), "Content-Length: %zu\r\n\r\n",
			       x->body_len);
	}
	auto_free char *text = malloc(x->head_len + strlen(framing) + x->body_len + strlen(behind) +
				      x->trailers_len + 2);
	if (!text)
		return err_sys(e, "keep what was recorded");
	append(text, &len, x->head, x->head_len);
	append(text, &len, framing, strlen(framing));
	for (const struct piece *p = x->first; p; p = p->next)
		append(text, &len, p->at, p->len);
	append(text, &len, behind, strlen(behind));
	if (*behind) {
		append(text, &len, x->trailers, x->trailers_len);
		append(text, &len, "\r\n", 2);
	}
	return keep(dir, text, len, ret, e);
}

static int keep_all(struct pinfold_run *run, const struct exchange *list, unsigned n, struct err *e)
{
	auto_close int dir = open_dir(e);
	auto_free char *text = malloc(LIST_MAX); /* only what is used becomes memory */
	size_t len = 0;

	if (dir < 0 || !text)
		return -EIO;
	len = (size_t)snprintf(text, LIST_MAX, LIST_HEAD);
	for (unsigned i = 0; i < n; i++) {
		char body[HASH_TEXT_SIZE], answer[HASH_TEXT_SIZE];

		if (!list[i].end) {
			run->recorded.is_whole = false;
			continue;
		}
		if (keep_answer(dir, &list[i], answer, e) < 0)
			return -EIO;
		hash_text(list[i].end->body, body);
		len += (size_t)snprintf(text + len, LIST_MAX - len, "%s %s %.*s\n", body, answer,
					(int)list[i].request_len, list[i].request);
		run->recorded.exchanges++;
		run->recorded.bytes += list[i].body_len;
	}
	return keep(dir, text, len, run->recorded.sha256, e);
}

void egress_record_end(struct pinfold_run *run)
{
	auto_close int fd = take_fd(&run->recorded_fd);
	struct err e = ERR_INIT;
	struct stat st = {0};
	unsigned n = 0;

	if (fd < 0)
		return;
	auto_free struct exchange *list = calloc(TAPE_ENTRIES_MAX, sizeof(*list));
	run->recorded.is_whole = list && fstat(fd, &st) == 0;
	/* Nobody can make it shorter: the gate only appends. */
	char *file = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
				: MAP_FAILED;
	if (list && file != MAP_FAILED)
		n = read_frames(file, (size_t)st.st_size, list, &run->recorded.is_whole);
	else if (st.st_size)
		run->recorded.is_whole = false;
	if (!list || keep_all(run, list, n, &e) < 0)
		run->recorded.is_whole = false; /* and without a digest there is none */
	for (unsigned i = 0; i < n; i++)
		for (struct piece *p = list[i].first, *next; p; p = next) {
			next = p->next;
			free(p);
		}
	if (file != MAP_FAILED)
		(void)munmap(file, (size_t)st.st_size);
}
