/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger may check: chains and receipts. And another key. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/receipt.h"
#include "ledger/settle.h"
#include "ledger/verify.h"

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

	if (asprintf(&whole, "%s\n\n", text) < 0)
		return err_sys(e, "checkpoint");
	int r = note_parse(whole, strlen(whole), ret, &used, e);
	return r < 0 ? err_wrap(e, "--anchor") : 0;
}

static int verify_one(const struct record_chain *chain, const struct verify_ask *ask,
		      pinfold_verify_fn *each, void *arg, struct err *e)
{
	struct pinfold_verify_result out = {.name = chain->name};
	struct verify_result v;
	int r = verify_chain(chain->fd, ask, &v, e);

	if (r < 0)
		return err_wrap(e, "%s", chain->name);
	out.good = v.good;
	out.events = v.events;
	out.checkpoints = v.checkpoints;
	out.keys = v.keys;
	out.unsigned_events = v.events - v.signed_events;
	out.cuts = v.cuts;
	out.torn_bytes = v.torn;
	out.position = v.at;
	memcpy(out.chain, v.chain, sizeof(v.chain));
	memcpy(out.where, v.where, sizeof(out.where));
	memcpy(out.what, v.what, sizeof(out.what));
	each(&out, arg);
	return 0;
}

static int open_named(const char *dir, struct record_chain *to, struct err *e)
{
	to->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(to->name, sizeof(to->name), "%s", dir);
	return to->fd < 0 ? err_sys(e, "%s", dir) : 1;
}

int pinfold_ledger_verify(const struct pinfold_verify_options *options, pinfold_verify_fn *each,
			  void *arg, struct pinfold_error *ret_error)
{
	struct pinfold_verify_options o = {.size = sizeof(o)};
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	struct err e = ERR_INIT;
	struct public_key key;
	struct note anchor;
	struct verify_ask ask = {.key = NULL};

	assert(each && ret_error);
	if (options)
		memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
	int r = list ? 0 : err_sys(&e, "verify");
	if (r >= 0 && o.key)
		r = note_parse_key(o.key, strlen(o.key), &key, &e);
	if (r >= 0 && o.anchor)
		r = parse_anchor(o.anchor, &anchor, &e);
	ask.key = o.key ? &key : NULL;
	ask.anchor = o.anchor ? &anchor : NULL;
	int n = r < 0	? r
		: o.dir ? open_named(o.dir, list, &e)
			: record_chains(list, CHAINS_MAX, &e);
	/* A key or a checkpoint is of one chain: that of the data directory itself. */
	if (n > 1 && (o.key || o.anchor)) {
		for (int i = 1; i < n; i++)
			fd_close(&list[i].fd);
		n = 1;
	}
	r = n;
	for (int i = 0; i < n; i++) {
		if (r >= 0)
			r = verify_one(&list[i], &ask, each, arg, &e);
		fd_close(&list[i].fd);
	}
	return result(r, &e, ret_error);
}

/* The chain that knows the run. */
static int with_chain_of(const char *run, int *ret, struct err *e)
{
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	int n = list ? record_chains(list, CHAINS_MAX, e) : err_sys(e, "receipt");
	int r = n < 0 ? n : 0;

	*ret = FD_NONE;
	for (int i = 0; i < n; i++) {
		struct find_run f;

		if (r >= 0 && *ret < 0 && (r = find_run(list[i].fd, run, &f, e)) > 0)
			*ret = take_fd(&list[i].fd);
		if (r > 0)
			find_done(&f);
		fd_close(&list[i].fd);
	}
	if (r < 0 || *ret >= 0)
		return r < 0 ? r : 0;
	(void)err_set(e, ERR_MISSING, "the ledger does not know %s", run);
	return err_remedy(e, "pinfold audit lists the runs that it knows");
}

int pinfold_receipt_write(const char *run, int fd, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE;
	auto_free char *text = NULL;
	size_t len = 0;
	int r = with_chain_of(run, &dir, &e);

	if (r >= 0)
		r = receipt_make(dir, run, &text, &len, &e);
	if (r >= 0 && (r = fd_write_all(fd, text, len)) == 0)
		r = fd_write_all(fd, "\n", 1);
	if (r < 0 && !e.text[0]) {
		errno = -r;
		(void)err_sys(&e, "write the receipt");
	}
	return result(r, &e, ret_error);
}

/* With the key that was given, or with those of the chains that are here. */
static int check_with(const char *text, size_t len, const char *key, struct receipt_result *ret,
		      struct err *e)
{
	auto_free struct record_chain *list = calloc(CHAINS_MAX, sizeof(*list));
	struct public_key k;
	int r = list ? 0 : err_sys(e, "receipt");

	if (r >= 0 && key) {
		r = note_parse_key(key, strlen(key), &k, e);
		return r < 0 ? r : receipt_check(text, len, &k, ret, e);
	}
	int n = r < 0 ? r : record_chains(list, CHAINS_MAX, e);
	for (int i = 0; i < n; i++) {
		auto_close int dir = take_fd(&list[i].fd);
		auto_close int fd = openat(dir, "key.pem", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		char pem[KEY_PEM_SIZE * 2];
		size_t got = 0;

		if (r < 0 || ret->good || fd < 0 || fd_read_max(fd, pem, sizeof(pem), &got) < 0)
			continue;
		r = note_parse_key(pem, got, &k, e);
		if (r >= 0)
			r = receipt_check(text, len, &k, ret, e);
	}
	if (n == 0) {
		(void)err_set(e, ERR_MISSING, "there is no ledger here whose key could be used");
		return err_remedy(e, "give the public key with --key");
	}
	return n < 0 ? n : r;
}

int pinfold_receipt_verify(const char *text, size_t len,
			   const struct pinfold_verify_options *options,
			   struct pinfold_verify_result *ret_result,
			   struct pinfold_error *ret_error)
{
	struct receipt_result v = {.good = false};
	struct err e = ERR_INIT;
	int r = check_with(text, len, options ? options->key : NULL, &v, &e);

	*ret_result = (struct pinfold_verify_result){.good = v.good, .position = v.at};
	memcpy(ret_result->chain, v.chain, sizeof(v.chain));
	(void)snprintf(ret_result->where, sizeof(ret_result->where), "%s", v.run);
	memcpy(ret_result->what, v.what, sizeof(v.what));
	return result(r, &e, ret_error);
}

int pinfold_ledger_rotate(struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	auto_close int dir = FD_NONE;
	int r = record_open(NULL, &dir, &e);

	if (r >= 0 && dir < 0)
		r = err_set(&e, ERR_MISSING, "there is no ledger");
	if (r >= 0)
		r = settle_rotate(dir, &e);
	return result(r, &e, ret_error);
}
