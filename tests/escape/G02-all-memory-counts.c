/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G02-all-memory-counts KIND MIB: takes memory of one kind, a MiB at a time, up to MIB, and keeps
 * it. After each MiB it prints `took N`; at the end `refused ERRNO`, or `all` when nobody said no.
 */
#include "attack.h"

#include <mqueue.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>

#define MIB (1L << 20)

static char block[MIB];

/* Each takes the MiB number i: 0, or -1 with errno. */

static int take_anon(long i)
{
	char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)i;
	if (p == MAP_FAILED)
		return -1;
	memset(p, 1, MIB);
	return 0;
}

static int take_shared(long i)
{
	char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)i;
	if (p == MAP_FAILED)
		return -1;
	memset(p, 1, MIB);
	return 0;
}

static int append(int fd)
{
	for (long done = 0; done < MIB;) {
		ssize_t n = write(fd, block, (size_t)(MIB - done));

		if (n <= 0)
			return -1;
		done += n;
	}
	return 0;
}

static int take_memfd(long i)
{
	static int fd = -1;

	if (i % 16 == 0)
		fd = memfd_create("x", 0);
	return fd < 0 ? -1 : append(fd);
}

static int take_file(const char *path)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	return fd < 0 ? -1 : append(fd);
}

static int take_tmp(long i)
{
	(void)i;
	return take_file("/tmp/x");
}

static int take_dev_shm(long i)
{
	(void)i;
	return take_file("/dev/shm/x");
}

static int take_home(long i)
{
	(void)i;
	return take_file("/home/user/x");
}

/* A file that has no name any more, and a segment that nobody is attached to. */
static int take_unlinked(long i)
{
	int r = take_file("/tmp/y");

	if (i == 0)
		unlink("/tmp/y");
	return r;
}

static int take_sysv(long i)
{
	int id = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	char *p = id < 0 ? (char *)-1 : shmat(id, NULL, 0);

	(void)i;
	if (p == (char *)-1)
		return -1;
	memset(p, 1, MIB);
	return shmdt(p);
}

static int take_mqueue(long i)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = 8192};
	char name[32];

	for (int k = 0; k < 13; k++) {
		snprintf(name, sizeof(name), "/q%ld", i * 13 + k);
		mqd_t q = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attr);
		if (q == (mqd_t)-1)
			return -1;
		while (mq_send(q, block, 8192, 0) == 0)
			;
	}
	return 0;
}

/* A page of the table for every 2 MiB of address space that is looked at. */
static int take_tables(long i)
{
	long span = 2 * MIB, count = MIB / 4096;
	char *p = mmap(NULL, (size_t)(span * count), PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)i;
	if (p == MAP_FAILED)
		return -1;
	madvise(p, (size_t)(span * count), MADV_NOHUGEPAGE);
	for (long k = 0; k < count; k++)
		(void)*(volatile char *)(p + k * span);
	return 0;
}

/* What was sent and is not read. */
static int fill(int fd)
{
	long sum = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		ssize_t n = write(fd, block, 65536);

		if (n <= 0)
			n = write(fd, block, 4096);
		if (n <= 0)
			break;
		sum += n;
	}
	return (int)sum;
}

static int take_sockets(long i)
{
	int pair[2], big = 4 << 20;

	(void)i;
	for (long sum = 0; sum < MIB;) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
			return -1;
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
		sum += fill(pair[0]) + fill(pair[1]);
	}
	return 0;
}

static int take_pipes(long i)
{
	int pair[2];

	(void)i;
	for (long sum = 0; sum < MIB;) {
		if (pipe(pair) < 0)
			return -1;
		fcntl(pair[1], F_SETPIPE_SZ, MIB);
		sum += fill(pair[1]);
	}
	return 0;
}

/* Both ends of a connection over the loopback. */
static int tcp_pair(int pair[2])
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (s < 0 || bind(s, (struct sockaddr *)&addr, len) < 0 || listen(s, 1) < 0 ||
	    getsockname(s, (struct sockaddr *)&addr, &len) < 0)
		return -1;
	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (pair[0] < 0 || connect(pair[0], (struct sockaddr *)&addr, len) < 0)
		return -1;
	pair[1] = accept(s, NULL, NULL);
	close(s);
	return pair[1];
}

/* Connections that take next to nothing are a limit, too. */
static int take_tcp(long i)
{
	long sum = 0;
	int pair[2];

	(void)i;
	for (int n = 0; n < 16 && sum < MIB; n++) {
		if (tcp_pair(pair) < 0)
			return -1;
		sum += fill(pair[0]) + fill(pair[1]);
	}
	errno = ENOBUFS;
	return sum < MIB ? -1 : 0;
}

/* Datagrams that are sent and dropped are not taken: only those that can be read count. */
static int take_udp(long i)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int held = 0, from = socket(AF_INET, SOCK_DGRAM, 0);

	(void)i;
	for (int n = 0; n < 16 && held < MIB; n++) {
		int to = socket(AF_INET, SOCK_DGRAM, 0);
		uint32_t info[9] = {0}; /* SO_MEMINFO: what waits is the first */
		socklen_t size = sizeof(info);

		addr.sin_port = 0;
		if (to < 0 || bind(to, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		    getsockname(to, (struct sockaddr *)&addr, &len) < 0)
			return -1;
		for (int k = 0; k < 64; k++)
			(void)sendto(from, block, 16384, MSG_DONTWAIT, (struct sockaddr *)&addr,
				     len);
		if (getsockopt(to, SOL_SOCKET, SO_MEMINFO, info, &size) == 0)
			held += (int)info[0];
	}
	close(from);
	errno = ENOBUFS;
	return held < MIB ? -1 : 0;
}

static const struct {
	const char *name;
	int (*take)(long i);
} kinds[] = {
	{"anon", take_anon},	     {"shared", take_shared},	{"memfd", take_memfd},
	{"tmp", take_tmp},	     {"dev-shm", take_dev_shm}, {"home", take_home},
	{"unlinked", take_unlinked}, {"sysv", take_sysv},	{"mqueue", take_mqueue},
	{"tables", take_tables},     {"sockets", take_sockets}, {"pipes", take_pipes},
	{"tcp", take_tcp},	     {"udp", take_udp},
};

static int run(int (*take)(long), long most)
{
	for (long i = 0; i < most; i++) {
		if (take(i) < 0) {
			printf("refused %s\n", strerrorname_np(errno));
			return 0;
		}
		printf("took %ld\n", i + 1);
		fflush(stdout);
	}
	puts("all");
	return 0;
}

/*
 * Huge pages are set aside for whoever the host has them for, and no group of memory counts them. Where
 * there are none the kernel refuses, too: that a file of them cannot even be named is the filter.
 */
static int take_huge(void)
{
	const size_t size = 2 * MIB;
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	door("huge", p == MAP_FAILED ? -1 : 0);
	door("huge-file", memfd_create("x", MFD_HUGETLB));
	door("huge-segment", shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_HUGETLB | 0600));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "huge"))
		return take_huge();
	memset(block, 1, sizeof(block));
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return run(kinds[i].take, strtol(argv[2], NULL, 10));
	return 2;
}
