/* SPDX-License-Identifier: Apache-2.0 */
/* Are the chains of a data directory what was written? */
#include <pinfold/ledger.h>
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/ledger_keys.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/verify.h"
#include "ledger/witness.h"

#define CHAINS_MAX 256u

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

/* A note as it stands in a receipt or in a file: the empty line behind it may be missing. */
static int parse_anchor(const char *text, struct note *ret, struct err *e)
{
	auto_free char *whole = NULL;
	size_t used = 0;

	/* Of a file of them, the last. */
	for (const char *p = text; (p = strstr(p, "\n\npinfold/")); p++)
		text = p + 2;
	if (asprintf(&whole, "%s\n\n", text) < 0)
		return err_sys(e, "checkpoint");
	int r = note_parse(whole, strlen(whole), ret, &used, e);
	return r < 0 ? err_wrap(e, "--anchor") : 0;
}

/* What the data directory's own chain knows of another (join.c). */
struct joined {
	char directory[128];
	struct note note;
	uint64_t at;
	bool seen;
};

struct checking {
	struct verify_ask ask;
	struct joined joined[CHAINS_MAX];
	unsigned n_joined;
	struct ledger_keys keys;
	bool used[LEDGER_KEYS_MAX];
	struct ledger_keys own; /* of the chain that is looked at */
	struct {
		char id[ID_SIZE], name[128];
	} seen[CHAINS_MAX];
	unsigned n_seen;
	pinfold_verify_fn *each;
	void *arg;
};

/* A chain that took the place of another is good by itself. */
static void look_for_twin(struct checking *c, struct pinfold_verify_result *out)
{
	for (unsigned i = 0; out->good && out->chain[0] && i < c->n_seen; i++) {
		if (strcmp(c->seen[i].id, out->chain) != 0)
			continue;
		out->good = 0;
		out->position = 0;
		(void)snprintf(out->where, sizeof(out->where), "the chain");
		(void)snprintf(out->what, sizeof(out->what),
			       "%s is the same: one of them is not here any more", c->seen[i].name);
	}
	if (c->n_seen < CHAINS_MAX) {
		memcpy(c->seen[c->n_seen].id, out->chain, ID_SIZE);
		(void)snprintf(c->seen[c->n_seen++].name, sizeof(c->seen[0].name), "%s", out->name);
	}
}

static const char *chain_of(const struct joined *j)
{
	return j->note.point.name + strlen("pinfold/");
}

/* The newest of that directory; of that chain, if one is named. NULL: there is none. */
static struct joined *find_joined(struct checking *c, const char *directory, const char *chain)
{
	struct joined *found = NULL;

	for (unsigned i = 0; i < c->n_joined; i++) {
		struct joined *j = &c->joined[i];

		if (strcmp(j->directory, directory) == 0 &&
		    (!chain || strcmp(chain_of(j), chain) == 0) && (!found || j->at >= found->at))
			found = j;
	}
	return found;
}

static void hear_of(void *arg, const char *directory, const struct note *n, uint64_t at)
{
	struct checking *c = arg;
	struct joined *j = find_joined(c, directory, n->point.name + strlen("pinfold/"));

	if (!j && c->n_joined == CHAINS_MAX)
		return;
	if (!j)
		j = &c->joined[c->n_joined++];
	(void)snprintf(j->directory, sizeof(j->directory), "%s", directory);
	j->note = *n;
	j->at = at;
}

static int verify_by(const struct checking *c, int dir, const struct joined *j,
		     struct verify_result *v, struct err *e)
{
	struct verify_ask ask = c->ask;
	char name[48];

	if (j) {
		(void)snprintf(name, sizeof(name), "event %llu of ledger",
			       (unsigned long long)j->at);
		ask.anchor = &j->note;
		ask.anchor_name = name;
	}
	return verify_chain(dir, &ask, v, e);
}

/* The directory tells which chain should be in it; which one is, only the chain itself does. */
static int verify_joined(struct checking *c, const struct record_chain *chain,
			 struct verify_result *v, struct err *e)
{
	struct joined *j = find_joined(c, chain->name, NULL);
	int r = verify_by(c, chain->fd, j, v, e);

	if (r >= 0 && j && strcmp(chain_of(j), v->chain) != 0) {
		j = find_joined(c, chain->name, v->chain);
		r = verify_by(c, chain->fd, j, v, e);
	}
	if (r >= 0 && j)
		j->seen = true;
	return r;
}

static void tell_missing(const struct checking *c)
{
	for (unsigned i = 0; i < c->n_joined; i++) {
		const struct joined *j = &c->joined[i];
		struct pinfold_verify_result out = {.name = j->directory, .where = "the chain"};

		(void)snprintf(
			out.what, sizeof(out.what),
			"%s is not here any more: event %llu of ledger knows %llu events of it",
			chain_of(j), (unsigned long long)j->at,
			(unsigned long long)j->note.point.head.size);
		if (!j->seen)
			c->each(&out, c->arg);
	}
}

