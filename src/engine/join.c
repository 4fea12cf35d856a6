/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of a data directory, joined by reference: its own says in an event `ledger.chains` how
 * far each of the others (HTTP's, tenants') has come, by the newest checkpoint of that. So whoever
 * vouches for the own chain (a witness, a checkpoint that was kept) vouches for all, and one that was
 * taken away, or exchanged for an older copy, is missed (verify.c).
 *
 *	others		beside the own chain's events, what was told last: CHAIN EVENTS AT, a line each
 *
 * Nothing is believed of that file: where it is not there or damaged, the same is told again.
 */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"

#define OTHERS "others"
#define LINE_BYTES (ID_SIZE + 44)
#define ROWS_MAX 32u /* of an event: it has room for more than that many checkpoints */
#define TRY_MS 5
#define TRIES 100

struct told {
	char chain[ID_SIZE];
	unsigned long long events, at;
};

struct join {
	int dir, file; /* of the own chain; OTHERS there, locked */
	uint64_t gone; /* that were pruned: what they told is not told any more */
	bool now;
	struct told told[RECORD_CHAINS_MAX];
	unsigned n_told;
	struct value *rows; /* of the next event */
	struct told next[ROWS_MAX];
	unsigned n_next;
};

static void read_told(struct join *j)
{
	auto_free char *text = calloc(1, RECORD_CHAINS_MAX * LINE_BYTES + 1);
	size_t len = 0;

	if (!text || fd_read_max(j->file, text, RECORD_CHAINS_MAX * LINE_BYTES, &len) < 0)
		return;
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
		struct told *t = &j->told[j->n_told];

		if (sscanf(p, "%29s %19llu %19llu", t->chain, &t->events, &t->at) == 3 &&
		    t->at >= j->gone)
			j->n_told++;
		if (j->n_told == RECORD_CHAINS_MAX)
			return;
	}
}

static void write_told(const struct join *j)
{
	auto_free char *text = calloc(1, RECORD_CHAINS_MAX * LINE_BYTES + 1);
	size_t len = 0;

	for (unsigned i = 0; text && i < j->n_told; i++)
		len += (size_t)snprintf(text + len, LINE_BYTES, "%s %llu %llu\n", j->told[i].chain,
					j->told[i].events, j->told[i].at);
	/* What is not kept is told again. */
	if (!text || ftruncate(j->file, 0) < 0 || pwrite(j->file, text, len, 0) != (ssize_t)len)
		(void)!ftruncate(j->file, 0);
}

static struct told *find_told(struct join *j, const char *chain)
{
	for (unsigned i = 0; i < j->n_told; i++)
		if (strcmp(j->told[i].chain, chain) == 0)
			return &j->told[i];
	return NULL;
}

static void keep_told(struct join *j, const struct told *one)
{
	struct told *t = find_told(j, one->chain);

	if (!t && j->n_told == RECORD_CHAINS_MAX)
		return;
	if (!t)
		t = &j->told[j->n_told++];
	*t = *one;
}

static int tell(struct join *j, struct err *e)
{
	auto_value *event = value_object();
	struct value *data = value_object();
	struct chain_place place;

	if (!j->n_next)
		return 0;
	value_set(data, "chains", take_ptr(&j->rows));
	value_set(event, "kind", value_of_str("ledger.chains"));
	value_set(event, "data", data);
	int r = chain_append(j->dir, event, 0, &place, e);
	for (unsigned i = 0; r >= 0 && i < j->n_next; i++) {
		j->next[i].at = place.at;
		keep_told(j, &j->next[i]);
	}
	j->n_next = 0;
	return r;
}

/* Who writes there has just been told to end: his last checkpoint comes in a moment. */
static void await(int chain)
{
	for (unsigned i = 0; i < TRIES && !settle_is_due(chain); i++)
		(void)poll(NULL, 0, TRY_MS);
}

static int look_at(struct join *j, const struct record_chain *chain, struct err *e)
{
	struct err none = ERR_INIT; /* what cannot be read is verify's affair */
	char text[NOTE_SIZE];
	struct note last;

	if (settle_last(chain->fd, &last, &none) <= 0)
		return 0;
	if (j->now)
		await(chain->fd);
	if (j->now && settle_last(chain->fd, &last, &none) <= 0)
		return 0;
	const char *id = last.point.name + strlen("pinfold/");
	uint64_t events = last.point.head.size;
	const struct told *t = find_told(j, id);
	if (!id_is("led", id) || (t && t->events >= events))
		return 0;
	struct value *row = value_object();
	(void)note_again(&last, text);
	value_set(row, "chain", value_of_str(id));
	value_set(row, "directory", value_of_str(chain->name));
	value_set(row, "checkpoint", value_of_str(text));
	if (!j->rows)
		j->rows = value_array();
	value_add(j->rows, row);
	struct told *next = &j->next[j->n_next++];
	(void)snprintf(next->chain, sizeof(next->chain), "%.*s", (int)sizeof(next->chain) - 1, id);
	next->events = events;
	return j->n_next < ROWS_MAX ? 0 : tell(j, e);
}

static int join(int dir, int file, const struct record_chain *list, int n, bool now, struct err *e)
{
	auto_free struct join *j = calloc(1, sizeof(*j));
	int r = j ? 0 : err_sys(e, OTHERS);

	if (r < 0)
		return r;
	j->dir = dir;
	j->file = file;
	j->now = now;
	j->gone = tombstone_size(dir);
	read_told(j);
	for (int i = 1; r >= 0 && i < n; i++)
		r = look_at(j, &list[i], e);
	if (r >= 0)
		r = tell(j, e);
	value_free(j->rows);
	write_told(j);
	return r;
}

int pinfold_ledger_join(uint32_t flags, struct pinfold_error *ret_error)
{
	auto_free struct record_chain *list = calloc(RECORD_CHAINS_MAX, sizeof(*list));
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE, file = FD_NONE;

	assert(ret_error);
	int r = list ? record_open(NULL, &dir, &e) : err_sys(&e, "the ledger");
	int n = r < 0 || dir < 0 ? r : record_chains(list, RECORD_CHAINS_MAX, &e);
	bool others = n > 1 && strcmp(list[0].name, "ledger") == 0;
	if (others)
		file = openat(dir, OTHERS, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (others && file < 0)
		r = err_sys(&e, OTHERS);
	/* Somebody else may be at it. */
	if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
		r = join(dir, file, list, n, flags & PINFOLD_JOIN_NOW, &e);
	for (int i = 0; i < n; i++)
		fd_close(&list[i].fd);
	r = n < 0 ? n : r;
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
