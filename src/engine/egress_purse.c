/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a purse, struct gate_purse: made, read, and its limits set. Gates have it mapped; the
 * kernel shows them what is written here, and us what they add.
 */
#include <assert.h>
#include <fcntl.h>
#include <pinfold/policy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"

static_assert(PINFOLD_PURSE_SUMS == (int)GATE_SUMS, "the same sums");

static int open_purse(int dir, const char *name, bool make, int *ret_fd, struct err *e)
{
	auto_close int fd =
		openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_MISSING, "there is no purse %.80s", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open the purse %.80s", name);
	/* Who is first makes it as long as it has to be; zeros are nothing used and no limit. */
	if (st.st_size == 0 && ftruncate(fd, sizeof(struct gate_purse)) < 0)
		return err_sys(e, "make the purse %.80s", name);
	if (st.st_size != 0 && st.st_size != (off_t)sizeof(struct gate_purse)) {
		(void)err_set(e, ERR_INTERNAL, "the purse %.80s is damaged", name);
		return err_remedy(e, "remove the file: then nothing counts as used");
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

int pinfold_purse_open(int dir, const char *name, int make, int *ret_fd,
		       struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(name && *name && !strchr(name, '/') && ret_fd && ret_error);
	return sandbox_result(open_purse(dir, name, make, ret_fd, &e), &e, ret_error);
}

int pinfold_purse_used(int fd, uint64_t ret_used[PINFOLD_PURSE_SUMS],
		       struct pinfold_error *ret_error)
{
	size_t len = sizeof(uint64_t) * PINFOLD_PURSE_SUMS;
	struct err e = ERR_INIT;
	int r = 0;

	if (pread(fd, ret_used, len, offsetof(struct gate_purse, used)) != (ssize_t)len)
		r = err_sys(&e, "read a purse");
	return sandbox_result(r, &e, ret_error);
}

int pinfold_purse_stop(int fd, const uint64_t stop[PINFOLD_PURSE_SUMS],
		       struct pinfold_error *ret_error)
{
	size_t len = sizeof(uint64_t) * PINFOLD_PURSE_SUMS;
	struct err e = ERR_INIT;
	int r = 0;

	if (pwrite(fd, stop, len, offsetof(struct gate_purse, stop)) != (ssize_t)len)
		r = err_sys(&e, "write a purse");
	return sandbox_result(r, &e, ret_error);
}

int pinfold_purse_left(int fd, uint64_t ret_left[PINFOLD_PURSE_SUMS],
		       struct pinfold_error *ret_error)
{
	struct gate_purse now;
	struct err e = ERR_INIT;

	if (pread(fd, &now, sizeof(now), 0) != (ssize_t)sizeof(now))
		return sandbox_result(err_sys(&e, "read a purse"), &e, ret_error);
	for (unsigned i = 0; i < GATE_SUMS; i++)
		ret_left[i] = !now.stop[i]		   ? UINT64_MAX
			      : now.used[i] >= now.stop[i] ? 0
							   : now.stop[i] - now.used[i];
	return 0;
}

/* Gates add at the same time, so it is done as they do it. */
int pinfold_purse_add(int fd, const uint64_t used[PINFOLD_PURSE_SUMS],
		      struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;
	struct gate_purse *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return sandbox_result(err_sys(&e, "map a purse"), &e, ret_error);
	for (unsigned i = 0; i < GATE_SUMS; i++)
		(void)__atomic_fetch_add(&p->used[i], used[i], __ATOMIC_RELAXED);
	(void)munmap(p, sizeof(*p));
	return 0;
}