static int verify_one(struct checking *c, const struct record_chain *chain, struct err *e)
{
	struct pinfold_verify_result out = {.name = chain->name};
	struct verify_result v;
	int r = verify_joined(c, chain, &v, e);

	if (r < 0)
		return err_wrap(e, "%s", chain->name);
	out.good = v.good;
	out.events = v.events;
	out.checkpoints = v.checkpoints;
	out.gone = v.gone;
	out.witnessed = v.witnessed;
	out.witnessed_ms = v.witnessed_s * 1000;
	out.keys = v.keys;
	out.unsigned_events = v.events - v.signed_events;
	out.cuts = v.cuts;
	out.torn_bytes = v.torn;
	out.position = v.at;
	memcpy(out.chain, v.chain, sizeof(v.chain));
	memcpy(out.where, v.where, sizeof(out.where));
	memcpy(out.what, v.what, sizeof(out.what));
	look_for_twin(c, &out);
	c->each(&out, c->arg);
	return 0;
}

static int open_named(const char *dir, struct record_chain *to, struct err *e)
{
	to->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(to->name, sizeof(to->name), "%s", dir);
	return to->fd < 0 ? err_sys(e, "%s", dir) : 1;
}

static void tell_bad(const struct checking *c, const char *name, const char *what)
{
	struct pinfold_verify_result out = {.name = name, .where = "the key"};

	(void)snprintf(out.what, sizeof(out.what), "%s", what);
	c->each(&out, c->arg);
}

/* With the key among those given that the chain says is its own: if it lies, the signatures do not
 * fit. */
static int verify_by_own(struct checking *c, const struct record_chain *chain, struct err *e)
{
	c->ask.key = NULL;
	c->own.n = 0;
	ledger_keys_of(chain->fd, &c->own);
	for (unsigned i = 0; i < c->keys.n; i++)
		for (unsigned k = 0; k < c->own.n; k++)
			if (memcmp(&c->keys.key[i], &c->own.key[k], sizeof(c->own.key[k])) == 0) {
				c->used[i] = true;
				c->ask.key = &c->keys.key[i];
			}
	if (c->ask.key)
		return verify_one(c, chain, e);
	tell_bad(c, chain->name, "none of those that were given is of this chain");
	return 0;
}

static int verify_list(struct checking *c, struct record_chain *list, int n, struct err *e)
{
	bool many = c->keys.n > 1;
	int r = n;

	/* One key or a checkpoint is of one chain: that of the data directory itself. Others are
	 * held to what that knows of them. */
	bool first = !many && (c->keys.n || c->ask.anchor || c->ask.witness);
	for (int i = 0; i < n; i++) {
		if (i == 1 && first)
			c->ask = (struct verify_ask){.key = NULL};
		if (r >= 0 && (i == 0 || !first || find_joined(c, list[i].name, NULL)))
			r = many ? verify_by_own(c, &list[i], e) : verify_one(c, &list[i], e);
		if (i == 0)
			c->ask.joined = NULL;
		fd_close(&list[i].fd);
	}
	if (r >= 0)
		tell_missing(c);
	for (unsigned i = 0; r >= 0 && many && i < c->keys.n; i++)
		if (!c->used[i])
			tell_bad(c, "the keys", "one that was given is of no chain that is here");
	return r;
}

/* A directory that was made for a chain of which no event was written yet. */
static bool is_empty(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = copy < 0 ? NULL : fdopendir(copy);
	unsigned n = 0;

	if (!all) {
		fd_close(&copy);
		return false;
	}
	while (n <= 2 && readdir(all))
		n++;
	(void)closedir(all);
	return n == 2; /* itself and the one above */
}

static int leave_out_empty(struct record_chain *list, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (is_empty(list[i].fd))
			fd_close(&list[i].fd);
		else
			list[kept++] = list[i];
	return n < 0 ? n : kept;
}

int pinfold_ledger_verify(const struct pinfold_verify_options *options, pinfold_verify_fn *each,
			  void *arg, struct pinfold_error *ret_error)
{
	struct pinfold_verify_options o = {.size = sizeof(o)};
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	auto_free struct checking *c = calloc(1, sizeof(*c));
	struct err e = ERR_INIT;
	char witness[COSIGN_NAME_SIZE];
	struct public_key his;
	struct note anchor;

	assert(each && ret_error);
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	int r = list && c ? 0 : err_sys(&e, "verify");
	if (r >= 0 && o.key)
		r = ledger_keys_parse(o.key, &c->keys, &e);
	if (r >= 0 && o.anchor)
		r = parse_anchor(o.anchor, &anchor, &e);
	if (r >= 0 && o.witness)
		r = cosign_parse_key(o.witness, strlen(o.witness), witness, &his, &e);
	if (r >= 0 && c->keys.n > 1 && (o.anchor || o.witness)) {
		r = err_set(&e, ERR_INVALID, "--key: several, and a checkpoint is of one chain");
		(void)err_remedy(&e, "give the key of that chain alone");
	}
	int n = r < 0	? r
		: o.dir ? open_named(o.dir, list, &e)
			: leave_out_empty(list, record_chains(list, CHAINS_MAX, &e));
	if (n >= 0) {
		c->ask = (struct verify_ask){.key = o.key ? &c->keys.key[0] : NULL,
					     .anchor = o.anchor ? &anchor : NULL,
					     .witness = o.witness ? witness : NULL,
					     .witness_key = o.witness ? &his : NULL};
		if (n > 0 && !o.dir && strcmp(list[0].name, "ledger") == 0) {
			c->ask.joined = hear_of;
			c->ask.joined_arg = c;
		}
		c->each = each;
		c->arg = arg;
		n = verify_list(c, list, n, &e);
	}
	return result(n, &e, ret_error);
}
