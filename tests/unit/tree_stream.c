/* SPDX-License-Identifier: Apache-2.0 */
/* The tree stream: what goes in comes out, and nothing that lies is believed. */
#include "tree/stream.h"
#include "tree_help.h"

/* Records by hand, with an honest hash: so that it is the check of the record that refuses. */
struct forge {
	uint8_t bytes[1 << 16];
	size_t len;
};

static void forge_start(struct forge *f)
{
	memcpy(f->bytes, "pftree\0\1", 8);
	f->len = 8;
}

static uint8_t *forge_record(struct forge *f, int kind, const char *path)
{
	uint8_t *p = f->bytes + f->len;

	memset(p, 0, 40);
	p[0] = (uint8_t)kind;
	frame_le16(p + 2, (uint16_t)strlen(path));
	frame_le32(p + 4, kind == TREE_SKIPPED ? S_IFSOCK : 0644);
	memcpy(p + 40, path, strlen(path));
	f->len += 40 + strlen(path);
	return p;
}

static void forge_put(struct forge *f, const void *data, size_t len)
{
	memcpy(f->bytes + f->len, data, len);
	f->len += len;
}

static void forge_chunk(struct forge *f, uint64_t offset, uint32_t len, const char *data)
{
	uint8_t head[12];

	frame_le32(frame_le64(head, offset), len);
	forge_put(f, head, 12);
	if (data)
		forge_put(f, data, len);
}

static void forge_file(struct forge *f, const char *path)
{
	forge_record(f, TREE_FILE, path);
	forge_chunk(f, 0, 0, NULL);
}

static void forge_target(struct forge *f, int kind, const char *path, const char *target)
{
	frame_le64(forge_record(f, kind, path) + 32, strlen(target));
	forge_put(f, target, strlen(target));
}

static void forge_seal(struct forge *f)
{
	struct hash h;

	hash_init(&h);
	hash_add(&h, f->bytes, f->len);
	hash_done(&h, f->bytes + f->len);
	f->len += HASH_BYTES;
}

static void forge_end(struct forge *f, uint64_t count)
{
	uint8_t *p = forge_record(f, TREE_END, "");

	frame_le32(p + 4, 0);
	frame_le64(p + 32, count);
	forge_seal(f);
}

/* The whole stream: how many records, or what is wrong with it. */
static int decode(const uint8_t *bytes, size_t len, const struct tree_limits *limits, struct err *e)
{
	static const struct tree_limits none;
	int fd = temp_file(), n = 0;
	struct tree_entry en;
	struct tree_dec dec;

	(void)!write(fd, bytes, len);
	lseek(fd, 0, SEEK_SET);
	int r = tree_dec_init(&dec, fd, limits ? limits : &none, e);
	if (r >= 0) {
		while ((r = tree_dec_next(&dec, &en, e)) > 0)
			n++;
		tree_dec_done(&dec);
	}
	close(fd);
	return r < 0 ? r : n;
}

static void refused(struct forge *f, uint64_t count, const char *want, const char *name)
{
	struct err e = ERR_INIT;

	forge_end(f, count);
	ok(decode(f->bytes, f->len, NULL, &e) < 0 && strstr(e.text, want), name);
	if (!strstr(e.text, want))
		diag("%s", e.text);
}

static size_t sample(uint8_t *bytes, size_t size)
{
	struct tree_entry dir = {.kind = TREE_DIR, .mode = 0755, .path = "", .path_len = 0};
	struct tree_entry file = {.kind = TREE_FILE,
				  .mode = 0644,
				  .uid = 1000,
				  .gid = 1000,
				  .mtime = {-5, 999999999},
				  .size = 1 << 20,
				  .linked = true,
				  .path = "a\n\xff",
				  .path_len = 3,
				  .attrs = (const uint8_t *)"\6\0\1\0\0\0user.av",
				  .attrs_len = 13};
	struct tree_entry link = {.kind = TREE_LINK,
				  .mode = 0644,
				  .path = "b",
				  .path_len = 1,
				  .target = "a\n\xff",
				  .target_len = 3};
	struct tree_entry soft = {.kind = TREE_SYMLINK,
				  .mode = 0777,
				  .path = "c",
				  .path_len = 1,
				  .target = "/etc",
				  .target_len = 4};
	struct tree_entry gone = {.kind = TREE_GONE, .path = "d", .path_len = 1};
	struct err e = ERR_INIT;
	struct tree_enc enc;
	int fd = temp_file();

	int r = tree_enc_init(&enc, fd, &e) | tree_enc_entry(&enc, &dir, &e) |
		tree_enc_entry(&enc, &file, &e) | tree_enc_data(&enc, 4096, "data", 4, &e) |
		tree_enc_data_end(&enc, &e) | tree_enc_entry(&enc, &link, &e) |
		tree_enc_entry(&enc, &soft, &e) | tree_enc_entry(&enc, &gone, &e) |
		tree_enc_end(&enc, &e);
	tree_enc_done(&enc);
	ok(r == 0, "a stream is written");
	ssize_t n = pread(fd, bytes, size, 0);
	close(fd);
	return (size_t)n;
}

