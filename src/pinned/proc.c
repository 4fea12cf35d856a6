/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc tells of a process: how much memory and processor time it has used, and how often it
 * was interrupted, is chance. Who opens stat, statm, status, schedstat or io of one gets a copy without
 * that; who opens vmstat, one in which the machine has done nothing.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "pinned/pinned.h"

#define TEXT_MAX (256u << 10) /* what is longer is left as it is */
#define PAGES_KB 4

struct text {
	char in[TEXT_MAX], out[2 * TEXT_MAX];
	size_t in_len, out_len;
};

static void put(struct text *t, const char *s, size_t len)
{
	if (len > sizeof(t->out) - t->out_len)
		len = sizeof(t->out) - t->out_len;
	memcpy(t->out + t->out_len, s, len);
	t->out_len += len;
}

static void put_number(struct text *t, unsigned long n)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	put(t, digits + at, sizeof(digits) - at);
}

/* Fields of numbers with a blank between them, from `at` on, the first of which is `number`th. */
static void put_fields(struct text *t, const char *at, unsigned number,
		       bool (*find)(unsigned number, unsigned long *ret))
{
	const char *end = t->in + t->in_len;

	for (; at < end; number++) {
		const char *blank = at;
		unsigned long value = 0;

		while (blank < end && *blank != ' ' && *blank != '\n')
			blank++;
		if (find(number, &value))
			put_number(t, value);
		else
			put(t, at, (size_t)(blank - at));
		put(t, blank, blank < end ? 1 : 0);
		at = blank + 1;
	}
}

/* As proc(5) counts them. */
static bool stat_field(unsigned number, unsigned long *ret)
{
	*ret = number == 24 ? PINNED_RSS_KB / PAGES_KB : 0;
	return (number >= 10 && number <= 17) || number == 22 || number == 24 || number == 39 ||
	       number == 42;
}

static bool statm_field(unsigned number, unsigned long *ret)
{
	*ret = PINNED_RSS_KB / PAGES_KB;
	return number == 2 || number == 3;
}

static void steady_stat(struct text *t)
{
	const char *name_end = memrchr(t->in, ')', t->in_len);
	size_t head = name_end && name_end + 2 < t->in + t->in_len ? (size_t)(name_end + 2 - t->in)
								   : t->in_len;

	put(t, t->in, head);
	put_fields(t, t->in + head, 3, stat_field);
}

static void steady_statm(struct text *t)
{
	put_fields(t, t->in, 1, statm_field);
}

static void each_line(struct text *t, void (*one)(struct text *, const char *, size_t))
{
	const char *at = t->in, *end = t->in + t->in_len;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = nl ? (size_t)(nl + 1 - at) : (size_t)(end - at);

		one(t, at, len);
		at += len;
	}
}

static void put_status(struct text *t, const char *line, size_t len)
{
	static const struct {
		const char *name, *value;
	} fixed[] = {
		{"VmHWM:", "\t   65536 kB\n"},
		{"VmRSS:", "\t   65536 kB\n"},
		{"RssAnon:", "\t   32768 kB\n"},
		{"RssFile:", "\t   32768 kB\n"},
		{"RssShmem:", "\t       0 kB\n"},
		{"VmPTE:", "\t     128 kB\n"},
		{"Cpus_allowed:", "\t1\n"},
		{"Cpus_allowed_list:", "\t0\n"},
		{"voluntary_ctxt_switches:", "\t1\n"},
		{"nonvoluntary_ctxt_switches:", "\t1\n"},
	};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		size_t n = strlen(fixed[i].name);

		if (len > n && memcmp(line, fixed[i].name, n) == 0) {
			put(t, fixed[i].name, n);
			put(t, fixed[i].value, strlen(fixed[i].value));
			return;
		}
	}
	put(t, line, len);
}

static void steady_status(struct text *t)
{
	each_line(t, put_status);
}

/* Lines of a name and a number: what the whole machine has done since it began, or a process. */
static void steady_vmstat(struct text *t)
{
	const char *at = t->in, *end = t->in + t->in_len;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *stop = nl ? nl : end, *blank = memchr(at, ' ', (size_t)(stop - at));

		put(t, at, (size_t)((blank ? blank : stop) - at));
		put(t, " 0\n", 3);
		at = stop + 1;
	}
}

