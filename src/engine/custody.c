/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with chains as a whole: their keys, and how long they are kept. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/prune.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"

typedef int chain_act_fn(int dir, struct pinfold_chain_info *info, const void *arg, struct err *e);

static void read_text(int dir, const char *name, char *ret, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;

	if (fd < 0 || fd_read_max(fd, ret, size - 1, &len) < 0)
		len = 0;
	ret[len] = '\0';
	while (len && ret[len - 1] == '\n')
		ret[--len] = '\0';
}

static void describe(int dir, struct pinfold_chain_info *info)
{
	size_t head = strlen("pinfold/");

	read_text(dir, "key.pem", info->pem, sizeof(info->pem));
	read_text(dir, "key.verifier", info->verifier, sizeof(info->verifier));
	if (strncmp(info->verifier, "pinfold/led", 11) == 0)
		(void)snprintf(info->chain, sizeof(info->chain), "%.*s", ID_SIZE - 1,
			       info->verifier + head);
	info->gone = tombstone_size(dir);
}

static int with_each(chain_act_fn *act, const void *act_arg, pinfold_chain_fn *each, void *arg,
		     struct err *e)
{
	auto_free struct record_chain *list = calloc(RECORD_CHAINS_MAX, sizeof(*list));
	int n = list ? record_chains(list, RECORD_CHAINS_MAX, e) : err_sys(e, "the ledger");
	int r = n < 0 ? n : 0;

	for (int i = 0; i < n; i++) {
		struct pinfold_chain_info info = {.name = list[i].name};

		if (r >= 0 && act) {
			r = act(list[i].fd, &info, act_arg, e);
			if (r < 0)
				(void)err_wrap(e, "%s", list[i].name);
		}
		if (r >= 0) {
			describe(list[i].fd, &info);
			each(&info, arg);
		}
		fd_close(&list[i].fd);
	}
	return r;
}

static int result(int r, const struct err *e, struct pinfold_error *ret_error)
{
	if (r < 0)
		error_public(e, ret_error);
	return r < 0 ? -1 : 0;
}

int pinfold_ledger_keys(pinfold_chain_fn *each, void *arg, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(each && ret_error);
	return result(with_each(NULL, NULL, each, arg, &e), &e, ret_error);
}

static int rotate(int dir, struct pinfold_chain_info *info, const void *arg, struct err *e)
{
	(void)info;
	(void)arg;
	return settle_rotate(dir, e);
}

int pinfold_ledger_rotate(pinfold_chain_fn *each, void *arg, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(each && ret_error);
	return result(with_each(rotate, NULL, each, arg, &e), &e, ret_error);
}

static int prune_one(int dir, struct pinfold_chain_info *info, const void *arg, struct err *e)
{
	struct prune_ask ask = {.before = arg, .most = record_shipped(dir)};
	struct prune_result got;
	int r = prune(dir, &ask, &got, e);

	info->events = got.events;
	info->files = got.files;
	info->bytes = got.bytes;
	return r;
}

int pinfold_ledger_prune(const char *before, pinfold_chain_fn *each, void *arg,
			 struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(before && each && ret_error);
	int r = record_instant("--before", before, &e);
	if (r >= 0)
		r = with_each(prune_one, before, each, arg, &e);
	if (r < 0)
		return result(r, &e, ret_error);
	/* What the events that are gone knew of other chains. */
	return pinfold_ledger_join(0, ret_error);
}
