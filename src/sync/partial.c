/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partial directory. A chunk that arrived is a file there, named by its hash; when a session is
 * cut off, the next one finds it, checks it and does not ask for it again. Files are made whole here
 * before anything in the tree changes: one of a single chunk is the chunk's own file, others have
 * the name `f` and their number. Whatever has another name, or is not needed, is removed, so that
 * never more is here than one tree.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "sync/digest.h"
#include "sync/receive_int.h"

#define READ_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int partial_open(struct receiver *r, struct err *e)
{
	if (r->opts->partial_fd >= 0) {
		r->partial = r->opts->partial_fd;
		return 0;
	}
	if (mkdirat(r->opts->state_fd, "partial", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make a directory for what arrives");
	r->partial = openat(r->opts->state_fd, "partial",
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r->owns_partial = r->partial >= 0;
	return r->partial < 0 ? err_sys(e, "open the directory for what arrives") : 0;
}

static int open_source(struct receiver *r, uint32_t chunk, uint64_t *ret_offset, bool *ret_ours)
{
	const struct chunks_ref *ref = &r->chunks.refs[chunk];
	const struct need *need = &r->needs[chunk];
	const struct chunks_ref *place;
	char name[HASH_TEXT_SIZE];
	int fd = -1;

	*ret_offset = 0;
	*ret_ours = true;
	switch ((enum source)need->source) {
	case SOURCE_PARTIAL:
		hash_text(ref->hash, name);
		return openat(r->partial, name, READ_FLAGS);
	case SOURCE_TREE:
		place = &r->places.refs[need->place];
		*ret_offset = place->offset;
		return open_below(r->opts->tree_fd,
				  place->entry < r->old.tree.n
					  ? r->old.tree.entries[place->entry].path
					  : r->fresh[place->entry - r->old.tree.n].path,
				  O_RDONLY, 0);
	case SOURCE_LOOKUP:
		*ret_ours = false;
		errno = ENOENT;
		return r->opts->lookup(r->opts->context, ref->hash, ref->len, &fd, ret_offset) ? fd
											       : -1;
	case SOURCE_NONE:
	case SOURCE_UNUSED: break;
	}
	errno = ENOENT;
	return -1;
}

int chunk_read(struct receiver *r, uint32_t chunk, uint8_t *to)
{
	const struct chunks_ref *ref = &r->chunks.refs[chunk];
	uint8_t hash[HASH_SIZE];
	uint64_t offset = 0;
	bool ours = true;
	int fd = open_source(r, chunk, &offset, &ours);

	if (fd < 0)
		return -errno;
	int result = read_all_at(fd, to, ref->len, offset);
	if (ours)
		close(fd);
	if (result < 0)
		return result;
	hash_bytes(to, ref->len, hash);
	return memcmp(hash, ref->hash, HASH_SIZE) != 0;
}

static int dress(int fd, const struct manifest_entry *entry)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};

	/* The mode last: it may take our own right to write. */
	return futimens(fd, times) < 0 || fchmod(fd, entry->mode) < 0 ? -errno : 0;
}

static int create(struct receiver *r, const char *name)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(r->partial, name, flags, 0600);

	if (fd < 0 && errno == EEXIST && unlinkat(r->partial, name, 0) == 0)
		fd = openat(r->partial, name, flags, 0600);
	return fd;
}

