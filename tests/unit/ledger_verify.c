/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is done to a chain at rest is found, and the place is named. */
#include "ledger/verify.h"

#include "ledger/proof.h"
#include "ledger/receipt.h"
#include "ledger_help.h"

static struct verify_result v;

/* Four events, one checkpoint. */
static int small(void)
{
	struct chain_place p;
	int dir = make_dir();

	(void)add_events(dir, 3, 0, &p);
	settled(dir);
	return dir;
}

static unsigned flips_unnoticed(int dir, const char *name, size_t step)
{
	size_t len = 0;
	auto_free char *text = slurp(dir, name, &len);
	unsigned unnoticed = 0;

	for (size_t i = 0; i < len; i += step) {
		text[i] ^= (char)(1 << (i % 8));
		spew(dir, name, text, len);
		if (!*verdict(dir, NULL, &v)) {
			diag("%s: byte %zu", name, i);
			unnoticed++;
		}
		text[i] ^= (char)(1 << (i % 8));
	}
	spew(dir, name, text, len);
	return unnoticed;
}

static void test_flip(void)
{
	int dir = small();

	is_int(flips_unnoticed(dir, "events", 1), 0, "a bit of every byte of the events");
	is_int(flips_unnoticed(dir, "checkpoints", 1), 0, "of the checkpoints");
	is_str(verdict(dir, NULL, &v), "", "and it was good before");
	drop_dir(dir);
}

/* The lines of a text, to be put together in another way. */
struct lines {
	char *text;
	char *line[16];
	size_t len[16];
	unsigned n;
};

static void split(int dir, struct lines *l)
{
	size_t len = 0;

	*l = (struct lines){.text = slurp(dir, "events", &len)};
	for (char *p = l->text; *p && l->n < 16;) {
		char *stop = strchr(p, '\n') + 1;

		l->line[l->n] = p;
		l->len[l->n++] = (size_t)(stop - p);
		p = stop;
	}
}

static void join(int dir, const struct lines *l, const unsigned *order, unsigned n)
{
	auto_free char *text = calloc(1, 65536);
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		memcpy(text + len, l->line[order[i]], l->len[order[i]]);
		len += l->len[order[i]];
	}
	spew(dir, "events", text, len);
}

static void test_lines(void)
{
	static const struct {
		const char *name, *where;
		unsigned order[6], n;
	} cases[] = {
		{"dropped", "events, line 2", {0, 2, 3}, 3},
		{"swapped", "events, line 2", {0, 2, 1, 3}, 4},
		{"twice", "events, line 3", {0, 1, 1, 2, 3}, 5},
		{"the first is gone", "events, line 1", {1, 2, 3}, 3},
		{"the last is gone", "checkpoints, note 1", {0, 1, 2}, 3},
		{"all are gone", "checkpoints, note 1", {0}, 0},
		{"one more", "events, line 5", {0, 1, 2, 3, 1}, 5},
	};
	int dir = small();
	struct lines l;

	split(dir, &l);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		join(dir, &l, cases[i].order, cases[i].n);
		const char *text = verdict(dir, NULL, &v);

		ok(!v.good && strncmp(text, cases[i].where, strlen(cases[i].where)) == 0,
		   cases[i].name);
		if (strncmp(text, cases[i].where, strlen(cases[i].where)) != 0)
			diag("%s", text);
	}
	free(l.text);
	drop_dir(dir);
}

/* Who has the files but not the key writes a chain that hangs together, and signs it with his
 * own. */
static void test_forged(void)
{
	struct verify_ask ask = {.key = NULL};
	struct public_key key;
	struct err e = ERR_INIT;
	int dir = small();
	size_t len = 0, n = 0;
	auto_free char *pem = slurp(dir, "key.pem", &len), *events = slurp(dir, "events", &n);

	(void)note_parse_key(pem, len, &key, &e);
	drop_dir(dir);
	dir = small();
	is_str(verdict(dir, NULL, &v), "", "a chain of somebody's own");
	ask.key = &key;
	ok(*verdict(dir, &ask, &v) != '\0', "is not that of this key");
	is_str(v.where, "the key", "and says so");
	spew(dir, "events", events, n);
	ok(*verdict(dir, &ask, &v) != '\0', "nor are his checkpoints of our events");
	drop_dir(dir);
}

/* Behind the last checkpoint nothing but its time speaks for an event: who writes one there does not
 * get around that by another. */