static void comes_back(void)
{
	static const struct tree_limits none;
	uint8_t bytes[8192];
	size_t len = sample(bytes, sizeof(bytes));
	int fd = temp_file();
	struct err e = ERR_INIT;
	struct tree_entry en;
	struct tree_dec dec;
	const void *data;
	uint64_t at;
	size_t n;

	(void)!write(fd, bytes, len);
	lseek(fd, 0, SEEK_SET);
	is_int(tree_dec_init(&dec, fd, &none, &e), 0, "it is one");
	ok(tree_dec_next(&dec, &en, &e) == 1 && en.kind == TREE_DIR && en.path_len == 0, "root");
	ok(tree_dec_next(&dec, &en, &e) == 1 && en.kind == TREE_FILE, "file");
	is_str(en.path, "a\n\xff", "its path, byte for byte");
	ok(en.uid == 1000 && en.size == 1 << 20 && en.mtime.tv_sec == -5 &&
		   en.mtime.tv_nsec == 999999999 && en.attrs_len == 13 && en.linked,
	   "its fields");
	ok(tree_dec_data(&dec, &at, &data, &n, &e) == 1 && at == 4096 && n == 4 &&
		   memcmp(data, "data", 4) == 0,
	   "its data, after a hole");
	is_int(tree_dec_data(&dec, &at, &data, &n, &e), 0, "no more of it");
	ok(tree_dec_next(&dec, &en, &e) == 1 && en.kind == TREE_LINK &&
		   !strcmp(en.target, "a\n\xff"),
	   "hard link");
	ok(tree_dec_next(&dec, &en, &e) == 1 && en.kind == TREE_SYMLINK &&
		   !strcmp(en.target, "/etc"),
	   "symbolic link");
	ok(tree_dec_next(&dec, &en, &e) == 1 && en.kind == TREE_GONE, "gone");
	is_int(tree_dec_next(&dec, &en, &e), 0, "end");
	tree_dec_done(&dec);
	close(fd);
}

static void paths(void)
{
	static const struct {
		const char *path, *want;
	} bad[] = {
		{"/etc/passwd", "absolute"}, {"a//b", "empty component"}, {"a/", "empty component"},
		{"..", "component .."},	     {"a/../b", "component .."},  {"./a", "component ."},
		{"a/.", "component ."},
	};
	static struct forge f;
	char name[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		forge_start(&f);
		forge_file(&f, bad[i].path);
		refused(&f, 1, bad[i].want, bad[i].path);
	}
	memset(name, 'x', 256);
	name[256] = '\0';
	forge_start(&f);
	forge_file(&f, name);
	refused(&f, 1, "name of 256 bytes", "a name of 256 bytes");
	forge_start(&f);
	uint8_t *p = forge_record(&f, TREE_GONE, "a-b");
	p[41] = '\0';
	refused(&f, 1, "NUL", "a NUL in a path");
	forge_start(&f);
	p = forge_record(&f, TREE_GONE, "a");
	frame_le16(p + 2, 5000);
	refused(&f, 1, "path of 5000", "a path of 5000 bytes");
}

