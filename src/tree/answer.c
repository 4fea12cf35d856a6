/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an answer, little-endian:
 *
 *	"pfdone\0" 1	magic, version
 *	u64	1 done, 2 an error
 *	done: 16 x u64, the numbers of tree_unpack_stats, tree_merge_stats or tree_digest in their
 *	order (a hash is the first four), or what a sender left out: special files, links out; an error: as in frame.h
 *	32	SHA-256 of all before
 */
#include "tree/answer.h"

#define ANSWER_DONE 1u
#define ANSWER_ERROR 2u

_Static_assert(sizeof(union tree_answer) == 8 * TREE_ANSWER_VALUES, "all of them fit");

static const char magic[FRAME_MAGIC_BYTES] = {'p', 'f', 'd', 'o', 'n', 'e', 0, 1};

static int send_all(int fd, const union tree_answer *answer, const struct err *what, struct err *e)
{
	uint8_t buf[8 + 8 * TREE_ANSWER_VALUES],
		*p = frame_le64(buf, what ? ANSWER_ERROR : ANSWER_DONE);
	struct frame_out out;
	int r = frame_out_init(&out, fd, magic, e);

	for (int i = 0; answer && i < TREE_ANSWER_VALUES; i++)
		p = frame_le64(p, answer->values[i]);
	if (r >= 0)
		r = frame_put(&out, buf, (size_t)(p - buf), e);
	if (r >= 0 && what)
		r = frame_put_err(&out, what, e);
	if (r >= 0)
		r = frame_seal(&out, e);
	frame_out_done(&out);
	return r;
}

int tree_answer_send(int fd, const union tree_answer *answer, struct err *e)
{
	return send_all(fd, answer, NULL, e);
}

int tree_answer_send_error(int fd, const struct err *what, struct err *e)
{
	return send_all(fd, NULL, what, e);
}

static int take_answer(struct frame_in *in, union tree_answer *ret, struct err *e)
{
	uint8_t buf[8 * TREE_ANSWER_VALUES];
	const uint8_t *p = buf;
	int r = frame_take(in, buf, 8, e);

	if (r < 0)
		return r;
	uint64_t kind = frame_get64(&p);
	if (kind == ANSWER_ERROR)
		return frame_take_err(in, e);
	if (kind != ANSWER_DONE)
		return err_set(e, ERR_INVALID, "an answer that is none");
	r = frame_take(in, buf, sizeof(buf), e);
	if (r >= 0)
		r = frame_check_seal(in, e);
	if (r < 0)
		return r;
	p = buf;
	for (int i = 0; i < TREE_ANSWER_VALUES; i++)
		ret->values[i] = frame_get64(&p);
	return 0;
}

int tree_answer_read(int fd, union tree_answer *ret, struct err *e)
{
	struct frame_in in;
	int r = frame_in_init(&in, fd, magic, e);

	if (r < 0)
		return r;
	r = take_answer(&in, ret, e);
	frame_in_done(&in);
	return r;
}
