/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void text_done(struct text *t)
{
	free(t->data);
	*t = (struct text)TEXT_INIT;
}

static bool make_room(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 256;

	if (more >= t->max - t->len) {
		t->short_of = true;
		return false;
	}
	while (room < t->len + more + 1)
		room *= 2;
	char *data = room > t->room ? realloc(t->data, room) : t->data;
	if (!data) {
		t->short_of = true;
		return false;
	}
	t->data = data;
	t->room = room;
	return true;
}

void text_add(struct text *t, const char *data, size_t len)
{
	if (!make_room(t, len))
		return;
	if (len)
		memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
}

void text_put(struct text *t, const char *words)
{
	text_add(t, words, strlen(words));
}

void text_fmt(struct text *t, const char *fmt, ...)
{
	char small[512];
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof(small), fmt, ap);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		text_add(t, small, (size_t)n);
	} else if (n >= 0 && make_room(t, (size_t)n)) {
		(void)vsnprintf(t->data + t->len, (size_t)n + 1, fmt, again);
		t->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

void tidy_init(struct tidy *t)
{
	*t = (struct tidy){.out = TEXT_INIT};
}

void tidy_done(struct tidy *t)
{
	text_done(&t->out);
	free(t->lines);
	t->lines = NULL;
}

/* Bytes of an escape sequence whose ESC is at p: CSI and its like to their last byte, OSC and its
 * like to BEL or ST. It never goes past the end of its line, so that one that is not finished costs
 * a line and not the rest. */
static size_t escape_len(const char *p, size_t len)
{
	size_t i = 2;

	if (len < 2)
		return len;
	if (p[1] == '[') {
		while (i < len && (unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < 0x40)
			i++;
		return i < len && (unsigned char)p[i] >= 0x40 && (unsigned char)p[i] < 0x7f ? i + 1
											    : i;
	}
	if (strchr("]PX^_", p[1])) {
		while (i < len && p[i] != '\a' && p[i] != '\033')
			i++;
		if (i < len && p[i] == '\a')
			return i + 1;
		return i + 1 < len && p[i + 1] == '\\' ? i + 2 : i;
	}
	while (i < len && i < 4 && strchr(" !\"#$%&'()*+,-./", p[i - 1]))
		i++; /* intermediate bytes, then one more */
	return i;
}

static void back_one(struct text *line)
{
	while (line->len && ((unsigned char)line->data[--line->len] & 0xc0) == 0x80)
		;
}

/* A carriage return, if more of the line follows, begins it anew. */
static bool rest_is_empty(const char *p, size_t len)
{
	while (len && *p == '\r') {
		p++;
		len--;
	}
	return len == 0;
}

static void tidy_char(struct tidy *t, struct text *line, const char *p, size_t n)
{
	unsigned char c = (unsigned char)*p;

	if (!n) {
		t->bad_bytes++;
		text_add(line, "\xef\xbf\xbd", 3);
	} else if (c == '\b') {
		back_one(line);
	} else if ((n > 1 && !(c == 0xc2 && (unsigned char)p[1] < 0xa0)) || c == '\t' ||
		   (n == 1 && c >= 0x20 && c < 0x7f)) {
		text_add(line, p, n);
	}
}

static void tidy_line(struct tidy *t, struct text *line, const char *raw, size_t len)
{
	line->len = 0;
	for (size_t i = 0; i < len;) {
		if (raw[i] == '\033') {
			i += escape_len(raw + i, len - i);
			continue;
		}
		if (raw[i] == '\r' && !rest_is_empty(raw + i, len - i))
			line->len = 0;
		size_t n = utf8_len((const unsigned char *)raw + i, len - i);

		tidy_char(t, line, raw + i, n);
		i += n ? n : 1;
	}
}

static void note_line(struct tidy *t, uint32_t number)
{
	if (t->n_lines == t->lines_room) {
		size_t room = t->lines_room ? 2 * t->lines_room : 64;
		uint32_t *lines = realloc(t->lines, room * sizeof(*lines));

		if (!lines) {
			t->out.short_of = true;
			return;
		}
		t->lines = lines;
		t->lines_room = room;
	}
	t->lines[t->n_lines++] = number;
}

/* Lines that are the same, one behind the other. */
struct fold {
	size_t at, len; /* of the first in the output */
	size_t line;	/* and its index */
	uint64_t n;
};

static void end_fold(struct tidy *t, struct fold *f)
{
	char number[32];

	if (f->n > TEXT_FOLD_LINES) {
		uint32_t first = t->lines && f->line < t->n_lines ? t->lines[f->line] : 0;

		t->out.len = f->at + f->len;
		t->n_lines = f->line + 1;
		note_line(t, first);
		text_fmt(&t->out, "[the line above came %s times]\n", text_number(f->n, number));
	}
	*f = (struct fold){0};
}

static bool same_line(const struct tidy *t, const struct fold *f, const struct text *line)
{
	return f->n && f->len == line->len + 1 &&
	       memcmp(t->out.data + f->at, line->data ? line->data : "", line->len) == 0;
}

static void add_line(struct tidy *t, struct fold *f, const struct text *line, uint32_t number)
{
	bool same = same_line(t, f, line);

	if (!same)
		end_fold(t, f);
	if (!same)
		*f = (struct fold){.at = t->out.len, .len = line->len + 1, .line = t->n_lines};
	if (++f->n > TEXT_FOLD_LINES + 1)
		return; /* they will be taken away in any case */
	note_line(t, number);
	text_add(&t->out, line->data ? line->data : "", line->len);
	text_add(&t->out, "\n", 1);
}

void tidy_text(struct tidy *t, const char *raw, size_t len, unsigned flags)
{
	auto_text line = TEXT_INIT;
	struct fold fold = {0};
	uint32_t number = 1;
	bool ended = true;

	for (size_t i = 0; i < len; number++) {
		const char *end = memchr(raw + i, '\n', len - i);
		size_t n = end ? (size_t)(end - raw) - i : len - i;

		tidy_line(t, &line, raw + i, n);
		if (flags & TEXT_FOLD || !fold.n)
			add_line(t, &fold, &line, number);
		if (!(flags & TEXT_FOLD))
			fold.n = 0;
		ended = end;
		i += n + 1;
	}
	end_fold(t, &fold);
	if (!ended && t->out.len)
		t->out.data[--t->out.len] = '\0'; /* the last had no newline */
	t->chars = text_chars(t->out.data, t->out.len);
}

uint64_t text_chars(const char *data, size_t len)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)data[i] & 0xc0) != 0x80;
	return n;
}