static bool schedstat_field(unsigned number, unsigned long *ret)
{
	*ret = 0;
	return number > 0;
}

static void steady_schedstat(struct text *t)
{
	put_fields(t, t->in, 1, schedstat_field);
}

/* "FROM-TO RIGHTS OFFSET MAJOR:MINOR INODE", blanks up to a column, PATH: the device is the host's next
 * number. */
static void put_map(struct text *t, const char *line, size_t len)
{
	static const char digits[] = "0123456789abcdef", blanks[] = "            ";
	const char *end = line + len, *at = line;

	for (int i = 0; i < 3 && at; i++) {
		at = memchr(at, ' ', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	const char *behind = at ? memchr(at, ' ', (size_t)(end - at)) : NULL;
	const char *inode_end = behind ? memchr(behind + 1, ' ', (size_t)(end - behind - 1)) : NULL;
	char *colon = NULL, *stop = NULL;
	unsigned long major = at ? strtoul(at, &colon, 16) : 0;
	unsigned long dev = colon && *colon == ':' ? strtoul(colon + 1, &stop, 16) : 0;
	if (!inode_end || behind - at < 5 || behind - at > 5 + 12 || stop != behind ||
	    (!major && !dev)) {
		put(t, line, len);
		return;
	}
	dev = pinned_device(makedev(major, dev));
	put(t, line, (size_t)(at - line));
	put(t, "00:", 3);
	put(t, &digits[dev / 16 % 16], 1);
	put(t, &digits[dev % 16], 1);
	put(t, behind, (size_t)(inode_end - behind));
	put(t, blanks, (size_t)(behind - at) - 5);
	put(t, inode_end, (size_t)(end - inode_end));
}

static void steady_maps(struct text *t)
{
	each_line(t, put_map);
}

/* What to do with the file behind /proc/NUMBER/ or /proc/self/. */
static void (*way(const char *path))(struct text *)
{
	if (path && strcmp(path, "/proc/vmstat") == 0)
		return steady_vmstat;
	if (!path || strncmp(path, "/proc/", 6) != 0)
		return NULL;
	path += 6;
	if (strncmp(path, "self/", 5) == 0)
		path += 4;
	else
		while (*path >= '0' && *path <= '9')
			path++;
	return strcmp(path, "/stat") == 0	 ? steady_stat
	       : strcmp(path, "/statm") == 0	 ? steady_statm
	       : strcmp(path, "/status") == 0	 ? steady_status
	       : strcmp(path, "/schedstat") == 0 ? steady_schedstat
	       : strcmp(path, "/io") == 0	 ? steady_vmstat
	       : strcmp(path, "/maps") == 0	 ? steady_maps
						 : NULL;
}

/* Longer ones come in parts. Returns 0 where there is no room for it. */
static long read_whole(long fd, struct text *t)
{
	size_t have = 0;
	long n;

	while (have < sizeof(t->in) &&
	       (n = sys3(SYS_read, fd, t->in + have, sizeof(t->in) - have)) > 0)
		have += (size_t)n;
	return have < sizeof(t->in) ? (long)have : 0;
}

long pinned_open_proc(const char *path, int flags)
{
	void (*steady)(struct text *) = way(path);
	struct text *t = steady && pinned_thread() ? malloc(sizeof(*t)) : NULL;
	long from = t ? sys3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
	long n = from >= 0 ? read_whole(from, t) : -1;
	long fd = n > 0 ? sys2(SYS_memfd_create, "proc", flags & O_CLOEXEC ? MFD_CLOEXEC : 0) : -1;

	if (fd >= 0) {
		t->in_len = (size_t)n;
		t->out_len = 0;
		steady(t);
		(void)sys4(SYS_pwrite64, fd, t->out, t->out_len, 0); /* there is room for it */
	}
	if (from >= 0)
		(void)sys1(SYS_close, from);
	free(t);
	return fd;
}
