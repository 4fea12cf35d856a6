/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an archive is an image is known when its manifest was seen, which may be its last file,
 * and its layers come in any order. So one that may be an image, by the name of its first entry,
 * is first written to a file without a name; it is then read from the beginning for every file
 * that is wanted.
 *
 * A layer is read three times: for its hash, for its whiteouts, which are about lower layers, and
 * for all else.
 */
#include "archive/import.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "archive/image.h"
#include "archive/name.h"
#include "archive/root.h"
#include "base/fd.h"
#include "base/hash.h"

#define READ_BYTES (64u << 10)
#define HEAD_BYTES_MAX ((size_t)8 << 20) /* of an archive, until its first entry is known */

struct source {
	int fd;			 /* borrowed: where the archive comes from */
	int spool;		 /* a copy of it */
	int dir;		 /* borrowed: what that is in */
	const struct mark *mark; /* borrowed: what was read of it before; NULL: nothing is left */
	uint8_t *buf;
	bool keeps; /* what was read is kept in `head` */
	uint8_t *head;
	size_t head_len;
	uint64_t spool_max;
	struct about *about; /* borrowed, or NULL */
};

static ssize_t read_some(int fd, void *buf, struct err *e)
{
	ssize_t n;

	do
		n = read(fd, buf, READ_BYTES);
	while (n < 0 && errno == EINTR);
	return n < 0 ? err_sys(e, "read the archive") : n;
}

static ssize_t from_input(void *context, const void **ret, struct err *e)
{
	struct source *s = context;
	const struct mark *before = s->mark && s->mark->len ? s->mark : NULL;
	ssize_t n = before ? (ssize_t)before->len : read_some(s->fd, s->buf, e);

	*ret = before ? before->head : s->buf;
	s->mark = NULL;
	if (n <= 0 || !s->keeps)
		return n;
	if (s->head_len + (size_t)n > HEAD_BYTES_MAX)
		return err_set(e, ERR_INVALID, "the archive begins with nothing");
	memcpy(s->head + s->head_len, *ret, (size_t)n);
	s->head_len += (size_t)n;
	return n;
}

static ssize_t from_spool(void *context, const void **ret, struct err *e)
{
	struct source *s = context;

	*ret = s->buf;
	return read_some(s->spool, s->buf, e);
}

/* A file that has no name, or has none any more. */
static int open_spool(struct source *s, struct err *e)
{
	char name[40];
	uint64_t random = 0;

	s->spool = openat(s->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->spool >= 0)
		return 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(e, "find a name");
	(void)snprintf(name, sizeof(name), ".pinfold-%016llx", (unsigned long long)random);
	s->spool = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->spool < 0 || unlinkat(s->dir, name, 0) < 0)
		return err_sys(e, "keep the image");
	return 0;
}

static int write_spool(struct source *s, const void *data, size_t len, struct err *e)
{
	if (len > s->spool_max) {
		(void)err_set(e, ERR_LIMIT, "the archive is larger than what is left");
		return err_detail(e, "disk");
	}
	s->spool_max -= len;
	int r = fd_write_all(s->spool, data, len);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "keep the image");
	}
	return 0;
}

static int fill_spool(struct source *s, struct err *e)
{
	int r = open_spool(s, e);
	ssize_t n = 1;

	if (r >= 0)
		r = write_spool(s, s->head, s->head_len, e);
	while (r >= 0 && (n = read_some(s->fd, s->buf, e)) > 0)
		r = write_spool(s, s->buf, (size_t)n, e);
	return n < 0 ? (int)n : r;
}

static int from_start(struct source *s, struct tar_in **ret, struct err *e)
{
	if (lseek(s->spool, 0, SEEK_SET) < 0)
		return err_sys(e, "read the image");
	return tar_in_open(ret, from_spool, s, e);
}

/* The archive, open at the file of this name. 1; 0: it has none. */
static int find(struct source *s, const char *path, struct tar_in **ret, struct err *e)
{
	char clean[TREE_PATH_MAX + 1];
	struct tar_entry en;
	struct tar_in *t = NULL;
	int r = from_start(s, &t, e);

	while (r >= 0 && (r = tar_in_next(t, &en, e)) > 0) {
		struct err skip = ERR_INIT;

		if (en.kind == TAR_FILE && name_clean(en.path, clean, &skip) >= 0 &&
		    strcmp(clean, path) == 0) {
			*ret = t;
			return 1;
		}
	}
	tar_in_close(t);
	return r;
}

