/* SPDX-License-Identifier: Apache-2.0 */
/* Witnesses for the public: the side of the chain, and that of who signs. */
#include <pinfold/ledger.h>
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/witness.h"

static int result(int r, char **text, char **ret_text, const struct err *e,
		  struct pinfold_error *ret_error)
{
	if (r < 0) {
		error_public(e, ret_error);
		return -1;
	}
	if (ret_text)
		*ret_text = take_ptr(text);
	return 0;
}

static int open_chain(struct err *e)
{
	int dir = FD_NONE;
	int r = record_open(NULL, &dir, e);

	if (r >= 0 && dir < 0)
		r = err_set(e, ERR_MISSING, "there is no ledger");
	return r < 0 ? r : dir;
}

int pinfold_witness_request(uint64_t old, char **ret_text, struct pinfold_error *ret_error)
{
	auto_free char *text = calloc(1, WITNESS_REQUEST_BYTES + 1);
	struct err e = ERR_INIT;

	assert(ret_text && ret_error);
	auto_close int dir = open_chain(&e);
	int r = dir < 0 ? dir : text ? witness_ask(dir, old, text, &e) : err_sys(&e, "witness");
	return result(r, &text, ret_text, &e, ret_error);
}

int pinfold_witness_keep(const char *line, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(line && ret_error);
	auto_close int dir = open_chain(&e);
	int r = dir < 0 ? dir : witness_take(dir, line, strlen(line), &e);
	return result(r, NULL, NULL, &e, ret_error);
}

/* His own, of nobody else's: who writes there decides what he remembers. */
static int open_his(const char *path, bool make, struct err *e)
{
	struct stat st;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "%s", path);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%s", path);
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return take_fd(&fd);
	(void)err_set(e, ERR_DENIED, "%s can be written by others", path);
	return err_remedy(e, "make it yours, mode 0700");
}

int pinfold_witness_make(const char *path, const char *name, char **ret_text,
			 struct pinfold_error *ret_error)
{
	auto_free char *text = calloc(1, KEY_VERIFIER_SIZE);
	struct err e = ERR_INIT;

	assert(path && name && ret_text && ret_error);
	auto_close int dir = open_his(path, true, &e);
	int r = dir < 0 ? dir : text ? witness_open(dir, name, text, &e) : err_sys(&e, "witness");
	return result(r, &text, ret_text, &e, ret_error);
}

int pinfold_witness_answer(const char *path, const char *request, const char *key, char **ret_text,
			   struct pinfold_error *ret_error)
{
	auto_free char *text = calloc(1, COSIGN_LINE_SIZE);
	struct err e = ERR_INIT;
	struct public_key k;

	assert(path && request && ret_text && ret_error);
	auto_close int dir = open_his(path, false, &e);
	int r = dir < 0 ? dir : text ? 0 : err_sys(&e, "witness");
	if (r >= 0 && key)
		r = note_parse_key(key, strlen(key), &k, &e);
	if (r >= 0)
		r = witness_answer(dir, request, strlen(request), key ? &k : NULL, text, &e);
	return result(r, &text, ret_text, &e, ret_error);
}
