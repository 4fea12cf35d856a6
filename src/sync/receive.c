/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's conversation. In its state directory it keeps `index`: the manifest that it wrote
 * out last, with what the kernel said of each file then; and on a host, while it writes one out,
 * `next`: that manifest. A session that was cut off there has left some of it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sync/digest.h"
#include "sync/pack.h"
#include "sync/receive_int.h"
#include "sync/session_int.h"

#define NEXT "next"

static int recall(struct receiver *r, struct err *e)
{
	auto_buf struct buf data = {0};

	buf_init(&data, MANIFEST_BYTES_MAX);
	if (r->opts->on_host)
		(void)index_load(r->opts->state_fd, NEXT, &r->limits,
				 &r->next); /* or there is none */
	if (!index_load(r->opts->state_fd, "index", &r->limits, &r->old))
		return 0;
	int result = manifest_encode(&r->old.tree, &data, e);
	if (result == 0)
		hash_bytes(data.data, data.len, r->last);
	return result;
}

/* The manifest's bytes, as they come; memory grows with what has come, not with what is said. */
static int take_blocks(struct receiver *r, uint64_t total, struct buf *to, struct err *e)
{
	auto_pack struct pack *pack = NULL;
	int result = pack_new(1, &pack, e);

	while (result == 0 && to->len < total) {
		struct cursor c;

		result = stream_expect(&r->stream, STREAM_BLOCK, &c, e);
		if (result < 0)
			return result;
		uint32_t len = cursor_u32(&c);
		if (c.bad || len == 0 || len > SESSION_BLOCK_RAW || len > total - to->len)
			return err_set(e, ERR_INVALID, "a block of %u bytes", len);
		uint8_t *room = buf_room(to, len);
		errno = ENOMEM;
		if (!room)
			return err_sys(e, "manifest");
		result = pack_open(pack, c.at, cursor_left(&c), room, len, e);
	}
	return result;
}

static int take_manifest(struct receiver *r, struct err *e)
{
	uint8_t base[HASH_BYTES], name[HASH_BYTES];
	auto_buf struct buf data = {0};
	struct cursor c;
	int result = stream_expect(&r->stream, STREAM_MANIFEST, &c, e);

	if (result < 0)
		return result;
	uint8_t form = cursor_u8(&c);
	uint64_t total = cursor_u64(&c);
	cursor_copy(&c, r->name, HASH_BYTES);
	cursor_copy(&c, base, HASH_BYTES);
	bool is_delta = form == 'D';
	if (c.bad || cursor_left(&c) || (!is_delta && form != 'W') ||
	    session_is_none(base) == is_delta ||
	    (is_delta && memcmp(base, r->last, HASH_BYTES) != 0))
		return err_set(e, ERR_INVALID, "a manifest that is not one, or against another");
	if (total > MANIFEST_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "manifest: larger than %zu bytes", MANIFEST_BYTES_MAX);
	buf_init(&data, MANIFEST_BYTES_MAX);
	result = take_blocks(r, total, &data, e);
	if (result < 0)
		return result;
	r->stats->is_delta = is_delta;
	result = is_delta ? manifest_patch(&r->old.tree, data.data, data.len, &r->limits, &r->tree,
					   e)
			  : manifest_decode(data.data, data.len, &r->limits, &r->tree, e);
	if (result < 0)
		return result;
	data.len = 0;
	result = manifest_encode(&r->tree, &data, e);
	hash_bytes(data.data, data.len, name);
	if (result == 0 && memcmp(name, r->name, HASH_BYTES) != 0)
		return err_set(e, ERR_INVALID, "manifest: its hash does not fit");
	return result;
}

static int check_tree(struct receiver *r, struct err *e)
{
	int result = r->opts->keep_links_out ? 0 : manifest_check_links(&r->tree, e);

	if (result == 0)
		result = chunks_add_tree(&r->chunks, &r->tree, e);
	if (result < 0)
		return result;
	r->stats->files = r->tree.files;
	r->stats->bytes = r->tree.bytes;
	r->stats_now = calloc(r->tree.n + 1, sizeof(r->stats_now[0]));
	r->todo = calloc(r->tree.n + 1, sizeof(r->todo[0]));
	r->needs = calloc(r->chunks.n + 1, sizeof(r->needs[0]));
	r->wanted = calloc(r->chunks.n + 1, sizeof(r->wanted[0]));
	r->buffer = malloc(DIGEST_BUFFER);
	return r->stats_now && r->todo && r->needs && r->wanted && r->buffer
		       ? 0
		       : err_sys(e, "receive");
}

