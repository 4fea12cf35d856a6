/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: there and back, differences, and everything that is refused. */
#include <stdint.h>

#include "sync/chunk.h"
#include "sync/manifest.h"
#include "tap.h"

static const struct manifest_limits limits = MANIFEST_LIMITS;
static uint64_t seed = 7;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

static struct manifest_chunk many[40];

static struct manifest_entry entry(const char *path, enum manifest_kind kind)
{
	struct manifest_entry e = {
		.path = path,
		.path_len = (uint16_t)strlen(path),
		.kind = (uint8_t)kind,
		.target = "target",
		.mode = kind == MANIFEST_LINK ? 0777 : 0755,
	};

	if (kind != MANIFEST_FILE)
		return e;
	e.mtime_s = (int64_t)rnd(2000000000) - 1000;
	e.mtime_ns = rnd(1000000000);
	e.size = rnd(4) ? rnd(100000) : rnd(2) ? 0 : 3000000;
	for (int i = 0; i < HASH_BYTES; i++)
		e.hash[i] = (uint8_t)rnd(256);
	if (e.size == 0)
		hash_bytes("", 0, e.hash);
	for (uint64_t left = e.size; e.size > CHUNK_WHOLE_MAX && left > 0;) {
		uint32_t len = left > CHUNK_MIN * 3 ? CHUNK_MIN + rnd(CHUNK_MIN) : (uint32_t)left;

		many[e.n_chunks].hash[0] = (uint8_t)rnd(256);
		many[e.n_chunks++].len = len;
		left -= len;
	}
	e.chunks = many;
	return e;
}

static int add(struct manifest *m, const char *path, enum manifest_kind kind)
{
	struct err e = ERR_INIT;
	struct manifest_entry one = entry(path, kind);

	return manifest_add(m, &one, &e);
}

/* A random tree, sorted because names rise. */
static void grow(struct manifest *m, const char *under, int depth)
{
	for (uint32_t i = 0; i < 8; i++) {
		char path[200];
		uint32_t kind = rnd(6);

		if (rnd(3) == 0)
			continue;
		snprintf(path, sizeof(path), "%.150s%s%c%u", under, *under ? "/" : "",
			 (char)('a' + i), rnd(1000));
		if (kind == 0)
			(void)add(m, path, MANIFEST_LINK);
		else if (kind == 1 && depth < 4) {
			(void)add(m, path, MANIFEST_DIR);
			grow(m, path, depth + 1);
		} else
			(void)add(m, path, MANIFEST_FILE);
	}
}

static bool equal(const struct manifest *a, const struct manifest *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = manifest_same(&a->entries[i], &b->entries[i]);
	return same;
}

static void there_and_back(void)
{
	unsigned good = 0, patched = 0;
	struct err e = ERR_INIT;

	for (int i = 0; i < 100; i++) {
		struct manifest a, b, back = {0}, to = {0};
		struct buf bytes, again, delta;

		manifest_init(&a, &limits);
		manifest_init(&b, &limits);
		buf_init(&bytes, MANIFEST_BYTES_MAX);
		buf_init(&again, MANIFEST_BYTES_MAX);
		buf_init(&delta, MANIFEST_BYTES_MAX);
		grow(&a, "", 0);
		grow(&b, "", 0);
		if (manifest_encode(&a, &bytes, &e) == 0 &&
		    manifest_decode(bytes.data, bytes.len, &limits, &back, &e) == 0 &&
		    manifest_encode(&back, &again, &e) == 0)
			good += equal(&a, &back) && bytes.len == again.len &&
				memcmp(bytes.data, again.data, bytes.len) == 0;
		if (manifest_diff(&a, &b, &delta, &e) == 0 &&
		    manifest_patch(&a, delta.data, delta.len, &limits, &to, &e) == 0)
			patched += equal(&to, &b);
		manifest_done(&a);
		manifest_done(&b);
		manifest_done(&back);
		manifest_done(&to);
		buf_done(&bytes);
		buf_done(&again);
		buf_done(&delta);
	}
	is_int((int)good, 100, "what is written is read, to the same bytes");
	is_int((int)patched, 100, "a difference makes one of the other");
}

