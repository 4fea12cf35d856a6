/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model reads: the output of a program without what only a terminal understands, cut to a
 * budget of characters where it is long, with a word about where the rest is. Pure: no I/O.
 */
#ifndef MCP_TEXT_H
#define MCP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows. What does not fit into `max`, or memory, is left out and `short_of` set. */
struct text {
	char *data; /* owned; ends with a NUL; NULL while it is empty */
	size_t len, room, max;
	bool short_of;
};

#define TEXT_INIT                                                                                  \
	{                                                                                          \
		.max = (size_t)64 << 20                                                            \
	}

void text_done(struct text *t);
void text_add(struct text *t, const char *data, size_t len);
void text_put(struct text *t, const char *words);
void text_fmt(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define auto_text __attribute__((cleanup(text_done))) struct text

#define TEXT_FOLD 0x1u /* more than TEXT_FOLD_LINES that are the same become one with a count */
#define TEXT_FOLD_LINES 20u

struct tidy {
	struct text out; /* UTF-8, no control character but tab and newline */
	uint64_t chars;
	uint64_t bad_bytes; /* that were no UTF-8, each U+FFFD now */
	uint32_t *lines;    /* of each line of `out`: its number in what came in, from 1 */
	size_t n_lines, lines_room;
};

/* Escape sequences go, "\r" leaves what was written last, as a terminal would show it. */
void tidy_init(struct tidy *t);
void tidy_done(struct tidy *t);
void tidy_text(struct tidy *t, const char *raw, size_t len, unsigned flags);

/* One stream of a run. */
struct stream {
	const char *name; /* "stdout" */
	const char *head; /* all of it, or its beginning */
	size_t head_len;
	const char *tail; /* its end, where `head` is not all; else NULL */
	size_t tail_len;
	uint64_t chars;	    /* with a tail: of all of it */
	uint64_t lost;	    /* bytes that came when no more was recorded */
	const char *path;   /* where all of it can be read, NULL: nowhere */
	const char *reader; /* and by which tool */
	bool so_far;	    /* it was not at its end */
};

/* The stream under its name, in at most `budget` characters of its own: 40 % from its beginning,
 * the rest from its end, cut between lines. *ret_cut: something is left out. */
void text_stream(struct text *t, const struct stream *s, size_t budget, bool *ret_cut);

uint64_t text_chars(const char *data, size_t len);   /* of UTF-8, or what would be */
const char *text_number(uint64_t n, char ret[32]);   /* "981,233" */
const char *text_size(uint64_t bytes, char ret[32]); /* "23 KB", "1.1 KB" */
const char *text_seconds(uint64_t ms, char ret[32]); /* "1.2s" */

#endif
