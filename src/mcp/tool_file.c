/* SPDX-License-Identifier: Apache-2.0 */
/* Files: read as numbered lines or images, listed. Every one is opened by the sandbox itself. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/runs.h"
#include "base/fd.h"
#include "mcp/file.h"
#include "mcp/mcp_int.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define TEXT_CHARS 28000u
#define LINE_CHARS 2000u
#define LOOK_MAX (256u << 20) /* no further is looked for a line */
#define VISITS_MAX 100000u

/* Bytes from a file or from what a run printed. */
struct source {
	int fd; /* FD_NONE: the spool */
	struct spool *spool;
	uint64_t size;
};

static size_t read_at(const struct source *s, uint64_t offset, char *to, size_t max)
{
	if (s->fd < 0)
		return spool_read(s->spool, offset, to, max);
	ssize_t n = pread(s->fd, to, max, (off_t)offset);
	return n > 0 ? (size_t)n : 0;
}

/* Lines of a text, given out as they are met. */
struct lines {
	struct text *out;
	uint64_t first, last, at; /* numbers, from 1 */
	uint64_t shown;
	size_t budget;
	struct text line; /* the beginning of the one that is being read */
	bool full;
};

static void end_line(struct lines *l)
{
	struct tidy tidy;

	if (l->at >= l->first && l->at <= l->last && !l->full) {
		tidy_init(&tidy);
		tidy_text(&tidy, l->line.data, l->line.len, 0);
		if (tidy.chars + 8 > l->budget) {
			l->full = true;
		} else {
			text_fmt(l->out, "%6llu\t", (unsigned long long)l->at);
			text_add(l->out, tidy.out.data ? tidy.out.data : "", tidy.out.len);
			if (l->line.short_of)
				text_put(l->out, " [… line cut …]");
			text_put(l->out, "\n");
			l->budget -= tidy.chars + 8;
			l->shown++;
		}
		tidy_done(&tidy);
	}
	text_done(&l->line);
	l->line.max = LINE_CHARS;
	l->at++;
}

static void take_bytes(struct lines *l, const char *data, size_t len)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;

		if (l->at >= l->first && l->at <= l->last && !l->full) {
			size_t room = l->line.max - l->line.len - 1;

			text_add(&l->line, data, n < room ? n : room);
			l->line.short_of |= n > room;
		}
		if (end)
			end_line(l);
		data += n + (end ? 1 : 0);
		len -= n + (end ? 1 : 0);
	}
}

static void show_lines(struct call *c, const struct source *src, const char *path, struct text *t)
{
	auto_text body = TEXT_INIT;
	struct lines l = {.out = &body,
			  .at = 1,
			  .first = (uint64_t)arg_int(c, "start_line", 1),
			  .budget = TEXT_CHARS,
			  .line = {.max = LINE_CHARS}};
	char part[65536], size[32], last = '\n';
	uint64_t offset = 0;
	size_t n = 1;

	l.last = l.first + (uint64_t)arg_int(c, "line_count", 400) - 1;
	while (offset < LOOK_MAX && (n = read_at(src, offset, part, sizeof(part))) > 0) {
		take_bytes(&l, part, n);
		offset += n;
		last = part[n - 1];
	}
	if (last != '\n')
		end_line(&l);
	text_done(&l.line);
	uint64_t all = l.at - 1, end = l.first + l.shown - 1;
	text_fmt(t, "%s (%llu line%s%s, %s)", path, (unsigned long long)all, all == 1 ? "" : "s",
		 n && offset >= LOOK_MAX ? " and more" : "", text_size(src->size, size));
	if (!l.shown)
		text_fmt(t, all ? ": there is no line %llu" : ": empty",
			 (unsigned long long)l.first);
	else if (l.first > 1 || end < all)
		text_fmt(t, ", lines %llu-%llu", (unsigned long long)l.first,
			 (unsigned long long)end);
	text_put(t, l.shown ? ":\n" : "\n");
	if (body.len)
		text_add(t, body.data, body.len);
	if (l.shown && end < all)
		text_fmt(t, "[… %llu more lines: start_line=%llu …]",
			 (unsigned long long)(all - end), (unsigned long long)end + 1);
}

static const char *image_type(const char *head, size_t n)
{
	if (n >= 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0)
		return "image/png";
	return n >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0 ? "image/jpeg" : NULL;
}

