/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/verify.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"
#include "base/value.h"
#include "ledger/chain_int.h"
#include "ledger/event.h"
#include "ledger/notary.h"
#include "ledger/open.h"
#include "ledger/scan.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"
#include "ledger/witness.h"

#define NOTES_BYTES 65536u
#define WHERE_SIZE 96
#define WAIT_S 60	/* how long an event may be without a checkpoint */
#define WAIT_FIRST_S 10 /* the same, where there is none at all */

/* The file of checkpoints, note by note. */
struct notes {
	int fd;
	char *buf;
	size_t begin, end;
	uint64_t offset;
	uint64_t number; /* of the one in `note` */
	bool any;	 /* there is one */
	struct note note;
};

/* A public key as it stands beside the chain, for tools of others; "": it does not. */
struct shown_key {
	const char *name;
	char text[KEY_VERIFIER_SIZE + KEY_PEM_SIZE];
	bool known; /* it has been the chain's */
};

struct check {
	const struct verify_ask *ask;
	struct verify_result *ret;
	struct notary notary;
	struct tree_edge edge;
	struct tree_hash leaf;
	struct public_key key; /* that signs here */
	struct public_key asked;
	bool known; /* the key that was asked for has been the one */
	struct notes notes;
	struct tombstone *gone; /* NULL: nothing was pruned */
	bool gone_signed;	/* by a key of the chain's */
	bool gone_told;		/* by an event */
	struct verify_ask own;	/* with what a witness signed as anchor */
	struct note cosigned;
	struct shown_key shown[2];
	char *listed;  /* of the file of keys, what is not of the chain yet; NULL: it is none */
	bool unlisted; /* the newest is not there yet */
	char waits[EVENT_BYTES_MAX]; /* the first event that no checkpoint covers */
	size_t waits_len;
	bool bad;
};

__attribute__((format(printf, 3, 4))) static int bad(struct check *c, const char *where,
						     const char *fmt, ...)
{
	va_list ap;

	c->bad = true;
	(void)snprintf(c->ret->where, sizeof(c->ret->where), "%s", where);
	c->ret->at = c->edge.size;
	va_start(ap, fmt);
	(void)vsnprintf(c->ret->what, sizeof(c->ret->what), fmt, ap);
	va_end(ap);
	return 0;
}

static int bad_note(struct check *c, const char *what)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "checkpoints, note %llu",
		       (unsigned long long)c->notes.number);
	return bad(c, where, "%s", what);
}

static void name_line(const struct scan_line *line, char ret[WHERE_SIZE])
{
	(void)snprintf(ret, WHERE_SIZE, "%s, line %llu", line->file,
		       (unsigned long long)line->number);
}

/* Only now: lines that are good are many, and their names would be half of the work. */
static int bad_line(struct check *c, const struct scan_line *line, const char *what)
{
	char where[WHERE_SIZE];

	name_line(line, where);
	return bad(c, where, "%s", what);
}

static int next_note(struct check *c, struct err *e)
{
	struct notes *n = &c->notes;
	struct err none = ERR_INIT;
	uint64_t before = n->any ? n->note.point.head.size : 0;
	size_t used = 0;

	n->any = false;
	if (n->fd < 0)
		return 0;
	if (n->end - n->begin < NOTE_SIZE) {
		memmove(n->buf, n->buf + n->begin, n->end - n->begin);
		n->end -= n->begin;
		n->begin = 0;
		ssize_t got = pread(n->fd, n->buf + n->end, NOTES_BYTES - n->end, (off_t)n->offset);
		if (got < 0)
			return err_sys(e, "checkpoints");
		n->end += (size_t)got;
		n->offset += (uint64_t)got;
	}
	if (n->end == n->begin)
		return 0;
	n->number++;
	if (note_parse(n->buf + n->begin, n->end - n->begin, &n->note, &used, &none) < 0)
		return bad_note(c, "it is no checkpoint, or was not written whole");
	n->begin += used;
	n->any = true;
	return n->note.point.head.size > before
		       ? 0
		       : bad_note(c, "it does not come after the one before");
}

/* By the key that signs here. The notary is started for the first one. */
static int check(struct check *c, const void *data, size_t len, const struct signature *sig,
		 struct err *e)
{
	int r = c->notary.pid ? 0 : notary_start(&c->notary, FD_NONE, e);

