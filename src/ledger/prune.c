/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In this order, so that a process killed between any two steps leaves a chain that is good: the
 * tombstone under another name; the event that tells of it, on disk; the tombstone in its place,
 * from when on older files do not count; then the files themselves, and checkpoints of them. Who
 * comes next removes what was left.
 */
#include "ledger/prune.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/value.h"
#include "ledger/chain_int.h"
#include "ledger/find.h"
#include "ledger/notary.h"
#include "ledger/owner.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"
#include "ledger/verify.h"

#define INSTANT 24
#define NOTES_NEXT "checkpoints.next"

struct job {
	int dir;
	const struct prune_ask *ask;
	struct prune_result *ret;
	struct note last;	/* the newest checkpoint */
	struct tombstone *gone; /* the one that is made */
};

/* Is the event earlier than the instant? */
static int is_old(const struct job *j, uint64_t at, struct err *e)
{
	auto_scan *s = NULL;
	struct scan_line line;
	int r = scan_open(j->dir, &s, e);

	if (r >= 0)
		r = settle_seek(j->dir, s, at, e);
	if (r >= 0)
		r = scan_next(s, &line, e);
	if (r <= 0)
		return r;
	const char *time = find_latest(line.text, line.len);
	return time && memcmp(time, j->ask->before, INSTANT) < 0;
}

/* The first event that stays. */
static int find_first(const struct job *j, uint64_t *ret, struct err *e)
{
	uint64_t size = j->last.point.head.size;
	auto_scan *s = NULL;
	int r = size ? is_old(j, size - 1, e) : 0;

	/* All of it is old: then the newest file is one of the older, too. */
	if (r > 0 && j->ask->most >= size)
		r = chain_split(j->dir, size - 1, e);
	if (r >= 0)
		r = scan_open(j->dir, &s, e);
	*ret = tombstone_size(j->dir);
	for (size_t i = 1; r >= 0 && i < scan_files(s); i++) {
		uint64_t first = scan_file_first(s, i);

		first = first < size ? first : size;
		if (first > j->ask->most || first == 0)
			break;
		r = is_old(j, first - 1, e);
		if (r <= 0)
			break;
		*ret = first;
	}
	return r < 0 ? r : 0;
}

static int take_key(struct tombstone *t, const struct scan_line *line, struct err *e)
{
	auto_value *v = NULL;

	if (value_parse(line->text, line->len, &v, e) < 0)
		return -EINVAL;
	const char *kind = value_str(value_get(v, "kind"));
	const struct value *data = value_get(v, "data"), *key = value_get(data, "key");
	const struct value *sig = value_get(data, "signature");
	if (!kind || (strcmp(kind, "ledger.start") != 0 && strcmp(kind, "ledger.key") != 0))
		return 0;
	if (t->n_keys == TOMBSTONE_KEYS)
		return err_set(e, ERR_LIMIT, "more than %u keys", TOMBSTONE_KEYS);
	struct tombstone_key *to = &t->keys[t->n_keys];
	if (!note_bytes(value_str(key), value_len(key), &to->key, sizeof(to->key)) ||
	    (t->n_keys && !note_bytes(value_str(sig), value_len(sig), &to->sig, sizeof(to->sig))))
		return err_set(e, ERR_INTERNAL, "a hand-over without key or signature");
	t->n_keys++;
	return 0;
}

/* From the tombstone that is there, or from nothing, to event n. */
static int bury(struct job *j, uint64_t n, struct err *e)
{
	auto_free struct tombstone *old = NULL;
	struct tree_hash done[TREE_LEVELS + 1];
	struct tombstone *t = j->gone;
	auto_scan *s = NULL;
	struct scan_line line;
	unsigned some = 0;
	int r = tombstone_read(j->dir, &old, e);

	if (r > 0)
		*t = *old;
	if (r >= 0)
		r = scan_open(j->dir, &s, e);
	if (r >= 0 && old && !scan_seek(s, old->edge.size, 0))
		r = err_set(e, ERR_INTERNAL, "events are missing");
	while (r >= 0 && t->edge.size < n && (r = scan_next(s, &line, e)) > 0) {
		j->ret->bytes += line.len + 1;
		tree_leaf(line.text, line.len, &t->last);
		tree_add(&t->edge, &t->last, done, &some);
		if (event_is_ours(line.text, line.len))
			r = take_key(t, &line, e);
	}
	if (r >= 0 && t->edge.size != n)
		r = err_set(e, ERR_INTERNAL, "events are missing");
	t->point = j->last.point;
	t->point.head.size = n;
	tree_root(&t->edge, &t->point.head.root);
	return r;
}

