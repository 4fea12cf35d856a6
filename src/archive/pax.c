/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header is 512 bytes, numbers in octal with a NUL at the end:
 *
 *	0 name 100	100 mode 8	108 uid 8	116 gid 8	124 size 12	136 mtime 12
 *	148 checksum 8	156 type 1	157 target 100	257 "ustar\0" "00"	345 prefix 155
 *
 * The first one (type g) is about the whole archive and says PINFOLD.export=1, in two blocks.
 *
 * An extended header (type x) is a file of lines "LENGTH KEY=VALUE\n", LENGTH counting itself. A
 * file with holes (GNU.sparse 1.0) begins with a map, in decimal lines: how many extents, then
 * offset and length of each, padded to 512; an extent of no bytes at the end of the file says how
 * long it is.
 */
#include "archive/pax.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "tree/frame.h"
#include "tree/path.h"

#define BLOCK 512u
#define RECORD (20 * BLOCK)
#define SIZE_MAX_OCTAL 077777777777ull
#define ID_MAX_OCTAL 07777777u

void pax_init(struct pax_out *out, pax_write_fn *write, void *context)
{
	*out = (struct pax_out){.write = write, .context = context};
}

void pax_done(struct pax_out *out)
{
	free(out->ext);
	out->ext = NULL;
}

static int put(struct pax_out *out, const void *data, size_t len, struct err *e)
{
	out->total += len;
	return len ? out->write(out->context, data, len, e) : 0;
}

static int put_zeros(struct pax_out *out, size_t len, struct err *e)
{
	static const char zeros[BLOCK];
	int r = 0;

	for (size_t n = 0; len > 0 && r >= 0; len -= n) {
		n = len < BLOCK ? len : BLOCK;
		r = put(out, zeros, n, e);
	}
	return r;
}

static unsigned pad_of(uint64_t len)
{
	return (unsigned)((BLOCK - len % BLOCK) % BLOCK);
}

static int ext_room(struct pax_out *out, size_t more, struct err *e)
{
	size_t want = out->ext_room ? out->ext_room : 1024;

	while (want < out->ext_len + more)
		want *= 2;
	char *p = want == out->ext_room ? out->ext : realloc(out->ext, want);
	if (!p)
		return err_sys(e, "export");
	out->ext = p;
	out->ext_room = want;
	return 0;
}

/* "LENGTH KEY=VALUE\n": the length of a line has to be guessed until it fits. */
static int add_line(struct pax_out *out, const char *key, const void *value, size_t len,
		    struct err *e)
{
	size_t rest = strlen(key) + len + 3, total = rest + 1;
	char digits[24];

	while (rest + (size_t)snprintf(digits, sizeof(digits), "%zu", total) != total)
		total++;
	int r = ext_room(out, total + 1, e);
	if (r < 0)
		return r;
	char *at = out->ext + out->ext_len;
	int n = snprintf(at, total + 1, "%zu %s=", total, key);
	memcpy(at + n, value, len);
	at[total - 1] = '\n';
	out->ext_len += total;
	return 0;
}

static int add_number(struct pax_out *out, const char *key, uint64_t value, struct err *e)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

	return add_line(out, key, text, (size_t)n, e);
}

static int add_time(struct pax_out *out, const struct timespec *t, struct err *e)
{
	char text[48];
	/* Before 1970 the fraction counts backwards from the next second. */
	bool back = t->tv_sec < 0 && t->tv_nsec > 0;
	long long sec = (long long)t->tv_sec + back;
	long nsec = back ? 1000000000 - t->tv_nsec : t->tv_nsec;
	int n = snprintf(text, sizeof(text), "%s%lld", back && sec == 0 ? "-" : "", sec);

	if (nsec) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, ".%09ld", nsec);
		while (text[n - 1] == '0')
			n--;
	}
	return add_line(out, "mtime", text, (size_t)n, e);
}