	if (r >= 0)
		r = notary_check(&c->notary, &c->key, data, len, sig, e);
	return r < 0 || HOLD_LEDGER_SIGNED ? r : 1;
}

static int check_signature(struct check *c, const struct note *n, struct err *e)
{
	uint8_t id[4];

	note_key_id(KEY_SIGNS, n->point.name, &c->key, id);
	if (memcmp(id, n->key_id, sizeof(id)) != 0)
		return 0;
	return check(c, n->body, n->body_len, &n->sig, e);
}

/* The tree is as large as the next checkpoint says. */
static int take_note(struct check *c, struct err *e)
{
	char name[NOTE_NAME_SIZE];
	const struct note *n = &c->notes.note;
	struct tree_hash root;

	chain_name(c->ret->chain, name);
	tree_root(&c->edge, &root);
	if (strcmp(name, n->point.name) != 0)
		return bad_note(c, "it is of another chain");
	if (!tree_same(&root, &n->point.head.root))
		return bad_note(c, "it signs other events than are there");
	int r = check_signature(c, n, e);
	if (r <= 0)
		return r < 0 ? r : bad_note(c, "its signature is not of the chain's key");
	c->ret->checkpoints++;
	c->ret->signed_events = c->edge.size;
	return next_note(c, e);
}

static const char *anchor_name(const struct check *c)
{
	return c->ask->anchor_name ? c->ask->anchor_name : "the checkpoint that was kept";
}

static int take_anchor(struct check *c, struct err *e)
{
	const struct note *n = c->ask->anchor;
	struct tree_hash root;

	tree_root(&c->edge, &root);
	if (!tree_same(&root, &n->point.head.root))
		return bad(c, anchor_name(c), "it knows other events");
	int r = check_signature(c, n, e);
	if (r > 0)
		c->ret->signed_events = c->edge.size;
	return r != 0 ? r : bad(c, anchor_name(c), "its signature is wrong");
}

/* The file of keys has them all, in their order: receipts of older ones are checked by it. The
 * newest is written there behind its first checkpoint. */
static void take_listed(struct check *c, const struct public_key *key)
{
	char name[NOTE_NAME_SIZE], verifier[KEY_VERIFIER_SIZE];

	if (!c->listed || c->bad)
		return;
	chain_name(c->ret->chain, name);
	note_verifier(KEY_SIGNS, name, key, verifier);
	size_t len = strcspn(c->listed, "\n");
	if (!len && !c->unlisted)
		c->unlisted = true;
	else if (c->unlisted || len != strlen(verifier) || memcmp(c->listed, verifier, len) != 0)
		(void)bad(c, CHAIN_KEYS, "it does not list the keys of the chain, in their order");
	else
		c->listed += len + (c->listed[len] == '\n');
}

/* Who takes a key from beside the chain has one of the chain's. */
static void take_shown(struct check *c, const struct public_key *key)
{
	char name[NOTE_NAME_SIZE], pem[KEY_PEM_SIZE], verifier[KEY_VERIFIER_SIZE];
	size_t len;

	chain_name(c->ret->chain, name);
	note_pem(key, pem);
	note_verifier(KEY_SIGNS, name, key, verifier);
	len = strlen(verifier);
	c->shown[0].known |= strcmp(c->shown[0].text, pem) == 0;
	c->shown[1].known |= strncmp(c->shown[1].text, verifier, len) == 0 &&
			     strcmp(c->shown[1].text + len, "\n") == 0;
}

/* It signs from here on. It may be the one that signed a tombstone. */
static int use_key(struct check *c, const struct public_key *key, struct err *e)
{
	uint8_t id[4];

	c->key = *key;
	c->known |= memcmp(&c->key, &c->asked, sizeof(c->key)) == 0;
	c->ret->keys++;
	take_shown(c, key);
	take_listed(c, key);
	if (!c->gone || c->gone_signed)
		return 0;
	note_key_id(KEY_SIGNS, c->gone->point.name, key, id);
	if (memcmp(id, c->gone->key_id, sizeof(id)) != 0)
		return 0;
	int r = check(c, c->gone->body, c->gone->body_len, &c->gone->sig, e);
	c->gone_signed = r > 0;
	return r < 0 ? r : 0;
}

