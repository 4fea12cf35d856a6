/* SPDX-License-Identifier: Apache-2.0 */
/* Files written, and a text in one replaced. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "mcp/file.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

#define EDIT_MAX (8u << 20)
#define SHOWN_MAX 3u /* places of an edit that are shown */
#define CONTEXT 2u   /* lines around one */

static size_t count_lines(const char *data, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += data[i] == '\n';
	return n;
}

static int write_it(struct call *c, struct box *b, const char *path, struct err *e)
{
	const struct value *content = arg(c, "content");
	const char *encoding = arg_str(c, "encoding"), *mode = arg_str(c, "mode");
	const char *data = value_str(content);
	auto_free void *decoded = NULL;
	size_t len = value_len(content);
	auto_text t = TEXT_INIT;
	uint32_t flags = PINFOLD_WRITE_PARENTS;
	char number[32];

	if (encoding && !strcmp(encoding, "base64")) {
		if (value_from_base64(data, len, &decoded, &len) < 0)
			return err_set(e, ERR_INVALID, "content: not base64");
		data = decoded;
	}
	if (mode && !strcmp(mode, "append"))
		flags |= PINFOLD_WRITE_APPEND;
	if (mode && !strcmp(mode, "create"))
		flags |= PINFOLD_WRITE_NEW;
	if (file_save(b, path, data, len, flags, arg_true(c, "executable") ? 0755 : 0, e) < 0)
		return -EIO;
	size_t lines = count_lines(data, len) + (len && data[len - 1] != '\n');
	text_fmt(&t, "%s %s byte%s, %zu line%s to %s",
		 flags & PINFOLD_WRITE_APPEND ? "appended" : "wrote", text_number(len, number),
		 len == 1 ? "" : "s", lines, lines == 1 ? "" : "s", path);
	return tool_reply(c, &t, e);
}

static int with_path(struct call *c,
		     int (*what)(struct call *c, struct box *b, const char *path, struct err *e),
		     struct err *e)
{
	struct box *b = tool_box(c, e);
	char path[4096];

	if (!b)
		return -ENOENT;
	int r = tool_path(arg_str(c, "path"), path, e);
	if (r >= 0 && is_run_path(path))
		r = err_set(e, ERR_DENIED, "%s is output of a run and cannot be written", path);
	if (r >= 0)
		r = what(c, b, path, e);
	box_put(c->api, b);
	return r;
}

int tool_write_file(struct call *c, struct err *e)
{
	return with_path(c, write_it, e);
}

/* A file that is edited, and what is to be replaced. */
struct edit {
	const char *path;
	char *old; /* the file; owned */
	size_t old_len;
	const char *from, *to;
	size_t from_len, to_len;
	size_t n;	  /* how often it occurs */
	size_t lines[16]; /* where, from 1 */
};

static const char *find(const struct edit *d, const char *at)
{
	return memmem(at, d->old_len - (size_t)(at - d->old), d->from, d->from_len);
}

static void count(struct edit *d)
{
	size_t line = 1;
	const char *at = d->old;

	for (const char *hit; (hit = find(d, at)); at = hit + d->from_len) {
		line += count_lines(at, (size_t)(hit - at));
		if (d->n < sizeof(d->lines) / sizeof(*d->lines))
			d->lines[d->n] = line;
		d->n++;
		line += count_lines(hit, d->from_len);
	}
}

/* The line where the text stands but for its white space; 0: nowhere. */
static size_t closest(const struct edit *d)
{
	auto_free char *hay = malloc(d->old_len + 1), *needle = malloc(d->from_len + 1);
	auto_free size_t *lines = malloc((d->old_len + 1) * sizeof(*lines));
	size_t n = 0, m = 0, line = 1;

	if (!hay || !needle || !lines)
		return 0;
	for (size_t i = 0; i < d->old_len; i++) {
		if (!isspace((unsigned char)d->old[i])) {
			lines[n] = line;
			hay[n++] = d->old[i];
		}
		line += d->old[i] == '\n';
	}
	for (size_t i = 0; i < d->from_len; i++)
		if (!isspace((unsigned char)d->from[i]))
			needle[m++] = d->from[i];
	const char *hit = m ? memmem(hay, n, needle, m) : NULL;
	return hit ? lines[hit - hay] : 0;
}

