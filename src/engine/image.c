/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: made by the reader, in a sandbox that writes to one new layer and to nothing else. The
 * host side hands on bytes and hashes them on the way; of what comes back it takes texts, cut to
 * size.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/about.h"
#include "archive/export.h"
#include "archive/pieces.h"
#include "base/fd.h"
#include "engine/reader.h"
#include "engine/run_int.h"
#include "store/image.h"
#include "store/reserve.h"
#include "store/total.h"
#include "tree/answer.h"

#define DISK_BYTES (10ull << 30)
#define INODES (1ull << 20)

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

struct to_reader {
	int fd;
	struct hash hash;
	bool closed; /* it wants no more, and says why */
};

static int pass_on(void *context, const void *data, size_t len, struct err *e)
{
	struct to_reader *to = context;

	hash_add(&to->hash, data, len);
	int r = to->closed ? 0 : fd_write_all(to->fd, data, len);
	to->closed = to->closed || r == -EPIPE || r == -ECONNRESET;
	if (r >= 0 || to->closed)
		return 0;
	errno = -r;
	return err_sys(e, "pass on the directory");
}

/* A directory goes as a tar, which keeps owners, and so an OCI layout is one archive more. */
static int feed_dir(int dir, struct to_reader *to, struct err *e)
{
	struct export_opts opts = {.owner = -1};
	struct archive_stats stats;
	struct export *x = NULL;
	int r = export_open(&x, &opts, pass_on, to, e);

	if (r >= 0)
		r = export_tree(x, dir, "", e);
	if (r >= 0)
		r = export_end(x, &stats, e);
	export_close(x);
	return r;
}

static int feed(int fd, int to, char ret_digest[8 + HASH_TEXT_SIZE], struct err *e)
{
	struct to_reader there = {.fd = to};
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];
	struct stat st;

	hash_init(&there.hash);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "import");
	int r = S_ISDIR(st.st_mode) ? feed_dir(fd, &there, e) : reader_pump(fd, to, &there.hash, e);
	hash_done(&there.hash, digest);
	hash_text(digest, text);
	(void)snprintf(ret_digest, 8 + HASH_TEXT_SIZE, "sha256:%s", text);
	return r;
}

/* Text behind text with something between, as far as there is room for a whole one. */
static void add_text(char *to, size_t size, const char *between, const char *text)
{
	size_t n = strlen(to);

	if (n + strlen(between) + strlen(text) < size)
		(void)snprintf(to + n, size - n, "%s%s", n ? between : "", text);
}

static void take_about(struct store_image *image, const struct about *about)
{
	const char *text = NULL;
	size_t at = 0;
	char what = 0;

	while (about_next(about, &at, &what, &text)) {
		if (what == 'd')
			(void)snprintf(image->digest, sizeof(image->digest), "%s", text);
		else if (what == 'w')
			(void)snprintf(image->workdir, sizeof(image->workdir), "%s", text);
		else if (what == 'e')
			add_text(image->env, sizeof(image->env), "\n", text);
		else if (what == 'c')
			add_text(image->command, sizeof(image->command), " ", text);
	}
}

static int read_about(int from, struct about *ret, struct err *e)
{
	auto_close int file = memfd_create("about", MFD_CLOEXEC);
	uint64_t bytes = 0;
	int r = file < 0 ? err_sys(e, "import") : pieces_copy(from, file, &bytes, e);

	if (r < 0)
		return r;
	if (bytes > sizeof(ret->text))
		return err_set(e, ERR_INTERNAL, "the image says too much of itself");
	ssize_t n = pread(file, ret->text, sizeof(ret->text), 0);
	if (n < 0)
		return err_sys(e, "import");
	ret->len = (size_t)n;
	return 0;
}

struct in_words {
	const char *argv[8];
	char bytes[24], entries[24];
};

static void make_words(struct in_words *w, const struct pinfold_image_options *o)
{
	unsigned n = 0;

	(void)snprintf(w->bytes, sizeof(w->bytes), "%llu",
		       (unsigned long long)(o->disk_bytes ? o->disk_bytes : DISK_BYTES));
	(void)snprintf(w->entries, sizeof(w->entries), "%llu",
		       (unsigned long long)(o->inodes ? o->inodes : INODES));
	w->argv[n++] = "image";
	if (geteuid() == 0)
		w->argv[n++] = "--owners";
	w->argv[n++] = "--bytes";
	w->argv[n++] = w->bytes;
	w->argv[n++] = "--entries";
	w->argv[n++] = w->entries;
	w->argv[n++] = "/v/out";
	w->argv[n] = NULL;
}

/* What the archive becomes in the layer that is being made. */
static int take_in(const struct making *m, int fd, const struct pinfold_image_options *o,
		   struct store_image *image, struct pinfold_archive_stats *stats, struct err *e)
{
	auto_free struct about *about = calloc(1, sizeof(*about));
	struct in_words words = {0};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};
	struct err theirs = ERR_INIT;

	if (!about)
		return err_sys(e, "import");
	make_words(&words, o);
	struct reader_ask ask = {
		.argv = words.argv, .peek = PEEK_COPY, .out = m->number, .fed = true};
	int k = reader_look(m->store, &ask, &r, e);
	if (k >= 0)
		k = feed(fd, r.in, image->digest, e);
	fd_close(&r.in);
	/* What the other side says is why it stopped reading. */
	if (r.run &&
	    (read_about(r.out, about, &theirs) < 0 ||
	     tree_answer_read(r.out, &answer, &theirs) < 0) &&
	    (k >= 0 || theirs.kind != ERR_INTERNAL)) {
		*e = theirs;
		k = e->num ? -e->num : -EINVAL;
	}
	if (k >= 0) {
		archive_stats_show(&answer, stats);
		take_about(image, about);
	}
	return reader_end(&r, k, e);
}

