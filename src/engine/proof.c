/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger is given, and may check: receipts, and proofs of single events. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/ledger_keys.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/proof.h"
#include "ledger/receipt.h"

#define CHAINS_MAX 256u

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

static bool is_of(const struct find_run *f, const char *chain, const char *tenant)
{
	return record_is_of(f->end.value ? f->end.value : f->begin.value, chain, tenant);
}

/* The chain that knows the run, and what it says of it; find_done() and its descriptor are the
 * caller's. */
static int with_chain_of(const char *run, const char *tenant, struct record_chain *ret,
			 struct find_run *f, struct err *e)
{
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	int n = list ? record_chains(list, CHAINS_MAX, e) : err_sys(e, "receipt");
	int r = n < 0 ? n : 0;

	ret->fd = FD_NONE;
	for (int i = 0; i < n; i++) {
		bool found = r >= 0 && ret->fd < 0 && (r = find_run(list[i].fd, run, f, e)) > 0;

		if (found && is_of(f, list[i].name, tenant)) {
			*ret = list[i];
			list[i].fd = FD_NONE;
		} else if (found) {
			find_done(f);
		}
		fd_close(&list[i].fd);
	}
	if (r < 0 || ret->fd >= 0)
		return r < 0 ? r : 0;
	(void)err_set(e, ERR_MISSING, "the ledger does not know %s", run);
	return err_remedy(e, "pinfold audit lists the runs that it knows");
}

static int make_receipt(const char *run, const char *tenant, char **ret, size_t *ret_len,
			struct err *e)
{
	const char *how = getenv("PINFOLD_EVIDENCE");
	struct receipt_ask ask = {.run = run, .evidence = how && how[0] ? how : "auto"};
	char snapshot[HASH_TEXT_SIZE] = "";
	struct err why = ERR_INIT;
	struct record_chain chain;
	struct find_run f;
	int r = with_chain_of(run, tenant, &chain, &f, e);

	if (r < 0)
		return r;
	if (f.end.value && record_snapshot(chain.name, f.end.value, snapshot, &why) < 0)
		ask.why_no_snapshot = why.text;
	if (snapshot[0] && !ask.why_no_snapshot)
		ask.snapshot = snapshot;
	find_done(&f);
	r = receipt_make(chain.fd, &ask, ret, ret_len, e);
	fd_close(&chain.fd);
	return r;
}

int pinfold_receipt_write_of(const char *run, const char *tenant, int fd,
			     struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_free char *text = NULL;
	size_t len = 0;
	int r = make_receipt(run, tenant, &text, &len, &e);

	if (r >= 0 && (r = fd_write_all(fd, text, len)) == 0)
		r = fd_write_all(fd, "\n", 1);
	if (r < 0 && !e.text[0]) {
		errno = -r;
		(void)err_sys(&e, "write the receipt");
	}
	return result(r, &e, ret_error);
}

int pinfold_receipt_write(const char *run, int fd, struct pinfold_error *ret_error)
{
	return pinfold_receipt_write_of(run, NULL, fd, ret_error);
}

/* Those that were given, or those of the chains that are here. */
static int candidates(const char *given, struct ledger_keys *ret, struct err *e)
{
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));

	if (given)
		return ledger_keys_parse(given, ret, e);
	int n = list ? record_chains(list, CHAINS_MAX, e) : err_sys(e, "keys");
	for (int i = 0; i < n; i++) {
		ledger_keys_of(list[i].fd, ret);
		fd_close(&list[i].fd);
	}
	if (n < 0 || ret->n)
		return n < 0 ? n : 0;
	(void)err_set(e, ERR_MISSING, "there is no ledger here whose key could be used");
	return err_remedy(e, "give the public key with --key");
}

/* With each of them; the last verdict is that of the newest. */
static int check_receipt(const char *text, size_t len, const char *key, struct receipt_result *ret,
			 struct err *e)
{
	auto_free struct ledger_keys *keys = calloc(1, sizeof(*keys));
	int r = keys ? candidates(key, keys, e) : err_sys(e, "receipt");

	for (unsigned i = 0; r >= 0 && i < keys->n && !ret->good; i++)
		r = receipt_check(text, len, &keys->key[i], ret, e);
	return r;
}

