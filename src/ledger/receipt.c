/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/receipt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hold.h"
#include "ledger/canon.h"
#include "ledger/notary.h"
#include "ledger/settle.h"

#define KEY_ID_SIZE (NOTE_NAME_SIZE + 16)

static void key_id(const char *name, const struct public_key *key, char ret[KEY_ID_SIZE])
{
	uint8_t id[4];

	note_key_id(KEY_SIGNS, name, key, id);
	(void)snprintf(ret, KEY_ID_SIZE, "%s+%02x%02x%02x%02x", name, id[0], id[1], id[2], id[3]);
}

/* What DSSE signs. Malloced. */
static char *to_sign(const char *payload, size_t len, size_t *ret_len)
{
	char *text = malloc(len + 128);

	if (!text)
		return NULL;
	size_t n = (size_t)snprintf(text, 128, "DSSEv1 %zu %s %zu ", sizeof(RECEIPT_TYPE) - 1,
				    RECEIPT_TYPE, len);
	memcpy(text + n, payload, len);
	*ret_len = n + len;
	return text;
}

/* Where the event is, and what proves it. */
static int prove(int dir, const struct find_run *f, struct note *note, struct value *to,
		 struct err *e)
{
	struct tree_hash proof[TREE_PROOF_MAX];
	char text[64], whole[NOTE_SIZE];
	struct value *list = value_array();
	unsigned n = 0;
	auto_close int tree = settle_open_tree(dir, e);
	int r = tree < 0 ? tree
			 : tree_inclusion(f->end.at, note->point.head.size, settle_read, &tree,
					  proof, &n, e);

	for (unsigned i = 0; r >= 0 && i < n; i++) {
		(void)note_base64(proof[i].byte, HASH_BYTES, text);
		value_add(list, value_of_str(text));
	}
	uint8_t named[4 + SIGNATURE_BYTES];
	char sig[128];
	memcpy(named, note->key_id, 4);
	memcpy(named + 4, note->sig.byte, SIGNATURE_BYTES);
	(void)note_base64(named, sizeof(named), sig);
	(void)snprintf(whole, sizeof(whole), "%.256s\n\xe2\x80\x94 %s %s\n", note->body,
		       note->point.name, sig);
	value_set(to, "chain", value_of_str(note->point.name + strlen("pinfold/")));
	value_set(to, "at", value_of_u64(f->end.at));
	if (f->begin.value)
		value_set(to, "began_at", value_of_u64(f->begin.at));
	value_set(to, "event", value_of_bytes(f->end.line, f->end.len));
	value_set(to, "inclusion", list);
	value_set(to, "checkpoint", value_of_str(whole));
	return r;
}

static struct value *envelope(const char *payload, size_t len, const char *keyid,
			      const struct signature *sig)
{
	struct value *all = value_object(), *list = value_array(), *one = value_object();
	char text[128];

	(void)note_base64(sig->byte, sizeof(sig->byte), text);
	value_set(one, "keyid", value_of_str(keyid));
	value_set(one, "sig", value_of_str(text));
	value_add(list, one);
	value_set(all, "payload", value_of_base64(payload, len));
	value_set(all, "payloadType", value_of_str(RECEIPT_TYPE));
	value_set(all, "signatures", list);
	return all;
}

/* What evidence is about: the statement without it. */
static int nonce_of(struct value *statement, uint8_t ret[HASH_BYTES], struct err *e)
{
	auto_free char *text = NULL;
	size_t len = 0;

	value_del(value_get(statement, "predicate"), "evidence");
	int r = canon_text(statement, &text, &len, e);
	if (r >= 0)
		hash_bytes(text, len, ret);
	return r;
}

static int add_evidence(struct value *statement, const char *how, struct err *e)
{
	struct value *evidence = NULL;
	uint8_t nonce[HASH_BYTES];
	int r = nonce_of(statement, nonce, e);

	if (r >= 0)
		r = evidence_take(how, nonce, &evidence, e);
	if (r >= 0)
		value_set(value_get(statement, "predicate"), "evidence", evidence);
	return r;
}

static int write_receipt(int dir, struct value *statement, const struct note *note, char **ret,
			 size_t *ret_len, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	auto_free char *payload = NULL, *pae = NULL;
	char keyid[KEY_ID_SIZE];
	struct public_key key;
	struct signature sig;
	size_t len = 0, n = 0;
	int r = canon_text(statement, &payload, &len, e);

	if (r >= 0) {
		pae = to_sign(payload, len, &n);
		r = pae ? notary_start(&notary, dir, e) : err_sys(e, "receipt");
	}
	if (r >= 0)
		r = notary_sign(&notary, pae, n, &sig, &key, e);
	if (r < 0)
		return r;
	key_id(note->point.name, &key, keyid);
	auto_value *all = envelope(payload, len, keyid, &sig);
	return canon_text(all, ret, ret_len, e);
}

