/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a workspace as rows: where it stands, what it stands on, and who holds it. */
#include "store_help.h"

static struct workspace found(struct store *s, const char *name)
{
	struct workspace w = {0};

	if (workspace_find(s, name, &w, &error) < 0)
		diag("%s", error.text);
	return w;
}

static void commands(void)
{
	struct store *s = store_fresh();
	struct snap snap;

	is_int(make(s, "w"), 0, "a workspace");
	ok(make(s, "w") < 0 && error.kind == ERR_CONFLICT, "not twice");
	is_int(found(s, "w").seq, 1, "begins with 1");
	is_int(command(s, "w", "a"), 2, "a command is the next");
	is_int(command(s, "w", NULL), 3, "one that changes nothing, too");
	struct workspace w = found(s, "w");
	is_int(w.stack.n, 1, "but it is no layer");
	ok(layer_there(s, w.stack.layer[0].number), "the other is");
	is_int(w.stack.layer[0].parts, LAYER_ROOT, "with the part that changed");
	is_int(ask(s, "SELECT count(*) FROM layer WHERE state < 2"), 1, "there is one row");
	uint64_t bytes = 0;
	is_int(store_collect(s, &bytes, &error), 0, "who settles");
	is_int(ask(s, "SELECT count(*) FROM layer"), 1, "removes what is left of it");
	is_int(ask(s, "SELECT count(*) FROM layer WHERE state = 1 AND stack IS NULL"), 1, "frozen");
	is_int(history_find(s, &w, "2", &snap, &error), 0, "found by number");
	ok(snap.layer == w.stack.layer[0].number && snap.files == 1 && snap.bytes == 100,
	   "with what it did");
	is_int(history_find(s, &w, "head", &snap, &error), 0, "where it stands");
	ok(snap.seq == 3 && snap.layer == 0 && snap.before, "is the last");
	ok(history_find(s, &w, "4", &snap, &error) < 0 && error.kind == ERR_MISSING, "no other");
	ok(history_find(s, &w, "x/y", &snap, &error) < 0 && error.kind == ERR_INVALID, "no path");
	is_int(command(s, "other", "a"), -1, "no command without a workspace");
	is_int(error.kind, ERR_MISSING, "it is missing");
	store_away(s);
}

static void ways_back(void)
{
	struct store *s = store_fresh();
	struct snap snap;

	(void)make(s, "w");
	(void)command(s, "w", "a");
	(void)command(s, "w", "b");
	is_int(history_snap(s, "w", "mark", &snap, &error), 0, "a label");
	ok(history_snap(s, "w", "mark", &snap, &error) < 0 && error.kind == ERR_CONFLICT, "once");
	(void)command(s, "w", "c");
	is_int(found(s, "w").stack.n, 3, "three layers");
	is_int(history_undo(s, "w", 2, &snap, &error), 0, "undo of two");
	is_int(snap.seq, 2, "leads to the first");
	is_int(found(s, "w").stack.n, 1, "one layer");
	ok(history_undo(s, "w", 2, &snap, &error) < 0 && error.kind == ERR_INVALID, "not beyond");
	ok(history_undo(s, "w", UINT64_MAX, &snap, &error) < 0, "not by any number");
	is_int(found(s, "w").stack.n, 1, "then nothing moves");
	is_int(history_rollback(s, "w", "5", &snap, &error), 0, "to what was undone");
	is_int(found(s, "w").stack.n, 3, "three layers again");
	is_int(history_rollback(s, "w", "mark", &snap, &error), 0, "to the label");
	is_int(found(s, "w").stack.n, 2, "two");
	is_int(history_undo(s, "w", 1, &snap, &error), 0, "undo of that");
	is_int(found(s, "w").stack.n, 3, "three");
	is_int(ask(s, "SELECT count(*) FROM snap WHERE label = 'mark'"), 1,
	       "a label is never lost");
	is_int(ask(s,
		   "SELECT count(*) FROM workspace w JOIN snap s ON s.id = w.head WHERE s.dropped"),
	       0, "and nobody stands on what was");
	store_away(s);
}

