/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/settle.h"

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "ledger/chain_int.h"
#include "ledger/notary.h"
#include "ledger/open.h"
#include "ledger/runs.h"
#include "ledger/tombstone.h"

#define SETTLE_TRY_MS 5
#define NODES_AT_ONCE 1024u /* written together */

int settle_lock(int dir, int how, struct err *e)
{
	auto_close int fd = openat(dir, "settle", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return err_sys(e, "the ledger's lock");
	do
		r = flock(fd, how);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EWOULDBLOCK ? -EWOULDBLOCK : err_sys(e, "the ledger's lock");
	return take_fd(&fd);
}

bool settle_is_due(int dir)
{
	struct err none = ERR_INIT;
	auto_close int fd = settle_lock(dir, LOCK_SH | LOCK_NB, &none);

	return fd >= 0;
}

int settle_open_tree(int dir, struct err *e)
{
	int fd = openat(dir, "tree", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? err_sys(e, "the ledger's tree") : fd;
}

int settle_read(void *arg, uint64_t place, struct tree_hash *ret, struct err *e)
{
	ssize_t n = pread(*(int *)arg, ret, sizeof(*ret), (off_t)(place * sizeof(*ret)));

	if (n < 0)
		return err_sys(e, "the ledger's tree");
	return n == sizeof(*ret) ? 0 : err_set(e, ERR_MISSING, "the ledger's tree is not whole");
}

size_t settle_handover(const char *chain, const struct public_key *next, char ret[NOTE_SIZE])
{
	char text[64];

	(void)note_base64(next->byte, sizeof(next->byte), text);
	return (size_t)snprintf(ret, NOTE_SIZE, "pinfold ledger: another key\n%s\n%s\n", chain,
				text);
}

/* The last note of a text of whole ones: where it begins. */
static const char *last_note(const char *text, size_t len)
{
	static const char begin[] = "\n\npinfold/";
	const char *found = NULL;

	for (const char *p = text; (p = memmem(p, len - (size_t)(p - text), begin, 10)); p++)
		found = p + 2;
	return found ? found : len ? text : NULL;
}

/* A note that was not written whole is no note; `fd` is cut there when it may be written to. */
static int read_last(int fd, bool mend, struct note *ret, struct err *e)
{
	char text[4 * NOTE_SIZE];
	struct err none = ERR_INIT;
	struct stat st;
	size_t used = 0;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "checkpoints");
	for (uint64_t end = (uint64_t)st.st_size; end > 0;) {
		size_t len = end < sizeof(text) ? (size_t)end : sizeof(text);
		uint64_t from = end - len;

		if (pread(fd, text, len, (off_t)from) != (ssize_t)len)
			return err_sys(e, "checkpoints");
		const char *p = last_note(text, len);
		if (note_parse(p, (size_t)(text + len - p), ret, &used, &none) == 0)
			return p + used == text + len
				       ? 1
				       : err_set(e, ERR_INTERNAL, "checkpoints is damaged");
		if (p == text && from > 0)
			return err_set(e, ERR_INTERNAL, "checkpoints is damaged");
		end = from + (uint64_t)(p - text);
		if (mend && ftruncate(fd, (off_t)end) < 0)
			return err_sys(e, "checkpoints");
	}
	return 0;
}

static int open_checkpoints(int dir, struct err *e)
{
	int fd = openat(dir, "checkpoints", O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			0600);

	return fd < 0 ? err_sys(e, "the ledger's checkpoints") : fd;
}

int settle_last(int dir, struct note *ret, struct err *e)
{
	struct err why = ERR_INIT;
	auto_close int fd = ledger_open(dir, "checkpoints", &why);

	if (fd >= 0)
		return read_last(fd, false, ret, e);
	if (why.num == ENOENT)
		return 0;
	*e = why;
	return err_wrap(e, "the ledger");
}

static int open_offsets(int dir, struct err *e)
{
	int fd = openat(dir, "offsets", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? err_sys(e, "the ledger's offsets") : fd;
}

/* Who reads makes no file: it would be his, and not the writer's. */
static int read_offsets(int dir, struct err *e)
{
	int fd = openat(dir, "offsets", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? err_sys(e, "the ledger's offsets") : fd;
}

int settle_seek(int dir, struct scan *s, uint64_t at, struct err *e)
{
	auto_close int fd = read_offsets(dir, e);
	uint64_t offset = 0, first = 0;

	if (fd < 0)
		return fd;
	if (pread(fd, &offset, sizeof(offset), (off_t)(at * sizeof(offset))) != sizeof(offset))
		return err_set(e, ERR_MISSING, "the ledger's offsets are not whole");
	for (size_t i = 0; i < scan_files(s); i++)
		if (scan_file_first(s, i) <= at)
			first = scan_file_first(s, i);
	if (!scan_seek(s, first, le64toh(offset)))
		return err_set(e, ERR_MISSING, "the file with event %llu is not there",
			       (unsigned long long)at);
	return 0;
}

int settle_seek_near(int dir, struct scan *s, uint64_t at, struct err *e)
{
	auto_close int fd = read_offsets(dir, e);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "the ledger's offsets");
	uint64_t known = (uint64_t)st.st_size / sizeof(uint64_t);
	if (known == 0)
		return err_set(e, ERR_MISSING, "no place of the ledger is known yet");
	return settle_seek(dir, s, at < known ? at : known - 1, e);
}

/* What is being made of the events. */
struct grow {
	int tree, offsets;
	struct tree_edge edge;
	struct tree_hash leaf; /* of the last */
	char chain[ID_SIZE];
	bool handed; /* to another key, by one of the events that are new */
	struct public_key next;
	struct tree_hash node[NODES_AT_ONCE + TREE_LEVELS];
	uint64_t offset[NODES_AT_ONCE];
	unsigned n_nodes, n_offsets;
	uint64_t nodes_from, offsets_from;
};

static int flush(struct grow *g, struct err *e)
{
	size_t nodes = g->n_nodes * sizeof(g->node[0]);
	size_t offsets = g->n_offsets * sizeof(g->offset[0]);

	if (pwrite(g->tree, g->node, nodes, (off_t)(g->nodes_from * sizeof(g->node[0]))) !=
		    (ssize_t)nodes ||
	    pwrite(g->offsets, g->offset, offsets,
		   (off_t)(g->offsets_from * sizeof(g->offset[0]))) != (ssize_t)offsets)
		return err_sys(e, "write the ledger's tree");
	g->n_nodes = g->n_offsets = 0;
	g->nodes_from = tree_kept(g->edge.size);
	g->offsets_from = g->edge.size;
	return 0;
}

static int damaged(const struct scan_line *line, const char *what, struct err *e)
{
	return err_set(e, ERR_INTERNAL, "the ledger is damaged: %s, byte %llu: %s", line->file,
		       (unsigned long long)line->offset, what);
}

static void look_for_key(struct grow *g, const struct scan_line *line)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;

	if (value_parse(line->text, line->len, &v, &none) < 0)
		return;
	const struct value *key = value_get(value_get(v, "data"), "key");
	const char *kind = value_str(value_get(v, "kind"));
	if (kind && strcmp(kind, "ledger.key") == 0)
		g->handed = note_bytes(value_str(key), value_len(key), &g->next, sizeof(g->next));
}

static int take_line(struct grow *g, const struct scan_line *line, struct err *e)
{
	struct event_head head;
	unsigned n = 0;

	if (!event_head(line->text, line->len, &head))
		return damaged(line, "no event", e);
	if (head.at != g->edge.size)
		return damaged(line, "not the event that should be here", e);
	if (head.at > 0 && (!tree_same(&head.before, &g->leaf) || strcmp(head.chain, g->chain)))
		return damaged(line, "it does not follow the event before", e);
	if (event_is_ours(line->text, line->len))
		look_for_key(g, line);
	memcpy(g->chain, head.chain, sizeof(g->chain));
	tree_leaf(line->text, line->len, &g->leaf);
	g->offset[g->n_offsets++] = htole64(line->offset);
	tree_add(&g->edge, &g->leaf, g->node + g->n_nodes, &n);
	g->n_nodes += n;
	return g->n_nodes >= NODES_AT_ONCE || g->n_offsets >= NODES_AT_ONCE ? flush(g, e) : 0;
}

/* All of the events, or all that are left. */
static int from_start(struct grow *g, int dir, struct scan *s, struct err *e)
{
	auto_free struct tombstone *gone = NULL;
	int r = tombstone_read(dir, &gone, e);

	g->edge.size = 0;
	if (r <= 0) {
		(void)scan_seek(s, 0, 0); /* it is there, or there is nothing to be read */
		return r;
	}
	g->edge = gone->edge;
	g->leaf = gone->last;
	(void)snprintf(g->chain, sizeof(g->chain), "%s", gone->point.name + strlen("pinfold/"));
	g->offsets_from = g->edge.size;
	g->nodes_from = tree_kept(g->edge.size);
	/* Proofs of what is left need these of what is gone. */
	for (unsigned k = 0; k < TREE_LEVELS; k++) {
		uint64_t n = g->edge.size >> k;

		if (n & 1 && pwrite(g->tree, &g->edge.hash[k], sizeof(g->edge.hash[k]),
				    (off_t)(tree_place(k, n - 1) * sizeof(g->edge.hash[k]))) < 0)
			return err_sys(e, "write the ledger's tree");
	}
	return scan_seek(s, g->edge.size, 0)
		       ? 0
		       : err_set(e, ERR_INTERNAL, "the ledger is damaged: events are missing");
}

/* Begin where the last checkpoint is, if the tree is the one that it signed; else from the
 * start. */
static int begin(struct grow *g, int dir, struct scan *s, const struct note *last, struct err *e)
{
	struct err none = ERR_INIT;
	uint64_t size = last->point.head.size;
	struct tree_hash root;
	struct scan_line line;

	if (size && tree_load(size, settle_read, &g->tree, &g->edge, &none) >= 0 &&
	    settle_read(&g->tree, tree_place(0, size - 1), &g->leaf, &none) >= 0) {
		tree_root(&g->edge, &root);
		if (tree_same(&root, &last->point.head.root) &&
		    settle_seek(dir, s, size - 1, &none) >= 0 && scan_next(s, &line, e) > 0) {
			struct tree_hash leaf;
			struct event_head head;

			tree_leaf(line.text, line.len, &leaf);
			if (event_head(line.text, line.len, &head) && tree_same(&leaf, &g->leaf)) {
				memcpy(g->chain, head.chain, sizeof(g->chain));
				g->nodes_from = tree_kept(size);
				g->offsets_from = size;
				return 0;
			}
			return damaged(&line, "not the event that the last checkpoint ends with",
				       e);
		}
	}
	return from_start(g, dir, s, e);
}

static int grow(struct grow *g, int dir, const struct note *last, struct err *e)
{
	auto_scan *s = NULL;
	struct scan_line line;
	struct tree_hash root;
	int r = scan_open(dir, &s, e);

	if (r >= 0)
		r = begin(g, dir, s, last, e);
	while (r >= 0 && (r = scan_next(s, &line, e)) > 0) {
		r = take_line(g, &line, e);
		if (r < 0 || g->edge.size != last->point.head.size)
			continue;
		tree_root(&g->edge, &root);
		if (!tree_same(&root, &last->point.head.root))
			r = damaged(&line, "the last checkpoint signed other events", e);
	}
	if (r >= 0 && g->edge.size < last->point.head.size)
		r = err_set(e, ERR_INTERNAL,
			    "the ledger is damaged: events are missing at its end");
	return r < 0 ? r : flush(g, e);
}

/* After a hand-over the new key signs. Who died between the event and that had not taken it yet. */
static int sign_as(struct notary *n, const struct grow *g, const char *body, size_t len,
		   struct signature *sig, struct public_key *key, struct err *e)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		int r = notary_sign(n, body, len, sig, key, e);

		if (r < 0 || !g->handed || memcmp(key, &g->next, sizeof(*key)) == 0)
			return r;
		r = turn == 0 ? notary_take(n, e) : 0;
		if (r < 0)
			return r;
	}
	return err_set(e, ERR_INTERNAL, "the key that the ledger was handed to is not here");
}

