/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/chain.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "ledger/canon.h"
#include "ledger/chain_int.h"
#include "ledger/event.h"
#include "ledger/find.h"
#include "ledger/kept.h"
#include "ledger/owner.h"
#include "ledger/scan.h"

#define TAIL_FIRST 4096u /* nearly every event is shorter */
#define TAIL_BYTES (2 * EVENT_BYTES_MAX)

static int cannot(struct err *e)
{
	(void)err_wrap(e, "the ledger cannot be written");
	(void)err_detail(e, "ledger");
	if (e->num == EFBIG)
		return err_remedy(e, "nothing runs without a record: raise ulimit -f, or lift it");
	return err_remedy(e, "nothing runs without a record: make room (pinfold rm and pinfold gc "
			     "do), or make the data directory writable");
}

/* `events`, locked, and still the file of that name. */
static int open_locked(int dir, uint64_t *ret_size, struct err *e)
{
	for (;;) {
		auto_close int fd =
			openat(dir, CHAIN_FILE,
			       O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat mine, named;
		int r;

		if (fd < 0)
			return err_sys(e, "open");
		do
			r = flock(fd, LOCK_EX);
		while (r < 0 && errno == EINTR);
		if (r < 0 || fstat(fd, &mine) < 0)
			return err_sys(e, "lock");
		if (mine.st_size == 0 && owner_match(dir, fd, e) < 0)
			return -EIO;
		if (fstatat(dir, CHAIN_FILE, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    named.st_ino == mine.st_ino && named.st_dev == mine.st_dev) {
			*ret_size = (uint64_t)mine.st_size;
			return take_fd(&fd);
		}
	}
}

/* The last event in what was read, which ends at `size` of the file and begins `from`. False: it
 * may begin before that. */
static bool find_last(char *buf, size_t len, uint64_t from, struct tail *t)
{
	size_t end = len;

	while (end > 0) {
		char *stop = memrchr(buf, '\n', end);
		if (!stop)
			return from == 0;
		char *before = memrchr(buf, '\n', (size_t)(stop - buf));
		if (!before && from > 0)
			return false;
		char *line = before ? before + 1 : buf;
		t->any = event_head(line, (size_t)(stop - line), &t->head);
		if (t->any) {
			size_t n = (size_t)(stop + 1 - buf);

			tree_leaf(line, (size_t)(stop - line), &t->leaf);
			const char *at = find_latest(line, (size_t)(stop - line));
			(void)snprintf(t->latest, sizeof(t->latest), "%.*s",
				       at ? (int)EVENT_INSTANT : 0, at ? at : "");
			t->end = from + n;
			t->torn = len - n;
			t->torn_bytes = buf + n;
			return true;
		}
		end = (size_t)(line - buf);
	}
	return from == 0;
}

static int read_tail(int fd, uint64_t size, char *buf, struct tail *t, struct err *e)
{
	*t = (struct tail){.any = false};
	for (size_t want = TAIL_FIRST; want <= TAIL_BYTES; want = TAIL_BYTES) {
		size_t len = size < want ? (size_t)size : want;
		uint64_t from = size - len;
		ssize_t n = len ? pread(fd, buf, len, (off_t)from) : 0;

		if (n < 0 || (size_t)n != len)
			return err_sys(e, "read it");
		t->torn = len;
		t->torn_bytes = buf;
		if (find_last(buf, len, from, t))
			return 0;
		if (want == TAIL_BYTES)
			break;
	}
	(void)err_set(e, ERR_INTERNAL, "no event is where the last should be");
	return err_remedy(e, "pinfold verify says where it is damaged; move the directory away to "
			     "begin another chain");
}

/* One write. What a full disk took of it is taken back. */
static int put(int fd, uint64_t end, char *line, size_t len, struct err *e)
{
	ssize_t n;

	line[len] = '\n'; /* where its NUL was */
	do
		n = write(fd, line, len + 1);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)(len + 1))
		return 0;
	if (n >= 0)
		errno = ENOSPC;
	int r = err_sys(e, "write");
	if (n > 0 && ftruncate(fd, (off_t)end) < 0)
		return r; /* the next one cuts it */
	return r;
}

