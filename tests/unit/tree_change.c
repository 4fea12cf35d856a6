/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of changes: what a reader that was taken over could say is not believed. */
#include "tree/change.h"
#include "tree_help.h"

static uint8_t bytes[1 << 16];
static size_t n_bytes;

static const struct tree_change good = {
	.kind = TREE_MODIFIED,
	.flags = TREE_DIFF_CONTENT | TREE_DIFF_TEXT | TREE_DIFF_HASH_OLD | TREE_DIFF_HASH_NEW,
	.type_old = TREE_TYPE_FILE,
	.type_new = TREE_TYPE_FILE,
	.mode_old = 0644,
	.mode_new = 0755,
	.size_old = 3,
	.size_new = 5,
	.hash_old = {1, 2, 3},
	.hash_new = {4, 5, 6},
	.path = "a/b\n",
	.path_len = 4,
	.text = "@@ -1 +1 @@\n-x\n+y\n",
	.text_len = 18,
};

static void write_stream(const struct tree_change *all, size_t n,
			 const struct tree_change_counts *counts)
{
	struct err e = ERR_INIT;
	struct tree_change_enc enc;
	int fd = temp_file(), r = tree_change_enc_init(&enc, fd, &e);

	for (size_t i = 0; i < n && r >= 0; i++)
		r = tree_change_enc_put(&enc, &all[i], &e);
	if (r >= 0)
		r = tree_change_enc_end(&enc, counts, &e);
	tree_change_enc_done(&enc);
	ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
	n_bytes = got > 0 ? (size_t)got : 0;
	close(fd);
}

static int decode(size_t len, const struct tree_change_limits *limits, struct tree_change *last,
		  struct err *e)
{
	static const struct tree_change_limits none;
	static char path[TREE_PATH_MAX + 1], text[256];
	struct tree_change_dec dec;
	struct tree_change c;
	int fd = temp_file(), n = 0;

	(void)!write(fd, bytes, len);
	lseek(fd, 0, SEEK_SET);
	int r = tree_change_dec_init(&dec, fd, limits ? limits : &none, e);
	if (r >= 0) {
		for (; (r = tree_change_dec_next(&dec, &c, e)) > 0; n++) {
			if (!last)
				continue;
			*last = c;
			last->path = memcpy(path, c.path, c.path_len + 1);
			last->text = memcpy(text, c.text, c.text_len + 1);
		}
		tree_change_dec_done(&dec);
	}
	close(fd);
	return r < 0 ? r : n;
}

static void comes_back(void)
{
	struct tree_change_counts counts = {.modified = 3, .omitted = 2};
	struct tree_change got = {0};
	struct err e = ERR_INIT;

	write_stream(&good, 1, &counts);
	is_int(decode(n_bytes, NULL, &got, &e), 1, "one change, two omitted");
	ok(got.kind == good.kind && got.flags == good.flags && got.mode_new == 0755 &&
		   got.size_old == 3 && got.size_new == 5 && got.hash_old[2] == 3 &&
		   got.hash_new[0] == 4 && !strcmp(got.path, good.path) &&
		   !strcmp(got.text, good.text),
	   "whole");
	struct tree_change_limits tight = {.text_bytes = 17};
	ok(decode(n_bytes, &tight, NULL, &e) < 0 && e.kind == ERR_LIMIT, "more text than may be");
	struct tree_change two[] = {good, good};
	struct tree_change_limits few = {.changes = 1};
	counts = (struct tree_change_counts){.modified = 2};
	write_stream(two, 2, &counts);
	is_int(decode(n_bytes, NULL, NULL, &e), 2, "two");
	ok(decode(n_bytes, &few, NULL, &e) < 0 && e.kind == ERR_LIMIT, "more changes than may be");
}

static void refused(struct tree_change c, const char *want, const char *name)
{
	struct tree_change_counts counts = {.added = c.kind == TREE_ADDED,
					    .modified = c.kind == TREE_MODIFIED,
					    .deleted = c.kind == TREE_DELETED};
	struct err e = ERR_INIT;

	write_stream(&c, 1, &counts);
	ok(decode(n_bytes, NULL, NULL, &e) < 0 && strstr(e.text, want), name);
	if (!strstr(e.text, want))
		diag("%s", e.text);
}

#define BUT(field, value, want)                                                                    \
	do {                                                                                       \
		struct tree_change c_ = good;                                                      \
		c_.field = (value);                                                                \
		refused(c_, want, #field " = " #value);                                            \
	} while (0)
#define PATH(value, want)                                                                          \
	do {                                                                                       \
		struct tree_change c_ = good;                                                      \
		c_.path = (value);                                                                 \
		c_.path_len = strlen(value);                                                       \
		refused(c_, want, "path " value);                                                  \
	} while (0)

static void fields(void)
{
	BUT(kind, (enum tree_change_kind)0, "change of kind 0");
	BUT(kind, (enum tree_change_kind)9, "change of kind 9");
	BUT(kind, TREE_ADDED, "change of kind 1");
	BUT(kind, TREE_DELETED, "change of kind 3");
	BUT(type_new, TREE_TYPE_NONE, "from type 1 to 0");
	BUT(type_new, (enum tree_type)77, "do not fit its type");
	BUT(type_new, TREE_TYPE_DIR, "do not fit its type");
	BUT(mode_new, 0100644, "do not fit its type");
	BUT(size_new, UINT64_MAX, "do not fit its type");
	BUT(flags, 1u << 31, "flags");
	BUT(flags, TREE_DIFF_CONTENT, "flags");
	BUT(flags, TREE_DIFF_TEXT | TREE_DIFF_BINARY, "flags");
	PATH("/etc/passwd", "absolute");
	PATH("a/../../b", "component ..");
	PATH("", "empty path");
	PATH("a//b", "empty component");
}

static void counts(void)
{
	static const struct tree_change_counts bad[] = {
		{0},
		{.added = 1},
		{.modified = 2},
		{.modified = 1, .deleted = 1},
		{.modified = UINT64_MAX, .omitted = UINT64_MAX},
		{.modified = 1, .omitted = UINT64_MAX},
	};
	struct err e = ERR_INIT;
	int believed = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_stream(&good, 1, &bad[i]);
		believed += decode(n_bytes, NULL, NULL, &e) >= 0;
	}
	is_int(believed, 0, "numbers that do not fit what came are not believed");
}

static void damaged(void)
{
	struct tree_change_counts right = {.modified = 1};
	struct err e = ERR_INIT;
	int believed = 0;

	write_stream(&good, 1, &right);
	is_int(decode(n_bytes, NULL, NULL, &e), 1, "whole, it is good");
	for (size_t i = 0; i < n_bytes; i++)
		believed += decode(i, NULL, NULL, &e) >= 0;
	for (size_t i = 0; i < n_bytes * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		believed += decode(n_bytes, NULL, NULL, &e) >= 0;
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	bytes[n_bytes] = 0;
	believed += decode(n_bytes + 1, NULL, NULL, &e) >= 0;
	is_int(believed, 0, "cut, with a flipped bit or a byte more it is not");
}

int main(void)
{
	TAP_RUN(comes_back);
	TAP_RUN(fields);
	TAP_RUN(counts);
	TAP_RUN(damaged);
	return tap_done();
}
