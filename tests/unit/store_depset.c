/* SPDX-License-Identifier: Apache-2.0 */
/* Packages and downloads in the store: found again, kept while somebody has them, gone
 * afterwards. */
#include "store/depset.h"

#include "base/fd.h"
#include "store/blob.h"
#include "store/db.h"
#include "store_help.h"

static bool layer_is_there(const struct store *s, uint32_t number)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%u/usr", number);
	return fstatat(s->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Its layer, or 0. */
static uint32_t make_set(struct store *s, char key)
{
	char lock[] = "{}";
	struct depset set = {.lang = "python", .lock = lock, .files = 3, .bytes = 100};
	struct making m;

	memset(set.key, key, HASH_TEXT_SIZE - 1);
	if (depset_begin(s, &m, &error) < 0)
		return 0;
	uint32_t number = m.number;
	int r = depset_commit(&m, &set, &error);
	making_end(&m);
	return r < 0 ? 0 : number;
}

static void life(void)
{
	struct store *s = store_fresh();
	auto_depset set = {.lock = NULL};
	auto_close int lock = FD_NONE;
	struct making m;
	char key[HASH_TEXT_SIZE] = "";
	uint64_t bytes = 0;
	unsigned n = 0;

	memset(key, 'a', HASH_TEXT_SIZE - 1);
	is_int(depset_hold(s, key, &set, &lock, &error), 0, "there is none");
	uint32_t number = make_set(s, 'a');
	ok(number && layer_is_there(s, number), "a set");
	uint32_t second = make_set(s, 'a');
	ok(second && !layer_is_there(s, second), "a second of the key gives way");
	is_int(depset_hold(s, key, &set, &lock, &error), 1, "it is held");
	is_int(set.number, number, "the first");
	is_int(depset_forget(s, 0, &n, &error), 0, "forget all");
	is_int(n, 0, "but not that which somebody has");
	is_int(depset_begin(s, &m, &error), 0, "one that is being made");
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(layer_is_there(s, number) && layer_is_there(s, m.number), "leaves both");
	fd_close(&m.lock); /* as if its process had died */
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(layer_is_there(s, number) && !layer_is_there(s, m.number),
	   "removes what was left behind");
	fd_close(&lock);
	is_int(depset_forget(s, 3600000, &n, &error), 0, "forget what is an hour old");
	is_int(n, 0, "it is younger");
	is_int(depset_forget(s, -1, &n, &error), 0, "forget all");
	is_int(n, 1, "now it goes");
	is_int(store_collect(s, &bytes, &error), 0, "collect");
	ok(!layer_is_there(s, number), "with its files");
	is_int(depset_hold(s, key, &set, &lock, &error), 0, "there is none");
	store_away(s);
}

/* As if the machine had fallen, and come back. */
static void next_boot(struct store *s)
{
	is_int(db_run(s->db, &error, "UPDATE meta SET value = value + 2 WHERE key LIKE 'depset:%'",
		      ""),
	       0, "another boot");
}

static void doubt(void)
{
	struct store *s = store_fresh();
	auto_depset set = {.lock = NULL};
	auto_close int lock = FD_NONE;
	char key[HASH_TEXT_SIZE] = "";

	memset(key, 'a', HASH_TEXT_SIZE - 1);
	ok(make_set(s, 'a') != 0, "a set that nobody wrote to disk");
	is_int(depset_hold(s, key, &set, &lock, &error), 1, "is used");
	fd_close(&lock);
	next_boot(s);
	is_int(depset_hold(s, key, &set, &lock, &error), 0, "but not behind a power cut");
	ok(make_set(s, 'a') != 0, "it is made again");
	is_int(depset_settle(s, &error), 0, "and written");
	next_boot(s);
	is_int(depset_hold(s, key, &set, &lock, &error), 1, "that one stays");
	fd_close(&lock);
	store_away(s);
}

static void asked(void)
{
	struct store *s = store_fresh();
	char *text = NULL;

	is_int(depset_recall(s, "x", &text, &error), 0, "nobody asked");
	is_int(depset_remember(s, "x", "one", &error), 0, "asked");
	is_int(depset_remember(s, "x", "two", &error), 0, "and again");
	is_int(depset_recall(s, "x", &text, &error), 1, "known");
	is_str(text, "two", "as it was last");
	free(text);
	store_away(s);
}

static void blobs(void)
{
	struct store *s = store_fresh();
	auto_close int fd = FD_NONE;
	char sha256[HASH_TEXT_SIZE], other[HASH_TEXT_SIZE] = "";
	uint8_t digest[HASH_BYTES];
	uint64_t bytes = 0;
	struct blob b;
	unsigned n = 0;

	hash_bytes("hello", 5, digest);
	hash_text(digest, sha256);
	memset(other, '0', HASH_TEXT_SIZE - 1);
	ok(!blob_is_there(s, sha256), "there is none");
	is_int(blob_begin(s, &b, &error), 0, "one");
	is_int(blob_add(&b, "hello", 5, &error), 0, "with something in it");
	is_int(blob_keep(&b, sha256, &error), 0, "under its hash");
	ok(blob_is_there(s, sha256), "it is there");
	is_int(blob_open(s, sha256, &fd, &bytes, &error), 1, "and opens");
	is_int(bytes, 5, "whole");
	is_int(blob_begin(s, &b, &error), 0, "another");
	is_int(blob_add(&b, "evil", 4, &error), 0, "with something else");
	ok(blob_keep(&b, other, &error) < 0 && error.kind == ERR_CONFLICT,
	   "that is not what it should be");
	ok(!blob_is_there(s, other), "is not kept");
	is_int(blob_collect(s, 3600000, &n, &bytes, &error), 0, "collect old ones");
	ok(n == 0 && blob_is_there(s, sha256), "there are none");
	is_int(blob_collect(s, -10000, &n, &bytes, &error), 0, "collect all");
	ok(n == 1 && bytes == 5 && !blob_is_there(s, sha256), "it is gone");
	store_away(s);
}

int main(void)
{
	TAP_RUN(life);
	TAP_RUN(doubt);
	TAP_RUN(asked);
	TAP_RUN(blobs);
	return tap_done();
}
