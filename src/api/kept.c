/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kept.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/op.h"
#include "api/spool.h"
#include "base/fd.h"
#include "base/utf8.h"

#define HOME "/home/user/"
#define INLINE_IMAGE_MAX (1u << 20)
#define INLINE_TEXT_MAX (64u << 10)

struct kept_file {
	char *path;
	uint64_t offset, size;
	bool whole; /* else there was no room */
};

struct kept {
	const struct value *patterns; /* borrowed, while the run goes on */
	bool is_inline;
	int fd;
	uint64_t bytes;
	struct kept_file files[KEPT_FILES_MAX];
	unsigned n;
};

struct kept *kept_new(const struct value *patterns, bool is_inline)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k)
		*k = (struct kept){.patterns = patterns, .is_inline = is_inline, .fd = FD_NONE};
	return k;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	for (unsigned i = 0; i < k->n; i++)
		free(k->files[i].path);
	fd_close(&k->fd);
	free(k);
}

static bool is_wanted(const struct kept *k, const char *path)
{
	const char *below = strncmp(path, HOME, strlen(HOME)) == 0 ? path + strlen(HOME) : path;

	for (size_t i = 0; i < value_len(k->patterns); i++) {
		const char *pattern = value_str(value_at(k->patterns, i));

		if (fnmatch(pattern, path, 0) == 0 || fnmatch(pattern, below, 0) == 0)
			return true;
	}
	return false;
}

/* The sandbox may still have it open for writing: no more than was said, and what is missing is
 * zero. */
static int copy(int to, uint64_t at, int from, uint64_t size)
{
	auto_free char *part = malloc(65536);
	uint64_t done = 0;

	while (part && done < size) {
		size_t want = size - done < 65536 ? (size_t)(size - done) : 65536;
		ssize_t n = pread(from, part, want, (off_t)done);

		if (n <= 0)
			break;
		if (pwrite(to, part, (size_t)n, (off_t)(at + done)) != n)
			return -EIO;
		done += (uint64_t)n;
	}
	return part && ftruncate(to, (off_t)(at + size)) == 0 ? 0 : -EIO;
}

void kept_add(void *arg, const char *path, int fd, uint64_t size)
{
	struct kept *k = arg;

	if (k->n == KEPT_FILES_MAX || !is_wanted(k, path))
		return;
	struct kept_file *f = &k->files[k->n];
	*f = (struct kept_file){.path = strdup(path), .offset = k->bytes, .size = size};
	if (!f->path)
		return;
	k->n++;
	if (k->fd < 0)
		k->fd = spool_open_file();
	if (k->fd < 0 || size > KEPT_BYTES_MAX - k->bytes || copy(k->fd, k->bytes, fd, size) < 0)
		return;
	f->whole = true;
	k->bytes += size;
}

uint64_t kept_bytes(const struct kept *k)
{
	return k ? k->bytes : 0;
}

static const struct kept_file *find(const struct kept *k, const char *path)
{
	char whole[4200];

	(void)snprintf(whole, sizeof(whole), "%s%s", *path == '/' ? "" : HOME, path);
	for (unsigned i = 0; i < k->n; i++)
		if (strcmp(k->files[i].path, whole) == 0)
			return &k->files[i];
	return NULL;
}

static bool is_image(const char *data, size_t len)
{
	return (len > 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0) ||
	       (len > 3 && memcmp(data, "\xff\xd8\xff", 3) == 0);
}

/* What a caller can show at once: by what it is, not by its name. */
static void add_content(const struct kept *k, const struct kept_file *f, struct value *to)
{
	auto_free char *data = f->size <= INLINE_IMAGE_MAX ? malloc(f->size + 1) : NULL;

	if (!data || pread(k->fd, data, f->size, (off_t)f->offset) != (ssize_t)f->size)
		return;
	bool text = f->size <= INLINE_TEXT_MAX && utf8_valid(data, f->size) &&
		    !memchr(data, 0, f->size);
	if (!text && !is_image(data, f->size))
		return;
	struct value *content = value_object();
	value_set_text(content, data, f->size);
	value_set(to, "content", content);
}

/* As in a query. */
static void escape(const char *path, char *to, size_t size)
{
	size_t n = 0;

	for (; *path && n + 4 < size; path++) {
		unsigned char c = (unsigned char)*path;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || strchr("/-_.~", c);

		n += (size_t)snprintf(to + n, size - n, plain ? "%c" : "%%%02X", c);
	}
	to[n] = '\0';
}

void kept_describe(struct kept *k, struct value *doc, const char *run)
{
	struct value *files = value_get(doc, "files");
	auto_free char *at = malloc(13000);

	k->patterns = NULL; /* its owner is about to go */
	for (size_t i = 0; at && i < value_len(files); i++) {
		struct value *one = value_at(files, i);
		const char *path = value_str(value_get(one, "path"));
		const struct kept_file *f = path ? find(k, path) : NULL;

		if (!f)
			continue;
		value_set(one, "kept", value_of_bool(f->whole));
		if (!f->whole)
			continue;
		op_route("run.file", run, at, 200);
		size_t n = strlen(at);
		n += (size_t)snprintf(at + n, 16, "?path=");
		escape(path, at + n, 13000 - n);
		value_set(one, "artifact", value_of_str(at));
		if (k->is_inline)
			add_content(k, f, one);
	}
}

int kept_open(const struct kept *k, const char *path, uint64_t *ret_offset, uint64_t *ret_size,
	      struct err *e)
{
	const struct kept_file *f = k ? find(k, path) : NULL;

	if (!f || !f->whole) {
		(void)err_set(e, ERR_MISSING, "%.200s was not kept of this run", path);
		(void)err_detail(e, "file");
		return err_remedy(e, "name it in `artifacts` of the run");
	}
	int fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return err_sys(e, "file of a run");
	*ret_offset = f->offset;
	*ret_size = f->size;
	return fd;
}
