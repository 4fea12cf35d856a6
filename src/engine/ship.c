/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the ledger elsewhere, for the public. The list of them is in the data directory's own
 * chain. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/fd.h"
#include "base/hash.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "engine/setting.h"
#include "ledger/settle.h"
#include "ledger/sink.h"

#define AGAIN_MS 10000u /* one that failed is left alone for so long */

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

static int open_list(struct err *e)
{
	int dir = FD_NONE;
	int r = record_open(NULL, &dir, e);

	if (r >= 0 && dir < 0)
		r = err_set(e, ERR_MISSING, "there is no ledger");
	return r < 0 ? r : dir;
}

int pinfold_sink_add(const char *target, char ret_id[PINFOLD_ID_SIZE],
		     struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = NULL};
	struct value *data = value_object();
	struct sink s;

	assert(target && ret_id && ret_error);
	value_set(data, "target", record_redacted(target));
	auto_close int dir = open_list(&e);
	int r = op_begin(&op, "sink.add", NULL, data, &e);
	if (r >= 0)
		r = dir < 0 ? dir : sink_add(dir, target, &s, &e);
	r = op_end(&op, r, NULL, &e);
	if (r >= 0)
		(void)snprintf(ret_id, PINFOLD_ID_SIZE, "%s", s.id);
	return result(r, &e, ret_error);
}

int pinfold_sink_remove(const char *id, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct op op = {.workspace = NULL};
	struct value *data = value_object();

	assert(id && ret_error);
	value_set(data, "sink", record_redacted(id));
	auto_close int dir = open_list(&e);
	int r = op_begin(&op, "sink.remove", NULL, data, &e);
	if (r >= 0)
		r = dir < 0 ? dir : sink_remove(dir, id, &e);
	if (r < 0 && e.kind == ERR_MISSING)
		(void)err_remedy(&e,
				 "pinfold audit sink ls lists them; one of settings.yaml ends by "
				 "taking its line away there");
	return result(op_end(&op, r, NULL, &e), &e, ret_error);
}

/* One of settings.yaml has the same id each time, so it is known how far it is. */
static void name_setting(struct sink *s)
{
	static const char letters[] = "234567abcdefghijklmnopqrstuvwxyz";
	uint8_t digest[HASH_BYTES];

	hash_bytes(s->target, strlen(s->target), digest);
	memcpy(s->id, "snk", 4);
	for (size_t i = 3; i < ID_SIZE - 1; i++)
		s->id[i] = letters[digest[i] & 31];
	s->id[ID_SIZE - 1] = '\0';
}

/* Those that were added, and those of settings.yaml that were not. Room for ALL_MAX. */
#define ALL_MAX (SINKS_MAX + SETTING_SINKS_MAX)
static int all_sinks(int dir, struct sink *list, struct err *e)
{
	auto_free struct setting_sinks *more = calloc(1, sizeof(*more));
	int n = more ? sink_list(dir, list, e) : err_sys(e, "sinks");
	int r = n < 0 ? n : setting_ledger_sinks(more, e);

	for (unsigned k = 0; r >= 0 && k < more->n; k++) {
		bool known = false;

		for (int i = 0; i < n; i++)
			known |= strcmp(list[i].target, more->target[k]) == 0;
		if (known)
			continue;
		memcpy(list[n].target, more->target[k], SINK_TARGET_SIZE);
		name_setting(&list[n++]);
	}
	return r < 0 ? r : n;
}

/* Each sink with each chain. */
typedef int pair_fn(int dir, const struct sink *s, const struct record_chain *chain, void *arg,
		    struct err *e);

static int with_pairs(int dir, pair_fn *each, void *arg, struct err *e)
{
	auto_free struct sink *sinks = calloc(ALL_MAX, sizeof(*sinks));
	auto_free struct record_chain *list = calloc(RECORD_CHAINS_MAX, sizeof(*list));
	int k = sinks && list ? all_sinks(dir, sinks, e) : err_sys(e, "sinks");
	int n = k <= 0 ? k : record_chains(list, RECORD_CHAINS_MAX, e);
	int r = n < 0 ? n : 0;

	for (int i = 0; i < n; i++) {
		for (int s = 0; s < k; s++) {
			struct err one = ERR_INIT;
			int got = each(dir, &sinks[s], &list[i], arg, &one);

			/* One that fails does not keep the others from it. */
			if (got < 0 && r >= 0) {
				r = got;
				*e = one;
				(void)err_wrap(e, "%s", sinks[s].target);
			}
		}
		fd_close(&list[i].fd);
	}
	return r;
}

