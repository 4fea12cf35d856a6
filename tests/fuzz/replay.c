/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libFuzzer in ordinary builds: runs a fuzz target on each file of its corpus, and on
 * MUTATIONS changed copies of it. The changes come from a number that is always the same.
 */
#include <fcntl.h>
#include <stdint.h>

#include "tap.h"

#define MUTATIONS 200
#define FILE_MAX 65536
#define FILES_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint8_t bytes[FILE_MAX];
static size_t n_bytes;
static char name[256];
static uint64_t state;

static uint32_t any(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % below;
}

/* One change: a byte becomes another, or one that parsers care for, a piece is doubled or lost. */
static size_t change(uint8_t *p, size_t n)
{
	static const uint8_t dear[] = "\r\n :;,\0\t%/?#0159afAF-+\"\\\x7f\x80\xff";
	size_t at = any((uint32_t)n), len = 1 + any(8);

	switch (any(5)) {
	case 0: p[at] = (uint8_t)any(256); break;
	case 1: p[at] ^= (uint8_t)(1u << any(8)); break;
	case 2: p[at] = dear[any(sizeof(dear) - 1)]; break;
	case 3:
		len = len < n - at ? len : n - at;
		memmove(p + at, p + at + len, n - at - len);
		return n - len;
	default:
		len = len < n - at ? len : n - at;
		if (n + len > FILE_MAX)
			return n;
		memmove(p + at + len, p + at, n - at);
		return n + len;
	}
	return n;
}

static void replay(void)
{
	static uint8_t copy[FILE_MAX];

	state = 20260731;
	LLVMFuzzerTestOneInput(bytes, n_bytes);
	for (int i = 0; i < MUTATIONS; i++) {
		size_t n = n_bytes;

		memcpy(copy, bytes, n);
		for (uint32_t k = 1 + any(4); k > 0 && n > 0; k--)
			n = change(copy, n);
		LLVMFuzzerTestOneInput(copy, n);
	}
	ok(1, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(char *names[FILES_MAX])
{
	DIR *dir = opendir(CORPUS);
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir)) && n < FILES_MAX)
		if (d->d_name[0] != '.')
			names[n++] = strdup(d->d_name);
	if (dir)
		closedir(dir);
	qsort(names, (size_t)n, sizeof(names[0]), by_name);
	return n;
}

static int read_file(const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", CORPUS, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	if (fd >= 0)
		close(fd);
	snprintf(name, sizeof(name), "%s", file);
	n_bytes = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

int main(void)
{
	static char *names[FILES_MAX];
	int n = list(names);

	ok(n > 0, "there is a corpus in " CORPUS);
	for (int i = 0; i < n; i++) {
		if (read_file(names[i]) == 0)
			TAP_RUN(replay);
		else
			ok(0, names[i]);
		free(names[i]);
		names[i] = NULL;
	}
	return tap_done();
}