/* Bytes of the first `chars` characters. */
static size_t bytes_of(const char *data, size_t len, uint64_t chars)
{
	size_t i = 0;

	while (i < len) {
		if (((unsigned char)data[i] & 0xc0) != 0x80 && chars-- == 0)
			break;
		i++;
	}
	return i;
}

/* Bytes of the last `chars` characters. */
static size_t bytes_of_end(const char *data, size_t len, uint64_t chars)
{
	size_t i = len;

	while (i && chars)
		chars -= ((unsigned char)data[--i] & 0xc0) != 0x80;
	return len - i;
}

/* Where a beginning of at most `max` bytes ends: behind a line, unless that costs more than
 * half. */
static size_t cut_head(const char *data, size_t max)
{
	for (size_t i = max; i > max / 2; i--)
		if (data[i - 1] == '\n')
			return i;
	return max;
}

/* Where an end of at most `max` bytes begins, from the end. */
static size_t cut_tail(const char *data, size_t len, size_t max)
{
	for (size_t n = max; n > max / 2; n--)
		if (n < len && data[len - n - 1] == '\n')
			return n;
	return max;
}

static size_t count_lines(const char *data, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += data[i] == '\n';
	return n;
}

static void put_title(struct text *t, const struct stream *s, const char *cut, uint64_t bad)
{
	char number[32];

	text_fmt(t, "%s%s", s->name, s->so_far ? " so far" : "");
	if (*cut || bad) {
		text_fmt(t, " (%s%s", cut, *cut && bad ? "; " : "");
		if (bad)
			text_fmt(t, "%s byte%s no valid UTF-8", text_number(bad, number),
				 bad == 1 ? " was" : "s were");
		text_put(t, ")");
	}
	text_put(t, ":\n");
}