static int read_note(void *context, const char *path, char **ret, size_t *ret_len, struct err *e)
{
	struct tar_in *t = NULL;
	const void *data;
	uint64_t at;
	size_t len, have = 0;
	int r = find(context, path, &t, e);

	if (r <= 0)
		return r;
	auto_free char *text = malloc(IMAGE_NOTE_MAX);
	r = text ? 1 : err_sys(e, "import");
	while (r > 0 && (r = tar_in_data(t, &at, &data, &len, e)) > 0) {
		if (at != have || len > IMAGE_NOTE_MAX - have)
			r = err_set(e, ERR_LIMIT, "%s of the image is too large", path);
		else
			memcpy(text + have, data, len);
		have += len;
	}
	tar_in_close(t);
	if (r < 0)
		return r;
	*ret = take_ptr(&text);
	*ret_len = have;
	return 1;
}

/* The bytes of a file in an archive, which are an archive. */
struct inner {
	struct tar_in *outer;
	uint64_t at;
};

static ssize_t from_entry(void *context, const void **ret, struct err *e)
{
	struct inner *in = context;
	uint64_t at = 0;
	size_t len = 0;
	int r = 0;

	do
		r = tar_in_data(in->outer, &at, ret, &len, e);
	while (r > 0 && len == 0 && at == in->at);
	if (r > 0 && at != in->at)
		return err_set(e, ERR_INVALID, "a layer of the image has holes");
	in->at += len;
	return r < 0 ? r : r == 0 ? 0 : (ssize_t)len;
}

/* All that is left of an entry, hashed. */
static int hash_rest(tar_read_fn *read, void *context, char ret[HASH_TEXT_SIZE], struct err *e)
{
	uint8_t digest[HASH_BYTES];
	const void *data;
	struct hash h;
	ssize_t n = 0;

	hash_init(&h);
	while ((n = read(context, &data, e)) > 0)
		hash_add(&h, data, (size_t)n);
	hash_done(&h, digest);
	hash_text(digest, ret);
	return n < 0 ? (int)n : 0;
}

static int open_layer(struct source *s, const char *path, struct inner *ret, struct err *e)
{
	int r = find(s, path, &ret->outer, e);

	if (r != 0)
		return r;
	(void)err_set(e, ERR_INVALID, "it is not in the archive");
	return err_remedy(e, "save the image again, whole");
}

/* The hash of a layer, as it is in there, or of what it was before compression. */
static int hash_layer(struct source *s, const char *path, bool bare, char ret[HASH_TEXT_SIZE],
		      struct err *e)
{
	struct inner in = {0}, content = {0};
	struct tar_entry en;
	int r = open_layer(s, path, &in, e);

	if (r > 0 && bare)
		r = tar_in_open_any(&content.outer, from_entry, &in, e);
	if (r >= 0 && bare)
		r = tar_in_next(content.outer, &en, e);
	if (r >= 0)
		r = hash_rest(from_entry, bare ? &content : &in, ret, e);
	tar_in_close(content.outer);
	tar_in_close(in.outer);
	return r;
}

static int check_layer(struct source *s, const struct image_layer *l, struct err *e)
{
	const char *want = l->hash[0] ? l->hash : l->bare;
	char have[HASH_TEXT_SIZE] = "";

	if (!want[0])
		return 0;
	int r = hash_layer(s, l->path, want == l->bare, have, e);
	if (r < 0 || strcmp(have, want) == 0)
		return r;
	(void)err_set(e, ERR_INVALID, "its digest is %.12s..., and the image says %.12s...", have,
		      want);
	return err_remedy(e, "the archive is damaged, or was changed: get it again");
}

static int plant_marks(struct plant *p, const struct tar_entry *en, char *path, bool marks,
		       struct tar_in *t, struct err *e)
{
	enum name_mark mark = name_mark(path);

	if (marks)
		return mark == NAME_GONE     ? plant_gone(p, path, e)
		       : mark == NAME_OPAQUE ? plant_empty(p, path, e)
					     : 0;
	return mark == NAME_PLAIN ? plant_entry(p, t, en, path, e) : 0;
}

static int refuse_more(uint64_t most, struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "the archive has more than %llu entries",
		      (unsigned long long)most);
	return err_detail(e, "disk");
}

/* `layer`: whiteouts count, and this pass is about them (`marks`), or about all else. */
static int plant_all(struct plant *p, struct tar_in *t, bool layer, bool marks, struct err *e)
{
	char path[TREE_PATH_MAX + 1];
	struct tar_entry en;
	uint64_t seen = 0;
	int r = 0;

	while (r >= 0 && (r = tar_in_next(t, &en, e)) > 0) {
		r = name_clean(en.path, path, e);
		if (r >= 0 && ++seen > p->limits.entries)
			r = refuse_more(p->limits.entries, e);
		if (r >= 0)
			r = layer ? plant_marks(p, &en, path, marks, t, e)
				  : plant_entry(p, t, &en, path, e);
	}
	return r;
}

