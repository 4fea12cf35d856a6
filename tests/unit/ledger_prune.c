/* SPDX-License-Identifier: Apache-2.0 */
/* Old files go, a signed tombstone stays; the rest is as good as before, and every trick with it is
 * found. */
#include "ledger/prune.h"

#include "ledger/find.h"
#include "ledger/receipt.h"
#include "ledger/tombstone.h"
#include "ledger_help.h"

#define FUTURE "2999-01-01T00:00:00.000Z"

static struct verify_result v;
static struct prune_result result;

static int pruned(int dir, const char *before, uint64_t most)
{
	struct prune_ask ask = {.before = before, .most = most};
	struct err e = ERR_INIT;
	int r = prune(dir, &ask, &result, &e);

	if (r < 0)
		diag("prune: %s", e.text);
	return r;
}

/* Some files of 4 KiB. */
static int many(unsigned n)
{
	struct chain_place p;
	int dir = make_dir();

	(void)add_events(dir, n, CHAIN_SMALL, &p);
	settled(dir);
	return dir;
}

static struct note anchor_of(int dir)
{
	struct err e = ERR_INIT;
	struct note n;

	(void)settle_last(dir, &n, &e);
	return n;
}

static void test_prune(void)
{
	int dir = many(60);
	struct note old = anchor_of(dir);
	struct verify_ask ask = {.anchor = &old};
	struct chain_place p;

	is_int(pruned(dir, "2000-01-01T00:00:00.000Z", UINT64_MAX), 0, "nothing is that old");
	is_int((long long)result.events, 0, "nothing is gone");
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "all is old");
	is_int((long long)result.events, 61, "all events are gone");
	ok(result.files > 2, "with their files");
	is_str(verdict(dir, NULL, &v), "", "the rest is good");
	is_int((long long)v.gone, 61, "and says how many are gone");
	is_int((long long)v.events, 62, "one is left: that which tells of it");
	is_str(verdict(dir, &ask, &v), "", "also by a checkpoint of before");
	(void)add_events(dir, 60, CHAIN_SMALL, &p);
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "it goes on");
	is_int(pruned(dir, FUTURE, 80), 0, "not what somebody still needs");
	ok(v.gone == 61 && result.gone <= 80, "up to there");
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "again");
	is_str(verdict(dir, &ask, &v), "", "good by the oldest checkpoint");
	is_int((long long)v.gone, (long long)result.gone, "one tombstone for all");
	drop_dir(dir);
}

static void test_keys(void)
{
	int dir = many(30);
	struct err e = ERR_INIT;
	struct public_key first;
	size_t len = 0;
	auto_free char *pem = slurp(dir, "key.pem", &len);
	struct chain_place p;

	(void)note_parse_key(pem, len, &first, &e);
	struct verify_ask ask = {.key = &first};
	is_int(settle_rotate(dir, &e), 0, "another key");
	(void)add_events(dir, 10, CHAIN_SMALL, &p);
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "pruned behind it");
	is_str(verdict(dir, &ask, &v), "", "the first key still proves it");
	is_int(v.keys, 2, "both are known");
	is_int(settle_rotate(dir, &e), 0, "another");
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "pruned by it");
	is_str(verdict(dir, &ask, &v), "", "and from the first to the third");
	drop_dir(dir);
}

static void test_flip(void)
{
	int dir = many(20);
	unsigned unnoticed = 0;
	size_t len = 0;

	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "pruned");
	auto_free char *text = slurp(dir, TOMBSTONE_FILE, &len);
	for (size_t i = 0; i < len; i++) {
		text[i] ^= (char)(1 << (i % 8));
		spew(dir, TOMBSTONE_FILE, text, len);
		unnoticed += !*verdict(dir, NULL, &v);
		text[i] ^= (char)(1 << (i % 8));
	}
	is_int(unnoticed, 0, "a bit of every byte of the tombstone");
	spew(dir, TOMBSTONE_FILE, text, len);
	is_str(verdict(dir, NULL, &v), "", "it was good before");
	(void)unlinkat(dir, TOMBSTONE_FILE, 0);
	ok(*verdict(dir, NULL, &v), "nothing may be missing without one");
	drop_dir(dir);
}

/* Who has no key takes the beginning away, and puts a tombstone of another chain there, or an old
 * one. */
static void test_forged(void)
{
	int dir = many(40), other;
	char here[sizeof(place)];
	size_t len = 0, old_len = 0;
	struct chain_place p;

	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "pruned");
	auto_free char *old = slurp(dir, TOMBSTONE_FILE, &old_len);
	(void)add_events(dir, 40, CHAIN_SMALL, &p);
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "and again");
	auto_free char *text = slurp(dir, TOMBSTONE_FILE, &len);
	spew(dir, TOMBSTONE_FILE, old, old_len);
	ok(*verdict(dir, NULL, &v), "the one before is found");
	memcpy(here, place, sizeof(here));
	other = many(40);
	spew(other, TOMBSTONE_FILE, text, len);
	ok(*verdict(other, NULL, &v), "that of another chain is found");
	(void)unlinkat(other, TOMBSTONE_FILE, 0);
	is_str(verdict(other, NULL, &v), "", "which was good without");
	drop_dir(other);
	memcpy(place, here, sizeof(here));
	drop_dir(dir);
}

/* Who is not good is not pruned; what is derived can be made again from what is left; files that
 * come back do not count. */
static void test_rest(void)
{
	int dir = many(40);
	struct prune_ask ask = {.before = FUTURE, .most = UINT64_MAX};
	struct err e = ERR_INIT;
	struct find_run f;
	struct chain_place p;
	char run[ID_SIZE];
	size_t len = 0;
	auto_free char *events = slurp(dir, "events", &len);

	events[len / 2] ^= 1;
	spew(dir, "events", events, len);
	ok(prune(dir, &ask, &result, &e) < 0, "one that is not good stays as it is");
	events[len / 2] ^= 1;
	spew(dir, "events", events, len);
	is_int(pruned(dir, FUTURE, UINT64_MAX), 0, "a good one does not");
	spew(dir, "events.000000000000000", "{\"at\":0 forged\n", 15);
	is_str(verdict(dir, NULL, &v), "", "a file that is there again does not count");
	(void)unlinkat(dir, "tree", 0);
	(void)unlinkat(dir, "offsets", 0);
	(void)id_make("run", run, &e);
	auto_value *begin = an_event(run, "begin"), *end = an_event(run, "end");
	(void)chain_append(dir, begin, 0, &p, &e);
	(void)chain_append(dir, end, 0, &p, &e);
	settled(dir);
	is_str(verdict(dir, NULL, &v), "", "tree and offsets are made again");
	is_int(find_run(dir, run, &f, &e), 1, "a run is found");
	find_done(&f);
	auto_free char *text = NULL;
	struct receipt_result got = {.good = false};
	struct public_key key;
	auto_free char *pem = slurp(dir, "key.pem", &len);
	(void)note_parse_key(pem, len, &key, &e);
	is_int(receipt_make(dir, &(struct receipt_ask){.run = run, .evidence = "none"}, &text, &len,
			    &e),
	       0, "its receipt can be made");
	ok(text && receipt_check(text, len, &key, &got, &e) == 0 && got.good, "and is good");
	drop_dir(dir);
}

int main(void)
{
	TAP_RUN(test_prune);
	TAP_RUN(test_keys);
	TAP_RUN(test_flip);
	TAP_RUN(test_forged);
	TAP_RUN(test_rest);
	return tap_done();
}