/* A clock that was set back is not hidden: the event says that it is behind, until it has caught
 * up. */
static void now(struct value *event, struct tail *t)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	value_set(event, "time",
		  value_of_instant((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000));
	const char *text = value_str(value_get(event, "time"));
	if (!text || strlen(text) != EVENT_INSTANT)
		return;
	if (t->any && t->latest[0] && strcmp(text, t->latest) < 0)
		value_set(event, "clock_latest", value_of_str(t->latest));
	else
		memcpy(t->latest, text, EVENT_INSTANT + 1);
}

/* Behind the tail, which is then this one. */
static int add(int fd, struct tail *t, const char *chain, struct value *event, struct err *e)
{
	char hex[HASH_TEXT_SIZE], id[ID_SIZE];
	auto_free char *line = NULL;
	size_t len = 0;
	uint64_t at = t->any ? t->head.at + 1 : 0;

	(void)snprintf(id, sizeof(id), "%s", chain);
	hash_text(t->leaf.byte, hex);
	value_set(event, "at", value_of_u64(at));
	value_set(event, "before", value_of_str(hex));
	value_set(event, "chain", value_of_str(id));
	now(event, t);
	int r = canon_text(event, &line, &len, e);
	if (r >= 0 && len >= EVENT_BYTES_MAX)
		r = err_set(e, ERR_LIMIT, "an event of more than %u bytes", EVENT_BYTES_MAX);
	if (r < 0)
		return r;
	struct tree_hash leaf;
	tree_leaf(line, len, &leaf);
	r = put(fd, t->end, line, len, e);
	if (r < 0)
		return r;
	t->any = true;
	t->leaf = leaf;
	t->end += len + 1;
	t->head.at = at;
	memcpy(t->head.chain, id, sizeof(id));
	return 0;
}

static int cut(int fd, struct tail *t, struct err *e)
{
	auto_value *event = value_object(), *data = value_object();
	uint8_t digest[HASH_BYTES];
	char hex[HASH_TEXT_SIZE];
	uint64_t torn = t->torn;

	hash_bytes(t->torn_bytes, (size_t)torn, digest);
	hash_text(digest, hex);
	if (ftruncate(fd, (off_t)t->end) < 0)
		return err_sys(e, "cut its torn end");
	t->torn = 0;
	if (!t->any || !event || !data)
		return 0;
	value_set(data, "bytes", value_of_u64(torn));
	value_set(data, "sha256", value_of_str(hex));
	value_set(event, "kind", value_of_str("ledger.cut"));
	value_set(event, "data", value_share(data));
	return add(fd, t, t->head.chain, event, e);
}

/* The end of the file before this one, which is empty; or there is none, and a chain begins. */
static int go_on(int dir, int fd, char *buf, struct tail *t, struct err *e)
{
	struct chain_start start = {.event = NULL};
	auto_close int older = scan_last_segment(dir, e);

	struct stat st;

	if (older >= 0) {
		int r = fstat(older, &st) < 0 ? err_sys(e, "an older file")
					      : read_tail(older, (uint64_t)st.st_size, buf, t, e);

		if (r >= 0 && (!t->any || t->torn))
			r = err_set(e, ERR_INTERNAL, "an older file of it has a torn end");
		t->end = t->torn = 0;
		return r;
	}
	if (older != -ENOENT)
		return older;
	int r = chain_start(dir, &start, e);
	gap_prepare(dir);
	if (r >= 0)
		r = add(fd, t, start.chain, start.event, e);
	value_free(start.event);
	return r;
}

/* What could not be written before this one. */
static int add_gap(int dir, int fd, struct tail *t, struct err *e)
{
	uint64_t lost = 0;
	auto_value *event = gap_event(dir, &lost);
	int r = event ? add(fd, t, t->head.chain, event, e) : 0;

	if (event && r >= 0)
		gap_done(dir, lost);
	return r;
}

