/* SPDX-License-Identifier: Apache-2.0 */
#include "base/discard.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"

bool fd_may_wait(int fd)
{
	struct statx st;
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_PATH))
		return false;
	if (fcntl(fd, F_GET_SEALS) >= 0) /* only what is in memory has them */
		return false;
	/* DONT_SYNC: what the kernel knows already. */
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
	       S_ISREG(st.stx_mode);
}

/* One request in a ring of its own: this is rare. A ring that goes takes its requests with it, so
 * one whose request is under way stays, with all that it holds. */
static bool close_later(int fd)
{
	struct io_uring_params p = {0};
	auto_close int ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	bool taken = false;

	if (ring < 0 || !(p.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	size_t sq_size = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	size_t cq_size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	size_t size = sq_size > cq_size ? sq_size : cq_size;
	size_t sqe_size = p.sq_entries * sizeof(struct io_uring_sqe);
	char *both = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqe =
		mmap(NULL, sqe_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (both != MAP_FAILED && sqe != MAP_FAILED) {
		sqe[0] = (struct io_uring_sqe){.opcode = IORING_OP_CLOSE, .fd = fd};
		((uint32_t *)(void *)(both + p.sq_off.array))[0] = 0;
		__atomic_store_n((uint32_t *)(void *)(both + p.sq_off.tail), 1, __ATOMIC_RELEASE);
		taken = syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) == 1;
		if (taken && __atomic_load_n((uint32_t *)(void *)(both + p.cq_off.tail),
					     __ATOMIC_ACQUIRE) == 0)
			(void)take_fd(&ring);
	}
	if (sqe != MAP_FAILED)
		(void)munmap(sqe, sqe_size);
	if (both != MAP_FAILED)
		(void)munmap(both, size);
	return taken;
}

void fd_discard(int *fd)
{
	int saved = errno;

	if (*fd >= 0 && fd_may_wait(*fd) && close_later(*fd))
		*fd = FD_NONE;
	errno = saved;
	fd_close(fd);
}

void shunned_add(struct shunned *s, uid_t uid)
{
	s->uid[s->n++ % SHUNNED_MAX] = uid;
}

int shunned_refuse(struct err *e)
{
	(void)err_set(e, ERR_DENIED, "a program of this user sent what none of ours does");
	return err_remedy(e, "run it with --no-daemon, or have the daemon restarted");
}

bool shunned_has(const struct shunned *s, uid_t uid)
{
	for (unsigned i = 0; i < s->n && i < SHUNNED_MAX; i++)
		if (s->uid[i] == uid)
			return true;
	return false;
}
