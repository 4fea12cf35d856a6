/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a synchronisation, inside: standard input is the socket to the other. What a
 * workspace that got the same tree before has (its last manifest is `donor` in the state, its files
 * are a view) does not travel again.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "reader/reader.h"
#include "sync/index.h"
#include "sync/session.h"
#include "tree/answer.h"
#include "tree/walk.h"

#define STATE "/v/state"

/* Where each chunk of the donor's tree is, by its hash. */
struct spot {
	const uint8_t *hash;
	const char *path;
	uint64_t offset;
};

struct donor {
	struct index index;
	int root; /* the directory that its paths are in */
	struct spot *spots;
	size_t n;
	int open; /* the file that was looked at last */
};

static int by_hash(const void *a, const void *b)
{
	return memcmp(((const struct spot *)a)->hash, ((const struct spot *)b)->hash, HASH_BYTES);
}

static size_t count_chunks(const struct manifest *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->entries[i].kind == MANIFEST_FILE ? m->entries[i].n_chunks + 1 : 0;
	return n;
}

static void note(struct donor *d, const struct manifest_entry *f)
{
	uint64_t offset = 0;

	if (f->kind != MANIFEST_FILE)
		return;
	for (uint32_t i = 0; i < f->n_chunks; i++) {
		d->spots[d->n++] = (struct spot){f->chunks[i].hash, f->path, offset};
		offset += f->chunks[i].len;
	}
	if (f->n_chunks == 0)
		d->spots[d->n++] = (struct spot){f->hash, f->path, 0};
}

/* Without one, or with one that is no good, more travels; that is all. */
static void donor_open(struct donor *d, int state, const char *view, const char *to)
{
	struct manifest_limits limits = MANIFEST_LIMITS;
	char his[4096];
	size_t len = 0;
	struct err ignored = ERR_INIT;
	auto_close int top = open(view, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	auto_close int said = openat(state, "donor.to", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*d = (struct donor){.root = FD_NONE, .open = FD_NONE};
	if (said >= 0 && fd_read_max(said, his, sizeof(his) - 1, &len) >= 0 && len > 0) {
		his[len] = '\0';
		to = his[0] == '/' ? his + 1 : his;
	}
	if (top < 0 || tree_open_dir(top, to, strlen(to), &d->root, &ignored) < 0 ||
	    index_load(state, "donor", &limits, &d->index) <= 0)
		return;
	d->spots = calloc(count_chunks(&d->index.tree) + 1, sizeof(*d->spots));
	for (size_t i = 0; d->spots && i < d->index.tree.n; i++)
		note(d, &d->index.tree.entries[i]);
	if (d->n)
		qsort(d->spots, d->n, sizeof(*d->spots), by_hash);
}

static void donor_close(struct donor *d)
{
	index_done(&d->index);
	free(d->spots);
	fd_close(&d->open);
	fd_close(&d->root);
}

static int open_file(int root, const char *path)
{
	struct err ignored = ERR_INIT;
	const char *slash = strrchr(path, '/');
	auto_close int dir = FD_NONE;

	if (slash && tree_open_dir(root, path, (size_t)(slash - path), &dir, &ignored) < 0)
		return FD_NONE;
	return openat(slash ? dir : root, slash ? slash + 1 : path,
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool lookup(void *context, const uint8_t hash[HASH_BYTES], uint32_t len, int *ret_fd,
		   uint64_t *ret_offset)
{
	struct donor *d = context;
	const struct spot key = {.hash = hash};
	const struct spot *found =
		d->n ? bsearch(&key, d->spots, d->n, sizeof(key), by_hash) : NULL;

	(void)len;
	fd_close(&d->open);
	if (!found)
		return false;
	d->open = open_file(d->root, found->path);
	*ret_fd = d->open;
	*ret_offset = found->offset;
	return d->open >= 0;
}

/* The directory that is written to, made where it is not there. */
static int open_tree_dir(const char *path, int *ret_fd, struct err *e)
{
	char *copy = strdup(path);
	auto_close int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *rest = copy;

	for (char *name = copy ? strtok_r(copy, "/", &rest) : NULL; name && at >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		int why = mkdirat(at, name, 0755) < 0 ? errno : EEXIST;
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0 && errno == ENOENT && why != EEXIST)
			errno = why; /* that it is not there is no wonder then */
		fd_close(&at);
		at = next;
	}
	free(copy);
	if (at < 0)
		return err_sys(e, "open %s", path);
	*ret_fd = take_fd(&at);
	return 0;
}

int reader_receive(char **args, bool *told, struct err *e)
{
	struct sync_receive_opts opts = {.any_dev = true};
	struct sync_stats stats;
	struct donor donor;
	auto_close int tree = FD_NONE, state = FD_NONE;

	int r = 1;

	while (r > 0) {
		r = 1;
		if (reader_option(&args, "--mirror", NULL))
			opts.mirror = true;
		else if (reader_option(&args, "--links-out", NULL))
			opts.keep_links_out = true;
		else if ((r = reader_number(&args, "--bytes", &opts.write_bytes_max, e)) == 0)
			r = reader_number(&args, "--entries", &opts.write_files_max, e);
	}
	if (r < 0)
		return r;
	if (!args[0] || args[1])
		return err_set(e, ERR_INVALID, "receive: PATH");
	r = reader_open(STATE, false, &state, e);
	if (r >= 0)
		r = open_tree_dir(args[0], &tree, e);
	if (r < 0)
		return r;
	donor_open(&donor, state, "/v/old.root", args[0] + 1);
	opts.tree_fd = tree;
	opts.state_fd = state;
	opts.partial_fd = FD_NONE;
	opts.lookup = lookup;
	opts.context = &donor;
	*told = true; /* the session tells its errors itself */
	r = sync_receive(&opts, STDIN_FILENO, &stats, e);
	donor_close(&donor);
	if (r < 0)
		return r;
	union tree_answer answer = {
		.values = {stats.files_made + stats.files_set, stats.files_gone}};
	return tree_answer_send(STDOUT_FILENO, &answer, e);
}

int reader_send(char **args, bool *told, struct err *e)
{
	struct sync_send_opts opts = {.state_fd = FD_NONE, .take_all = true, .any_dev = true};
	struct sync_stats stats;
	auto_close int dir = FD_NONE, tree = FD_NONE;

	opts.skip_links_out = reader_option(&args, "--skip-links-out", NULL);
	if (!args[0] || !args[1] || args[2])
		return err_set(e, ERR_INVALID, "send: DIR PATH");
	int r = reader_open(args[0], false, &dir, e);
	if (r >= 0)
		r = tree_open_dir(dir, args[1], strlen(args[1]), &tree, e);
	if (r < 0)
		return r;
	opts.tree_fd = tree;
	*told = true;
	r = sync_send(&opts, STDIN_FILENO, &stats, e);
	if (r < 0)
		return r;
	/* What was left out never travels, so the other side cannot count it. */
	union tree_answer answer = {.values = {stats.skipped, stats.links_out}};
	return tree_answer_send(STDOUT_FILENO, &answer, e);
}
