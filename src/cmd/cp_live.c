/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cp_live.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

const char *cp_last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int cp_failed(const struct err *e, struct pinfold_error *ret_error)
{
	(void)snprintf(ret_error->code, sizeof(ret_error->code), "%s%s%s", err_code(e->kind),
		       e->detail[0] ? "." : "", e->detail);
	(void)snprintf(ret_error->message, sizeof(ret_error->message), "%s", e->text);
	(void)snprintf(ret_error->remedy, sizeof(ret_error->remedy), "%s",
		       e->remedy[0] ? e->remedy
				    : "name a file or directory that you may read or write");
	ret_error->retry_after_ms = 0;
	return -1;
}

static int copy_part(int from, int to, off_t at, off_t end)
{
	char buf[65536];

	while (at < end) {
		size_t want = (size_t)(end - at) < sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
		ssize_t n = pread(from, buf, want, at);

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0; /* somebody cut it short */
		int r = fd_pwrite_all(to, buf, (size_t)n, (uint64_t)at);
		if (r < 0)
			return r;
		at += n;
	}
	return 0;
}

int cp_bytes(int from, int to)
{
	struct stat st;
	off_t at = 0;
	int r = 0;

	if (fstat(from, &st) < 0)
		return -errno;
	while (r == 0 && at < st.st_size) {
		off_t data = lseek(from, at, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break; /* a hole to the end */
		if (data < 0 || data >= st.st_size)
			return data < 0 ? -errno : 0;
		off_t hole = lseek(from, data, SEEK_HOLE);
		at = hole > data && hole < st.st_size ? hole : st.st_size;
		r = copy_part(from, to, data, at);
	}
	if (r == 0 && ftruncate(to, st.st_size) < 0)
		r = -errno;
	return r;
}
