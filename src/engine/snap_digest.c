/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of a workspace as one number, for receipts: SHA-256 of a text with the digest
 * (tree/digest.h) of each part that it has, as it is seen when all its layers lie over each other:
 * "root:HEX usr:HEX work:HEX". So it stays what it is when layers are merged. The reader looks, in
 * a sandbox; who asks for the receipt waits for it, and no run does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/reader.h"
#include "engine/record.h"
#include "store/history.h"
#include "tree/answer.h"
#include "warden/place.h"

static const struct {
	const char *name;
	uint32_t bit;
} parts[] = {{"root", LAYER_ROOT}, {"usr", LAYER_USR}, {"work", LAYER_WORK}};

static int digest_part(struct store *s, const struct workspace *w, const struct snap *snap,
		       const char *part, char ret[HASH_TEXT_SIZE], struct err *e)
{
	static const struct stack none = {.n = 0};
	char path[24];
	const char *argv[] = {"digest", path, NULL};
	struct reader_ask ask = {
		.argv = argv,
		.peek = PEEK_LOOK,
		.bare = true,
		.before = &none,
		.now = &snap->stack,
		.dir = w->dir[0] ? w->dir : NULL,
		.said = w->said,
	};
	struct reader r = READER_INIT;
	union tree_answer answer = {0};

	(void)snprintf(path, sizeof(path), "/v/new.%s", part);
	int k = reader_look(s, &ask, &r, e);
	if (k >= 0)
		k = tree_answer_read(r.out, &answer, e);
	k = reader_end(&r, k, e);
	if (k >= 0)
		hash_text(answer.digest.hash, ret);
	return k;
}

static int digest(struct store *s, const struct workspace *w, const struct snap *snap,
		  char ret[HASH_TEXT_SIZE], struct err *e)
{
	char text[HASH_TEXT_SIZE];
	uint8_t sum[HASH_BYTES];
	uint32_t bits = 0;
	struct hash h;
	int r = 0;

	for (unsigned i = 0; i < snap->stack.n; i++)
		bits |= snap->stack.layer[i].parts;
	hash_init(&h);
	for (size_t i = 0, n = 0; r >= 0 && i < sizeof(parts) / sizeof(*parts); i++) {
		if (!(bits & parts[i].bit))
			continue;
		r = digest_part(s, w, snap, parts[i].name, text, e);
		if (n++)
			hash_add(&h, " ", 1);
		hash_add(&h, parts[i].name, strlen(parts[i].name));
		hash_add(&h, ":", 1);
		hash_add(&h, text, strlen(text));
	}
	hash_done(&h, sum);
	hash_text(sum, ret);
	return r < 0 ? r : 0;
}

/* Where the workspaces of that chain are. */
static int open_store(const char *chain, struct store **ret, struct err *e)
{
	char home[512], path[700];
	size_t below = strlen(chain) > strlen("/ledger") ? strlen(chain) - strlen("/ledger") : 0;
	int r = place_data(home, sizeof(home), e);

	(void)snprintf(path, sizeof(path), "%s%s%.*s", home, below ? "/" : "", (int)below, chain);
	return r < 0 ? r : store_open(path, ret, e);
}

int record_snapshot(const char *chain, const struct value *end, char ret[HASH_TEXT_SIZE],
		    struct err *e)
{
	const char *name = value_str(value_get(end, "workspace"));
	const char *run = value_str(value_get(end, "run"));
	int64_t number = value_int(value_get(value_get(end, "data"), "snapshot"));
	auto_free struct workspace *w = calloc(1, sizeof(*w));
	auto_free struct snap *snap = calloc(1, sizeof(*snap));
	struct store *s = NULL;
	char text[24];

	if (!name || !run || number <= 0)
		return 0;
	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	int r = w && snap ? open_store(chain, &s, e) : err_sys(e, "snapshot");
	if (r >= 0)
		r = workspace_find(s, name, w, e);
	if (r >= 0)
		r = history_find(s, w, text, snap, e);
	/* There may have been another workspace of that name. */
	if (r >= 0 && strcmp(snap->run, run) != 0)
		r = err_set(e, ERR_MISSING, "the snapshot is gone");
	if (r >= 0)
		r = digest(s, w, snap, ret, e);
	store_close(s);
	return r < 0 ? r : 1;
}
