/* SPDX-License-Identifier: Apache-2.0 */
/* A chain in a directory of its own, and what one does with it. */
#ifndef TESTS_LEDGER_HELP_H
#define TESTS_LEDGER_HELP_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/value.h"
#include "ledger/chain.h"
#include "ledger/settle.h"
#include "ledger/verify.h"
#include "tap.h"

__attribute__((unused)) static char place[64];

__attribute__((unused)) static int make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	value_init();
	(void)snprintf(place, sizeof(place), "%s/ledger-XXXXXX",
		       tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(place))
		exit(1);
	return open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

__attribute__((unused)) static int remove_one(const char *path, const struct stat *st, int type,
					      struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

__attribute__((unused)) static void drop_dir(int dir)
{
	(void)close(dir);
	(void)nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static struct value *an_event(const char *run, const char *phase)
{
	struct value *v = value_object(), *data = value_object();

	value_set(v, "kind", value_of_str("run"));
	value_set(v, "data", data);
	value_set(data, "text", value_of_str("\n\"\x01 and so on"));
	if (run)
		value_set(v, "run", value_of_str(run));
	if (phase)
		value_set(v, "phase", value_of_str(phase));
	return v;
}

/* n events; the place of the last. */
__attribute__((unused)) static int add_events(int dir, unsigned n, unsigned flags,
					      struct chain_place *ret)
{
	for (unsigned i = 0; i < n; i++) {
		auto_value *v = an_event(NULL, NULL);
		struct err e = ERR_INIT;

		if (chain_append(dir, v, flags, ret, &e) < 0) {
			diag("%s", e.text);
			return -1;
		}
	}
	return 0;
}

__attribute__((unused)) static void settled(int dir)
{
	struct err e = ERR_INIT;

	if (settle_now(dir, &e) < 0)
		diag("settle: %s", e.text);
}

/* The verdict, "" for good, else "where: what". */
__attribute__((unused)) static const char *verdict(int dir, const struct verify_ask *ask,
						   struct verify_result *ret)
{
	static const struct verify_ask nothing;
	static char text[400];
	struct err e = ERR_INIT;

	if (verify_chain(dir, ask ? ask : &nothing, ret, &e) < 0)
		(void)snprintf(text, sizeof(text), "error: %.300s", e.text);
	else if (ret->good)
		text[0] = '\0';
	else
		(void)snprintf(text, sizeof(text), "%s: %s", ret->where, ret->what);
	return text;
}

/* A file as text; malloced. */
__attribute__((unused)) static char *slurp(int dir, const char *name, size_t *ret_len)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, 1 << 20);

	*ret_len = 0;
	if (fd >= 0 && text)
		(void)fd_read_max(fd, text, (1 << 20) - 1, ret_len);
	return text;
}

__attribute__((unused)) static void spew(int dir, const char *name, const char *text, size_t len)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, text, len) < 0)
		diag("%s: not written", name);
}

#endif