static const char *binary_type(const char *head, size_t n)
{
	static const struct {
		const char *magic, *name;
	} kinds[] = {{"GIF8", "GIF image"},
		     {"%PDF", "PDF"},
		     {"PK\x03\x04", "ZIP"},
		     {"\x7f"
		      "ELF",
		      "ELF"},
		     {"\x1f\x8b", "gzip"},
		     {"SQLite format 3", "SQLite"},
		     {"PAR1", "Parquet"},
		     {"\x28\xb5\x2f\xfd", "zstd"}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (n >= strlen(kinds[i].magic) &&
		    memcmp(head, kinds[i].magic, strlen(kinds[i].magic)) == 0)
			return kinds[i].name;
	return memchr(head, '\0', n) ? "binary data" : NULL;
}

static int show_image(struct call *c, const struct source *src, const char *path, const char *mime,
		      struct err *e)
{
	auto_text t = TEXT_INIT;
	auto_free char *data = NULL;
	char size[32];
	size_t n = 0, got = 1;

	text_fmt(&t, "%s (%s, %s)", path, mime, text_size(src->size, size));
	if (src->size > IMAGE_MAX) {
		text_put(
			&t,
			" is too large to show. Save it smaller, for example savefig(dpi=80), up to "
			"700 KB.");
		return tool_reply(c, &t, e);
	}
	data = malloc(IMAGE_MAX);
	if (!data)
		return err_sys(e, "image");
	while (n < IMAGE_MAX && got) {
		got = read_at(src, n, data + n, IMAGE_MAX - n);
		n += got;
	}
	int r = tool_reply(c, &t, e);
	if (r >= 0)
		tool_add_image(c, value_of_base64(data, n), mime);
	return r;
}

static int show_source(struct call *c, const struct box *b, const struct source *src,
		       const char *path, struct err *e)
{
	auto_text t = TEXT_INIT;
	char head[8192], size[32];
	size_t n = read_at(src, 0, head, sizeof(head));
	const char *image = image_type(head, n), *binary = binary_type(head, n);

	if (image)
		return show_image(c, src, path, image, e);
	if (binary)
		text_fmt(&t,
			 "%s is no text: %s, %s. Look into it with %s, or read "
			 "pinfold://sandbox/%s/files%s as a resource.",
			 path, binary, text_size(src->size, size), tool_name(tool_exec),
			 box_label(b), path);
	else
		show_lines(c, src, path, &t);
	return tool_reply(c, &t, e);
}

static int read_run(struct call *c, struct box *b, const char *path, struct err *e)
{
	int stream = 0;
	struct record *rec = run_of_path(c, b, path, &stream, e);

	if (!rec)
		return -ENOENT;
	struct source src = {.fd = FD_NONE, .spool = &rec->output[stream]};
	auto_text t = TEXT_INIT;
	src.size = spool_size(src.spool, NULL);
	show_lines(c, &src, path, &t);
	int r = tool_reply(c, &t, e);
	record_unref(c->api->runs, rec);
	return r;
}

int tool_read_file(struct call *c, struct err *e)
{
	struct source src = {.fd = FD_NONE};
	struct box *b = tool_box(c, e);
	char path[4096];

	if (!b)
		return -ENOENT;
	int r = tool_path(arg_str(c, "path"), path, e);
	if (r >= 0 && is_run_path(path)) {
		r = read_run(c, b, path, e);
	} else if (r >= 0) {
		r = file_open(b, path, &src.fd, &src.size, e);
		if (r >= 0)
			r = show_source(c, b, &src, path, e);
	}
	fd_close(&src.fd);
	box_put(c->api, b);
	return r;
}

struct listing {
	struct value *entries;
	const char *pattern;
	uint64_t skip, seen, visits;
	size_t limit, budget;
	bool more;
};

static int add_entry(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct listing *l = arg;
	const char *name = strrchr(path, '/');
	struct value *v;

	if (++l->visits > VISITS_MAX)
		l->more = true;
	if (l->more)
		return 1;
	if (l->pattern && fnmatch(l->pattern, name ? name + 1 : path, 0) != 0)
		return 0;
	if (l->seen < l->skip) {
		l->seen++;
		return 0;
	}
	if (value_len(l->entries) >= l->limit || strlen(path) + 90 > l->budget) {
		l->more = true;
		return 1;
	}
	l->seen++;
	l->budget -= strlen(path) + 90;
	v = value_object();
	value_set(v, "path", value_of_str(path));
	value_set(v, "type", value_of_str(info->type));
	value_set(v, "size", value_of_u64(info->size));
	value_set(v, "mtime", value_of_instant((uint64_t)info->mtime_ns / 1000000));
	value_add(l->entries, v);
	return 0;
}

static int list_them(struct call *c, struct box *b, const char *path, struct err *e)
{
	const char *cursor = arg_str(c, "cursor");
	struct listing l = {.pattern = arg_str(c, "pattern"),
			    .budget = TEXT_CHARS,
			    .limit = (size_t)arg_int(c, "limit", 200)};
	unsigned long long skip = 0;
	struct pinfold_error failure;
	char rest = 0, next[32];

	if (cursor && (sscanf(cursor, "%llu%c", &skip, &rest) != 1 || *cursor == '-')) {
		(void)err_set(e, ERR_INVALID, "cursor: not one of this tool");
		return err_remedy(e, "Pass next_cursor of the page before, or leave it out");
	}
	struct pinfold_files *files = box_files(b, e);
	if (!files)
		return -EIO;
	l.skip = skip;
	l.entries = value_array();
	int r = pinfold_file_list(files, path, (unsigned)arg_int(c, "depth", 2), 0, add_entry, &l,
				  &failure);
	box_files_put(b, false);
	if (r < 0) {
		value_free(l.entries);
		(void)api_error(e, &failure);
		return file_missing(b, path, e);
	}
	(void)snprintf(next, sizeof(next), "%llu", (unsigned long long)l.seen);
	struct value *v = value_object();
	value_set(v, "sandbox", value_of_str(box_label(b)));
	value_set(v, "path", value_of_str(path));
	value_set(v, "entries", l.entries);
	value_set(v, "next_cursor", l.more ? value_of_str(next) : value_of_null());
	return tool_reply_json(c, v, e);
}

int tool_list_files(struct call *c, struct err *e)
{
	const char *given = arg_str(c, "path");
	struct box *b = tool_box(c, e);
	char path[4096];

	if (!b)
		return -ENOENT;
	int r = tool_path(given ? given : "/home/user", path, e);
	if (r >= 0)
		r = list_them(c, b, path, e);
	box_put(c->api, b);
	return r;
}
