/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that a workspace and somebody in the directory both changed. What it was before is kept
 * (store/origin.h), so both changes can be put into one, by lines. Where they meet nothing is
 * guessed.
 *
 * In the staging directory, nN is what will be written, and vN what the workspace has of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply/beneath.h"
#include "apply/file.h"
#include "base/fd.h"
#include "engine/apply.h"
#include "engine/reader.h"
#include "store/origin.h"
#include "tree/stream.h"
#include "tree/text.h"
#include "tree/three.h"

static const char not_text[] = "it changed in the directory, too, and is not text";
static const char not_kept[] = "it changed in the directory, too, and what it was is not kept";

struct bytes {
	char *data; /* owned */
	size_t len;
};

static void bytes_done(struct bytes *b)
{
	free_ptr(&b->data);
}
#define auto_bytes __attribute__((cleanup(bytes_done)))

/* Nobody can merge what is not, or has more lines than are looked at. */
static bool is_text(const char *data, size_t n)
{
	unsigned lines = 0;

	for (const char *at = data; (at = memchr(at, '\n', n - (size_t)(at - data))); at++)
		lines++;
	return lines < TREE_TEXT_LINES_MAX && !tree_text_is_binary(data, n);
}

/* 1, or 0: it is not text, or larger than what is read as such. */
static int read_text(int fd, struct bytes *ret, struct err *e)
{
	auto_free char *data = malloc(TREE_TEXT_FILE_MAX + 1);
	size_t n = 0;
	int r = data ? fd_read_max(fd, data, TREE_TEXT_FILE_MAX + 1, &n) : -ENOMEM;

	errno = -r;
	if (r < 0)
		return err_sys(e, "merge");
	if (!is_text(data, n))
		return 0;
	*ret = (struct bytes){take_ptr(&data), n};
	return 1;
}

static bool is_hash(const struct bytes *b, const char *hash)
{
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];

	hash_bytes(b->data, b->len, digest);
	hash_text(digest, text);
	return strcmp(text, hash) == 0;
}

/* What the directory has; 0: that cannot be merged, and m->conflict says why. */
static int read_theirs(const struct host_dir *d, const struct apply_item *item,
		       struct picked_more *m, struct bytes *ret, struct err *e)
{
	auto_close int parent = FD_NONE, fd = FD_NONE;
	const char *name = NULL;
	struct stat st;
	int r = beneath_parent(d->fd, item->path, &parent, &name, e);

	if (r >= 0)
		r = file_open(parent, name, &fd, &st, e);
	if (r >= 0)
		r = read_text(fd, ret, e);
	if (r == 0)
		m->conflict = not_text;
	/* The rest is done with what was looked at. */
	if (r > 0 && !is_hash(ret, item->old_hash)) {
		m->conflict = "it changed in the directory meanwhile";
		r = 0;
	}
	return r;
}

static int read_ours(const struct picked *p, size_t i, struct bytes *ret, struct err *e)
{
	auto_close int fd = FD_NONE;
	struct stat st;
	char name[32];

	(void)snprintf(name, sizeof(name), "n%zu", i);
	int r = file_open(p->set.stage, name, &fd, &st, e);
	if (r >= 0)
		r = read_text(fd, ret, e);
	if (r == 0)
		p->more[i].conflict = not_text;
	return r;
}