static int sign(struct job *j, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	struct public_key key;
	int r = notary_start(&notary, j->dir, e);

	tombstone_body(j->gone);
	if (r >= 0)
		r = notary_sign(&notary, j->gone->body, j->gone->body_len, &j->gone->sig, &key, e);
	if (r >= 0)
		note_key_id(KEY_SIGNS, j->gone->point.name, &key, j->gone->key_id);
	return r < 0 ? r : tombstone_write(j->dir, j->gone, e);
}

static int tell(struct job *j, struct err *e)
{
	struct value *data = value_object(), *who = value_object();
	auto_value *event = value_object();
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];

	hash_bytes(j->gone->body, j->gone->body_len, digest);
	hash_text(digest, text);
	value_set(data, "events", value_of_u64(j->ret->events));
	value_set(data, "gone", value_of_u64(j->gone->edge.size));
	value_set(data, "before", value_of_str(j->ask->before));
	value_set(data, "tombstone_sha256", value_of_str(text));
	value_set(who, "uid", value_of_int(getuid()));
	value_set(event, "kind", value_of_str("ledger.prune"));
	value_set(event, "who", who);
	value_set(event, "data", data);
	return chain_append(j->dir, event, CHAIN_SYNC, NULL, e);
}

/* Those that cover something that is left. */
static int write_notes(const struct job *j, int from, int to, struct err *e)
{
	char text[8 * NOTE_SIZE];
	uint64_t offset = 0;
	struct note n;
	size_t used = 0;

	for (;;) {
		ssize_t got = pread(from, text, sizeof(text), (off_t)offset);

		if (got <= 0)
			return got < 0 ? err_sys(e, "checkpoints") : 0;
		if (note_parse(text, (size_t)got, &n, &used, e) < 0)
			return err_wrap(e, "checkpoints");
		offset += used;
		if (n.point.head.size >= j->gone->edge.size && fd_write_all(to, text, used) < 0)
			return err_sys(e, "write checkpoints");
	}
}

static int drop_notes(const struct job *j, struct err *e)
{
	auto_close int from = openat(j->dir, "checkpoints", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int to = openat(j->dir, NOTES_NEXT,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (from < 0 || to < 0)
		return err_sys(e, "checkpoints");
	if (write_notes(j, from, to, e) < 0 || owner_match(j->dir, to, e) < 0)
		return -EIO;
	if (fsync(to) < 0 || renameat(j->dir, NOTES_NEXT, j->dir, "checkpoints") < 0)
		return err_sys(e, "write checkpoints");
	return 0;
}

static int prune_locked(struct job *j, struct err *e)
{
	uint64_t n = 0, gone = tombstone_size(j->dir);
	int r = find_first(j, &n, e);

	j->ret->gone = gone;
	if (r < 0 || n <= gone)
		return r;
	j->ret->events = n - gone;
	r = bury(j, n, e);
	if (r >= 0)
		r = sign(j, e);
	if (r >= 0)
		r = tell(j, e);
	if (r >= 0)
		r = tombstone_take(j->dir, e);
	if (r < 0)
		return r;
	j->ret->gone = n;
	r = scan_drop(j->dir, n, e);
	j->ret->files = r < 0 ? 0 : (uint64_t)r;
	if (r >= 0)
		r = settle_checkpoint(j->dir, e);
	return r < 0 ? r : drop_notes(j, e);
}

int prune(int dir, const struct prune_ask *ask, struct prune_result *ret, struct err *e)
{
	auto_free struct tombstone *gone = calloc(1, sizeof(*gone));
	struct job j = {.dir = dir, .ask = ask, .ret = ret, .gone = gone};
	struct verify_ask nothing = {.key = NULL};
	struct verify_result v;

	*ret = (struct prune_result){.events = 0};
	auto_close int fd = settle_lock(dir, LOCK_EX, e);
	int r = fd < 0 ? fd : gone ? settle_checkpoint(dir, e) : err_sys(e, "prune");
	if (r >= 0)
		r = settle_last(dir, &j.last, e);
	if (r <= 0)
		return r; /* nothing was ever written */
	r = verify_chain(dir, &nothing, &v, e);
	if (r >= 0 && !v.good) {
		(void)err_set(e, ERR_CONFLICT, "the ledger is not good: %s: %s", v.where, v.what);
		return err_remedy(e, "keep it as it is, and find out what happened");
	}
	return r < 0 ? r : prune_locked(&j, e);
}