int receipt_make(int dir, const struct receipt_ask *ask, char **ret, size_t *ret_len, struct err *e)
{
	const char *run = ask->run;
	struct find_run f;
	struct note note = {.body_len = 0};
	int r = find_run(dir, run, &f, e);

	if (r <= 0) {
		if (r == 0)
			(void)err_set(e, ERR_MISSING, "no event is of %s", run);
		return r < 0 ? r : -ENOENT;
	}
	if (!f.end.value) {
		find_done(&f);
		(void)err_set(e, ERR_CONFLICT, "%s has begun, and no end of it is recorded", run);
		return err_remedy(e, "wait until it has ended; who was killed leaves no end");
	}
	struct value *ledger = value_object();
	auto_value *statement = receipt_statement(&f, ask, ledger);
	r = settle_now(dir, e);
	if (r >= 0)
		r = settle_last(dir, &note, e);
	if (r == 0)
		r = err_set(e, ERR_INTERNAL, "no checkpoint covers it");
	if (r >= 0)
		r = prove(dir, &f, &note, ledger, e);
	find_done(&f);
	if (r >= 0)
		r = add_evidence(statement, ask->evidence, e);
	if (r >= 0)
		r = write_receipt(dir, statement, &note, ret, ret_len, e);
	return r < 0 ? r : 0;
}

__attribute__((format(printf, 2, 3))) static int bad(struct receipt_result *ret, const char *fmt,
						     ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->what, sizeof(ret->what), fmt, ap);
	va_end(ap);
	return 0;
}

/* To its last byte, which may be a NUL that others would read. */
static bool is_text(const struct value *v, const char *want)
{
	const char *text = value_str(v);

	return text && value_len(v) == strlen(want) && memcmp(text, want, strlen(want)) == 0;
}

/* The same text again: nothing can be said in two ways. */
static bool is_canonical(const struct value *v, const char *text, size_t len)
{
	struct err none = ERR_INIT;
	auto_free char *again = NULL;
	size_t n = 0;

	return canon_text(v, &again, &n, &none) >= 0 && n == len && memcmp(again, text, n) == 0;
}

static int check_checkpoint(struct notary *n, const struct value *ledger,
			    const struct public_key *key, struct note *note,
			    struct receipt_result *ret, struct err *e)
{
	const struct value *text = value_get(ledger, "checkpoint");
	auto_free char *whole = NULL;
	struct err none = ERR_INIT;
	size_t used = 0;
	uint8_t id[4];

	/* As in the file, where an empty line ends it. */
	if (!value_str(text) || asprintf(&whole, "%s\n", value_str(text)) < 0 ||
	    note_parse(whole, strlen(whole), note, &used, &none) < 0 || whole[used])
		return bad(ret, "ledger.checkpoint: this is none");
	note_key_id(KEY_SIGNS, note->point.name, key, id);
	if (memcmp(id, note->key_id, sizeof(id)) != 0)
		return bad(ret, "ledger.checkpoint: signed by another key");
	int r = notary_check(n, key, note->body, note->body_len, &note->sig, e);
	if (r == 0)
		return bad(ret, "ledger.checkpoint: its signature is wrong");
	return r;
}

static int check_inclusion(const struct value *ledger, const struct note *note,
			   struct receipt_result *ret)
{
	const struct value *list = value_get(ledger, "inclusion"),
			   *line = value_get(ledger, "event");
	struct tree_hash proof[TREE_PROOF_MAX], leaf;
	struct event_head head;
	size_t n = value_len(list);

	if (!value_str(line) || !event_head(value_str(line), value_len(line), &head))
		return bad(ret, "ledger.event: this is no event");
	for (size_t i = 0; i < n; i++) {
		const struct value *one = value_at(list, i);

		if (n > TREE_PROOF_MAX ||
		    !note_bytes(value_str(one), value_len(one), &proof[i], sizeof(proof[i])))
			return bad(ret, "ledger.inclusion: no proof");
	}
	tree_leaf(value_str(line), value_len(line), &leaf);
	ret->at = head.at;
	memcpy(ret->chain, head.chain, sizeof(ret->chain));
	if ((int64_t)head.at != value_int(value_get(ledger, "at")) ||
	    strcmp(head.chain, note->point.name + strlen("pinfold/")) != 0)
		return bad(ret, "ledger.event: it is another one");
	if (!tree_check_inclusion(head.at, note->point.head.size, &leaf, proof, (unsigned)n,
				  &note->point.head.root))
		return bad(ret, "ledger.inclusion: the event is not in the tree of the checkpoint");
	return 1;
}