static int take_first_key(struct check *c, const struct value *key, const char *where,
			  struct err *e)
{
	struct public_key first;

	if (!note_bytes(value_str(key), value_len(key), &first, sizeof(first)))
		return bad(c, where, "it names no key");
	return use_key(c, &first, e);
}

static int hand_over(struct check *c, const struct public_key *next, const struct signature *sig,
		     const char *where, struct err *e)
{
	char text[NOTE_SIZE];
	size_t len = settle_handover(c->ret->chain, next, text);
	int r = check(c, text, len, sig, e);

	if (r <= 0)
		return r < 0 ? r : bad(c, where, "the old key did not sign this hand-over");
	return use_key(c, next, e);
}

static int take_handover(struct check *c, const struct value *data, const char *where,
			 struct err *e)
{
	const struct value *key = value_get(data, "key"), *sig = value_get(data, "signature");
	struct public_key next;
	struct signature signature;

	if (!note_bytes(value_str(key), value_len(key), &next, sizeof(next)) ||
	    !note_bytes(value_str(sig), value_len(sig), &signature, sizeof(signature)))
		return bad(c, where, "a hand-over without key or signature");
	return hand_over(c, &next, &signature, where, e);
}

/* That events were removed is on record, with the hash of the tombstone. */
static void take_prune(struct check *c, const struct value *data)
{
	const char *said = value_str(value_get(data, "tombstone_sha256"));
	char text[HASH_TEXT_SIZE];
	uint8_t digest[HASH_BYTES];

	if (!c->gone || !said)
		return;
	hash_bytes(c->gone->body, c->gone->body_len, digest);
	hash_text(digest, text);
	c->gone_told |= strcmp(text, said) == 0;
}

/* How far other chains were, by their own checkpoints. */
static int take_chains(struct check *c, const struct value *rows, const char *where)
{
	struct err none = ERR_INIT;
	struct note n;

	for (size_t i = 0; i < value_len(rows); i++) {
		const struct value *row = value_at(rows, i), *note = value_get(row, "checkpoint");
		const char *directory = value_str(value_get(row, "directory"));
		size_t used = 0;

		if (!directory || !value_str(note) ||
		    note_parse(value_str(note), value_len(note), &n, &used, &none) < 0 ||
		    used != value_len(note))
			return bad(c, where, "what it says of another chain is no checkpoint");
		if (c->ask->joined)
			c->ask->joined(c->ask->joined_arg, directory, &n, c->edge.size);
	}
	return 0;
}

/* An event of the chain's own. */
static int take_ours(struct check *c, const struct scan_line *line, struct err *e)
{
	struct err none = ERR_INIT;
	char where[WHERE_SIZE];
	auto_value *v = NULL;

	name_line(line, where);
	if (value_parse(line->text, line->len, &v, &none) < 0)
		return bad(c, where, "it is no JSON");
	const char *kind = value_str(value_get(v, "kind"));
	const struct value *data = value_get(v, "data");
	if (kind && strcmp(kind, "ledger.start") == 0)
		return c->edge.size ? bad(c, where, "a chain begins inside of another")
				    : take_first_key(c, value_get(data, "key"), where, e);
	if (kind && strcmp(kind, "ledger.key") == 0)
		return take_handover(c, data, where, e);
	if (kind && strcmp(kind, "ledger.chains") == 0)
		return take_chains(c, value_get(data, "chains"), where);
	if (kind && strcmp(kind, "ledger.prune") == 0)
		take_prune(c, data);
	c->ret->cuts += kind && strcmp(kind, "ledger.cut") == 0;
	return 0;
}

/* An older file is named after its first event. */
static bool is_named(const char *file, uint64_t first)
{
	char name[SCAN_NAME_SIZE];

	scan_name(first, name);
	return strcmp(file, CHAIN_FILE) == 0 || strcmp(file, name) == 0;
}

/* None of them is ever empty. */
static int check_files(struct check *c, const struct scan *s, struct err *e)
{
	char name[SCAN_NAME_SIZE];
	struct stat st;

	for (size_t i = 0; i + 1 < scan_files(s) && !c->bad; i++) {
		auto_close int fd = scan_file_open(s, i, e);

		if (fd < 0 || fstat(fd, &st) < 0)
			return fd < 0 ? fd : err_sys(e, "the ledger");
		scan_name(scan_file_first(s, i), name);
		if (st.st_size == 0)
			(void)bad(c, name, "it is empty");
	}
	return 0;
}

