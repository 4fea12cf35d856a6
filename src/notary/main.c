/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notary: makes keys, signs, checks signatures. It has one socket (0) and the ledger's
 * directory (3), reads nothing else, and ends when nobody holds the other end of the socket. The
 * private half of a key is in no other process of ours, and in this one only while it signs.
 *
 *	key		32 bytes, mode 0600: what signs
 *	key.next	the same: made, but the chain does not know of it yet
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hold.h"
#include "ledger/notary.h"
#include "ledger/p256.h"
#include "ledger/sign.h"

/* No core, no look from outside, no page of it in a swap file. */
static void keep_private(void)
{
	struct rlimit none = {0, 0};

	if (!HOLD_NOTARY_PRIVATE)
		return;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)mlockall(MCL_CURRENT | MCL_ONFAULT); /* more than a user may: then not */
}

static int write_file(const char *name, const void *data, size_t len, mode_t mode)
{
	auto_close int fd = openat(NOTARY_DIR_FD, name,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0)
		return -errno;
	int r = fd_write_all(fd, data, len);
	struct stat dir;
	/* Root makes keys for chains of others, too: they are theirs. */
	if (r == 0 && geteuid() == 0 &&
	    (fstat(NOTARY_DIR_FD, &dir) < 0 || fchown(fd, dir.st_uid, dir.st_gid) < 0))
		return -errno;
	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

static int load(const char *name, struct private_key *ret)
{
	auto_close int fd = openat(NOTARY_DIR_FD, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;
	struct stat st, dir;

	if (fd < 0 || fstat(fd, &st) < 0 || fstat(NOTARY_DIR_FD, &dir) < 0)
		return -errno;
	/* Root signs for chains of others, too. */
	if (st.st_mode & 077 || st.st_uid != dir.st_uid)
		return -EACCES;
	int r = fd_read_max(fd, ret->seed, sizeof(ret->seed), &len);
	return r < 0 ? r : len == sizeof(ret->seed) ? 0 : -EINVAL;
}

static int make(struct notary_answer *a, struct err *e)
{
	struct private_key key;

	if (getrandom(key.seed, sizeof(key.seed), 0) != (ssize_t)sizeof(key.seed))
		return -EIO;
	int r = write_file("key.next", key.seed, sizeof(key.seed), 0600);
	if (r >= 0)
		r = sign_public(&key, &a->key, e);
	explicit_bzero(&key, sizeof(key));
	return r;
}

static int take(void)
{
	if (renameat(NOTARY_DIR_FD, "key.next", NOTARY_DIR_FD, "key") < 0)
		return -errno;
	return fsync(NOTARY_DIR_FD) < 0 ? -errno : 0;
}

static int sign(const void *data, size_t len, struct notary_answer *a, struct err *e)
{
	struct private_key key;
	int r = load("key", &key);

	if (r >= 0)
		r = sign_public(&key, &a->key, e);
	if (r >= 0)
		r = sign_bytes(&key, data, len, &a->sig, e);
	explicit_bzero(&key, sizeof(key));
	return r;
}

static int check_p256(const struct notary_ask *ask, const uint8_t *data)
{
	static_assert(sizeof(ask->sig.byte) == P256_BYTES, "r and s");
	if (ask->len < P256_BYTES)
		return -EINVAL;
	return p256_check(data, data + P256_BYTES, ask->len - P256_BYTES, ask->sig.byte);
}

static void answer(const struct notary_ask *ask, const void *data, struct notary_answer *a)
{
	struct err e = ERR_INIT;

	switch (ask->op) {
	case NOTARY_MAKE: a->result = make(a, &e); return;
	case NOTARY_TAKE: a->result = take(); return;
	case NOTARY_SIGN: a->result = sign(data, ask->len, a, &e); return;
	case NOTARY_CHECK: a->result = sign_check(&ask->key, data, ask->len, &ask->sig); return;
	case NOTARY_CHECK_P256: a->result = check_p256(ask, data); return;
	default: a->result = -EINVAL; return;
	}
}

static struct {
	struct notary_ask ask;
	char data[NOTARY_BYTES_MAX];
} asked;

/* 1: a whole question; 0: it is none; negative: nobody asks any more. */
static int receive(void)
{
	ssize_t n = recv(0, &asked, sizeof(asked), 0);

	if (n < (ssize_t)sizeof(asked.ask))
		return -1;
	size_t have = (size_t)n - sizeof(asked.ask), len = asked.ask.len;
	if (len > sizeof(asked.data))
		return 0;
	while (have < len) {
		n = recv(0, asked.data + have, sizeof(asked.data) - have, 0);
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return have == len;
}

int main(void)
{
	int r;

	keep_private();
	while ((r = receive()) >= 0) {
		struct notary_answer a = {0};

		if (r == 0)
			a.result = -EINVAL;
		else
			answer(&asked.ask, asked.data, &a);
		if (send(0, &a, sizeof(a), MSG_NOSIGNAL) != (ssize_t)sizeof(a))
			return 1;
	}
	return 0;
}