int pinfold_receipt_verify(const char *text, size_t len,
			   const struct pinfold_verify_options *options,
			   struct pinfold_verify_result *ret_result,
			   struct pinfold_error *ret_error)
{
	struct pinfold_verify_options o = {.size = sizeof(o)};
	struct receipt_result v = {.good = false};
	struct err e = ERR_INIT;

	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	int r = check_receipt(text, len, o.key, &v, &e);
	if (r >= 0 && v.good && o.evidence && strcmp(o.evidence, v.evidence_key) != 0) {
		v.good = false;
		(void)snprintf(v.what, sizeof(v.what), "evidence: %s",
			       v.evidence_signed ? "it is of another machine's key"
						 : "there is none of that key");
	}
	*ret_result = (struct pinfold_verify_result){.good = v.good, .position = v.at};
	memcpy(ret_result->chain, v.chain, sizeof(v.chain));
	(void)snprintf(ret_result->where, sizeof(ret_result->where), "%s", v.run);
	memcpy(ret_result->what, v.what, sizeof(v.what));
	memcpy(ret_result->evidence, v.evidence, sizeof(v.evidence));
	memcpy(ret_result->evidence_key, v.evidence_key, sizeof(v.evidence_key));
	ret_result->evidence_signed = v.evidence_signed;
	return result(r, &e, ret_error);
}

/* "12" is of the data directory's own chain. */
static int parse_event(const char *text, char chain[ID_SIZE], uint64_t *ret_at, struct err *e)
{
	const char *colon = strchr(text, ':'), *digits = colon ? colon + 1 : text;
	size_t len = colon ? (size_t)(colon - text) : 0, n = strlen(digits);

	chain[0] = '\0';
	if (len == ID_SIZE - 1) {
		memcpy(chain, text, len);
		chain[len] = '\0';
	}
	if ((!colon || id_is("led", chain)) && n > 0 && n < 15 &&
	    strspn(digits, "0123456789") == n) {
		*ret_at = strtoull(digits, NULL, 10); /* tidy: only digits, and few */
		return 0;
	}
	(void)err_set(e, ERR_INVALID, "EVENT: \"%.60s\" is no place of an event", text);
	return err_remedy(e, "write \"at\" of the event, 12, or its chain and that, led…:12");
}

static int open_chain(const char *chain, struct err *e)
{
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	int n = list ? record_chains(list, CHAINS_MAX, e) : err_sys(e, "proof"), fd = FD_NONE;
	char first[256];

	for (int i = 0; i < n; i++) {
		bool is = fd < 0 && (chain[0] ? ledger_chain_id(list[i].fd, first) &&
							strcmp(first, chain) == 0
					      : strcmp(list[i].name, "ledger") == 0);
		if (is)
			fd = take_fd(&list[i].fd);
		fd_close(&list[i].fd);
	}
	if (n < 0 || fd >= 0)
		return n < 0 ? n : fd;
	(void)err_set(e, ERR_MISSING, "there is no ledger %s", chain[0] ? chain : "here");
	return err_remedy(e, "pinfold verify --json lists the chains that are here");
}

int pinfold_proof_write(const char *event, int fd, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_free char *text = NULL;
	char chain[ID_SIZE];
	uint64_t at = 0;
	size_t len = 0;
	int r = parse_event(event, chain, &at, &e);
	auto_close int dir = r < 0 ? FD_NONE : open_chain(chain, &e);

	if (r >= 0)
		r = dir < 0 ? dir : proof_make(dir, at, &text, &len, &e);
	if (r >= 0 && (r = fd_write_all(fd, text, len)) < 0) {
		errno = -r;
		(void)err_sys(&e, "write the proof");
	}
	return result(r, &e, ret_error);
}

int pinfold_proof_is(const char *text, size_t len)
{
	return len >= sizeof(PROOF_BEGIN) &&
	       memcmp(text, PROOF_BEGIN, sizeof(PROOF_BEGIN) - 1) == 0;
}

int pinfold_proof_verify(const char *text, size_t len, const struct pinfold_verify_options *options,
			 struct pinfold_verify_result *ret_result, char **ret_event,
			 struct pinfold_error *ret_error)
{
	struct pinfold_verify_options o = {.size = sizeof(o)};
	auto_free struct ledger_keys *keys = calloc(1, sizeof(*keys));
	struct proof_result v = {.good = false};
	struct err e = ERR_INIT;

	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	int r = keys ? candidates(o.key, keys, &e) : err_sys(&e, "proof");
	for (unsigned i = 0; r >= 0 && i < keys->n && !v.good; i++) {
		free(v.event);
		r = proof_check(text, len, &keys->key[i], &v, &e);
	}
	*ret_result = (struct pinfold_verify_result){.good = v.good, .position = v.at};
	memcpy(ret_result->chain, v.chain, sizeof(v.chain));
	memcpy(ret_result->what, v.what, sizeof(v.what));
	*ret_event = v.event;
	return result(r, &e, ret_error);
}