static void test_tail(void)
{
	struct chain_place p;
	int dir = small();
	size_t len = 0;

	(void)add_events(dir, 1, 0, &p);
	is_str(verdict(dir, NULL, &v), "", "an event waits for its checkpoint");
	auto_free char *text = slurp(dir, "events", &len);
	char *line = memrchr(text, '\n', len - 1), *at = strstr(line, "\"time\":\"");
	memcpy(at + 8, "2099", 4);
	spew(dir, "events", text, len);
	has_str(verdict(dir, NULL, &v), "none covers the 1 events since 2099", "not until then");
	memcpy(at, "\"tame", 5);
	spew(dir, "events", text, len);
	has_str(verdict(dir, NULL, &v), "since one without a time", "nor without one");
	drop_dir(dir);
}

/* Files of others, and what is none: a pipe would be waited for. */
static void test_beside(void)
{
	static const char *const names[] = {"events",	    "checkpoints", "key.pem",
					    "key.verifier", "keys",	   "tombstone"};
	struct verify_ask ask = {.key = NULL};
	struct public_key key;
	struct err e = ERR_INIT;
	int dir = small();
	size_t len = 0, n = 0, k = 0;
	auto_free char *pem = slurp(dir, "key.pem", &len), *line = slurp(dir, "key.verifier", &n);

	drop_dir(dir);
	dir = small();
	auto_free char *own = slurp(dir, "key.verifier", &k);
	spew(dir, "key.verifier", line, n);
	is_str(verdict(dir, NULL, &v), "key.verifier: this key is none of the chain's",
	       "a key for tools of others");
	spew(dir, "key.verifier", own, k);
	auto_free char *mine = slurp(dir, "key.pem", &k);
	(void)note_parse_key(mine, k, &key, &e);
	ask.key = &key;
	spew(dir, "key.pem", pem, len);
	is_str(verdict(dir, &ask, &v), "key.pem: this key is none of the chain's",
	       "also where another was given");
	spew(dir, "key.pem", mine, k);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char was[32];

		(void)snprintf(was, sizeof(was), "%s.was", names[i]);
		(void)renameat(dir, names[i], dir, was);
		(void)mkfifoat(dir, names[i], 0600);
		has_str(verdict(dir, &ask, &v), ": this is no file", names[i]);
		(void)unlinkat(dir, names[i], 0);
		(void)renameat(dir, was, dir, names[i]);
	}
	is_str(verdict(dir, &ask, &v), "", "and it is good again");
	drop_dir(dir);
}

/* The whole directory as it was some time ago: only who kept a checkpoint can tell. */
static void test_rolled_back(void)
{
	static const char *const files[] = {"events", "checkpoints", "tree", "offsets"};
	struct verify_ask ask = {.key = NULL};
	struct note anchor;
	struct chain_place p;
	struct err e = ERR_INIT;
	int dir = small();
	char *text[4];
	size_t len[4];

	for (unsigned i = 0; i < 4; i++)
		text[i] = slurp(dir, files[i], &len[i]);
	(void)add_events(dir, 2, 0, &p);
	settled(dir);
	is_int(settle_last(dir, &anchor, &e), 1, "a checkpoint is kept");
	for (unsigned i = 0; i < 4; i++) {
		spew(dir, files[i], text[i], len[i]);
		free(text[i]);
	}
	is_str(verdict(dir, NULL, &v), "", "an old copy is good by itself");
	ask.anchor = &anchor;
	has_str(verdict(dir, &ask, &v), "events are missing", "but not for who kept it");
	(void)add_events(dir, 2, 0, &p);
	settled(dir);
	has_str(verdict(dir, &ask, &v), "it knows other events", "nor when it has grown again");
	drop_dir(dir);
}

static void test_rotated(void)
{
	struct verify_ask ask = {.key = NULL};
	struct public_key first, second;
	struct chain_place p;
	struct err e = ERR_INIT;
	int dir = small();
	size_t len = 0, n = 0;
	auto_free char *pem = slurp(dir, "key.pem", &len);

	(void)note_parse_key(pem, len, &first, &e);
	is_int(settle_rotate(dir, &e), 0, "another key");
	(void)add_events(dir, 1, 0, &p);
	settled(dir);
	auto_free char *next = slurp(dir, "key.pem", &n);
	(void)note_parse_key(next, n, &second, &e);
	ok(memcmp(&first, &second, sizeof(first)) != 0, "is another");
	is_str(verdict(dir, NULL, &v), "", "the chain verifies");
	is_int(v.keys, 2, "with two keys");
	ask.key = &first;
	is_str(verdict(dir, &ask, &v), "", "for who has the first");
	ask.key = &second;
	is_str(verdict(dir, &ask, &v), "", "and for who has the second");
	is_int(flips_unnoticed(dir, "events", 17), 0, "a bit here and there, hand-over included");
	drop_dir(dir);
}