/* The file gets a name of its own; returns the next one, locked. */
static int rotate(int dir, int fd, uint64_t *ret_size, struct err *e)
{
	struct scan_first first;
	char name[SCAN_NAME_SIZE];
	int r = scan_first(fd, &first, e);

	if (r < 0)
		return r;
	scan_name(first.at, name);
	/* The older file is on disk before the next one begins. */
	if (fdatasync(fd) < 0 || renameat(dir, CHAIN_FILE, dir, name) < 0)
		return err_sys(e, "begin another file");
	return open_locked(dir, ret_size, e);
}

/* How the locked file ends, ready for the next event: in a file that has room, and no torn end. */
static int ready(int dir, int *fd, uint64_t size, uint64_t most, struct tail *t, struct err *e)
{
	auto_free char *buf = malloc(TAIL_BYTES);
	int r = buf ? read_tail(*fd, size, buf, t, e) : err_sys(e, "memory");

	if (r >= 0 && t->any && !t->torn && t->end >= most) {
		r = rotate(dir, *fd, &size, e);
		if (r >= 0) {
			kept_change(*fd = r);
			r = read_tail(*fd, size, buf, t, e);
		}
	}
	if (r >= 0 && t->torn)
		r = cut(*fd, t, e);
	if (r >= 0 && !t->any)
		r = go_on(dir, *fd, buf, t, e);
	if (r >= 0)
		r = add_gap(dir, *fd, t, e);
	t->torn_bytes = NULL; /* was in the buffer */
	return r;
}

/* With kept_take(): kept_give() is the caller's. */
static int append_locked(int dir, struct value *event, unsigned flags, int *ret_fd, struct tail *t,
			 struct err *e)
{
	uint64_t most = flags & CHAIN_SMALL ? 4096 : CHAIN_SEGMENT_BYTES, size = 0;
	bool known;
	int fd = kept_take(dir, &size, &known, t), r = 0;

	if (fd < 0) {
		fd = open_locked(dir, &size, e);
		if (fd < 0)
			return fd;
		kept_change(fd);
	}
	if (!known || t->end >= most)
		r = ready(dir, &fd, size, most, t, e);
	*ret_fd = fd;
	return r < 0 ? r : add(fd, t, t->head.chain, event, e);
}

static int append(int dir, struct value *event, unsigned flags, struct chain_place *ret,
		  struct err *e)
{
	auto_close int synced = FD_NONE;
	struct tail t;
	int fd = FD_NONE;
	int r = append_locked(dir, event, flags, &fd, &t, e);

	if (r >= 0 && (flags & CHAIN_SYNC)) {
		synced = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		r = synced < 0 ? err_sys(e, "write to disk") : 0;
	}
	kept_give(r >= 0 && (flags & CHAIN_KEEP) ? &t : NULL);
	/* The disk is not waited for with the lock. */
	if (r >= 0 && synced >= 0 && fdatasync(synced) < 0)
		r = err_sys(e, "write to disk");
	if (r >= 0 && ret) {
		memcpy(ret->chain, t.head.chain, sizeof(ret->chain));
		ret->at = t.head.at;
		ret->leaf = t.leaf;
	}
	return r;
}

int chain_split(int dir, uint64_t last, struct err *e)
{
	auto_free char *buf = malloc(TAIL_BYTES);
	uint64_t size = 0;
	auto_close int fd = open_locked(dir, &size, e);
	struct tail t;

	if (fd < 0)
		return fd;
	int r = buf ? read_tail(fd, size, buf, &t, e) : err_sys(e, "memory");
	if (r < 0 || !t.any || t.torn || t.head.at != last)
		return r;
	auto_close int next = rotate(dir, fd, &size, e);
	return next < 0 ? next : 0;
}

int chain_append(int dir, struct value *event, unsigned flags, struct chain_place *ret,
		 struct err *e)
{
	assert(dir >= 0);
	if (value_kind(event) != VALUE_OBJECT || !value_get(event, "kind"))
		return err_set(e, ERR_INTERNAL, "an event without a kind, or no memory for one");
	int r = append(dir, event, flags, ret, e);
	if (r < 0)
		gap_note(dir);
	return r < 0 ? cannot(e) : 0;
}
