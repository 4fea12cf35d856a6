/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the packages that were mounted a program really used. A driver says, when it installs a
 * package, which files of it are opened by whoever imports it; the guest has these watched
 * (guest/seen.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "deps/lock.h"
#include "engine/deps_run.h"
#include "wire/msg.h"

/* A layer that has none on record, or was made before there were any: as many packages that nobody
 * knows of. */
static void put_layer(FILE *f, size_t packages, const struct value *modules)
{
	for (size_t i = 0; i < packages; i++) {
		const struct value *files = value_at(modules, i);

		for (size_t k = 0; k < value_len(files); k++)
			(void)fprintf(f, "/usr/%s%c", value_str(value_at(files, k)), '\0');
		(void)fputc('\0', f);
	}
}

int deps_watch(struct run_deps *d, const struct value *layer, struct err *e)
{
	const struct value *modules = value_get(layer, "modules");
	auto_free char *before = take_ptr(&d->watched);
	FILE *f = open_memstream(&d->watched, &d->watched_len);
	size_t had = d->watched_len;

	if (!f)
		return err_sys(e, "deps");
	if (had)
		(void)fwrite(before, 1, had, f);
	int r = modules ? lock_check_modules(layer, modules, e) : 0;
	if (r >= 0)
		put_layer(f, lock_count(layer), modules);
	if (fclose(f) != 0 && r >= 0)
		r = err_sys(e, "deps");
	return r;
}

void deps_seen(struct run_deps *d, const char *states, size_t n, bool so_far)
{
	const char *key = so_far ? "imported_so_far" : "imported";

	if (d->imported || n != value_len(d->packages) || strspn(states, MSG_SEEN_ALL) != n)
		return; /* a guest gone wild is not believed */
	if (!so_far)
		d->imported = value_of_str(states);
	for (size_t i = 0; i < n; i++)
		if (states[i] == MSG_SEEN_YES || states[i] == MSG_SEEN_NO)
			value_set(value_at(d->packages, i), key,
				  value_of_bool(states[i] == MSG_SEEN_YES));
}