/* A damaged chain is not signed. */
static void test_not_signed(void)
{
	struct chain_place p;
	struct err e = ERR_INIT;
	int dir = small();
	size_t len = 0;
	auto_free char *text = slurp(dir, "events", &len);

	text[len - 40] ^= 1;
	spew(dir, "events", text, len);
	(void)add_events(dir, 1, 0, &p);
	ok(settle_now(dir, &e) < 0, "what was signed is not what is there");
	has_str(e.text, "damaged", "and it says so");
	text[len - 40] ^= 1;
	spew(dir, "events", text, len);
	spew(dir, "tree", "x", 1);
	(void)add_events(dir, 1, 0, &p);
	e = (struct err)ERR_INIT;
	is_int(settle_now(dir, &e), 0, "a tree that is lost is made again");
	is_str(verdict(dir, NULL, &v), "", "and all is well");
	drop_dir(dir);
}

static int with_run(char run[ID_SIZE])
{
	int dir = make_dir();
	struct err e = ERR_INIT;
	struct chain_place p;

	(void)id_make("run", run, &e);
	(void)add_events(dir, 2, 0, &p);
	auto_value *a = an_event(run, "begin"), *b = an_event(run, "end");
	(void)chain_append(dir, a, 0, &p, &e);
	(void)add_events(dir, 3, 0, &p);
	(void)chain_append(dir, b, 0, &p, &e);
	(void)add_events(dir, 5, 0, &p);
	return dir;
}

/* A NUL behind a name, at which not everybody stops. */
static void is_true_name(const char *text, const char *field, const struct public_key *key)
{
	const char *end = strchr(strstr(text, field) + strlen(field), '"');
	auto_free char *longer = NULL;
	struct receipt_result r;
	struct err e = ERR_INIT;

	int n = asprintf(&longer, "%.*s\\u0000%s", (int)(end - text), text, end);
	(void)receipt_check(longer, (size_t)n, key, &r, &e);
	ok(!r.good, field);
}

static void test_receipt(void)
{
	char run[ID_SIZE];
	int dir = with_run(run);
	struct receipt_result r;
	struct public_key key;
	struct err e = ERR_INIT;
	char *text = NULL;
	size_t len = 0, n = 0;
	unsigned unnoticed = 0;

	is_int(receipt_make(dir, &(struct receipt_ask){.run = run, .evidence = "none"}, &text, &len,
			    &e),
	       0, "a receipt");
	auto_free char *pem = slurp(dir, "key.pem", &n);
	(void)note_parse_key(pem, n, &key, &e);
	is_int(receipt_check(text, len, &key, &r, &e), 0, "is looked at");
	ok(r.good, "and good");
	is_str(r.what, "", "without a word");
	is_int((long long)r.at, 7, "it is the seventh event");
	is_str(r.run, run, "of this run");
	/* A prime step: every field is hit in some turn, and the test is quick. */
	for (size_t i = 0; i < len; i += 31) {
		text[i] ^= (char)(1 << (i % 7));
		(void)receipt_check(text, len, &key, &r, &e);
		unnoticed += r.good;
		text[i] ^= (char)(1 << (i % 7));
	}
	is_int(unnoticed, 0, "no bit of it can be another");
	is_true_name(text, "\"payloadType\":\"", &key);
	is_true_name(text, "\"keyid\":\"", &key);
	key.byte[3] ^= 1;
	(void)receipt_check(text, len, &key, &r, &e);
	ok(!r.good, "nor can the key");
	free(text);
	e = (struct err)ERR_INIT;
	ok(receipt_make(dir,
			&(struct receipt_ask){.run = "run23456723456723456723456723",
					      .evidence = "none"},
			&text, &len, &e) < 0,
	   "no receipt of a run that nobody knows");
	drop_dir(dir);
}

#define PACKAGES 2000u

static struct value *packages_part(const char *run, unsigned from, unsigned n)
{
	struct value *event = an_event(run, "part"), *data = value_object();
	struct value *rows = value_array();