int partial_put(struct receiver *r, uint32_t chunk, const uint8_t *data, struct err *e)
{
	const struct chunks_ref *ref = &r->chunks.refs[chunk];
	struct need *need = &r->needs[chunk];
	char name[HASH_TEXT_SIZE];

	hash_text(ref->hash, name);
	auto_close int fd = create(r, name);
	if (fd < 0)
		return err_sys(e, "keep what arrived");
	int result = fd_write_all(fd, data, ref->len);
	if (result == 0 && need->owner != CHUNKS_NONE)
		result = dress(fd, &r->tree.entries[need->owner]);
	if (result < 0) {
		(void)unlinkat(r->partial, name, 0); /* told below */
		errno = -result;
		return err_sys(e, "keep what arrived");
	}
	need->source = SOURCE_PARTIAL;
	need->is_dressed = need->owner != CHUNKS_NONE;
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_name(const char *name, uint8_t ret[HASH_SIZE])
{
	if (strlen(name) != HASH_TEXT_SIZE - 1)
		return false;
	for (int i = 0; i < HASH_SIZE; i++) {
		int high = hex(name[2 * i]), low = hex(name[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* One file from an earlier session. */
static bool is_of_use(struct receiver *r, const char *name)
{
	uint8_t hash[HASH_SIZE];
	uint32_t chunk = parse_name(name, hash) ? chunks_find(&r->chunks, hash) : CHUNKS_NONE;

	if (chunk == CHUNKS_NONE || r->needs[chunk].source != SOURCE_NONE)
		return false;
	r->needs[chunk].source = SOURCE_PARTIAL;
	if (chunk_read(r, chunk, r->buffer) == 0)
		return true;
	r->needs[chunk].source = SOURCE_NONE;
	return false;
}

static DIR *list(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = again < 0 ? NULL : fdopendir(again);

	if (!all && again >= 0)
		close(again);
	return all;
}

int partial_take_stock(struct receiver *r, struct err *e)
{
	DIR *all = list(r->partial);
	struct dirent *d;
	int result = 0;

	if (!all)
		return err_sys(e, "list what has arrived");
	while (result == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (is_of_use(r, d->d_name))
			r->stats->chunks_found++;
		else
			result = place_remove(r->partial, d->d_name);
	}
	closedir(all);
	errno = -result;
	return result < 0 ? err_sys(e, "clear what has arrived") : 0;
}

int partial_clear(int fd, struct err *e)
{
	DIR *all = list(fd);
	struct dirent *d;
	int result = 0;

	if (!all)
		return err_sys(e, "list what has arrived");
	while (result == 0 && (d = readdir(all)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			result = place_remove(fd, d->d_name);
	closedir(all);
	errno = -result;
	return result < 0 ? err_sys(e, "clear what has arrived") : 0;
}

int sync_forget_partial(int partial_fd, struct err *e)
{
	return partial_clear(partial_fd, e);
}

/* The chunk whose own file becomes this entry's, or CHUNKS_NONE. */
static uint32_t own_chunk(const struct receiver *r, size_t i)
{
	const struct manifest_entry *entry = &r->tree.entries[i];

	if (chunks_count(entry) != 1)
		return CHUNKS_NONE;
	uint32_t chunk = chunks_find(&r->chunks, entry->hash);
	return r->needs[chunk].owner == i ? chunk : CHUNKS_NONE;
}

void partial_name(const struct receiver *r, size_t i, char ret[HASH_TEXT_SIZE])
{
	if (own_chunk(r, i) == CHUNKS_NONE)
		(void)snprintf(ret, HASH_TEXT_SIZE, "f%zu", i);
	else
		hash_text(r->tree.entries[i].hash, ret);
}

/* Chunks were checked when they came, but they come from files that others may write to, and how
 * they make up a file is the sender's word: the whole is hashed, too. */
static int write_chunks(struct receiver *r, const struct manifest_entry *entry, int fd,
			struct err *e)
{
	uint8_t hash[HASH_SIZE];
	struct hash whole;

	hash_init(&whole);
	for (uint32_t i = 0; i < chunks_count(entry); i++) {
		uint32_t chunk = chunks_find(&r->chunks, chunks_at(entry, i).hash);
		uint32_t len = r->chunks.refs[chunk].len;
		int result = chunk_read(r, chunk, r->buffer);

		if (result != 0)
			return err_set(e, ERR_BUSY,
				       "%.200s: what it is made of changed while it was received",
				       entry->path);
		hash_add(&whole, r->buffer, len);
		result = fd_write_all(fd, r->buffer, len);
		errno = -result;
		if (result < 0)
			return err_sys(e, "%.200s", entry->path);
	}
	hash_end(&whole, hash);
	if (entry->size && memcmp(hash, entry->hash, HASH_SIZE) != 0)
		return err_set(e, ERR_INVALID, "%.200s: its hash does not fit", entry->path);
	return 0;
}

static int make_file(struct receiver *r, size_t i, struct err *e)
{
	const struct manifest_entry *entry = &r->tree.entries[i];
	uint32_t own = own_chunk(r, i);
	char name[HASH_TEXT_SIZE];
	int result = 0;

	partial_name(r, i, name);
	if (own != CHUNKS_NONE && r->needs[own].is_dressed)
		return 0;
	auto_close int fd =
		own == CHUNKS_NONE ? create(r, name) : openat(r->partial, name, READ_FLAGS);
	if (fd < 0)
		return err_sys(e, "%.200s", entry->path);
	if (own == CHUNKS_NONE)
		result = write_chunks(r, entry, fd, e);
	if (result < 0)
		return result;
	errno = -dress(fd, entry);
	return errno ? err_sys(e, "%.200s", entry->path) : 0;
}

int partial_prepare(struct receiver *r, struct err *e)
{
	int result = 0;

	for (size_t i = 0; i < r->tree.n && result == 0; i++)
		if (r->tree.entries[i].kind == MANIFEST_FILE && r->todo[i] == TODO_MAKE)
			result = make_file(r, i, e);
	return result;
}