/* What is signed for is on disk before: events came since they were brought there last, and where
 * the machine stops now, a checkpoint must not know more of them than are left. */
static int sync_signed(int dir, struct err *e)
{
	auto_close int fd = openat(dir, CHAIN_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 || fdatasync(fd) < 0 ? err_sys(e, "write events to disk") : 0;
}

static int sign_head(int dir, int fd, const struct grow *g, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	char body[NOTE_SIZE], text[NOTE_SIZE];
	struct checkpoint c = {.head.size = g->edge.size};
	struct public_key key;
	struct signature sig;
	int r = notary_start(&notary, dir, e);

	chain_name(g->chain, c.name);
	tree_root(&g->edge, &c.head.root);
	if (r >= 0)
		r = sign_as(&notary, g, body, note_body(&c, body), &sig, &key, e);
	if (r >= 0)
		r = fd_write_all(fd, text, note_write(&c, &key, &sig, text));
	if (r < 0 && !e->text[0]) {
		errno = -r;
		return err_sys(e, "write a checkpoint");
	}
	if (r >= 0 && fdatasync(fd) < 0)
		return err_sys(e, "write a checkpoint to disk");
	return r < 0 ? r : chain_write_key(dir, g->chain, &key, e);
}

int settle_checkpoint(int dir, struct err *e)
{
	auto_free struct grow *g = calloc(1, sizeof(*g));
	auto_close int tree = settle_open_tree(dir, e);
	auto_close int offsets = tree < 0 ? FD_NONE : open_offsets(dir, e);
	auto_close int notes = offsets < 0 ? FD_NONE : open_checkpoints(dir, e);
	struct note last = {.body_len = 0};

	if (!g)
		return err_sys(e, "the ledger");
	if (notes < 0)
		return -EIO;
	int r = read_last(notes, true, &last, e);
	g->tree = tree;
	g->offsets = offsets;
	if (r >= 0)
		r = grow(g, dir, &last, e);
	if (r < 0 || g->edge.size == last.point.head.size)
		return r;
	r = sync_signed(dir, e);
	if (r >= 0)
		r = sign_head(dir, notes, g, e);
	/* An index that cannot be made costs time and nothing else. */
	struct err none = ERR_INIT;
	if (r >= 0)
		(void)runs_grow(dir, g->edge.size, &none);
	return r;
}

/* *size is what of `events` is on disk; 1: that has grown, or is another file. */
static int sync_events(int dir, struct stat *was, struct err *e)
{
	auto_close int fd = openat(dir, CHAIN_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "events");
	if (fstat(fd, &st) < 0)
		return err_sys(e, "events");
	bool more = st.st_ino != was->st_ino || st.st_size != was->st_size;
	*was = st;
	if (more && fdatasync(fd) < 0)
		return err_sys(e, "write events to disk");
	return more;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Until nothing has come for a moment; the lock is held. */
static int settle_locked(int dir, struct stat *seen, struct err *e)
{
	uint64_t since = now_ms();

	for (;;) {
		(void)poll(NULL, 0, SETTLE_SYNC_MS);
		int more = sync_events(dir, seen, e);
		if (more < 0)
			return more;
		if (more && now_ms() - since < SETTLE_CHECKPOINT_MS)
			continue;
		int r = settle_checkpoint(dir, e);
		if (r < 0 || !more)
			return r;
		since = now_ms();
	}
}

int settle(int dir, struct err *e)
{
	struct stat seen = {0}, now;

	for (;;) {
		auto_close int fd = settle_lock(dir, LOCK_EX | LOCK_NB, e);

		if (fd < 0)
			return fd == -EWOULDBLOCK ? 0 : fd;
		int r = settle_locked(dir, &seen, e);
		if (r < 0)
			return r;
		(void)flock(fd, LOCK_UN);
		/* Who appended while we had the lock has left it to us. */
		if (fstatat(dir, CHAIN_FILE, &now, 0) < 0 ||
		    (now.st_ino == seen.st_ino && now.st_size == seen.st_size))
			return 0;
	}
}

static int sync_and_sign(int dir, int locked, struct err *e)
{
	struct stat seen = {0};
	int r = locked < 0 ? locked : sync_events(dir, &seen, e);

	return r < 0 ? r : settle_checkpoint(dir, e);
}

int settle_now(int dir, struct err *e)
{
	auto_close int fd = settle_lock(dir, LOCK_EX, e);

	return sync_and_sign(dir, fd, e);
}

int settle_within(int dir, uint32_t ms, struct err *e)
{
	for (uint64_t until = now_ms() + ms;;) {
		auto_close int fd = settle_lock(dir, LOCK_EX | LOCK_NB, e);

		if (fd != -EWOULDBLOCK || now_ms() >= until)
			return sync_and_sign(dir, fd, e);
		(void)poll(NULL, 0, SETTLE_TRY_MS);
	}
}

static int hand_over(int dir, struct notary *n, struct err *e)
{
	char text[NOTE_SIZE], next64[64], sig64[128];
	struct value *data = value_object();
	auto_value *event = value_object();
	struct public_key next, old;
	struct chain_place place;
	struct signature sig;
	struct note last;
	int r = settle_last(dir, &last, e);

	struct value *who = value_object();
	value_set(who, "uid", value_of_int(getuid()));
	value_set(event, "kind", value_of_str("ledger.key"));
	value_set(event, "who", who);
	value_set(event, "data", data);
	if (r == 0)
		r = err_set(e, ERR_MISSING, "there is no checkpoint yet");
	if (r >= 0)
		r = notary_make(n, &next, e);
	if (r < 0)
		return r;
	const char *chain = last.point.name + strlen("pinfold/");
	r = notary_sign(n, text, settle_handover(chain, &next, text), &sig, &old, e);
	if (r < 0)
		return r;
	(void)note_base64(next.byte, sizeof(next.byte), next64);
	(void)note_base64(sig.byte, sizeof(sig.byte), sig64);
	value_set(data, "key", value_of_str(next64));
	value_set(data, "signature", value_of_str(sig64));
	r = chain_append(dir, event, CHAIN_SYNC, &place, e);
	return r < 0 ? r : notary_take(n, e);
}

int settle_rotate(int dir, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	auto_close int fd = settle_lock(dir, LOCK_EX, e);
	int r = fd < 0 ? fd : settle_checkpoint(dir, e);

	if (r >= 0)
		r = notary_start(&notary, dir, e);
	if (r >= 0)
		r = hand_over(dir, &notary, e);
	notary_end(&notary);
	return r < 0 ? r : settle_checkpoint(dir, e);
}