static int plant_layer(struct plant *p, struct source *s, const struct image_layer *l, bool marks,
		       struct err *e)
{
	struct inner in = {0};
	struct tar_in *t = NULL;
	struct tree_shown shown;
	int r = marks ? check_layer(s, l, e) : 0;

	if (r >= 0)
		r = open_layer(s, l->path, &in, e);
	if (r > 0)
		r = tar_in_open(&t, from_entry, &in, e);
	if (r >= 0)
		r = plant_all(p, t, true, marks, e);
	tar_in_close(t);
	tar_in_close(in.outer);
	return r < 0 ? err_wrap(e, "layer %s", tree_show(&shown, l->path, strlen(l->path))) : 0;
}

/* 1; 0: it is no image after all. */
static int plant_image(struct plant *p, struct source *s, struct err *e)
{
	struct image image = {0};
	int r = image_find(&image, read_note, s, e);
	bool is_image = r > 0;

	p->layers = is_image;
	for (unsigned i = 0; is_image && i < image.n && r >= 0; i++) {
		r = plant_layer(p, s, &image.layer[i], true, e);
		if (r >= 0)
			r = plant_layer(p, s, &image.layer[i], false, e);
		p->stats.layers++;
	}
	if (is_image && s->about)
		*s->about = image.about;
	image_done(&image);
	return r < 0 ? r : is_image;
}

static int plant_spooled(struct plant *p, struct source *s, struct err *e)
{
	struct tar_in *t = NULL;
	int r = fill_spool(s, e);

	if (r >= 0)
		r = plant_image(p, s, e);
	if (r != 0)
		return r;
	r = from_start(s, &t, e);
	if (r >= 0)
		r = plant_all(p, t, false, false, e);
	tar_in_close(t);
	return r;
}

/* The first entry with a name decides whether the archive is kept. */
static int plant_source(struct plant *p, struct source *s, struct err *e)
{
	char path[TREE_PATH_MAX + 1];
	struct tar_in *t = NULL;
	struct tar_entry en;
	/* A workspace in which nothing changed is one, too. */
	bool ours = s->mark && s->mark->found;
	int r = tar_in_open(&t, from_input, s, e);

	do {
		if (r >= 0)
			r = tar_in_next(t, &en, e);
		if (r > 0)
			r = name_clean(en.path, path, e) < 0 ? -EINVAL : 1;
		/* The top itself tells nothing. */
		if (r > 0 && !path[0])
			r = plant_entry(p, t, &en, path, e) < 0 ? -EINVAL : 1;
	} while (r > 0 && !path[0]);
	if (r == 0 && !ours) {
		(void)err_set(e, ERR_INVALID, "the archive has nothing in it");
		r = err_remedy(e, "tar -tf lists what an archive has");
	}
	bool keep = r > 0 && name_may_be_image(path), plain = r > 0 && !keep;
	s->keeps = false;
	if (plain)
		r = plant_entry(p, t, &en, path, e);
	if (r >= 0 && plain)
		r = plant_all(p, t, false, false, e);
	tar_in_close(t);
	return keep ? plant_spooled(p, s, e) : r;
}

int import_archive(int fd, int root, const struct import_opts *opts, struct archive_stats *ret,
		   struct about *ret_about, struct err *e)
{
	struct source s = {
		.fd = fd,
		.spool = FD_NONE,
		.dir = opts->spool_dir >= 0 ? opts->spool_dir : root,
		.mark = opts->mark,
		.keeps = true,
		.buf = malloc(READ_BYTES),
		.head = malloc(HEAD_BYTES_MAX),
		.spool_max = opts->limits.bytes,
		.about = ret_about,
	};
	struct plant p;

	assert(fd >= 0 && root >= 0);
	plant_init(&p, root, &opts->limits);
	p.owners = opts->owners;
	int r = s.buf && s.head ? plant_source(&p, &s, e) : err_sys(e, "import");
	if (r >= 0)
		r = plant_finish(&p, e);
	if (r >= 0 && opts->whole)
		r = root_complete(root, opts->owners, e);
	*ret = p.stats;
	plant_done(&p);
	fd_close(&s.spool);
	free(s.head);
	free(s.buf);
	return r < 0 ? r : 0;
}
