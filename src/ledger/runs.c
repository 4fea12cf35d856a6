/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/runs.h"

#include <assert.h>
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/chain_int.h"
#include "ledger/find.h"
#include "ledger/owner.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"

#define LEAF_BYTES 16u
#define WINDOW                                                                                     \
	512u	  /* words that are read at once: ids are random, so it is mostly the right ones */
#define NEAR 256u /* events that are passed by reading */
#define HITS_MAX 65536u /* of one run; whoever has more is read from there on */

struct head {
	uint8_t leaf[LEAF_BYTES];
	uint64_t n;
};

struct block {
	struct head head;
	uint64_t word[RUNS_EVENTS];
};
_Static_assert(RUNS_EVENTS <= 65536, "a place in a block has 16 bits");

static uint64_t mark_of(const char *id)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (unsigned i = 0; i < ID_SIZE - 1; i++)
		h = (h ^ (uint8_t)id[i]) * UINT64_C(0x100000001b3);
	return (h ^ h >> 48) << 16;
}

/* The run that an event is of. Only what lies before its time is ours; a string has no bare
 * quotes. */
static const char *run_of(const struct scan_line *line)
{
	static const char key[] = "\"run\":\"run";
	const char *found = NULL, *end = find_time(line->text, line->len);

	for (const char *p = line->text;
	     end && (p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1)); p++)
		found = p + sizeof(key) - 4;
	return found && end - found >= ID_SIZE ? found : NULL;
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static off_t place_of(uint64_t block)
{
	return (off_t)(block * sizeof(struct block));
}

/* Is this head that of the block whose last event the tree knows? */
static bool is_block(int dir, int fd, uint64_t block)
{
	struct err none = ERR_INIT;
	struct tree_hash leaf;
	struct head head;
	auto_close int tree = openat(dir, "tree", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return pread(fd, &head, sizeof(head), place_of(block)) == sizeof(head) && tree >= 0 &&
	       settle_read(&tree, tree_place(0, (block + 1) * RUNS_EVENTS - 1), &leaf, &none) >=
		       0 &&
	       memcmp(head.leaf, leaf.byte, LEAF_BYTES) == 0;
}

/* How many blocks there are; none when the last is not of these events. */
static int count(int dir, int fd, uint64_t *ret, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "the ledger's index");
	*ret = (uint64_t)st.st_size / sizeof(struct block);
	if (*ret && !is_block(dir, fd, *ret - 1))
		*ret = 0;
	return 0;
}

/* The scan stands before the first event of the block, or the first that is left. */
static int make_block(struct scan *s, uint64_t block, struct block *b, struct err *e)
{
	uint64_t n = 0;

	for (;;) {
		struct event_head head;
		struct tree_hash leaf;
		struct scan_line line;
		int r = scan_next(s, &line, e);

		if (r <= 0)
			return r < 0 ? r : err_set(e, ERR_INTERNAL, "events are missing");
		if (!event_head(line.text, line.len, &head) || head.at / RUNS_EVENTS != block)
			return err_set(e, ERR_INTERNAL, "not the event that should be there");
		const char *run = run_of(&line);
		if (run)
			b->word[n++] = mark_of(run) | head.at % RUNS_EVENTS;
		if (head.at % RUNS_EVENTS < RUNS_EVENTS - 1)
			continue;
		tree_leaf(line.text, line.len, &leaf);
		memcpy(b->head.leaf, leaf.byte, LEAF_BYTES);
		break;
	}
	qsort(b->word, n, sizeof(b->word[0]), by_word);
	for (uint64_t i = 0; i < n; i++)
		b->word[i] = htole64(b->word[i]);
	memset(b->word + n, 0, (RUNS_EVENTS - n) * sizeof(b->word[0]));
	b->head.n = htole64(n);
	return 0;
}

static int write_block(int fd, uint64_t block, const struct block *b, struct err *e)
{
	off_t at = place_of(block);

	/* Words that were lost with the power behind a head that was not would hide events. */
	if (pwrite(fd, b->word, sizeof(b->word), at + (off_t)sizeof(b->head)) != sizeof(b->word) ||
	    fdatasync(fd) < 0 || pwrite(fd, &b->head, sizeof(b->head), at) != sizeof(b->head))
		return err_sys(e, "write the ledger's index");
	return 0;
}