static void forks(void)
{
	struct store *s = store_fresh();
	struct snap snap;
	uint64_t own = 0, shared = 0;

	(void)make(s, "w");
	(void)command(s, "w", "a");
	(void)command(s, "w", "b");
	is_int(history_fork(s, "w", NULL, "f", &snap, &error), 0, "a fork");
	is_int(history_fork(s, "w", "2", "g", &snap, &error), 0, "at a number");
	ok(history_fork(s, "w", NULL, "f", &snap, &error) < 0 && error.kind == ERR_CONFLICT,
	   "a twin");
	ok(history_fork(s, "w", NULL, "../f", &snap, &error) < 0 && error.kind == ERR_INVALID,
	   "a path");
	ok(history_fork(s, "w", "9", "h", &snap, &error) < 0 && error.kind == ERR_MISSING,
	   "from nothing");
	ok(workspace_find(s, "h", &(struct workspace){0}, &error) < 0, "then there is none");
	is_int(found(s, "f").stack.n, 2, "its layers");
	is_int(found(s, "g").stack.n, 1, "those of then");
	(void)command(s, "f", "c");
	is_int(found(s, "w").stack.n, 2, "the origin has its own");
	struct workspace f = found(s, "f");
	is_int(workspace_sizes(s, &f, &own, &shared, &error), 0, "sizes");
	ok(own == 100 && shared == 200, "what is its own and what is shared");
	ok(history_undo(s, "f", 2, &snap, &error) < 0, "it has no past but its own");
	store_away(s);
}

static void holds(void)
{
	struct store *s = store_fresh(), *t = store_again();
	struct upper *a = NULL, *b = NULL, *c = NULL;
	struct snap snap = {.kind = "exec"};

	(void)make(s, "w");
	is_int(upper_open(s, "w", USE_SHARED, false, &a, &error), 0, "one who shares");
	is_int(upper_open(t, "w", USE_SHARED, false, &b, &error), 0, "and another");
	ok(upper_open(t, "w", USE_ALONE, false, &c, &error) < 0 && error.kind == ERR_BUSY,
	   "no third alone");
	ok(history_undo(t, "w", 1, &snap, &error) < 0 && error.kind == ERR_BUSY, "no undo");
	ok(workspace_remove(t, "w", &error) < 0 && error.kind == ERR_BUSY, "no removal");
	is_int(ask(s, "SELECT count(*) FROM layer"), 2, "who was refused left no row");
	close(openat(a->dir, "root/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(openat(b->dir, "root/b", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	uint32_t first = b->number, second = a->number;
	is_int(upper_freeze(b, &snap, &error), 0, "the second ends");
	snap = (struct snap){.kind = "exec"};
	is_int(upper_freeze(a, &snap, &error), 0, "then the first");
	struct workspace w = found(s, "w");
	ok(w.stack.n == 2 && w.stack.layer[0].number == second && w.stack.layer[1].number == first,
	   "who ended last is on top");
	is_int(upper_open(s, "w", USE_ALONE, true, &a, &error), 0, "alone");
	ok(upper_open(t, "w", USE_SHARED, false, &b, &error) < 0 && error.kind == ERR_BUSY,
	   "nobody beside");
	uint32_t number = a->number;
	ok(layer_there(s, number), "its layer");
	upper_drop(a);
	ok(!layer_there(s, number) && !workspace_is_used(s, w.id), "dropped, it never was");
	is_int(ask(s, "SELECT count(*) FROM layer"), 2, "nor its row");
	upper_drop(NULL);
	store_close(t);
	store_away(s);
}

static void names(void)
{
	static const char *const bad[] = {"",
					  ".",
					  "..",
					  "a/b",
					  "A",
					  "-a",
					  "a b",
					  "a_b",
					  "a.b",
					  "\xc3\xa9",
					  "a\n",
					  "a;b",
					  "sbxaaaaaaaaaaaaaaaaaaaaaaaaaa",
					  "runaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	static const char *const labels[] = {"", "1", "123", "A", "-a", ".a", "a b", "a/b", "\xff"};
	char longest[STORE_NAME_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(store_check_name(bad[i], &error) < 0 && error.kind == ERR_INVALID &&
			   error.remedy[0],
		   "not a name");
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		ok(store_check_label(labels[i], &error) < 0 && error.kind == ERR_INVALID,
		   "not a label");
	memset(longest, 'a', sizeof(longest));
	longest[STORE_NAME_MAX + 1] = '\0';
	ok(store_check_name(longest, &error) < 0, "too long");
	longest[STORE_NAME_MAX] = '\0';
	is_int(store_check_name(longest, &error), 0, "the longest");
	is_int(store_check_label("v1.0-rc_2", &error), 0, "a label");
}

int main(void)
{
	TAP_RUN(commands);
	TAP_RUN(ways_back);
	TAP_RUN(forks);
	TAP_RUN(holds);
	TAP_RUN(names);
	return tap_done();
}