static int take_event(struct check *c, const struct scan_line *line, struct err *e)
{
	struct tree_hash done[TREE_LEVELS + 1], zero = {0};
	struct event_head head;
	unsigned n = 0;
	int r = 0;

	if (!event_head(line->text, line->len, &head))
		return bad_line(c, line, "this is no event");
	if (head.at != c->edge.size) {
		char what[48];

		(void)snprintf(what, sizeof(what), "it is event %llu", (unsigned long long)head.at);
		return bad_line(c, line, what);
	}
	if (head.at == 0)
		memcpy(c->ret->chain, head.chain, sizeof(head.chain));
	if (strcmp(head.chain, c->ret->chain) != 0)
		return bad_line(c, line, "it is of another chain");
	if (line->number == 1 && !is_named(line->file, head.at))
		return bad_line(c, line, "the file has the name of another");
	if (!tree_same(&head.before, head.at ? &c->leaf : &zero))
		return bad_line(c, line, "the event before it is not the one that it followed");
	if (event_is_ours(line->text, line->len) || head.at == 0)
		r = take_ours(c, line, e);
	if (r < 0 || c->bad)
		return r;
	if (head.at == 0 && c->ret->keys == 0)
		return bad_line(c, line, "a chain begins with ledger.start");
	if (head.at == c->ret->signed_events && line->len < sizeof(c->waits)) {
		memcpy(c->waits, line->text, line->len);
		c->waits_len = line->len;
	}
	tree_leaf(line->text, line->len, &c->leaf);
	tree_add(&c->edge, &c->leaf, done, &n);
	if (c->notes.any && c->notes.note.point.head.size == c->edge.size)
		r = take_note(c, e);
	if (r >= 0 && !c->bad && c->ask->anchor && c->ask->anchor->point.head.size == c->edge.size)
		r = take_anchor(c, e);
	return r < 0 ? r : 0;
}

