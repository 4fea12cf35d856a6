/* SPDX-License-Identifier: Apache-2.0 */
/* Layers are merged by the reader, in a sandbox that can link files and write none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/workspace_int.h"
#include "store/merge.h"
#include "tree/answer.h"

#define WORD_SIZE 40u

/* reader merge OUT LAYER..., with the lowest first. */
static int merge_part(struct store *s, const struct merge *m, const char *part, uint32_t bit,
		      struct err *e)
{
	char words[STACK_MAX + 1][WORD_SIZE];
	const char *argv[STACK_MAX + 3] = {"merge", words[0]};
	unsigned n = 2;
	struct reader_ask ask = {.argv = argv, .peek = PEEK_MERGE, .out = m->number};
	struct reader r = READER_INIT;
	union tree_answer answer;

	if (!(m->parts & bit))
		return 0;
	(void)snprintf(words[0], WORD_SIZE, "/v/l/%u/%s", m->number, part);
	for (unsigned i = m->count; i-- > 0;) {
		const struct sandbox_layer *l = &m->w.stack.layer[i];

		if (!(l->parts & bit))
			continue;
		(void)snprintf(words[n - 1], WORD_SIZE, "/v/l/%u/%s", l->number, part);
		argv[n] = words[n - 1];
		n++;
	}
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	return reader_end(&r, k, e);
}

int workspace_merge(struct store *s, const char *name, bool must, struct err *e)
{
	auto_free struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "merge");
	int r = merge_begin(s, name, must, m, e);
	if (r > 0) {
		r = merge_part(s, m, "root", LAYER_ROOT, e);
		if (r >= 0)
			r = merge_part(s, m, "usr", LAYER_USR, e);
		if (r >= 0)
			r = merge_part(s, m, "work", LAYER_WORK, e);
		if (r >= 0)
			r = merge_commit(s, m, e);
	}
	merge_end(s, m);
	return r < 0 ? err_wrap(e, "merge layers of %s", name) : 0;
}

struct names {
	char (*name)[STORE_NAME_MAX + 1];
	size_t n, room;
};

static int note_name(const struct workspace *w, void *arg)
{
	struct names *names = arg;

	if (w->stack.n < MERGE_FROM)
		return 0;
	if (names->n == names->room) {
		size_t room = names->room ? names->room * 2 : 8;
		void *more = reallocarray(names->name, room, sizeof(names->name[0]));

		if (!more)
			return -ENOMEM;
		names->name = more;
		names->room = room;
	}
	memcpy(names->name[names->n++], w->name, sizeof(w->name));
	return 0;
}

int workspace_merge_all(struct store *s, struct err *e)
{
	struct names names = {0};
	int r = workspace_each(s, note_name, &names, e);

	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		struct err one = ERR_INIT;

		/* One that is gone meanwhile, or cannot be merged, is no reason to leave the others. */
		(void)workspace_merge(s, names.name[i], false, &one);
	}
	free(names.name);
	return r;
}