int runs_grow(int dir, uint64_t covered, struct err *e)
{
	auto_close int fd = openat(dir, RUNS_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	auto_free struct block *b = NULL;
	auto_scan *s = NULL;
	uint64_t have = 0, gone = tombstone_size(dir);
	int r = fd < 0 ? err_sys(e, "the ledger's index") : count(dir, fd, &have, e);

	if (r < 0 || (have + 1) * RUNS_EVENTS > covered)
		return r;
	if (have == 0 && (ftruncate(fd, 0) < 0 || owner_match(dir, fd, e) < 0))
		return err_sys(e, "the ledger's index");
	if (have < gone / RUNS_EVENTS)
		have = gone / RUNS_EVENTS;
	b = malloc(sizeof(*b));
	r = b ? scan_open(dir, &s, e) : err_sys(e, "the ledger's index");
	if (r >= 0) {
		uint64_t from = have * RUNS_EVENTS;

		r = settle_seek(dir, s, from > gone ? from : gone, e);
	}
	for (; r >= 0 && (have + 1) * RUNS_EVENTS <= covered; have++) {
		r = make_block(s, have, b, e);
		if (r >= 0)
			r = write_block(fd, have, b, e);
	}
	return r;
}

static int add_hit(struct runs *r, uint64_t at, struct err *e)
{
	if ((r->n & (r->n - 1)) == 0) {
		uint64_t *more = reallocarray(r->at, r->n ? 2 * r->n : 1, sizeof(*more));

		if (!more)
			return err_sys(e, "the ledger's index");
		r->at = more;
	}
	r->at[r->n++] = at;
	return 0;
}

/* Words of a block, some at a time. */
struct view {
	int fd;
	off_t at;	    /* of the first word */
	uint64_t n;	    /* how many there are */
	uint64_t from, len; /* which of them are here */
	uint64_t word[WINDOW];
};

static int view_move(struct view *v, uint64_t from, struct err *e)
{
	v->from = from;
	v->len = v->n - from < WINDOW ? v->n - from : WINDOW;
	size_t bytes = v->len * sizeof(v->word[0]);
	if (pread(v->fd, v->word, bytes, v->at + (off_t)(from * sizeof(v->word[0]))) !=
	    (ssize_t)bytes)
		return err_sys(e, "the ledger's index");
	return 0;
}

/* The first word that is not below `mark`. Words are marks of random ids: the guess is off by a few
 * dozens, and the view wide enough; else it halves. */
static int lower(struct view *v, uint64_t mark, uint64_t *ret, struct err *e)
{
	uint64_t low = 0, high = v->n;
	uint64_t guess = (uint64_t)((unsigned __int128)mark * v->n >> 64);

	while (low < high) {
		int r = view_move(v, guess > low + WINDOW / 2 ? guess - WINDOW / 2 : low, e);
		uint64_t k = 0;

		if (r < 0)
			return r;
		while (k < v->len && le64toh(v->word[k]) < mark)
			k++;
		if (k == v->len)
			low = v->from + k;
		else if (k == 0)
			high = v->from;
		else
			low = high = v->from + k;
		guess = low + (high - low) / 2;
	}
	*ret = low;
	return 0;
}

/* What of a block may be of the run. */
static int look(struct runs *r, int fd, uint64_t block, uint64_t mark, struct err *e)
{
	struct view v = {.fd = fd, .at = place_of(block) + (off_t)sizeof(struct head)};
	struct head head;
	uint64_t i = 0;

	if (pread(fd, &head, sizeof(head), place_of(block)) != sizeof(head) ||
	    le64toh(head.n) > RUNS_EVENTS)
		return err_set(e, ERR_INTERNAL, "the ledger's index is damaged");
	v.n = le64toh(head.n);
	int k = lower(&v, mark, &i, e);
	for (; k >= 0 && i < v.n; i++) {
		if (i < v.from || i >= v.from + v.len)
			k = view_move(&v, i, e);
		uint64_t word = k < 0 ? 0 : le64toh(v.word[i - v.from]);
		if (k < 0 || word >> 16 != mark >> 16)
			break;
		k = add_hit(r, block * RUNS_EVENTS + (word & 0xffff), e);
	}
	return k;
}

int runs_open(int dir, const char *run, struct runs *ret, struct err *e)
{
	auto_close int fd = openat(dir, RUNS_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t have = 0, block = tombstone_size(dir) / RUNS_EVENTS;
	int r = 0;

	*ret = (struct runs){.dir = dir};
	if (fd < 0 || !id_is("run", run) || count(dir, fd, &have, e) < 0)
		return 0;
	for (; r >= 0 && block < have && ret->n < HITS_MAX; block++)
		r = look(ret, fd, block, mark_of(run), e);
	/* What cannot be read of it is no reason not to answer. */
	ret->covered = r < 0 ? (block - 1) * RUNS_EVENTS : block * RUNS_EVENTS;
	while (ret->n && ret->at[ret->n - 1] >= ret->covered)
		ret->n--;
	return 0;
}

void runs_close(struct runs *r)
{
	free(r->at);
	*r = (struct runs){.dir = FD_NONE};
}

/* The scan to event `at`, from where it stands if that is near. */
static int go_to(struct runs *r, struct scan *s, uint64_t at, struct err *e)
{
	struct scan_line line;
	int k = 1;

	if (r->next == 0 || at < r->next || at - r->next > NEAR) {
		if (settle_seek(r->dir, s, at, e) < 0)
			return -ENOENT;
		r->next = at;
	}
	for (; k > 0 && r->next < at; r->next++)
		k = scan_next(s, &line, e);
	return k < 0 ? k : 0;
}

/* Without offsets they are all read, from the first, but for those that were told. */
static int read_all(struct runs *r, struct scan *s, struct err *e)
{
	struct scan_line line;
	struct event_head head;
	uint64_t told = r->i ? r->at[r->i - 1] : 0;
	int k = scan_seek(s, scan_file_first(s, 0), 0) && r->i ? 1 : 0;

	while (k > 0 && (k = scan_next(s, &line, e)) > 0)
		if (event_head(line.text, line.len, &head) && head.at >= told)
			break;
	return k;
}

int runs_next(struct runs *r, struct scan *s, struct scan_line *ret, struct err *e)
{
	struct err none = ERR_INIT;
	int k = 0;

	if (r->tail)
		return scan_next(s, ret, e);
	if (r->i < r->n) {
		k = go_to(r, s, r->at[r->i], &none);
		if (k >= 0) {
			r->i++;
			r->next++;
			return scan_next(s, ret, e);
		}
	} else if (r->covered > tombstone_size(r->dir)) {
		/* The last that is covered has an offset; the one behind it may not. */
		k = go_to(r, s, r->covered - 1, &none);
		if (k >= 0)
			k = scan_next(s, ret, &none);
	}
	r->tail = true;
	if (k < 0)
		k = read_all(r, s, e);
	return k < 0 ? k : scan_next(s, ret, e);
}