static const char *instant(time_t s, char to[EVENT_INSTANT + 1])
{
	struct tm tm;

	to[0] = '\0';
	if (gmtime_r(&s, &tm) && strftime(to, EVENT_INSTANT + 1, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		to[0] = '\0';
	return to;
}

/* A checkpoint comes within a second. Where none has come for long, either the machine stopped just
 * then and nobody has written since, or somebody took checkpoints away; then nothing but the hashes
 * speaks for those events. What is yet to come is nobody's honest event, either. */
static int check_unsigned(struct check *c)
{
	struct err none = ERR_INIT;
	auto_value *v = NULL;
	char limit[EVENT_INSTANT + 1];

	if (c->edge.size <= c->ret->signed_events)
		return 0;
	(void)value_parse(c->waits, c->waits_len, &v, &none); /* or it has no time */
	const char *since = value_str(value_get(v, "time"));
	time_t now = time(NULL), early = now - (c->ret->checkpoints ? WAIT_S : WAIT_FIRST_S);
	if (since && strcmp(since, instant(early, limit)) >= 0 &&
	    strcmp(since, instant(now + WAIT_S, limit)) <= 0)
		return 0;
	(void)bad(c, "checkpoints", "none covers the %llu events since %.24s",
		  (unsigned long long)(c->edge.size - c->ret->signed_events),
		  since ? since : "one without a time");
	c->ret->at = c->ret->signed_events;
	return 0;
}

static int at_end(struct check *c)
{
	const struct note *anchor = c->ask->anchor;

	if (c->notes.any)
		return bad_note(c, "it signs more events than are there: some are missing");
	if (anchor && anchor->point.head.size > c->edge.size)
		return bad(c, "the end", "events are missing: %s knows %llu",
			   c->ask->anchor_name ? c->ask->anchor_name : "a checkpoint that was kept",
			   (unsigned long long)anchor->point.head.size);
	if (c->gone && !c->gone_signed)
		return bad(c, TOMBSTONE_FILE, "no key of the chain has signed it");
	if (c->gone && !c->gone_told)
		return bad(c, TOMBSTONE_FILE, "no event tells of it");
	if (c->edge.size && c->listed && *c->listed)
		return bad(c, CHAIN_KEYS, "it lists a key that is none of the chain's");
	for (unsigned i = 0; i < 2 && c->edge.size; i++)
		if (c->shown[i].text[0] && !c->shown[i].known && (i || c->ask->key))
			return bad(c, c->shown[i].name, "this key is none of the chain's");
	if (c->edge.size && !c->known)
		return bad(c, c->ask->key ? "the key" : "key.pem",
			   "this key is none of the chain's");
	return check_unsigned(c);
}

/* The key that is there, where none was given. */
static int find_key(struct check *c, int dir, struct err *e)
{
	char text[KEY_PEM_SIZE * 2];
	size_t len = 0;

	if (c->ask->key) {
		c->asked = *c->ask->key;
		return 0;
	}
	auto_close int fd = ledger_open(dir, "key.pem", e);
	if (fd < 0 || fd_read_max(fd, text, sizeof(text), &len) < 0) {
		if (fd >= 0)
			(void)err_sys(e, "key.pem");
		return err_remedy(e, "give the chain's public key with --key");
	}
	struct err none = ERR_INIT;
	if (note_parse_key(text, len, &c->asked, &none) < 0)
		(void)bad(c, "key.pem", "this is no public key");
	return 0;
}

/* A checkpoint that was kept and is older than what is left: the tree of what is gone goes on from
 * it. */
static int take_old_anchor(struct check *c, int dir)
{
	const struct note *n = c->ask->anchor;
	struct tree_hash proof[TREE_PROOF_MAX + 1];
	struct err none = ERR_INIT;
	unsigned used = 0;

	if (!n || n->point.head.size >= c->gone->point.head.size)
		return 0;
	auto_close int tree = ledger_open(dir, "tree", &none);
	if (tree < 0 ||
	    tree_consistency(n->point.head.size, c->gone->point.head.size, settle_read, &tree,
			     proof, &used, &none) < 0 ||
	    !tree_check_consistency(&n->point.head, &c->gone->point.head, proof, used))
		return bad(c, anchor_name(c), "it knows other events");
	return 0;
}

/* Where a tombstone says that the events begin. */
static int begin_behind(struct check *c, int dir, struct scan *s, struct err *e)
{
	struct err none = ERR_INIT;
	int r = tombstone_read(dir, &c->gone, &none);

	if (r < 0)
		return bad(c, TOMBSTONE_FILE, "%s", none.text);
	if (r == 0)
		return 0;
	const char *id = c->gone->point.name + strlen("pinfold/");
	if (strncmp(c->gone->point.name, "pinfold/", 8) != 0 || !id_is("led", id))
		return bad(c, TOMBSTONE_FILE, "it is of no chain");
	memcpy(c->ret->chain, id, sizeof(c->ret->chain));
	r = use_key(c, &c->gone->keys[0].key, e);
	for (unsigned i = 1; i < c->gone->n_keys && r >= 0 && !c->bad; i++)
		r = hand_over(c, &c->gone->keys[i].key, &c->gone->keys[i].sig, TOMBSTONE_FILE, e);
	c->edge = c->gone->edge;
	c->leaf = c->gone->last;
	c->ret->gone = c->edge.size;
	while (r >= 0 && !c->bad && c->notes.any && c->notes.note.point.head.size < c->edge.size)
		r = next_note(c, e);
	if (r >= 0 && !c->bad && c->notes.any && c->notes.note.point.head.size == c->edge.size)
		r = take_note(c, e);
	if (r >= 0 && !c->bad && c->ask->anchor && c->ask->anchor->point.head.size == c->edge.size)
		r = take_anchor(c, e);
	if (r >= 0 && !c->bad)
		r = take_old_anchor(c, dir);
	if (r >= 0 && !c->bad && !scan_seek(s, c->edge.size, 0))
		r = bad(c, "events", "those behind the tombstone are missing");
	return r;
}

/* The newest checkpoint that the witness has signed must be of these events. */
static int find_witness(struct check *c, int dir, struct err *e)
{
	struct cosignature sig;
	char text[2 * NOTE_SIZE];

	if (!c->ask->witness)
		return 0;
	int r = witness_last(dir, c->ask->witness, c->ask->witness_key, &c->cosigned, &sig, e);
	if (r == 0)
		return bad(c, COSIGN_FILE, "%s has signed no checkpoint of this chain",
			   c->ask->witness);
	if (r > 0 && !c->notary.pid)
		r = notary_start(&c->notary, FD_NONE, e);
	if (r >= 0)
		r = notary_check(&c->notary, c->ask->witness_key, text,
				 cosign_message(&c->cosigned, sig.time_s, text), &sig.sig, e);
	if (r < 0 || (HOLD_WITNESS_SIGNED && r == 0))
		return r < 0 ? r : bad(c, COSIGN_FILE, "%s did not sign this", c->ask->witness);
	c->ret->witnessed = c->cosigned.point.head.size;
	c->ret->witnessed_s = sig.time_s;
	c->own = *c->ask;
	if (!c->own.anchor || c->own.anchor->point.head.size < c->cosigned.point.head.size)
		c->own.anchor = &c->cosigned;
	c->ask = &c->own;
	return 0;
}

static int walk(struct check *c, int dir, struct err *e)
{
	auto_scan *s = NULL;
	struct scan_line line;
	struct err torn = ERR_INIT;
	int r = find_key(c, dir, e);

	if (r >= 0 && !c->bad)
		r = find_witness(c, dir, e);
	if (r >= 0)
		r = scan_open(dir, &s, e);
	if (r >= 0)
		r = next_note(c, e);
	if (r >= 0 && !c->bad)
		r = begin_behind(c, dir, s, e);
	while (r >= 0 && !c->bad && (r = scan_next(s, &line, &torn)) > 0)
		r = take_event(c, &line, e);
	if (r < 0 && torn.kind == ERR_INVALID)
		r = bad(c, "events", "%s", torn.text);
	else if (r < 0 && torn.text[0])
		*e = torn;
	c->ret->events = c->edge.size;
	if (r >= 0 && !c->bad)
		r = check_files(c, s, e);
	if (r >= 0 && !c->bad) {
		c->ret->torn = scan_torn(s);
		r = at_end(c);
	}
	return r;
}

/* Who has only a part of a copy may lack it: "" then. */
static int read_beside(int dir, const char *name, char *to, size_t size, struct err *e)
{
	size_t len = 0;
	auto_close int fd = ledger_open(dir, name, e);

	to[0] = '\0';
	if (fd < 0)
		return e->num == ENOENT ? 0 : fd;
	int r = fd_read_max(fd, to, size - 1, &len);
	errno = -r;
	if (r < 0)
		return err_sys(e, "%s", name);
	to[len] = '\0';
	if (strlen(to) != len)
		return err_set(e, ERR_INVALID, "%s: this is no text", name);
	return len == size - 1; /* there may be more */
}

static int read_keys(struct check *c, int dir, char *listed, struct err *e)
{
	int r = 0;

	c->shown[0].name = "key.pem";
	c->shown[1].name = "key.verifier";
	for (unsigned i = 0; i < 2 && r >= 0; i++)
		r = read_beside(dir, c->shown[i].name, c->shown[i].text, sizeof(c->shown[i].text),
				e);
	if (r >= 0)
		r = read_beside(dir, CHAIN_KEYS, listed, CHAIN_KEYS_BYTES + 1, e);
	/* So many that not all can be looked at; or none. */
	c->listed = r > 0 || !listed[0] ? NULL : listed;
	return r < 0 ? r : 0;
}

int verify_chain(int dir, const struct verify_ask *ask, struct verify_result *ret, struct err *e)
{
	auto_free struct check *c = calloc(1, sizeof(*c));
	auto_free char *buf = malloc(NOTES_BYTES);
	auto_free char *listed = malloc(CHAIN_KEYS_BYTES + 1);
	struct err none = ERR_INIT;
	auto_close int fd = ledger_open(dir, "checkpoints", &none);

	*ret = (struct verify_result){.good = false};
	if (!c || !buf || !listed)
		return err_sys(e, "verify");
	if (fd < 0 && none.num != ENOENT) {
		*e = none;
		return fd;
	}
	*c = (struct check){.ask = ask, .ret = ret, .notes = {.fd = fd, .buf = buf}};
	c->notary = (struct notary)NOTARY_INIT;
	int r = read_keys(c, dir, listed, e);
	if (r >= 0)
		r = walk(c, dir, e);
	notary_end(&c->notary);
	free(c->gone);
	ret->good = r >= 0 && !c->bad;
	return r < 0 ? r : 0;
}