static int send_want(struct receiver *r, struct err *e)
{
	auto_buf struct buf runs = {0}, head = {0};
	size_t n = 0, behind = 0;

	buf_init(&runs, STREAM_MAX - SESSION_HEAD_MAX);
	buf_init(&head, SESSION_HEAD_MAX);
	for (size_t i = 0; i < r->chunks.n; i++) {
		size_t start = i;

		while (i < r->chunks.n && r->needs[i].source == SOURCE_NONE)
			r->wanted[r->n_wanted++] = (uint32_t)i++;
		if (i == start)
			continue;
		buf_varint(&runs, start - behind);
		buf_varint(&runs, i - start);
		behind = i;
		n++;
	}
	r->stats->chunks_sent = r->n_wanted;
	buf_varint(&head, n);
	return stream_send(&r->stream, STREAM_WANT, &head, &runs, e);
}

static int expect_commit(struct receiver *r, struct err *e)
{
	uint8_t name[HASH_BYTES];
	struct cursor c;
	int result = stream_expect(&r->stream, STREAM_COMMIT, &c, e);

	if (result < 0)
		return result;
	cursor_copy(&c, name, HASH_BYTES);
	if (c.bad || cursor_left(&c) || memcmp(name, r->name, HASH_BYTES) != 0)
		return err_set(e, ERR_INVALID, "a commit of another manifest");
	return 0;
}

static bool has_news(const struct receiver *r)
{
	if (r->stats->files_read || memcmp(r->name, r->last, HASH_BYTES) != 0)
		return true;
	for (size_t i = 0; i < r->tree.n; i++)
		if (r->todo[i] != TODO_NOTHING)
			return true;
	return false;
}

/* What is about to be written is ours, whatever becomes of us. */
static int announce(struct receiver *r, struct err *e)
{
	struct index next = {.tree = r->tree, .stats = r->stats_now, .time = index_now()};

	return r->opts->on_host && has_news(r)
		       ? index_save(r->opts->state_fd, NEXT, &next, r->opts->durable, e)
		       : 0;
}

/* The tree is written: remember it. */
static int finish(struct receiver *r, struct err *e)
{
	struct index now = {.tree = r->tree, .stats = r->stats_now, .time = index_now()};
	struct buf none = {0};
	int result = r->opts->durable && syncfs(r->opts->tree_fd) < 0 ? err_sys(e, "sync") : 0;

	if (result == 0 && has_news(r))
		result = index_save(r->opts->state_fd, "index", &now, r->opts->durable, e);
	if (result == 0 && r->opts->on_host)
		(void)unlinkat(r->opts->state_fd, NEXT, 0); /* it says the same */
	if (result == 0)
		result = partial_clear(r->partial, e);
	return result < 0 ? result : stream_send(&r->stream, STREAM_OK, &none, NULL, e);
}

static int converse(struct receiver *r, struct err *e)
{
	uint8_t ignored[HASH_BYTES];
	int result = session_expect_hello(&r->stream, ignored, e);

	if (result == 0)
		result = recall(r, e);
	if (result == 0)
		result = session_hello(&r->stream, r->last, e);
	if (result == 0)
		result = partial_open(r, e);
	if (result == 0)
		look_ahead(r);
	if (result == 0)
		result = take_manifest(r, e);
	if (result == 0)
		result = check_tree(r, e);
	if (result == 0)
		result = look(r, e);
	if (result == 0)
		result = look_find(r, e);
	if (result == 0)
		result = send_want(r, e);
	if (result == 0)
		result = unpack_all(r, e);
	if (result == 0)
		result = expect_commit(r, e);
	if (result == 0)
		result = partial_prepare(r, e);
	if (result == 0)
		result = announce(r, e);
	if (result == 0)
		result = apply(r, e);
	return result == 0 ? finish(r, e) : result;
}

static void receiver_done(struct receiver *r)
{
	if (r->owns_partial)
		close(r->partial);
	for (size_t i = 0; i < r->n_fresh; i++)
		free((void *)r->fresh[i].chunks); /* const to all others */
	free(r->fresh);
	chunks_done(&r->places);
	chunks_done(&r->chunks);
	free(r->needs);
	free(r->wanted);
	free(r->ahead);
	free(r->todo);
	free(r->stats_now);
	free(r->buffer);
	manifest_done(&r->tree);
	index_done(&r->old);
	index_done(&r->next);
	stream_done(&r->stream);
}

int sync_receive(const struct sync_receive_opts *opts, int sock, struct sync_stats *stats,
		 struct err *e)
{
	struct receiver r = {.opts = opts, .stats = stats, .limits = MANIFEST_LIMITS};
	uint64_t start = session_ms();

	assert(opts->tree_fd >= 0 && opts->state_fd >= 0);
	*stats = (struct sync_stats){0};
	r.partial = FD_NONE;
	if (opts->limits.entries_max)
		r.limits = opts->limits;
	stream_init(&r.stream, sock, opts->idle_ms);
	index_init(&r.old, &r.limits);
	index_init(&r.next, &r.limits);
	manifest_init(&r.tree, &r.limits);
	int result = converse(&r, e);
	if (result < 0)
		stream_give_up(&r.stream, e);
	stats->wire_out = r.stream.sent;
	stats->wire_in = r.stream.received;
	stats->ms = session_ms() - start;
	receiver_done(&r);
	return result;
}