static void order(void)
{
	static struct forge f;

	forge_start(&f);
	forge_file(&f, "a");
	forge_file(&f, "a");
	refused(&f, 2, "two records", "the same path twice");
	forge_start(&f);
	forge_file(&f, "b");
	forge_file(&f, "a");
	refused(&f, 2, "out of order", "paths out of order");
	forge_start(&f);
	forge_file(&f, "a");
	forge_file(&f, "a/b");
	refused(&f, 2, "no directory", "a file below a file");
	forge_start(&f);
	forge_target(&f, TREE_SYMLINK, "a", "/etc");
	forge_file(&f, "a/b");
	refused(&f, 2, "no directory", "a file below a link");
	forge_start(&f);
	forge_record(&f, TREE_GONE, "a");
	forge_file(&f, "a/b");
	refused(&f, 2, "no directory", "a file below what is gone");
	forge_start(&f);
	forge_file(&f, "");
	forge_file(&f, "b");
	refused(&f, 2, "no directory", "a file below a root that is a file");
	forge_start(&f);
	forge_file(&f, "b");
	forge_record(&f, TREE_DIR, "");
	refused(&f, 2, "root is not the first", "a root that comes late");
	forge_start(&f);
	forge_record(&f, TREE_DIR, "a");
	forge_file(&f, "a/b");
	forge_file(&f, "a-b");
	forge_end(&f, 3);
	struct err e = ERR_INIT;
	is_int(decode(f.bytes, f.len, NULL, &e), 3, "a/b comes before a-b");
}

static void links(void)
{
	static struct forge f;

	forge_start(&f);
	forge_target(&f, TREE_LINK, "b", "a");
	refused(&f, 1, "no earlier file", "a hard link to nothing");
	forge_start(&f);
	forge_file(&f, "a");
	forge_target(&f, TREE_LINK, "b", "a");
	refused(&f, 2, "no earlier file", "a hard link to what is not to be linked");
	forge_start(&f);
	forge_target(&f, TREE_LINK, "b", "../../etc/shadow");
	refused(&f, 1, "no earlier file", "a hard link out");
	forge_start(&f);
	forge_target(&f, TREE_SYMLINK, "b", "");
	refused(&f, 1, "target of 0", "a link to the empty path");
	forge_start(&f);
	forge_record(&f, TREE_LINK, "");
	refused(&f, 1, "target of 0", "a root that is a hard link");
}

static void fields(void)
{
	static struct forge f;

	forge_start(&f);
	forge_record(&f, 77, "a");
	refused(&f, 1, "unknown kind", "an unknown kind");
	forge_start(&f);
	forge_record(&f, 0, "a");
	refused(&f, 1, "unknown kind", "kind 0");
	forge_start(&f);
	frame_le32(forge_record(&f, TREE_DIR, "a") + 4, 04755);
	refused(&f, 1, "mode 4755", "a set-uid bit");
	forge_start(&f);
	frame_le32(forge_record(&f, TREE_DIR, "a") + 4, S_IFCHR | 0644);
	refused(&f, 1, "bits that no file", "a type in the mode");
	forge_start(&f);
	forge_record(&f, TREE_DIR, "a")[1] = 1;
	refused(&f, 1, "flags", "a directory that is linked");
	forge_start(&f);
	frame_le32(forge_record(&f, TREE_DIR, "a") + 24, 1000000000);
	refused(&f, 1, "nanoseconds", "too many nanoseconds");
	forge_start(&f);
	frame_le32(forge_record(&f, TREE_DIR, "a") + 28, TREE_ATTRS_MAX + 1);
	refused(&f, 1, "extended attributes", "too many attributes");
	forge_start(&f);
	frame_le32(forge_record(&f, TREE_FIFO, "a") + 28, 5);
	refused(&f, 1, "extended attributes", "attributes of a FIFO");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_DIR, "a") + 32, 5);
	refused(&f, 1, "size that it cannot", "a directory with a size");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, UINT64_MAX);
	refused(&f, 1, "more bytes than there can be", "a file of 2^64-1 bytes");
}

static void attributes(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
	} bad[] = {
		{"\5\0", 2, "wrong length"},
		{"\20\0\0\0\0\0user.a", 12, "wrong length"},
		{"\6\0\377\377\377\377user.a", 12, "wrong length"},
		{"\23\0\0\0\0\0security.capability", 25, "may not be"},
		{"\23\0\0\0\0\0user.overlay.opaque", 25, "may not be"},
		{"\5\0\0\0\0\0user.", 11, "may not be"},
		{"\6\0\0\0\0\0user.\0", 12, "may not be"},
		{"\6\0\0\0\0\0user.b\6\0\0\0\0\0user.a", 24, "out of order"},
		{"\6\0\0\0\0\0user.a\6\0\0\0\0\0user.a", 24, "out of order"},
	};
	static struct forge f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		forge_start(&f);
		frame_le32(forge_record(&f, TREE_DIR, "a") + 28, (uint32_t)bad[i].len);
		forge_put(&f, bad[i].bytes, bad[i].len);
		refused(&f, 1, bad[i].want, bad[i].want);
	}
}