/* Takes it from the statement. */
static int check_evidence(struct notary *n, struct value *statement, struct receipt_result *ret,
			  struct err *e)
{
	const struct value *p = value_get(statement, "predicate");
	auto_value *evidence = value_copy(value_get(p, "evidence"));
	struct evidence_claim claim;
	uint8_t nonce[HASH_BYTES];
	int r = nonce_of(statement, nonce, e);

	if (r < 0)
		return r;
	if (!evidence_check(evidence, nonce, &claim))
		return bad(ret, "evidence: %s", claim.why);
	memcpy(ret->evidence, claim.kind, sizeof(claim.kind));
	if (!claim.has_signature)
		return 1;
	r = notary_check_p256(n, claim.key, claim.text, claim.len, claim.signature, e);
	if (r == 0)
		return bad(ret, "evidence: its signature is wrong");
	ret->evidence_signed = r > 0;
	memcpy(ret->evidence_key, claim.name, sizeof(claim.name));
	return r;
}

static int check_statement(struct notary *n, const char *payload, size_t len,
			   const struct public_key *key, struct receipt_result *ret, struct err *e)
{
	struct err none = ERR_INIT;
	auto_value *s = NULL, *event = NULL;
	struct note note;

	if (value_parse(payload, len, &s, &none) < 0 || !is_canonical(s, payload, len))
		return bad(ret, "payload: no canonical JSON");
	const struct value *p = value_get(s, "predicate"), *ledger = value_get(p, "ledger");
	const char *run = value_str(value_get(p, "run"));
	if (!is_text(value_get(s, "predicateType"), RECEIPT_PREDICATE) || !run ||
	    strlen(run) >= ID_SIZE)
		return bad(ret, "predicateType: no receipt of a run");
	memcpy(ret->run, run, strlen(run) + 1);
	int r = check_checkpoint(n, ledger, key, &note, ret, e);
	if (r > 0)
		r = check_inclusion(ledger, &note, ret);
	if (r <= 0)
		return r;
	const struct value *line = value_get(ledger, "event");
	if (value_parse(value_str(line), value_len(line), &event, &none) < 0 ||
	    !value_equal(value_get(event, "run"), value_get(p, "run")))
		return bad(ret, "ledger.event: it is of another run");
	r = check_evidence(n, s, ret, e);
	ret->good = r > 0;
	return r < 0 ? r : 0;
}

int receipt_check(const char *text, size_t len, const struct public_key *key,
		  struct receipt_result *ret, struct err *e)
{
	auto_notary notary = NOTARY_INIT;
	auto_value *all = NULL;
	auto_free void *payload = NULL;
	auto_free char *pae = NULL;
	struct err none = ERR_INIT;
	struct signature sig;
	size_t n = 0, pae_len = 0;

	*ret = (struct receipt_result){.good = false};
	len -= len && text[len - 1] == '\n';
	if (value_parse(text, len, &all, &none) < 0 || !is_canonical(all, text, len))
		return bad(ret, "the envelope is no canonical JSON");
	const struct value *body = value_get(all, "payload"), *one;
	one = value_at(value_get(all, "signatures"), 0);
	const struct value *sig64 = value_get(one, "sig"), *keyid = value_get(one, "keyid");
	if (value_len(all) != 3 || value_len(value_get(all, "signatures")) != 1 ||
	    !value_str(keyid) || !is_text(value_get(all, "payloadType"), RECEIPT_TYPE) ||
	    !value_str(body) || value_len(one) != 2 ||
	    value_from_base64(value_str(body), value_len(body), &payload, &n) < 0)
		return bad(ret, "the envelope is none of a receipt");
	if (!note_bytes(value_str(sig64), value_len(sig64), &sig, sizeof(sig)))
		return bad(ret, "signatures: no signature");
	auto_value *again = value_of_base64(payload, n);
	if (!value_equal(again, body))
		return bad(ret, "payload: base64 that could be written otherwise");
	pae = to_sign(payload, n, &pae_len);
	int r = pae ? notary_start(&notary, FD_NONE, e) : err_sys(e, "receipt");
	if (r >= 0)
		r = notary_check(&notary, key, pae, pae_len, &sig, e);
	if (r < 0 || (HOLD_RECEIPT_SIGNED && r == 0))
		return r < 0 ? r : bad(ret, "signatures: this key did not sign the payload");
	r = check_statement(&notary, payload, n, key, ret, e);
	char name[NOTE_NAME_SIZE], expected[KEY_ID_SIZE];
	(void)snprintf(name, sizeof(name), "pinfold/%s", ret->chain);
	key_id(name, key, expected);
	if (r >= 0 && ret->good && !is_text(keyid, expected)) {
		ret->good = false;
		return bad(ret, "signatures: keyid names another key");
	}
	return r < 0 ? r : 0;
}