static int add_attrs(struct pax_out *out, const struct pax_file *f, struct err *e)
{
	const uint8_t *p = f->attrs, *end = p + f->attrs_len;
	char key[TREE_NAME_MAX + 32];
	int r = 0;

	while (p < end && r >= 0) {
		size_t n = frame_get16(&p), value = frame_get32(&p);

		(void)snprintf(key, sizeof(key), "SCHILY.xattr.%.*s", (int)n, (const char *)p);
		/* A line ends its key at the first =, and the attribute would have another name. */
		if (!memchr(p, '=', n))
			r = add_line(out, key, p + n, value, e);
		p += n + value;
	}
	return r;
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
			return false;
	return true;
}

static bool fits(const char *s)
{
	return strlen(s) <= 100 && is_ascii(s);
}

static int add_sparse(struct pax_out *out, const struct tar_entry *en, struct err *e)
{
	int r = add_number(out, "GNU.sparse.major", 1, e);

	if (r >= 0)
		r = add_number(out, "GNU.sparse.minor", 0, e);
	if (r >= 0)
		r = add_line(out, "GNU.sparse.name", en->path, strlen(en->path), e);
	return r < 0 ? r : add_number(out, "GNU.sparse.realsize", en->size, e);
}

static int add_all(struct pax_out *out, const struct pax_file *f, uint64_t stored, struct err *e)
{
	const struct tar_entry *en = f->entry;
	int r = 0;

	out->ext_len = 0;
	if (en->sparse)
		r = add_sparse(out, en, e);
	else if (!fits(en->path))
		r = add_line(out, "path", en->path, strlen(en->path), e);
	if (r >= 0 && en->target && !fits(en->target))
		r = add_line(out, "linkpath", en->target, strlen(en->target), e);
	if (r >= 0 && stored > SIZE_MAX_OCTAL)
		r = add_number(out, "size", stored, e);
	if (r >= 0 && en->uid > ID_MAX_OCTAL)
		r = add_number(out, "uid", (uint64_t)en->uid, e);
	if (r >= 0 && en->gid > ID_MAX_OCTAL)
		r = add_number(out, "gid", (uint64_t)en->gid, e);
	if (r >= 0 && (en->mtime.tv_nsec || en->mtime.tv_sec < 0 ||
		       (uint64_t)en->mtime.tv_sec > SIZE_MAX_OCTAL))
		r = add_time(out, &en->mtime, e);
	return r < 0 ? r : add_attrs(out, f, e);
}

static void octal(char *to, int digits, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%0*llo", digits, (unsigned long long)value);
	memcpy(to, text, (size_t)digits + 1);
}

struct header {
	char type;
	const char *name, *target;
	uint32_t mode;
	uint64_t uid, gid, size;
	int64_t mtime;
};

static int put_header(struct pax_out *out, const struct header *h, struct err *e)
{
	char b[BLOCK] = {0};
	unsigned sum = 0;

	/* Where these do not fit, the extended header has them. */
	memcpy(b, h->name, strnlen(h->name, 100));
	if (h->target)
		memcpy(b + 157, h->target, strnlen(h->target, 100));
	octal(b + 100, 7, h->mode);
	octal(b + 108, 7, h->uid <= ID_MAX_OCTAL ? h->uid : 0);
	octal(b + 116, 7, h->gid <= ID_MAX_OCTAL ? h->gid : 0);
	octal(b + 124, 11, h->size <= SIZE_MAX_OCTAL ? h->size : 0);
	octal(b + 136, 11,
	      h->mtime >= 0 && (uint64_t)h->mtime <= SIZE_MAX_OCTAL ? (uint64_t)h->mtime : 0);
	b[156] = h->type;
	memcpy(b + 257, "ustar\00000", 8);
	memset(b + 148, ' ', 8);
	for (unsigned i = 0; i < BLOCK; i++)
		sum += (unsigned char)b[i];
	octal(b + 148, 6, sum);
	return put(out, b, BLOCK, e);
}