struct shown {
	pinfold_sink_fn *each;
	void *arg;
};

static int show(int dir, const struct sink *s, const struct record_chain *chain, void *arg,
		struct err *e)
{
	const struct shown *to = arg;
	struct pinfold_sink_info info = {.id = s->id, .target = s->target, .name = chain->name};
	struct sink_state st = {.shipped = 0};
	struct note last;
	int r = settle_last(chain->fd, &last, e);

	if (r > 0) {
		(void)snprintf(info.chain, sizeof(info.chain), "%.*s", ID_SIZE - 1,
			       last.point.name + strlen("pinfold/"));
		r = sink_state(dir, s, info.chain, &st, e);
		info.shipped = st.shipped;
		info.behind =
			last.point.head.size > st.shipped ? last.point.head.size - st.shipped : 0;
	}
	info.failed_ms = st.failed_ms;
	info.error = st.error;
	if (r >= 0)
		to->each(&info, to->arg);
	return r;
}

int pinfold_sink_list(pinfold_sink_fn *each, void *arg, struct pinfold_error *ret_error)
{
	struct shown to = {each, arg};
	struct err e = ERR_INIT;

	assert(each && ret_error);
	auto_close int dir = open_list(&e);
	return result(dir < 0 ? dir : with_pairs(dir, show, &to, &e), &e, ret_error);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int ship(int dir, const struct sink *s, const struct record_chain *chain, void *arg,
		struct err *e)
{
	const uint32_t *flags = arg;
	struct sink_state st;
	struct note last;
	int r = *flags & PINFOLD_SHIP_NOW ? settle_now(chain->fd, e) : 0;

	if (r >= 0)
		r = settle_last(chain->fd, &last, e);
	if (r <= 0)
		return r;
	r = sink_state(dir, s, last.point.name + strlen("pinfold/"), &st, e);
	uint64_t now = now_ms();
	if (r >= 0 && !(*flags & PINFOLD_SHIP_NOW) && st.failed_ms && now >= st.failed_ms &&
	    now - st.failed_ms < AGAIN_MS)
		return 0;
	return r < 0 ? r : sink_ship(dir, s, chain->fd, *flags & PINFOLD_SHIP_NOW, e);
}

static bool any_setting(void)
{
	auto_free struct setting_sinks *all = calloc(1, sizeof(*all));
	struct err none = ERR_INIT;

	/* What is wrong there is told to whoever records something. */
	return all && setting_ledger_sinks(all, &none) >= 0 && all->n > 0;
}

int pinfold_ledger_ship(uint32_t flags, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(ret_error);
	auto_close int dir = open_list(&e);
	if (dir < 0)
		return result(dir, &e, ret_error);
	if (faccessat(dir, "sinks", F_OK, 0) < 0 && !any_setting())
		return 0;
	auto_close int lock =
		openat(dir, "sinks.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0 || (flock(lock, flags & PINFOLD_SHIP_NOW ? LOCK_EX : LOCK_EX | LOCK_NB) < 0 &&
			 errno != EWOULDBLOCK))
		return result(err_sys(&e, "sinks.lock"), &e, ret_error);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return 0; /* somebody is at it */
	return result(with_pairs(dir, ship, &flags, &e), &e, ret_error);
}

uint64_t record_shipped(int chain)
{
	auto_free struct sink *sinks = calloc(ALL_MAX, sizeof(*sinks));
	struct err none = ERR_INIT;
	struct note last;
	auto_close int dir = open_list(&none);
	int n = dir < 0 || !sinks ? 0 : all_sinks(dir, sinks, &none);
	uint64_t least = UINT64_MAX;

	if (n <= 0 || settle_last(chain, &last, &none) <= 0)
		return n < 0 ? 0 : least;
	for (int i = 0; i < n; i++) {
		struct sink_state st;

		if (sink_state(dir, &sinks[i], last.point.name + strlen("pinfold/"), &st, &none) <
		    0)
			return 0;
		least = st.shipped < least ? st.shipped : least;
	}
	return least;
}
