/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender. In its state directory it keeps `index`, what the files held when they were last
 * read, and `sent-*`, the manifests that receivers have acknowledged, a few of them, by name.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/chunks.h"
#include "sync/index.h"
#include "sync/pack.h"
#include "sync/packer.h"
#include "sync/scan.h"
#include "sync/session.h"
#include "sync/session_int.h"

#define SENT_MAX 8
#define SENT_PREFIX "sent-"
#define LEVEL 3

struct sender {
	const struct sync_send_opts *opts;
	struct manifest_limits limits;
	struct sync_stats *stats;
	struct stream stream;
	struct index index;
	struct buf tree; /* the manifest's bytes */
	uint8_t name[HASH_BYTES];
	uint8_t last[HASH_BYTES]; /* what the receiver has */
	struct chunks chunks;
	uint32_t *wanted;
	size_t n_wanted;
};

static int look_around(struct sender *s, struct err *e)
{
	const struct sync_send_opts *o = s->opts;
	struct scan_opts opts = {
		.limits = s->limits,
		.skip_git = o->skip_git,
		.take_all = o->take_all,
		.skip_links_out = o->skip_links_out,
		.any_dev = o->any_dev,
		.threads = o->threads,
	};
	struct scan_counts counts = {0};
	struct err ignored = ERR_INIT;
	auto_index struct index old = {0};

	index_init(&old, &s->limits);
	if (o->state_fd >= 0)
		(void)index_load(o->state_fd, "index", &s->limits, &old); /* without: all is read */
	int r = scan_tree(o->tree_fd, &opts, &old, &s->index, &counts, e);
	s->stats->files = s->index.tree.files;
	s->stats->bytes = s->index.tree.bytes;
	s->stats->files_read = counts.read;
	s->stats->skipped = counts.special;
	s->stats->links_out = counts.links_out;
	/* Now, not at the end: whatever becomes of this session, nothing is read twice. A cache
	 * that cannot be written is none. */
	if (r == 0 && o->state_fd >= 0 && counts.read > 0)
		(void)index_save(o->state_fd, "index", &s->index, false, &ignored);
	if (r == 0)
		r = manifest_encode(&s->index.tree, &s->tree, e);
	hash_bytes(s->tree.data, s->tree.len, s->name);
	return r;
}

static void sent_name(const uint8_t name[HASH_BYTES], char ret[32])
{
	char text[HASH_TEXT_SIZE];

	hash_text(name, text);
	(void)snprintf(ret, 32, SENT_PREFIX "%.20s", text);
}

/* The manifest that the receiver has, if we still know it. */
static bool recall(const struct sender *s, struct manifest *ret)
{
	auto_buf struct buf data = {0};
	uint8_t name[HASH_BYTES];
	struct err e = ERR_INIT;
	char file[32];

	if (s->opts->state_fd < 0 || session_is_none(s->last))
		return false;
	sent_name(s->last, file);
	if (load_file(s->opts->state_fd, file, MANIFEST_BYTES_MAX, &data) < 0)
		return false;
	hash_bytes(data.data, data.len, name);
	return memcmp(name, s->last, HASH_BYTES) == 0 &&
	       manifest_decode(data.data, data.len, &s->limits, ret, &e) == 0;
}

static void forget_oldest(int dir)
{
	char oldest[32] = "";
	struct timespec when = {0};
	unsigned n = 0;
	struct dirent *d;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);

	if (!all && fd >= 0)
		close(fd);
	while (all && (d = readdir(all))) {
		struct stat st;

		if (strncmp(d->d_name, SENT_PREFIX, strlen(SENT_PREFIX)) != 0 ||
		    strlen(d->d_name) >= sizeof(oldest) ||
		    fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n++ == 0 || st.st_mtim.tv_sec < when.tv_sec ||
		    (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
			memcpy(oldest, d->d_name, strlen(d->d_name) + 1);
			when = st.st_mtim;
		}
	}
	if (all)
		closedir(all);
	if (n > SENT_MAX)
		(void)unlinkat(dir, oldest, 0); /* next time, then */
}

static void remember(const struct sender *s)
{
	struct err ignored = ERR_INIT;
	char file[32];

	if (s->opts->state_fd < 0 || memcmp(s->name, s->last, HASH_BYTES) == 0)
		return;
	sent_name(s->name, file);
	/* Without it the next manifest goes whole. */
	if (save_file(s->opts->state_fd, file, &s->tree, false, &ignored) == 0)
		forget_oldest(s->opts->state_fd);
}

static int send_blocks(struct sender *s, const struct buf *data, struct err *e)
{
	auto_pack struct pack *pack = NULL;
	auto_buf struct buf head = {0}, body = {0};
	int r = pack_new(s->opts->level ? s->opts->level : LEVEL, &pack, e);

	buf_init(&head, SESSION_HEAD_MAX);
	buf_init(&body, STREAM_MAX - SESSION_HEAD_MAX);
	for (size_t at = 0; at < data->len && r == 0;) {
		size_t len = data->len - at;

		len = len < SESSION_BLOCK_RAW ? len : SESSION_BLOCK_RAW;
		head.len = body.len = 0;
		buf_u32(&head, (uint32_t)len);
		r = pack_press(pack, data->data + at, len, &body, e);
		if (r == 0)
			r = stream_send(&s->stream, STREAM_BLOCK, &head, &body, e);
		at += len;
	}
	return r;
}

