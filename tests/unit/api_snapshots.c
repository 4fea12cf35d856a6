/* SPDX-License-Identifier: Apache-2.0 */
#include "api/snapshots.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "tap.h"

static int file_of(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0 ? fd : -1;
}

static int put(struct snapshots *s, const char *tenant, const char *name, const char *text,
	       uint64_t bytes, struct err *e)
{
	*e = (struct err)ERR_INIT;
	return snapshots_put(s, tenant, name, file_of(text), bytes, e);
}

static bool holds(struct snapshots *s, const char *tenant, const char *name, const char *text)
{
	struct err e = ERR_INIT;
	char got[64] = "";
	auto_close int fd = snapshots_open(s, tenant, name, &e);

	return fd >= 0 && pread(fd, got, sizeof(got) - 1, 0) >= 0 && strcmp(got, text) == 0;
}

static void names(void)
{
	struct snapshots *s = NULL;
	struct err e = ERR_INIT;

	ok(snapshots_new(&s, &e) == 0, "a table");
	ok(put(s, "a", "alpha", "1", 1, &e) == 0 && holds(s, "a", "alpha", "1"), "what was put");
	ok(holds(s, "a", "alpha", "1"), "twice from its beginning");
	ok(put(s, "a", "alpha", "again", 5, &e) == 0 && holds(s, "a", "alpha", "again"),
	   "replaced");
	e = (struct err)ERR_INIT;
	ok(snapshots_open(s, "b", "alpha", &e) < 0 && e.kind == ERR_MISSING,
	   "not another tenant's");
	ok(!strstr(e.remedy, "alpha"), "whom its name is not told");
	e = (struct err)ERR_INIT;
	ok(snapshots_open(s, "a", "two", &e) < 0 && strstr(e.remedy, "alpha"),
	   "the tenant hears of his");
	auto_close int fd = snapshots_open(s, "a", "alpha", &e);
	ok(put(s, "a", "alpha", "new", 3, &e) == 0, "replaced while somebody reads");
	char got[8] = "";
	ok(pread(fd, got, 5, 0) == 5 && memcmp(got, "again", 5) == 0, "who has all of the old one");
	snapshots_free(s);
}

static void limits(void)
{
	struct snapshots *s = NULL;
	struct err e = ERR_INIT;
	char name[8] = "0";

	ok(snapshots_new(&s, &e) == 0, "a table");
	for (; name[0] < '0' + (int)SNAPSHOTS_MAX; name[0]++)
		(void)put(s, "a", name, name, 10, &e);
	ok(put(s, "a", "more", "x", 1, &e) < 0 && e.kind == ERR_LIMIT, "one more than may be");
	ok(strstr(e.remedy, "3"), "which says what there is");
	ok(put(s, "a", "3", "x", 1, &e) == 0, "one of the same name");
	ok(put(s, "a", "3", "x", SNAPSHOT_BYTES_MAX, &e) < 0 && e.kind == ERR_LIMIT,
	   "too many bytes");
	ok(holds(s, "a", "3", "x"), "the old one stays");
	ok(put(s, "b", "x", "x", SNAPSHOT_BYTES_MAX, &e) == 0, "of another tenant they are not");
	snapshots_free(s);
}

int main(void)
{
	TAP_RUN(names);
	TAP_RUN(limits);
	return tap_done();
}