static int import(struct store *s, const char *name, int fd, const struct pinfold_image_options *o,
		  struct pinfold_archive_stats *stats, struct err *e)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));
	struct making m;
	int r = image ? store_image_begin(s, name, &m, e) : err_sys(e, "import");

	if (r < 0)
		return r;
	(void)snprintf(image->name, sizeof(image->name), "%s", name);
	(void)snprintf(image->source, sizeof(image->source), "%s", o->source ? o->source : "");
	r = take_in(&m, fd, o, image, stats, e);
	if (r >= 0) {
		image->layers = stats->layers;
		image->bytes = stats->bytes;
		image->files = stats->files + stats->directories + stats->symlinks + stats->links +
			       stats->fifos;
		r = store_image_commit(&m, image, e);
	}
	making_end(&m);
	return r;
}

/* No more than all that is there may be, together. */
static int bound(struct store *s, struct pinfold_image_options *o, struct err *e)
{
	uint64_t room = 0;
	int r = total_room(s, &room, e);

	if (r >= 0 && room == 0)
		return total_refuse(s, e);
	if (r >= 0 && room < (o->disk_bytes ? o->disk_bytes : DISK_BYTES))
		o->disk_bytes = room;
	return r;
}

int pinfold_image_import(struct pinfold_store *store, const char *name, int fd,
			 const struct pinfold_image_options *options,
			 struct pinfold_archive_stats *ret_stats, struct pinfold_error *ret_error)
{
	struct pinfold_image_options o = {.size = sizeof(o)};
	struct err e = ERR_INIT;
	sigset_t before;

	assert(store && name && fd >= 0 && ret_stats && ret_error);
	*ret_stats = (struct pinfold_archive_stats){0};
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	reader_hush(&before);
	struct op op = {.workspace = NULL};
	int r = op_begin(&op, "image.import", store->store, workspace_asked("image", name), &e);
	if (r >= 0)
		r = bound(store->store, &o, &e);
	if (r >= 0)
		r = import(store->store, name, fd, &o, ret_stats, &e);
	r = op_end(&op, r, workspace_asked("image", name), &e);
	reader_unhush(&before);
	return result(r, &e, ret_error);
}

static int show(struct store *s, const struct store_image *image, struct pinfold_image_info *to,
		struct err *e)
{
	*to = (struct pinfold_image_info){
		.created_ms = (uint64_t)image->made_ms,
		.layers = image->layers,
		.files = image->files,
		.bytes = image->bytes,
	};
	(void)snprintf(to->name, sizeof(to->name), "%s", image->name);
	(void)snprintf(to->source, sizeof(to->source), "%s", image->source);
	(void)snprintf(to->digest, sizeof(to->digest), "%s", image->digest);
	(void)snprintf(to->env, sizeof(to->env), "%s", image->env);
	(void)snprintf(to->command, sizeof(to->command), "%s", image->command);
	(void)snprintf(to->workdir, sizeof(to->workdir), "%s", image->workdir);
	return store_image_users(s, image, &to->workspaces, e);
}

int pinfold_image_get(struct pinfold_store *store, const char *name,
		      struct pinfold_image_info *ret_info, struct pinfold_error *ret_error)
{
	auto_free struct store_image *image = calloc(1, sizeof(*image));
	struct err e = ERR_INIT;
	int r = image ? store_image_find(store->store, name, image, &e) : err_sys(&e, "store");

	assert(ret_info && ret_error);
	if (r >= 0)
		r = show(store->store, image, ret_info, &e);
	return result(r, &e, ret_error);
}

struct list {
	struct store *store;
	struct err *e;
	struct pinfold_image_info *items;
	size_t n, room;
};

static int list_image(const struct store_image *image, void *arg)
{
	struct list *l = arg;

	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 8;
		void *more = reallocarray(l->items, room, sizeof(*l->items));

		if (!more)
			return err_sys(l->e, "store");
		l->items = more;
		l->room = room;
	}
	return show(l->store, image, &l->items[l->n++], l->e);
}

int pinfold_image_list(struct pinfold_store *store, struct pinfold_image_info **ret_list,
		       size_t *ret_n, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct list l = {.store = store->store, .e = &e};
	int r = store_image_each(store->store, list_image, &l, &e);

	if (r < 0)
		free_ptr(&l.items);
	*ret_list = l.items;
	*ret_n = r < 0 ? 0 : l.n;
	return result(r, &e, ret_error);
}

void pinfold_image_list_free(struct pinfold_image_info *list)
{
	free(list);
}

int pinfold_image_remove(struct pinfold_store *store, const char *name,
			 struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	uint64_t bytes = 0;
	struct op op = {.workspace = NULL};

	(void)reserve_give(store->store); /* else there is room */
	int r = op_begin(&op, "image.remove", store->store, workspace_asked("image", name), &e);

	if (r >= 0)
		r = store_image_remove(store->store, name, &e);
	if (r >= 0)
		r = store_collect(store->store, &bytes, &e);
	r = op_end(&op, r, workspace_asked("image", name), &e);
	return result(r, &e, ret_error);
}
