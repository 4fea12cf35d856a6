/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partial directory. What has arrived lies here until all has. A file of one chunk has the hash
 * for a name; one of many, `m` and its hash, with holes where chunks lack; a second file with the
 * same content, `f` and its number. When a session is cut off, the next one finds these, checks
 * chunk by chunk what is there and does not ask for it again. Whatever has another name, or is not
 * needed, is removed, so that never more is here than one tree.
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
#define HOME_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

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

/* The file that a chunk is kept in. */
static void kept_name(const struct receiver *r, uint32_t chunk, char ret[PARTIAL_NAME_SIZE])
{
	const struct need *need = &r->needs[chunk];

	if (need->owner != CHUNKS_NONE) {
		hash_text(r->chunks.refs[chunk].hash, ret);
		return;
	}
	ret[0] = 'm';
	hash_text(r->tree.entries[need->home].hash, ret + 1);
}

static int open_source(struct receiver *r, uint32_t chunk, uint64_t *ret_offset, bool *ret_ours)
{
	const struct chunks_ref *ref = &r->chunks.refs[chunk];
	const struct need *need = &r->needs[chunk];
	const struct chunks_ref *place;
	char name[PARTIAL_NAME_SIZE];
	int fd = -1;

	*ret_offset = 0;
	*ret_ours = true;
	switch ((enum source)need->source) {
	case SOURCE_PARTIAL:
		kept_name(r, chunk, name);
		*ret_offset = need->owner == CHUNKS_NONE ? need->home_at : 0;
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
	uint8_t hash[HASH_BYTES];
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
	return memcmp(hash, ref->hash, HASH_BYTES) != 0;
}

static int dress(const struct receiver *r, int fd, const struct manifest_entry *entry)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = entry->mtime_s, .tv_nsec = entry->mtime_ns},
	};

	/* The mode last: it may take our own right to write. */
	return futimens(fd, times) < 0 || fchmod(fd, mode_here(r, entry)) < 0 ? -errno : 0;
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
	bool is_own = need->owner != CHUNKS_NONE;
	char name[PARTIAL_NAME_SIZE];

	kept_name(r, chunk, name);
	auto_close int fd = is_own ? create(r, name) : openat(r->partial, name, HOME_FLAGS, 0600);
	if (fd < 0)
		return err_sys(e, "keep what arrived");
	int result = fd_pwrite_all(fd, data, ref->len, is_own ? 0 : need->home_at);
	if (result == 0 && is_own)
		result = dress(r, fd, &r->tree.entries[need->owner]);
	if (result < 0) {
		errno = -result; /* a piece that is left there will not fit its hash */
		return err_sys(e, "keep what arrived");
	}
	need->source = SOURCE_PARTIAL;
	need->is_dressed = is_own;
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_name(const char *name, uint8_t ret[HASH_BYTES])
{
	if (strlen(name) != HASH_TEXT_SIZE - 1)
		return false;
	for (int i = 0; i < HASH_BYTES; i++) {
		int high = hex(name[2 * i]), low = hex(name[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Was it kept by an earlier session, and is it still what it should be? */
static bool check_kept(struct receiver *r, uint32_t chunk)
{
	struct need *need = &r->needs[chunk];

	if (need->source != SOURCE_NONE)
		return false;
	need->source = SOURCE_PARTIAL;
	if (chunk_read(r, chunk, r->buffer) == 0) {
		r->stats->chunks_found++;
		return true;
	}
	need->source = SOURCE_NONE;
	return false;
}

/* The files of many chunks that chunks may lie in. */
static int list_homes(const struct receiver *r, struct chunks *ret, struct err *e)
{
	int result = 0;

	for (size_t i = 0; i < r->chunks.n && result == 0; i++) {
		const struct need *need = &r->needs[i];

		if (need->owner != CHUNKS_NONE || need->home == CHUNKS_NONE)
			continue;
		struct chunks_ref ref = {.hash = r->tree.entries[need->home].hash};
		result = chunks_add(ret, &ref, e);
	}
	return result;
}

/* 1: keep it; 2: keep it, and look for chunks in it; 0: it is of no use. */
static int judge_kept(struct receiver *r, const struct chunks *homes, const char *name)
{
	uint8_t hash[HASH_BYTES];

	if (name[0] == 'm' && parse_name(name + 1, hash))
		return chunks_find(homes, hash) == CHUNKS_NONE ? 0 : 2;
	uint32_t chunk = parse_name(name, hash) ? chunks_find(&r->chunks, hash) : CHUNKS_NONE;
	return chunk != CHUNKS_NONE && r->needs[chunk].owner != CHUNKS_NONE && check_kept(r, chunk);
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
	auto_chunks struct chunks homes = {0};
	bool any_home = false;
	struct dirent *d;
	int result = list_homes(r, &homes, e);

	if (result < 0)
		return result;
	DIR *all = list(r->partial);
	if (!all)
		return err_sys(e, "list what has arrived");
	while (result == 0 && (d = readdir(all))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		int kept = judge_kept(r, &homes, d->d_name);
		any_home |= kept == 2;
		if (!kept)
			result = place_remove(r->partial, d->d_name);
	}
	closedir(all);
	for (size_t i = 0; any_home && i < r->chunks.n; i++)
		if (r->needs[i].owner == CHUNKS_NONE && r->needs[i].home != CHUNKS_NONE)
			(void)check_kept(r, (uint32_t)i); /* what is not there is asked for */
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

/* What an entry's file is while it is not in its place. */
enum form {
	FORM_OWN,  /* the file of its only chunk */
	FORM_HOME, /* chunks lie in it already */
	FORM_COPY, /* none does: all are elsewhere */
};

static enum form form_of(const struct receiver *r, size_t i)
{
	const struct manifest_entry *entry = &r->tree.entries[i];

	for (uint32_t j = 0; j < chunks_count(entry); j++) {
		const struct need *need =
			&r->needs[chunks_find(&r->chunks, chunks_at(entry, j).hash)];

		if (chunks_count(entry) == 1 && need->owner == i)
			return FORM_OWN;
		if (need->owner == CHUNKS_NONE && need->home == i)
			return FORM_HOME;
	}
	return FORM_COPY;
}

void partial_name(const struct receiver *r, size_t i, char ret[PARTIAL_NAME_SIZE])
{
	switch (form_of(r, i)) {
	case FORM_OWN: hash_text(r->tree.entries[i].hash, ret); return;
	case FORM_HOME:
		ret[0] = 'm';
		hash_text(r->tree.entries[i].hash, ret + 1);
		return;
	case FORM_COPY: (void)snprintf(ret, PARTIAL_NAME_SIZE, "f%zu", i);
	}
}

static bool is_zero(const uint8_t *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

/* Chunks were checked when they came, but how they make up a file is the sender's word: the whole
 * is hashed, too. */
static int write_chunks(struct receiver *r, size_t number, int fd, struct err *e)
{
	const struct manifest_entry *entry = &r->tree.entries[number];
	uint8_t hash[HASH_BYTES];
	uint64_t offset = 0;
	struct hash whole;

	hash_init(&whole);
	for (uint32_t i = 0; i < chunks_count(entry); i++) {
		uint32_t chunk = chunks_find(&r->chunks, chunks_at(entry, i).hash);
		const struct need *need = &r->needs[chunk];
		uint32_t len = r->chunks.refs[chunk].len;
		bool is_there = need->owner == CHUNKS_NONE && need->home == number &&
				need->home_at == offset;
		int result = is_there ? read_all_at(fd, r->buffer, len, offset)
				      : chunk_read(r, chunk, r->buffer);

		hash_add(&whole, r->buffer, len);
		/* Zeros stay a hole: a large and empty file takes no room, here as there. */
		if (result == 0 && !is_there && !is_zero(r->buffer, len))
			result = fd_pwrite_all(fd, r->buffer, len, offset);
		errno = -result;
		if (result != 0)
			return result < 0 ? err_sys(e, "%.200s", entry->path)
					  : err_set(e, ERR_INTERNAL, "%.200s: lost", entry->path);
		offset += len;
	}
	hash_done(&whole, hash);
	if (entry->size && memcmp(hash, entry->hash, HASH_BYTES) != 0)
		return err_set(e, ERR_INVALID, "%.200s: its hash does not fit", entry->path);
	return 0;
}

static int make_file(struct receiver *r, size_t i, struct err *e)
{
	const struct manifest_entry *entry = &r->tree.entries[i];
	enum form form = form_of(r, i);
	char name[PARTIAL_NAME_SIZE];
	int result = 0;

	partial_name(r, i, name);
	if (form == FORM_OWN && r->needs[chunks_find(&r->chunks, entry->hash)].is_dressed)
		return 0;
	auto_close int fd = form == FORM_COPY	? create(r, name)
			    : form == FORM_HOME ? openat(r->partial, name, HOME_FLAGS & ~O_CREAT)
						: openat(r->partial, name, READ_FLAGS);
	if (fd < 0)
		return err_sys(e, "%.200s", entry->path);
	if (form != FORM_OWN)
		result = write_chunks(r, i, fd, e);
	/* It may end with a hole, or be left over from a session with a longer one. */
	if (result == 0 && form != FORM_OWN && ftruncate(fd, (off_t)entry->size) < 0)
		result = err_sys(e, "%.200s", entry->path);
	if (result < 0)
		return result;
	errno = -dress(r, fd, entry);
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