	for (unsigned i = from; i < from + n; i++) {
		struct value *one = value_object();
		char name[32];

		(void)snprintf(name, sizeof(name), "package-%u", i);
		value_set(one, "name", value_of_str(name));
		value_set(one, "sha256",
			  value_of_str("0123456789abcdef0123456789abcdef0123456789ab"
				       "cdef0123456789abcdef"));
		value_add(rows, one);
	}
	value_set(data, "packages", rows);
	value_set(event, "kind", value_of_str("run.more"));
	value_set(event, "data", data);
	return event;
}

/* As many packages as a lock may have: none is missing in the receipt. */
static void test_packages(void)
{
	char run[ID_SIZE];
	int dir = make_dir();
	struct receipt_result r;
	struct public_key key;
	struct chain_place p;
	struct err e = ERR_INIT;
	size_t len = 0, n = 0;
	unsigned in_order = 0;

	(void)id_make("run", run, &e);
	auto_value *a = an_event(run, "begin"), *b = an_event(run, "end");
	(void)chain_append(dir, a, 0, &p, &e);
	for (unsigned i = 0; i < PACKAGES; i += 100) {
		auto_value *part = packages_part(run, i, 100);

		(void)chain_append(dir, part, 0, &p, &e);
	}
	(void)chain_append(dir, b, 0, &p, &e);
	auto_free char *text = NULL, *pem = NULL;
	is_int(receipt_make(dir, &(struct receipt_ask){.run = run, .evidence = "none"}, &text, &len,
			    &e),
	       0, "a receipt with many packages");
	auto_value *all = NULL, *statement = NULL;
	auto_free void *payload = NULL;
	(void)value_parse(text, len, &all, &e);
	const struct value *base64 = value_get(all, "payload");
	(void)value_from_base64(value_str(base64), value_len(base64), &payload, &n);
	(void)value_parse(payload, n, &statement, &e);
	const struct value *list = value_get(value_get(statement, "predicate"), "dependencies");
	for (unsigned i = 0; i < value_len(list); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "package-%u", i);
		in_order += strcmp(value_str(value_get(value_at(list, i), "name")), name) == 0;
	}
	is_int(in_order, PACKAGES, "names all of them");
	pem = slurp(dir, "key.pem", &n);
	(void)note_parse_key(pem, n, &key, &e);
	ok(receipt_check(text, len, &key, &r, &e) == 0 && r.good, "and is good");
	drop_dir(dir);
}

/* Of every place, and no letter of it can be another. */
static void test_proof(void)
{
	char run[ID_SIZE];
	int dir = with_run(run);
	struct proof_result r;
	struct public_key key;
	struct err e = ERR_INIT;
	unsigned good = 0, unnoticed = 0;
	size_t n = 0;

	auto_free char *pem = slurp(dir, "key.pem", &n);
	(void)note_parse_key(pem, n, &key, &e);
	for (uint64_t at = 0; at < 13; at++) {
		auto_free char *text = NULL;
		size_t len = 0;

		if (proof_make(dir, at, &text, &len, &e) < 0)
			break;
		(void)proof_check(text, len, &key, &r, &e);
		good += r.good && r.at == at;
		free(r.event);
		for (size_t i = at; i < len; i += 29) {
			text[i] ^= (char)(1 << (i % 7));
			(void)proof_check(text, i % 3 ? len : i, &key, &r, &e); /* or cut off */
			unnoticed += r.good;
			free(r.event);
			text[i] ^= (char)(1 << (i % 7));
		}
	}
	is_int(good, 13, "every event has a proof that is good");
	is_int(unnoticed, 0, "and no bit of it can be another, or missing");
	auto_free char *none = NULL;
	ok(proof_make(dir, 13, &none, &n, &e) < 0 && e.kind == ERR_MISSING,
	   "of what is not there there is none");
	drop_dir(dir);
}

int main(void)
{
	TAP_RUN(test_flip);
	TAP_RUN(test_lines);
	TAP_RUN(test_forged);
	TAP_RUN(test_tail);
	TAP_RUN(test_beside);
	TAP_RUN(test_rolled_back);
	TAP_RUN(test_rotated);
	TAP_RUN(test_not_signed);
	TAP_RUN(test_receipt);
	TAP_RUN(test_packages);
	TAP_RUN(test_proof);
	return tap_done();
}