static int put_ext(struct pax_out *out, char type, int64_t mtime, struct err *e)
{
	struct header h = {.type = type,
			   .name = type == 'g' ? "PaxHeaders/g" : "PaxHeaders/x",
			   .mode = 0644,
			   .size = out->ext_len,
			   .mtime = mtime};
	int r = put_header(out, &h, e);

	if (r >= 0)
		r = put(out, out->ext, out->ext_len, e);
	return r < 0 ? r : put_zeros(out, pad_of(out->ext_len), e);
}

int pax_begin(struct pax_out *out, struct err *e)
{
	assert(out->total == 0);
	out->ext_len = 0;
	int r = add_line(out, "PINFOLD.export", "1", 1, e);

	return r < 0 ? r : put_ext(out, 'g', 0, e);
}

/* The map of a file with holes, padded, as text to be freed. */
static int make_map(const struct pax_file *f, char **ret, size_t *ret_len, struct err *e)
{
	size_t n = f->n_extents, room = (n + 2) * 42 + BLOCK, len = 0;
	bool hole_at_end =
		n == 0 || f->extents[n - 1].offset + f->extents[n - 1].len < f->entry->size;
	char *map = calloc(room, 1);

	if (!map)
		return err_sys(e, "export");
	len = (size_t)snprintf(map, room, "%zu\n", n + hole_at_end);
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(map + len, room - len, "%llu\n%llu\n",
					(unsigned long long)f->extents[i].offset,
					(unsigned long long)f->extents[i].len);
	if (hole_at_end)
		len += (size_t)snprintf(map + len, room - len, "%llu\n0\n",
					(unsigned long long)f->entry->size);
	*ret_len = len + pad_of(len);
	assert(*ret_len <= room);
	memset(map + len, 0, *ret_len - len);
	*ret = map;
	return 0;
}

static char type_of(enum tar_kind kind)
{
	switch (kind) {
	case TAR_DIR: return '5';
	case TAR_SYMLINK: return '2';
	case TAR_LINK: return '1';
	case TAR_FIFO: return '6';
	case TAR_FILE:
	case TAR_DEVICE: break;
	}
	return '0';
}

static uint64_t data_bytes(const struct pax_file *f)
{
	uint64_t sum = 0;

	if (f->entry->kind != TAR_FILE)
		return 0;
	if (!f->entry->sparse)
		return f->entry->size;
	for (size_t i = 0; i < f->n_extents; i++)
		sum += f->extents[i].len;
	return sum;
}

int pax_entry(struct pax_out *out, const struct pax_file *f, struct err *e)
{
	const struct tar_entry *en = f->entry;
	auto_free char *map = NULL;
	size_t map_len = 0;
	uint64_t data = data_bytes(f);

	assert(out->data_left == 0 && en->kind != TAR_DEVICE);
	int r = en->sparse ? make_map(f, &map, &map_len, e) : 0;
	if (r >= 0)
		r = add_all(out, f, map_len + data, e);
	if (r >= 0 && out->ext_len)
		r = put_ext(out, 'x', en->mtime.tv_sec, e);
	struct header h = {type_of(en->kind), en->path,		 en->target,	 en->mode,
			   (uint64_t)en->uid, (uint64_t)en->gid, map_len + data, en->mtime.tv_sec};
	if (r >= 0)
		r = put_header(out, &h, e);
	if (r >= 0)
		r = put(out, map, map_len, e);
	out->data_left = data;
	out->pad = pad_of(data);
	return r;
}

int pax_data(struct pax_out *out, const void *data, size_t len, struct err *e)
{
	assert(len <= out->data_left);
	int r = put(out, data, len, e);

	out->data_left -= len;
	if (r < 0 || out->data_left > 0)
		return r;
	r = put_zeros(out, out->pad, e);
	out->pad = 0;
	return r;
}

int pax_end(struct pax_out *out, struct err *e)
{
	assert(out->data_left == 0);
	int r = put_zeros(out, 2 * BLOCK, e);

	return r < 0 ? r : put_zeros(out, (size_t)((RECORD - out->total % RECORD) % RECORD), e);
}