static const char *line_at(const struct edit *d, size_t number, size_t *ret_len)
{
	const char *at = d->old, *end = d->old + d->old_len;

	while (--number && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		at = next ? next + 1 : end;
	}
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	*ret_len = (size_t)((stop ? stop : end) - at);
	return at;
}

/* What is shown of a line does not say how it ends. */
static bool other_ends(const struct edit *d)
{
	return memmem(d->old, d->old_len, "\r\n", 2) && memchr(d->from, '\n', d->from_len) &&
	       !memmem(d->from, d->from_len, "\r\n", 2);
}

static int not_found(const struct edit *d, struct err *e)
{
	size_t all =
		count_lines(d->old, d->old_len) + (d->old_len && d->old[d->old_len - 1] != '\n');
	size_t line = closest(d), len = 0;

	if (!line) {
		(void)err_set(e, ERR_MISSING, "old_text was not found in %s (%zu lines)", d->path,
			      all);
		(void)err_detail(e, "text");
		return err_remedy(e, "Read the file and retry with the exact text");
	}
	const char *text = line_at(d, line, &len);
	len = len > 120 ? 120 - utf8_cut_tail(text, 120) : len;
	(void)err_set(
		e, ERR_MISSING,
		"old_text was not found in %s (%zu lines); closest text is at line %zu and differs in "
		"whitespace: «%.*s»",
		d->path, all, line, (int)len, text);
	(void)err_detail(e, "text");
	if (other_ends(d))
		return err_remedy(e,
				  "Lines of this file end with \\r\\n: retry with that in old_text "
				  "and new_text, or edit one line at a time");
	return err_remedy(e, "Read lines %zu-%zu and retry with the exact text",
			  line > 8 ? line - 8 : 1, line + 12 < all ? line + 12 : all);
}

static int ambiguous(const struct edit *d, struct err *e)
{
	auto_text where = TEXT_INIT;

	for (size_t i = 0; i < d->n && i < sizeof(d->lines) / sizeof(*d->lines); i++)
		text_fmt(&where, "%s%zu", i ? ", " : "", d->lines[i]);
	(void)err_set(e, ERR_CONFLICT, "old_text occurs %zu times (lines %s)", d->n, where.data);
	(void)err_detail(e, "ambiguous");
	return err_remedy(e, "Add surrounding lines, or set replace_all=true");
}

/* Lines of `data`, each behind a sign. Returns how many. */
static size_t put_lines(struct text *t, char sign, const char *data, size_t len)
{
	size_t lines = 0;

	for (; len; lines++) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;

		text_add(t, &sign, 1);
		text_add(t, data, n);
		text_put(t, "\n");
		data += n + (end ? 1 : 0);
		len -= n + (end ? 1 : 0);
	}
	return lines;
}