static void put_omitted(struct text *t, const struct stream *s, uint64_t chars, uint32_t line)
{
	char number[32];

	text_fmt(t, "[… %s chars omitted. ", text_number(chars, number));
	if (s->path)
		text_fmt(t, "Read them with %s path=\"%s\" start_line=%u, or rerun", s->reader,
			 s->path, line);
	else
		text_put(t, "Rerun");
	text_put(t, " with a filter such as \"| tail -n 50\" …]\n");
}

static void put_cut(struct text *t, const struct stream *s, const struct tidy *head,
		    const struct tidy *tail, size_t budget)
{
	uint64_t all = tail == head ? head->chars : s->chars;
	size_t h =
		cut_head(head->out.data, bytes_of(head->out.data, head->out.len, budget * 2 / 5));
	size_t e = cut_tail(tail->out.data, tail->out.len,
			    bytes_of_end(tail->out.data, tail->out.len, budget - budget * 2 / 5));
	uint64_t first = text_chars(head->out.data, h);
	uint64_t last = text_chars(tail->out.data + tail->out.len - e, e);
	size_t line = count_lines(head->out.data, h);
	char number[32], words[128];

	all = all > first + last ? all : first + last;
	(void)snprintf(words, sizeof(words),
		       "showing first %" PRIu64 " and last %" PRIu64 " of %s chars", first, last,
		       text_number(all, number));
	put_title(t, s, words, head->bad_bytes + (tail == head ? 0 : tail->bad_bytes));
	text_add(t, head->out.data, h);
	if (h && head->out.data[h - 1] != '\n')
		text_put(t, "\n");
	put_omitted(t, s, all - first - last, line < head->n_lines ? head->lines[line] : 1);
	text_add(t, tail->out.data + tail->out.len - e, e);
}

void text_stream(struct text *t, const struct stream *s, size_t budget, bool *ret_cut)
{
	__attribute__((cleanup(tidy_done))) struct tidy head, tail;
	char number[32];

	tidy_init(&head);
	tidy_init(&tail);
	tidy_text(&head, s->head, s->head_len, TEXT_FOLD);
	if (s->tail)
		tidy_text(&tail, s->tail, s->tail_len, TEXT_FOLD);
	*ret_cut = s->tail || head.chars > budget || s->lost;
	if (s->tail || head.chars > budget) {
		put_cut(t, s, &head, s->tail ? &tail : &head, budget);
	} else if (!head.out.len) {
		text_fmt(t, "%s%s: (empty)\n", s->name, s->so_far ? " so far" : "");
	} else {
		put_title(t, s, "", head.bad_bytes);
		text_add(t, head.out.data, head.out.len);
	}
	if (t->len && t->data[t->len - 1] != '\n')
		text_put(t, "\n");
	if (s->lost)
		text_fmt(t, "[recording stopped at 64 MB; %s more bytes came]\n",
			 text_number(s->lost, number));
}

const char *text_number(uint64_t n, char ret[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), k = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			ret[k++] = ',';
		ret[k++] = digits[i];
	}
	ret[k] = '\0';
	return ret;
}

const char *text_size(uint64_t bytes, char ret[32])
{
	static const char *const units[] = {"KB", "MB", "GB", "TB"};
	double n = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1000) {
		(void)snprintf(ret, 32, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
		return ret;
	}
	while (n >= 1000 && unit < 3) {
		n /= 1024;
		unit++;
	}
	(void)snprintf(ret, 32, n < 9.95 ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return ret;
}

const char *text_seconds(uint64_t ms, char ret[32])
{
	(void)snprintf(ret, 32, ms < 1000 ? "%.2fs" : "%.1fs", (double)ms / 1000);
	return ret;
}
