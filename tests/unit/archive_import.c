/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is exported comes in again, byte for byte; limits hold while an archive streams; nothing is
 * made through a link that was there before.
 */
#include "archive/export.h"
#include "archive/import.h"
#include "tree_help.h"

static char top[64], other[64];

static int to_file(void *context, const void *data, size_t len, struct err *e)
{
	int fd = *(const int *)context;

	return write(fd, data, len) == (ssize_t)len ? 0 : err_sys(e, "write");
}

static int export_to(int dir, bool layer)
{
	struct export_opts opts = {.layer = layer, .owner = 7};
	struct archive_stats stats;
	struct export *x = NULL;
	struct err e = ERR_INIT;
	int fd = temp_file(), r = export_open(&x, &opts, to_file, &fd, &e);

	if (r >= 0)
		r = export_tree(x, dir, "", &e);
	if (r >= 0)
		r = export_end(x, &stats, &e);
	is_int(r, 0, "exported");
	export_close(x);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* An archive of entries of one kind. */
static int archive_of(const struct tar_entry *all, size_t n)
{
	struct pax_out out;
	struct err e = ERR_INIT;
	int fd = temp_file(), r = 0;

	pax_init(&out, to_file, &fd);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct pax_file f = {.entry = &all[i]};

		r = pax_entry(&out, &f, &e);
		for (uint64_t left = all[i].size; left > 0 && r >= 0; left--)
			r = pax_data(&out, "x", 1, &e);
	}
	if (r >= 0)
		r = pax_end(&out, &e);
	is_int(r, 0, "an archive is made");
	pax_done(&out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int import_from(int fd, int dir, struct plant_limits limits, struct archive_stats *stats,
		       struct err *e)
{
	struct import_opts opts = {.spool_dir = -1, .limits = limits};
	int r = import_archive(fd, dir, &opts, stats, NULL, e);

	close(fd);
	return r;
}

static const struct plant_limits much = {1 << 30, 100000};

static void round_trip(void)
{
	struct archive_stats stats;
	struct err e = ERR_INIT;
	char name[256];
	int a = fresh(top), b = fresh(other), fd;

	memset(name, 'n', 255);
	name[255] = '\0';
	put_file(a, name, "long");
	put_file(a, "new\nline\xff", "odd");
	(void)mkdirat(a, "d", 0755);
	put_file(a, "d/f", "text");
	(void)!linkat(a, "d/f", a, "d/g", 0);
	(void)!symlinkat("/etc/passwd", a, "l");
	(void)mkfifoat(a, "p", 0600);
	(void)!fchmodat(a, "d", 0500, 0);
	fd = openat(a, "holes", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	is_int(pwrite(fd, "x", 1, 1 << 20), 1, "a file with holes");
	is_int(ftruncate(fd, 1 << 22), 0, "also at its end");
	struct timespec times[2] = {{0}, {-5, 0}};
	is_int(futimens(fd, times), 0, "from before 1970");
	close(fd);
	fd = export_to(a, false);
	is_int(import_from(fd, b, much, &stats, &e), 0, "comes in again");
	is_int((int)stats.files, 4, "its files");
	is_int((int)stats.links, 1, "a name of one of them");
	int one = export_to(a, false), two = export_to(b, false);
	ok(same_bytes(one, two), "and is the same archive again");
	close(one);
	close(two);
	(void)!fchmodat(a, "d", 0700, 0);
	(void)!fchmodat(b, "d", 0700, 0);
	close(a);
	close(b);
	(void)remove_tree_at(AT_FDCWD, top);
	(void)remove_tree_at(AT_FDCWD, other);
}

#define FILE_OF(p, n)                                                                              \
	{                                                                                          \
		.kind = TAR_FILE, .mode = 0644, .path = p, .size = n                               \
	}
#define LINK_OF(k, p, t)                                                                           \
	{                                                                                          \
		.kind = k, .mode = 0777, .path = p, .target = t                                    \
	}

static void limits(void)
{
	static const struct tar_entry files[] = {FILE_OF("a", 600), FILE_OF("b", 600),
						 FILE_OF("c", 0)};
	struct archive_stats stats;
	struct err e = ERR_INIT;
	int d = fresh(top);

	is_int(import_from(archive_of(files, 3), d, (struct plant_limits){1200, 3}, &stats, &e), 0,
	       "just enough");
	ok(import_from(archive_of(files, 3), d, (struct plant_limits){1199, 3}, &stats, &e) < 0,
	   "one byte too much");
	is_int(e.kind, ERR_LIMIT, "is a limit");
	is_str(e.detail, "disk", "of the disk");
	ok(import_from(archive_of(files, 3), d, (struct plant_limits){1200, 2}, &stats, &e) < 0,
	   "one entry too much");
	has_str(e.text, "more than 2 entries", "is said");
	close(d);
	(void)remove_tree_at(AT_FDCWD, top);
}

static void links_before(void)
{
	static const struct tar_entry into[] = {FILE_OF("in/x", 1)}, over[] = {FILE_OF("f", 1)},
				      hard[] = {LINK_OF(TAR_LINK, "h", "in/secret")},
				      chain[] = {LINK_OF(TAR_SYMLINK, "a", "in"),
						 FILE_OF("a/x", 1)};
	struct archive_stats stats;
	struct err e = ERR_INIT;
	int d = fresh(top), o = fresh(other);
	char buf[128];
	struct stat st;

	put_file(o, "secret", "secret");
	is_int(symlinkat(other, d, "in"), 0, "somebody left a link out");
	snprintf(buf, sizeof(buf), "%s/secret", other);
	is_int(symlinkat(buf, d, "f"), 0, "and one to a file");
	ok(import_from(archive_of(into, 1), d, much, &stats, &e) < 0, "nothing goes through it");
	has_str(e.text, "in/x", "and it is said what");
	ok(import_from(archive_of(chain, 2), d, much, &stats, &e) < 0,
	   "nor through one that came along");
	ok(import_from(archive_of(hard, 1), d, much, &stats, &e) < 0, "nor does a hard link");
	ok(fstatat(o, "x", &st, 0) < 0, "there is nothing outside");
	is_int(import_from(archive_of(over, 1), d, much, &stats, &e), 0, "a file over a link");
	is_int((int)stats.replaced, 1, "replaces it");
	is_str(get_file(o, "secret", buf, sizeof(buf)), "secret", "and not what it leads to");
	is_int(fstatat(o, "secret", &st, 0), 0, "which is there");
	is_int((int)st.st_nlink, 1, "with one name");
	close(d);
	close(o);
	(void)remove_tree_at(AT_FDCWD, top);
	(void)remove_tree_at(AT_FDCWD, other);
}

static void stripped(void)
{
	struct tar_entry odd[] = {FILE_OF("s", 1), FILE_OF("t", 1)};
	struct archive_stats stats;
	struct err e = ERR_INIT;
	int d = fresh(top);
	struct stat st;

	odd[0].mode = 06755;
	odd[1].mtime.tv_sec = INT64_MAX / 2;
	is_int(import_from(archive_of(odd, 2), d, much, &stats, &e), 0, "bits and times");
	is_int((int)stats.setid, 1, "bits are counted");
	is_int((int)stats.times, 1, "so are times");
	is_int(fstatat(d, "s", &st, 0), 0, "the file");
	is_int((int)(st.st_mode & 07777), 0755, "has no bit");
	is_int(fstatat(d, "t", &st, 0), 0, "the other");
	is_int((int)st.st_mtim.tv_sec, 0, "is from 1970");
	close(d);
	(void)remove_tree_at(AT_FDCWD, top);
}

int main(void)
{
	TAP_RUN(round_trip);
	TAP_RUN(limits);
	TAP_RUN(links_before);
	TAP_RUN(stripped);
	return tap_done();
}