static int send_manifest(struct sender *s, struct err *e)
{
	static const uint8_t none[HASH_BYTES];
	auto_manifest struct manifest old = {0};
	auto_buf struct buf delta = {0}, head = {0};
	const struct buf *data = &s->tree;
	bool is_delta = recall(s, &old);

	buf_init(&delta, MANIFEST_BYTES_MAX);
	buf_init(&head, SESSION_HEAD_MAX);
	if (is_delta) {
		int r = manifest_diff(&old, &s->index.tree, &delta, e);
		if (r < 0)
			return r;
		is_delta = delta.len < s->tree.len;
	}
	if (is_delta)
		data = &delta;
	s->stats->is_delta = is_delta;
	buf_u8(&head, is_delta ? 'D' : 'W');
	buf_u64(&head, data->len);
	buf_add(&head, s->name, HASH_BYTES);
	buf_add(&head, is_delta ? s->last : none, HASH_BYTES);
	int r = stream_send(&s->stream, STREAM_MANIFEST, &head, NULL, e);
	return r < 0 ? r : send_blocks(s, data, e);
}

static int take_want(struct sender *s, struct err *e)
{
	struct cursor c;
	int r = stream_expect(&s->stream, STREAM_WANT, &c, e);

	if (r < 0)
		return r;
	uint64_t runs = cursor_upto(&c, s->chunks.n), at = 0;
	s->wanted = calloc(s->chunks.n + 1, sizeof(s->wanted[0]));
	if (!s->wanted)
		return err_sys(e, "want");
	for (uint64_t i = 0; i < runs && !c.bad; i++) {
		uint64_t gap = cursor_upto(&c, s->chunks.n - at);
		uint64_t len = cursor_upto(&c, s->chunks.n - at - gap);

		if (len == 0 || (i > 0 && gap == 0))
			c.bad = true;
		at += gap;
		for (uint64_t j = 0; j < len && !c.bad; j++)
			s->wanted[s->n_wanted++] = (uint32_t)at++;
	}
	if (c.bad || cursor_left(&c))
		return err_set(e, ERR_INVALID, "the other side asks for what there is not");
	s->stats->chunks_sent = s->n_wanted;
	return 0;
}

static int send_packs(struct sender *s, struct err *e)
{
	struct packer_job job = {
		.tree_fd = s->opts->tree_fd,
		.index = &s->index,
		.chunks = &s->chunks,
		.wanted = s->wanted,
		.n = s->n_wanted,
		.level = s->opts->level ? s->opts->level : LEVEL,
		.threads = s->opts->threads ? s->opts->threads : 2,
		.progress = s->opts->progress,
		.context = s->opts->context,
	};

	return packer_send(&job, &s->stream, e);
}

static int commit(struct sender *s, struct err *e)
{
	auto_buf struct buf name = {0};
	struct cursor c;

	buf_init(&name, SESSION_HEAD_MAX);
	buf_add(&name, s->name, HASH_BYTES);
	int r = stream_send(&s->stream, STREAM_COMMIT, &name, NULL, e);
	if (r == 0)
		r = stream_expect(&s->stream, STREAM_OK, &c, e);
	if (r == 0)
		remember(s);
	return r;
}

static int converse(struct sender *s, struct err *e)
{
	static const uint8_t none[HASH_BYTES];
	int r = session_hello(&s->stream, none, e);

	if (r == 0)
		r = look_around(s, e);
	if (r == 0)
		r = session_expect_hello(&s->stream, s->last, e);
	if (r == 0)
		r = send_manifest(s, e);
	if (r == 0)
		r = chunks_add_tree(&s->chunks, &s->index.tree, e);
	if (r == 0)
		r = take_want(s, e);
	if (r == 0)
		r = send_packs(s, e);
	return r == 0 ? commit(s, e) : r;
}

int sync_send(const struct sync_send_opts *opts, int sock, struct sync_stats *stats, struct err *e)
{
	struct sender s = {.opts = opts, .stats = stats, .limits = MANIFEST_LIMITS};
	uint64_t start = session_ms();

	*stats = (struct sync_stats){0};
	if (opts->limits.entries_max)
		s.limits = opts->limits;
	stream_init(&s.stream, sock, opts->idle_ms);
	index_init(&s.index, &s.limits);
	buf_init(&s.tree, MANIFEST_BYTES_MAX);
	int r = converse(&s, e);
	if (r < 0)
		stream_give_up(&s.stream, e);
	stats->wire_out = s.stream.sent;
	stats->wire_in = s.stream.received;
	stats->ms = session_ms() - start;
	free(s.wanted);
	chunks_done(&s.chunks);
	buf_done(&s.tree);
	index_done(&s.index);
	stream_done(&s.stream);
	return r;
}