static size_t line_start(const char *data, size_t at)
{
	while (at && data[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const char *data, size_t len, size_t at)
{
	while (at < len && data[at] != '\n')
		at++;
	return at < len ? at + 1 : len;
}

/*
 * The place at `hit`, with others in the same lines: where those lines end, and what they are now.
 * Returns the place behind them, NULL: there is none.
 */
static const char *take_lines(const struct edit *d, const char *hit, size_t *ret_end,
			      struct text *now, size_t *shown)
{
	size_t at = line_start(d->old, (size_t)(hit - d->old)), end;

	for (;;) {
		text_add(now, d->old + at, (size_t)(hit - d->old) - at);
		text_add(now, d->to, d->to_len);
		end = at = (size_t)(hit - d->old) + d->from_len;
		++*shown;
		if (d->old[at - 1] != '\n' || (now->len && now->data[now->len - 1] != '\n'))
			end = line_end(d->old, d->old_len, at);
		hit = find(d, d->old + at);
		if (!hit || (size_t)(hit - d->old) >= end)
			break;
	}
	text_add(now, d->old + at, end - at);
	*ret_end = end;
	return hit;
}

/* Places that are near each other. Returns the one behind them, NULL: there is none. */
static const char *put_hunk(struct text *t, const struct edit *d, const char *hit, size_t *moved,
			    size_t *shown)
{
	auto_text body = TEXT_INIT;
	size_t begin = line_start(d->old, (size_t)(hit - d->old)), top = begin, end;

	for (unsigned i = 0; i < CONTEXT; i++)
		top = top ? line_start(d->old, top - 1) : 0;
	size_t first = count_lines(d->old, top) + 1;
	size_t same = put_lines(&body, ' ', d->old + top, begin - top), gone = 0, come = 0;
	for (;;) {
		auto_text now = TEXT_INIT;

		hit = take_lines(d, hit, &end, &now, shown);
		gone += put_lines(&body, '-', d->old + begin, end - begin);
		come += put_lines(&body, '+', now.data, now.len);
		begin = hit ? line_start(d->old, (size_t)(hit - d->old)) : d->old_len;
		if (!hit || *shown >= SHOWN_MAX ||
		    count_lines(d->old + end, begin - end) > 2 * CONTEXT)
			break;
		same += put_lines(&body, ' ', d->old + end, begin - end);
	}
	for (unsigned i = 0; i < CONTEXT && end < begin; i++) {
		size_t next = line_end(d->old, d->old_len, end);

		same += put_lines(&body, ' ', d->old + end, next - end);
		end = next;
	}
	text_fmt(t, "@@ -%zu,%zu +%zu,%zu @@\n", first, same + gone, first + *moved, same + come);
	text_add(t, body.data, body.len);
	*moved += come - gone; /* may be less than nothing: sizes wrap around */
	return hit;
}

static void show_edit(struct text *t, const struct edit *d)
{
	__attribute__((cleanup(text_done))) struct text diff = TEXT_INIT;
	const char *hit = find(d, d->old);
	struct stream s = {.name = "diff"};
	size_t moved = 0, shown = 0;
	bool cut = false;

	text_fmt(t, "replaced %zu occurrence%s in %s\n", d->n, d->n == 1 ? "" : "s", d->path);
	while (hit && shown < SHOWN_MAX)
		hit = put_hunk(&diff, d, hit, &moved, &shown);
	s.head = diff.data;
	s.head_len = diff.len;
	text_stream(t, &s, 4000, &cut);
	if (d->n > shown)
		text_fmt(t, "[… %zu more …]\n", d->n - shown);
}

static int replace(struct call *c, struct box *b, struct edit *d, struct err *e)
{
	auto_text out = TEXT_INIT, t = TEXT_INIT;
	const char *at = d->old;

	for (const char *hit; (hit = find(d, at)); at = hit + d->from_len) {
		text_add(&out, at, (size_t)(hit - at));
		text_add(&out, d->to, d->to_len);
	}
	text_add(&out, at, d->old_len - (size_t)(at - d->old));
	if (out.short_of)
		return err_set(e, ERR_LIMIT, "the file would be too large");
	if (file_save(b, d->path, out.data, out.len, 0, 0, e) < 0)
		return -EIO;
	show_edit(&t, d);
	return tool_reply(c, &t, e);
}

static int edit_it(struct call *c, struct box *b, const char *path, struct err *e)
{
	const struct value *from = arg(c, "old_text"), *to = arg(c, "new_text");
	struct edit d = {.path = path,
			 .from = value_str(from),
			 .from_len = value_len(from),
			 .to = value_str(to),
			 .to_len = value_len(to)};
	int r = file_load(b, path, EDIT_MAX, &d.old, &d.old_len, e);

	if (r < 0)
		return r;
	count(&d);
	if (!d.n)
		r = not_found(&d, e);
	else if (d.n > 1 && !arg_true(c, "replace_all"))
		r = ambiguous(&d, e);
	else
		r = replace(c, b, &d, e);
	free(d.old);
	return r;
}

int tool_edit_file(struct call *c, struct err *e)
{
	return with_path(c, edit_it, e);
}
