/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three texts to whoever merges them in a sandbox, and what came of it. Bytes, little-endian:
 *
 *	question	"pf3ask\0" 1	magic, version
 *			3 x u64		lengths of base, ours and theirs
 *			...		their bytes
 *			32		SHA-256 of all before
 *
 *	answer		"pf3ans\0" 1	magic, version
 *			u64		1 merged, 2 a conflict, 3 an error
 *			merged: u64, the length, and the text; a conflict: 3 x u64, how many, the first
 *			line, the line behind it; an error: as in frame.h
 *			32		SHA-256 of all before
 */
#include <stdlib.h>

#include "base/fd.h"
#include "tree/frame.h"
#include "tree/text.h"
#include "tree/three.h"

enum { ANSWER_MERGED = 1, ANSWER_CONFLICT, ANSWER_ERROR };

#define OUT_MAX (2 * TREE_TEXT_FILE_MAX) /* no line of a text is in it more than once */

static const char question[FRAME_MAGIC_BYTES] = {'p', 'f', '3', 'a', 's', 'k', 0, 1};
static const char answer[FRAME_MAGIC_BYTES] = {'p', 'f', '3', 'a', 'n', 's', 0, 1};

int tree_three_ask(int fd, const struct tree_three *t, struct err *e)
{
	const struct tree_three_text *all[] = {&t->base, &t->ours, &t->theirs};
	uint8_t head[24], *p = head;
	struct frame_out out;
	int r = frame_out_init(&out, fd, question, e);

	for (int i = 0; i < 3; i++)
		p = frame_le64(p, all[i]->len);
	if (r >= 0)
		r = frame_put(&out, head, sizeof(head), e);
	for (int i = 0; r >= 0 && i < 3; i++)
		r = frame_put(&out, all[i]->text, all[i]->len, e);
	if (r >= 0)
		r = frame_seal(&out, e);
	frame_out_done(&out);
	return r;
}

/* *ret_text is one block with all of them. */
static int take_question(struct frame_in *in, struct tree_three *t, char **ret_text, struct err *e)
{
	struct tree_three_text *all[] = {&t->base, &t->ours, &t->theirs};
	uint8_t head[24];
	const uint8_t *p = head;
	size_t sum = 0, at = 0;
	int r = frame_take(in, head, sizeof(head), e);

	for (int i = 0; r >= 0 && i < 3; i++) {
		uint64_t len = frame_get64(&p);

		if (len > TREE_TEXT_FILE_MAX)
			r = err_set(e, ERR_LIMIT, "a text that is too long");
		all[i]->len = (size_t)len;
		sum += (size_t)len;
	}
	if (r < 0)
		return r;
	char *text = *ret_text = malloc(sum + 1);
	if (!text)
		return err_sys(e, "merge");
	for (int i = 0; i < 3; i++) {
		all[i]->text = text + at;
		at += all[i]->len;
	}
	r = frame_take(in, text, sum, e);
	return r < 0 ? r : frame_check_seal(in, e);
}

static int put_answer(int fd, const struct tree_three *t, const struct err *what, struct err *e)
{
	uint8_t head[32], *p = head;
	struct frame_out out;
	int r = frame_out_init(&out, fd, answer, e);

	if (what) {
		p = frame_le64(p, ANSWER_ERROR);
	} else if (t->conflicts) {
		p = frame_le64(p, ANSWER_CONFLICT);
		p = frame_le64(p, t->conflicts);
		p = frame_le64(p, t->line);
		p = frame_le64(p, t->line_end);
	} else {
		p = frame_le64(p, ANSWER_MERGED);
		p = frame_le64(p, t->out_len);
	}
	if (r >= 0)
		r = frame_put(&out, head, (size_t)(p - head), e);
	if (r >= 0 && what)
		r = frame_put_err(&out, what, e);
	else if (r >= 0 && !t->conflicts)
		r = frame_put(&out, t->out, t->out_len, e);
	if (r >= 0)
		r = frame_seal(&out, e);
	frame_out_done(&out);
	return r;
}

int tree_three_serve(int in_fd, int out_fd, struct err *e)
{
	struct tree_three t = {.out = NULL};
	auto_free char *text = NULL;
	struct err second = ERR_INIT;
	struct frame_in in;
	int r = frame_in_init(&in, in_fd, question, e);

	if (r >= 0) {
		r = take_question(&in, &t, &text, e);
		frame_in_done(&in);
	}
	if (r >= 0)
		r = tree_three_merge(&t, e);
	int told = put_answer(out_fd, &t, r < 0 ? e : NULL, &second);
	tree_three_done(&t);
	return r < 0 ? r : told < 0 ? err_set(e, ERR_INTERNAL, "%s", second.text) : 0;
}

static int take_merged(struct frame_in *in, struct tree_three *t, struct err *e)
{
	uint8_t head[8];
	const uint8_t *p = head;
	int r = frame_take(in, head, sizeof(head), e);
	uint64_t len = r < 0 ? 0 : frame_get64(&p);

	if (r >= 0 && len > OUT_MAX)
		r = err_set(e, ERR_INVALID, "a merged text that is too long");
	auto_free char *out = r < 0 ? NULL : malloc((size_t)len + 1);
	if (r >= 0 && !out)
		r = err_sys(e, "merge");
	if (r >= 0)
		r = frame_take(in, out, (size_t)len, e);
	if (r >= 0)
		r = frame_check_seal(in, e);
	if (r < 0)
		return r;
	t->out = take_ptr(&out);
	t->out_len = (size_t)len;
	return 0;
}

static int take_conflict(struct frame_in *in, struct tree_three *t, struct err *e)
{
	uint8_t head[24];
	const uint8_t *p = head;
	int r = frame_take(in, head, sizeof(head), e);

	if (r >= 0)
		r = frame_check_seal(in, e);
	if (r < 0)
		return r;
	uint64_t n = frame_get64(&p);
	t->line = (size_t)frame_get64(&p);
	t->line_end = (size_t)frame_get64(&p);
	t->conflicts = n && n < UINT32_MAX ? (unsigned)n : 1;
	return 0;
}

int tree_three_answered(int fd, struct tree_three *t, struct err *e)
{
	struct frame_in in;
	uint8_t head[8];
	const uint8_t *p = head;
	int r = frame_in_init(&in, fd, answer, e);

	if (r < 0)
		return r;
	r = frame_take(&in, head, sizeof(head), e);
	if (r >= 0)
		switch (frame_get64(&p)) {
		case ANSWER_MERGED: r = take_merged(&in, t, e); break;
		case ANSWER_CONFLICT: r = take_conflict(&in, t, e); break;
		case ANSWER_ERROR: r = frame_take_err(&in, e); break;
		default: r = err_set(e, ERR_INVALID, "an answer that is none"); break;
		}
	frame_in_done(&in);
	return r;
}