static void order(void)
{
	struct manifest m;

	manifest_init(&m, &limits);
	ok(manifest_path_cmp("a", "a/b") < 0 && manifest_path_cmp("a/b", "a.txt") < 0 &&
		   manifest_path_cmp("a/b", "a\001") < 0 && manifest_path_cmp("b", "a/z") > 0,
	   "what is below a directory follows it");
	is_int(add(&m, "a", MANIFEST_DIR), 0, "a directory");
	is_int(add(&m, "a/b", MANIFEST_FILE), 0, "a file in it");
	is_int(add(&m, "a.txt", MANIFEST_FILE), 0, "one beside it");
	ok(add(&m, "a.txt", MANIFEST_FILE) < 0, "not twice");
	ok(add(&m, "a/c", MANIFEST_FILE) < 0, "not out of order");
	ok(add(&m, "a.txt/x", MANIFEST_FILE) < 0, "not below a file");
	ok(add(&m, "b/x", MANIFEST_FILE) < 0, "not in a directory that is not there");
	is_int(add(&m, "l", MANIFEST_LINK), 0, "a link");
	ok(add(&m, "l/x", MANIFEST_FILE) < 0, "nothing below it");
	ok(manifest_find(&m, "a/b") && !manifest_find(&m, "a/c"), "found by path");
	manifest_done(&m);
}

static void bad_entries(void)
{
	static const char *const paths[] = {"",	   "/",	   "/etc/passwd", "..",	  "../x", ".",
					    "./x", "a/..", "a/../b",	  "a//b", "a/",	  "a/./b"};
	struct manifest m;
	struct err e = ERR_INIT;
	char name[64];

	manifest_init(&m, &limits);
	is_int(add(&m, "a", MANIFEST_DIR), 0, "a directory");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(name, sizeof(name), "the path \"%s\" is refused", paths[i]);
		ok(add(&m, paths[i], MANIFEST_FILE) < 0, name);
	}
	struct manifest_entry one = entry("x", MANIFEST_FILE);
	one.mode = 04755;
	ok(manifest_add(&m, &one, &e) < 0, "set-id bits are refused");
	one = entry("x", MANIFEST_FILE);
	one.size = 2 << 20;
	one.n_chunks = 0;
	ok(manifest_add(&m, &one, &e) < 0, "a large file without chunks");
	one.chunks = many;
	one.n_chunks = 2;
	many[0].len = CHUNK_MAX;
	many[1].len = CHUNK_MAX - 1;
	ok(manifest_add(&m, &one, &e) < 0, "chunks that do not make the size");
	many[0].len = CHUNK_MIN - 1;
	many[1].len = CHUNK_MAX;
	one.size = CHUNK_MAX + CHUNK_MIN - 1;
	ok(manifest_add(&m, &one, &e) < 0, "a chunk that is too small");
	one.size = UINT64_MAX;
	ok(manifest_add(&m, &one, &e) < 0 && e.kind == ERR_LIMIT, "a file without end");
	one = entry("x", MANIFEST_FILE);
	one.mtime_ns = 1000000000;
	ok(manifest_add(&m, &one, &e) < 0, "a time that is none");
	one = entry("x", 9);
	ok(manifest_add(&m, &one, &e) < 0, "a kind that is none");
	is_int((int)m.n, 1, "nothing was added");
	manifest_done(&m);
}