static void data(void)
{
	static struct forge f;
	struct err e = ERR_INIT;

	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, 4);
	forge_chunk(&f, 2, 3, "xxx");
	refused(&f, 1, "outside", "data behind the end of their file");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, 4);
	forge_chunk(&f, UINT64_MAX - 1, 3, "xxx");
	refused(&f, 1, "outside", "an offset that wraps around");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, 4);
	forge_chunk(&f, 2, 1, "x");
	forge_chunk(&f, 1, 1, "x");
	refused(&f, 1, "outside", "data that go back");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, 1 << 30);
	forge_chunk(&f, 0, TREE_CHUNK_MAX + 1, NULL);
	refused(&f, 1, "outside", "too much at once");
	forge_start(&f);
	frame_le64(forge_record(&f, TREE_FILE, "a") + 32, 4);
	forge_chunk(&f, 0, 4, "abcd");
	forge_chunk(&f, 0, 0, NULL);
	forge_file(&f, "b");
	forge_end(&f, 2);
	is_int(decode(f.bytes, f.len, NULL, &e), 2, "two files");
	struct tree_limits few = {.entries = 1}, small = {.bytes = 3};
	ok(decode(f.bytes, f.len, &few, &e) < 0 && e.kind == ERR_LIMIT, "more files than may be");
	ok(decode(f.bytes, f.len, &small, &e) < 0 && e.kind == ERR_LIMIT, "more bytes than may be");
}

static void ends(void)
{
	static struct forge f;
	struct err e = ERR_INIT, said = ERR_INIT;
	struct tree_enc enc;

	forge_start(&f);
	forge_file(&f, "a");
	refused(&f, 2, "1 records came", "a wrong count");
	forge_start(&f);
	forge_end(&f, 0);
	is_int(decode(f.bytes, f.len, NULL, &e), 0, "an empty stream");
	f.bytes[f.len++] = 'x';
	ok(decode(f.bytes, f.len, NULL, &e) < 0 && strstr(e.text, "after its end"), "a byte more");
	f.bytes[7] = 2;
	ok(decode(f.bytes, f.len, NULL, &e) < 0 && e.kind == ERR_UNSUPPORTED, "another version");
	int fd = temp_file();
	errno = ENOSPC;
	(void)err_sys(&said, "write \033[2Jx");
	struct tree_entry file = {.kind = TREE_FILE, .path = "a", .path_len = 1, .size = 9};
	ok(tree_enc_init(&enc, fd, &e) == 0 && tree_enc_entry(&enc, &file, &e) == 0 &&
		   tree_enc_error(&enc, &said, &e) == 0,
	   "an error in the middle of a file");
	tree_enc_done(&enc);
	ssize_t n = pread(fd, f.bytes, sizeof(f.bytes), 0);
	close(fd);
	is_int(decode(f.bytes, (size_t)n, NULL, &e), -ENOSPC, "it arrives");
	ok(e.kind == ERR_LIMIT && strstr(e.text, "write \\x1b[2Jx: No space"), "and is harmless");
}

/* No prefix and no flipped bit of a good stream is a good stream. */
static void damaged(void)
{
	static const struct tree_limits none;
	uint8_t bytes[8192];
	size_t len = sample(bytes, sizeof(bytes));
	struct err e = ERR_INIT;
	int believed = 0;

	is_int(decode(bytes, len, NULL, &e), 5, "whole, it is good");
	for (size_t i = 0; i < len; i++)
		believed += decode(bytes, i, &none, &e) >= 0;
	is_int(believed, 0, "no prefix of it is");
	for (size_t i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		believed += decode(bytes, len, &none, &e) >= 0;
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	is_int(believed, 0, "none with a flipped bit is");
}

int main(void)
{
	TAP_RUN(comes_back);
	TAP_RUN(paths);
	TAP_RUN(order);
	TAP_RUN(links);
	TAP_RUN(fields);
	TAP_RUN(attributes);
	TAP_RUN(data);
	TAP_RUN(ends);
	TAP_RUN(damaged);
	return tap_done();
}