static int put_merged(struct picked *p, size_t i, const struct tree_three *t, struct err *e)
{
	struct apply_item *item = &p->set.items[i];
	struct picked_more *m = &p->more[i];
	uint8_t digest[HASH_BYTES];
	char name[32], ours[32];

	(void)snprintf(name, sizeof(name), "n%zu", i);
	(void)snprintf(ours, sizeof(ours), "v%zu", i);
	if (renameat(p->set.stage, name, p->set.stage, ours) < 0)
		return err_sys(e, "stage %s", item->path);
	auto_close int fd =
		openat(p->set.stage, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : fd_write_all(fd, t->out, t->out_len);
	errno = -r;
	if (r < 0)
		return err_sys(e, "stage %s", item->path);
	hash_bytes(t->out, t->out_len, digest);
	hash_text(digest, item->new_hash);
	m->size_new = t->out_len;
	item->new_known.merged = true;
	/* Taken back, what is there has again what the workspace does not know. */
	item->old_known.merged = item->old_known.origin > 0;
	item->old_known.foreign = item->old_known.origin <= 0;
	return 0;
}

/* Who changed it has his way, as with lines. */
static bool merge_exec(const struct apply_item *item, const struct picked_more *m)
{
	return item->new_exec == m->origin.exec ? item->old_exec : item->new_exec;
}

static void say_lines(struct picked_more *m, const struct tree_three *t)
{
	char where[64], more[48] = "";

	if (t->line_end <= t->line)
		(void)snprintf(where, sizeof(where), "it in front of line %zu", t->line);
	else if (t->line_end == t->line + 1)
		(void)snprintf(where, sizeof(where), "line %zu", t->line);
	else
		(void)snprintf(where, sizeof(where), "lines %zu to %zu", t->line, t->line_end - 1);
	if (t->conflicts > 1)
		(void)snprintf(more, sizeof(more), " and %u more %s", t->conflicts - 1,
			       t->conflicts > 2 ? "places" : "place");
	(void)snprintf(
		m->why, sizeof(m->why),
		"both the workspace and the directory changed %s%s (as the directory has it)",
		where, more);
	m->conflict = m->why;
}

/* One of the texts is the workspace's: whoever looks for its lines is in a sandbox. */
static int merge_inside(struct store *s, struct tree_three *t, struct err *e)
{
	static const struct stack none = {.n = 0};
	static const char *const argv[] = {"three", NULL};
	struct reader_ask ask = {
		.argv = argv,
		.peek = PEEK_LOOK,
		.before = &none,
		.now = &none,
		.bare = true,
		.fed = true,
	};
	struct reader r = READER_INIT;
	struct err ignored = ERR_INIT;
	sigset_t before;
	int k = reader_look(s, &ask, &r, e);

	if (k >= 0) {
		reader_hush(&before);
		(void)tree_three_ask(r.in, t, &ignored); /* why it stopped reading is its answer */
		reader_unhush(&before);
	}
	fd_close(&r.in);
	if (k >= 0)
		k = tree_three_answered(r.out, t, e);
	return reader_end(&r, k, e);
}

/* 1: *t is what came of it, of texts that are `base`'s and `theirs`'s. 0: m->conflict says why
 * nothing did. */
static int merge_texts(struct host_dir *d, const struct apply_item *item, struct picked_more *m,
		       const struct bytes *ours, struct bytes *base, struct bytes *theirs,
		       struct tree_three *t, struct err *e)
{
	int r = origin_read(d->store, &m->origin, &base->data, &base->len, e);

	if (r == 0)
		m->conflict = not_kept;
	if (r > 0 && !is_text(base->data, base->len)) {
		m->conflict = not_text;
		r = 0;
	}
	if (r > 0)
		r = read_theirs(d, item, m, theirs, e);
	if (r <= 0)
		return r;
	*t = (struct tree_three){
		.base = {base->data, base->len},
		.ours = {ours->data, ours->len},
		.theirs = {theirs->data, theirs->len},
	};
	r = merge_inside(d->store, t, e);
	if (r < 0 || !t->conflicts)
		return r < 0 ? r : 1;
	say_lines(m, t);
	return 0;
}

static int merge_one(struct host_dir *d, struct picked *p, size_t i, struct err *e)
{
	struct apply_item *item = &p->set.items[i];
	struct picked_more *m = &p->more[i];
	auto_bytes struct bytes base = {0}, ours = {0}, theirs = {0};
	struct tree_three t = {0};
	int r = read_ours(p, i, &ours, e);

	if (r > 0)
		r = merge_texts(d, item, m, &ours, &base, &theirs, &t, e);
	if (r > 0) {
		item->new_exec = merge_exec(item, m);
		r = put_merged(p, i, &t, e);
	}
	tree_three_done(&t);
	return r;
}

/* What the workspace has of one file, as apply would stage it. */
static int decode_ours(int fd, const struct tree_change *c, struct bytes *ret, struct err *e)
{
	struct tree_limits limits = {.entries = 2, .bytes = TREE_TEXT_FILE_MAX + 1};
	auto_free struct tree_dec *dec = calloc(1, sizeof(*dec));
	auto_free char *data = calloc(1, TREE_TEXT_FILE_MAX + 1);
	const void *part;
	uint64_t at;
	size_t len;
	struct tree_entry en;
	int r = dec && data ? tree_dec_init(dec, fd, &limits, e) : err_sys(e, "review");

	if (r >= 0 && (r = tree_dec_next(dec, &en, e)) == 0)
		r = err_set(e, ERR_INTERNAL, "%s did not come", c->path);
	if (r >= 0 &&
	    (en.kind != TREE_FILE || strcmp(en.path, c->path) != 0 || en.size > TREE_TEXT_FILE_MAX))
		r = err_set(e, ERR_INTERNAL, "another file came than that asked for");
	const size_t size = r >= 0 ? (size_t)en.size : 0;
	/* The decoder lets nothing pass that lies beyond the size. */
	while (r >= 0 && (r = tree_dec_data(dec, &at, &part, &len, e)) > 0)
		memcpy(data + at, part, len);
	if (r >= 0)
		r = tree_dec_next(dec, &en, e);
	if (dec)
		tree_dec_done(dec);
	if (r >= 0)
		*ret = (struct bytes){take_ptr(&data), size};
	return r;
}

static int fetch_ours(struct host_dir *d, const struct tree_change *c, struct bytes *ret,
		      struct err *e)
{
	struct reader r = READER_INIT;
	int k = apply_ask(d, c->path, c->path_len + 1, &r, e);

	if (k >= 0)
		k = decode_ours(r.out, c, ret, e);
	return reader_end(&r, k, e);
}

int apply_foresee(struct host_dir *d, const struct tree_change *c, struct picked_more *m,
		  struct err *e)
{
	auto_bytes struct bytes base = {0}, ours = {0}, theirs = {0};
	struct apply_item item = {.path = (char *)(uintptr_t)c->path};
	struct tree_three t = {0};
	int r = 0;

	if (c->flags & TREE_DIFF_HASH_OLD)
		hash_text(c->hash_old, item.old_hash);
	if (c->size_new <= TREE_TEXT_FILE_MAX)
		r = fetch_ours(d, c, &ours, e);
	if (r >= 0 && (!ours.data || !is_text(ours.data, ours.len)))
		m->conflict = not_text;
	else if (r >= 0)
		r = merge_texts(d, &item, m, &ours, &base, &theirs, &t, e);
	tree_three_done(&t);
	return r < 0 ? r : 0;
}

int apply_merge(struct host_dir *d, struct picked *p, pinfold_review_fn *each, void *arg,
		struct err *e)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->set.n; i++)
		if (p->more[i].merges && !p->more[i].conflict)
			r = merge_one(d, p, i, e);
	return r < 0 ? r : picked_refuse(p, each, arg, e);
}

void apply_keep(struct host_dir *d, struct picked *p)
{
	for (size_t i = 0; i < p->set.n; i++) {
		struct apply_item *item = &p->set.items[i];
		struct origin about = {.exec = (p->more[i].mode_new & 0100) != 0};
		struct err none = ERR_INIT;
		char name[32];

		if (item->new != APPLY_FILE)
			continue;
		(void)snprintf(name, sizeof(name), "%c%zu", item->new_known.merged ? 'v' : 'n', i);
		auto_close int fd = openat(p->set.stage, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		item->new_known.origin = ORIGIN_NONE;
		if (fd < 0 || hash_fd(fd, ORIGIN_FILE_MAX, about.hash) < 0)
			continue;
		/* Without it the next one is a conflict, and no more. */
		(void)origin_add(d->store, p->set.stage, name, &about, &item->new_known.origin,
				 &none);
	}
}