static void links(void)
{
	static const struct {
		const char *path, *target;
		bool out;
	} cases[] = {
		{"d/l", "x", false},
		{"d/l", "../x", false},
		{"d/l", "../../x", true},
		{"d/l", "/x", true},
		{"d/l", "./../d/x", false},
		{"d/l", "e/../../f", false},
		{"d/l", "e/../../../f", true},
		{"d/l", "unknown/../x", true},
		/* up is the top: going up from there is out, whatever the names say */
		{"d/l", "e/up/../x", true},
		{"d/l", "e/up/x", false},
		{"l", "..", true},
		{"l", "d/..", false},
		{"l", ".", false},
		{"l", "d//e/./..", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manifest m;
		struct err e = ERR_INIT;
		char name[80];

		manifest_init(&m, &limits);
		struct manifest_entry up = entry("d/e/up", MANIFEST_LINK);
		struct manifest_entry link = entry(cases[i].path, MANIFEST_LINK);
		up.target = "../..";
		link.target = cases[i].target;
		(void)add(&m, "d", MANIFEST_DIR);
		(void)add(&m, "d/e", MANIFEST_DIR);
		(void)manifest_add(&m, &up, &e);
		is_int(manifest_add(&m, &link, &e), 0, "a link");
		snprintf(name, sizeof(name), "%s -> %s leads %s", cases[i].path, cases[i].target,
			 cases[i].out ? "out" : "nowhere else");
		ok((manifest_check_links(&m, &e) < 0) == cases[i].out, name);
		manifest_done(&m);
	}
}

static void damaged(void)
{
	struct manifest m, other, back;
	struct buf bytes, delta;
	struct err e = ERR_INIT;
	unsigned taken = 0, same = 0;

	manifest_init(&m, &limits);
	manifest_init(&other, &limits);
	buf_init(&bytes, MANIFEST_BYTES_MAX);
	buf_init(&delta, MANIFEST_BYTES_MAX);
	grow(&m, "", 0);
	grow(&other, "", 0);
	(void)manifest_encode(&m, &bytes, &e);
	(void)manifest_diff(&other, &m, &delta, &e);
	for (size_t i = 0; i < bytes.len; i++) {
		uint8_t *copy = malloc(i + 1); /* of its size, for who watches the bounds */

		memcpy(copy, bytes.data, i);
		if (manifest_decode(copy, i, &limits, &back, &e) == 0) {
			taken++;
			manifest_done(&back);
		}
		free(copy);
	}
	is_int((int)taken, 0, "no part of a manifest is one");
	for (int i = 0; i < 20000; i++) {
		struct buf *b = i % 2 ? &bytes : &delta;
		struct buf again;
		size_t at = rnd((uint32_t)b->len);
		uint8_t old = b->data[at];
		uint8_t *copy = malloc(b->len);

		b->data[at] = (uint8_t)(rnd(4) ? old ^ (1u << rnd(8)) : rnd(256));
		memcpy(copy, b->data, b->len);
		int r = i % 2 ? manifest_decode(copy, b->len, &limits, &back, &e)
			      : manifest_patch(&other, copy, b->len, &limits, &back, &e);
		if (r == 0 && i % 2) {
			/* Another tree then, but with its own bytes. */
			buf_init(&again, MANIFEST_BYTES_MAX);
			(void)manifest_encode(&back, &again, &e);
			same += again.len == b->len && !memcmp(again.data, copy, b->len);
			taken++;
			buf_done(&again);
		}
		if (r == 0)
			manifest_done(&back);
		free(copy);
		b->data[at] = old;
	}
	diag("%u of 10000 damaged ones were another manifest", taken);
	is_int((int)same, (int)taken, "each tree has one encoding");
	manifest_done(&m);
	manifest_done(&other);
	buf_done(&bytes);
	buf_done(&delta);
}

/* Few bytes that want to become many. */
static void bombs(void)
{
	struct manifest_limits small = {
		.entries_max = 100000, .bytes_max = 1 << 20, .memory_max = 4 << 20};
	struct manifest back;
	struct buf b;
	struct err e = ERR_INIT;

	buf_init(&b, MANIFEST_BYTES_MAX);
	buf_add(&b, "PFM1W", 5);
	buf_varint(&b, UINT64_MAX);
	ok(manifest_decode(b.data, b.len, &small, &back, &e) < 0 && e.kind == ERR_LIMIT,
	   "more entries than there can be");
	ok(manifest_decode("PFM1W\0", 6, &small, &back, &e) == 0, "an empty one");
	manifest_done(&back);
	ok(manifest_decode("PFM1W\200\0", 7, &small, &back, &e) < 0,
	   "with a longer zero it is none");
	b.len = 5;
	buf_varint(&b, 50000);
	/* Directories of 250 bytes down to a path of 4000, then names that share all of it. */
	for (int i = 0; i < 15; i++) {
		buf_varint(&b, i ? (uint64_t)i * 251 - 1 : 0);
		buf_varint(&b, i ? 251 : 250);
		if (i)
			buf_u8(&b, '/');
		for (int j = 0; j < 250; j++)
			buf_u8(&b, 'a');
		buf_u8(&b, MANIFEST_DIR);
		buf_varint(&b, 0755);
	}
	char name[8] = "", last[8] = "";
	for (unsigned i = 0; i < 40000; i++) {
		size_t kept = 0;

		snprintf(name, sizeof(name), "/%04x", i);
		while (i && name[kept] == last[kept])
			kept++;
		buf_varint(&b, 15 * 251 - 1 + kept);
		buf_varint(&b, 5 - kept);
		buf_add(&b, name + kept, 5 - kept);
		buf_u8(&b, MANIFEST_DIR);
		buf_varint(&b, 0755);
		memcpy(last, name, sizeof(last));
	}
	int r = manifest_decode(b.data, b.len, &small, &back, &e);
	ok(r < 0 && e.kind == ERR_LIMIT, "paths that unfold without end");
	diag("%s", e.text);
	b.len = 5;
	buf_varint(&b, 1);
	buf_varint(&b, 0);
	buf_varint(&b, 1);
	buf_add(&b, "x\001\0\0\0", 5);
	buf_varint(&b, 900000000);
	buf_add(&b, many[0].hash, HASH_BYTES);
	buf_varint(&b, UINT32_MAX);
	ok(manifest_decode(b.data, b.len, &small, &back, &e) < 0,
	   "more chunks than there are bytes");
	buf_done(&b);
}

int main(void)
{
	TAP_RUN(there_and_back);
	TAP_RUN(order);
	TAP_RUN(bad_entries);
	TAP_RUN(links);
	TAP_RUN(damaged);
	TAP_RUN(bombs);
	return tap_done();
}
