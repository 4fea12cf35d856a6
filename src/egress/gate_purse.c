/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A purse that several gates spend from: a file that each of them has mapped. It comes from our
 * starter, never from a sandbox, and is only added to; what is read there can but refuse.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "egress/gate_int.h"

int purse_open(struct box *b, int fd, struct err *e)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size != (off_t)sizeof(*b->purse))
		return err_set(e, ERR_INVALID, "malformed purse");
	void *p = mmap(NULL, sizeof(*b->purse), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "purse");
	b->purse = p;
	return 0;
}

void purse_close(struct box *b)
{
	if (b->purse)
		(void)munmap(b->purse, sizeof(*b->purse));
	b->purse = NULL;
}

uint64_t purse_left(const struct box *b, enum gate_sum what)
{
	if (!b->purse)
		return UINT64_MAX;
	uint64_t stop = __atomic_load_n(&b->purse->stop[what], __ATOMIC_RELAXED);
	uint64_t used = __atomic_load_n(&b->purse->used[what], __ATOMIC_RELAXED);
	return !stop ? UINT64_MAX : used >= stop ? 0 : stop - used;
}

void purse_spend(struct box *b, enum gate_sum what, uint64_t n)
{
	if (b->purse)
		(void)__atomic_fetch_add(&b->purse->used[what], n, __ATOMIC_RELAXED);
}

bool purse_is_empty(struct conn *c, enum gate_sum what, uint64_t wanted)
{
	static const char *const hints[GATE_SUMS] = {
		[GATE_BYTES] = "the tenant's quota of bytes is used up; do not retry, ask whoever "
			       "runs the daemon for more",
		[GATE_CONNECTIONS] = "the tenant's quota of connections is used up; do not retry, "
				     "ask whoever runs the daemon for more",
		[GATE_REQUESTS] = "the tenant's quota of requests is used up; do not retry, ask "
				  "whoever runs the daemon for more",
	};

	if (purse_left(c->box, what) >= wanted)
		return false;
	box_deny(c->box, &c->host, c->port, NULL, "quota", hints[what]);
	return true;
}
