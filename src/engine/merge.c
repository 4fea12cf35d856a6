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

static const struct {
	const char *name;
	uint32_t bit;
	const char *base; /* what its lowest layer lies on, as the reader sees it */
} parts[] = {
	{"root", LAYER_ROOT, "/"},
	{"usr", LAYER_USR, "/usr"},
	{"work", LAYER_WORK, "/work"},
};

/* Layers of a stack, the lowest first. */
static void add_layers(struct reader_words *w, const struct stack *stack, unsigned from,
		       unsigned to, unsigned part)
{
	for (unsigned i = to; i-- > from;)
		if (stack->layer[i].parts & parts[part].bit)
			reader_word_layer(w, stack->layer[i].number, parts[part].name);
}

/* reader merge --below N OUT BASE LAYER... LAYER...: those that it lies on, then those that it is
 * made of. */
static int merge_part(struct store *s, const struct merge *m, unsigned part, struct err *e)
{
	auto_free struct reader_words *w = calloc(1, sizeof(*w));
	const struct stack *stack = &m->w.stack;
	struct reader r = READER_INIT;
	union tree_answer answer;
	/* An image has all that lies below; else it is the tree that the reader sees, too. */
	bool based = parts[part].bit != LAYER_ROOT || !stack_image(stack);
	unsigned below = based;

	if (!w)
		return err_sys(e, "merge");
	if (!(m->parts & parts[part].bit))
		return 0;
	for (unsigned i = m->count; i < stack->n; i++)
		below += (stack->layer[i].parts & parts[part].bit) != 0;
	reader_word(w, "merge");
	reader_word(w, "--below");
	reader_word_number(w, below);
	reader_word_layer(w, m->number, parts[part].name);
	if (based)
		reader_word(w, parts[part].base);
	add_layers(w, stack, m->count, stack->n, part);
	add_layers(w, stack, 0, m->count, part);
	w->argv[w->n] = NULL;
	struct reader_ask ask = {
		.argv = w->argv,
		.peek = PEEK_MERGE,
		.out = m->number,
		.dir = parts[part].bit == LAYER_WORK && m->w.dir[0] ? m->w.dir : NULL,
		.secrets = true, /* they may be shown to a later command, so they are below */
	};
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	return reader_end(&r, k, e);
}

int workspace_merge(struct store *s, const char *name, enum merge_how how, struct err *e)
{
	auto_free struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "merge");
	int r = merge_begin(s, name, how, m, e);
	if (r > 0) {
		for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]) && r >= 0; i++)
			r = merge_part(s, m, i, e);
		if (r >= 0)
			r = merge_commit(s, m, e);
	}
	merge_end(s, m);
	return r < 0 ? err_wrap(e, "merge layers of %s", name) : 0;
}

static bool is_high(const struct workspace *w, const void *arg)
{
	(void)arg;
	return w->stack.n >= MERGE_FROM;
}

int workspace_merge_all(struct store *s, struct err *e)
{
	struct workspace_names names = {0};
	int r = workspace_names(s, is_high, NULL, &names, e);

	for (size_t i = 0; r >= 0 && i < names.n; i++) {
		struct err one = ERR_INIT;

		/* One that is gone meanwhile, or cannot be merged, is no reason to leave the
		 * others. */
		(void)workspace_merge(s, names.name[i], MERGE_LONG, &one);
	}
	free(names.name);
	return r;
}
