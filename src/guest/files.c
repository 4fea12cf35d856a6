/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file server of a sandbox that lives: a child of PID 1 for each channel that somebody opened,
 * so that PID 1 never waits for a file. It answers one question after the other until the channel
 * closes, and passes descriptors out; the host side never resolves a path of the sandbox.
 *
 * Where we are: a fork of the guest without exec, so it stays closed to tracing and its descriptors
 * to everybody; the command's ids, capabilities, filter and Landlock rules, and nothing open but
 * the channel. Whatever hostile code has made of a path, it gets us nowhere that it could not go
 * itself. Where Landlock has no scope for signals it can kill or stop us: the host side then hears
 * nothing, and does not wait for long.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "guest/files_int.h"
#include "guest/guest.h"
#include "kernel/seccomp.h"

#define CHANNEL GUEST_CTL /* the same place: what was there is not for us */
#define WORKING_NS 1000000000u
#define COPY_SIZE 65536

static union {
	struct files_ask ask;
	char bytes[sizeof(struct files_ask) + 2 * FILES_PATH_SIZE];
} question;

static int given[2] = {-1, -1}; /* descriptors that came with the question */
static uint64_t heard_ns;	/* when the other side last heard of us */

static long send_answer(int sock, struct files_answer *answer, const void *data, int fd, int flags)
{
	struct iovec iov[2] = {
		{.iov_base = answer, .iov_len = sizeof(*answer)},
		{.iov_base = (void *)(uintptr_t)data, .iov_len = answer->len},
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr hdr = {.msg_iov = iov, .msg_iovlen = 2};
	long r;

	answer->magic = FILES_MAGIC;
	if (fd >= 0) {
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		*(int *)(void *)CMSG_DATA(&control.head) = fd;
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof(control.room);
	}
	do
		r = sys3(SYS_sendmsg, sock, &hdr, MSG_NOSIGNAL | flags);
	while (r == -EINTR);
	return r;
}

static __attribute__((noreturn)) void leave(void)
{
	files_abort_all();
	guest_end(0);
}

void files_say(struct files_answer *answer, const void *data, int fd)
{
	answer->seq = question.ask.seq;
	if (send_answer(CHANNEL, answer, data, fd, 0) < 0)
		leave();
	heard_ns = guest_now_ns();
}

void files_working(void)
{
	struct files_answer answer = {.more = 1};

	if (guest_now_ns() - heard_ns >= WORKING_NS)
		files_say(&answer, NULL, -1);
}

static int64_t nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

void files_fill(struct files_info *to, const struct stat *st)
{
	*to = (struct files_info){
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.links = (uint64_t)st->st_nlink,
		.inode = (uint64_t)st->st_ino,
		.mtime_ns = nanoseconds(&st->st_mtim),
		.ctime_ns = nanoseconds(&st->st_ctim),
	};
}

long files_copy(int from, int to)
{
	static char buf[COPY_SIZE];

	for (;;) {
		long n = sys3(SYS_read, from, buf, sizeof(buf));

		if (n <= 0)
			return n;
		for (long done = 0; done < n;) {
			long r = sys3(SYS_write, to, buf + done, n - done);
			if (r < 0)
				return r;
			done += r;
		}
		files_working();
	}
}

/* Of whatever it is; nothing is opened. */
static long stat_path(const struct files_ask *ask, struct files_answer *answer)
{
	static char target[FILES_PATH_SIZE];
	struct stat st;
	long fd = files_look(files_ask_path(ask), (ask->flags & FILES_NOFOLLOW) != 0);

	if (fd < 0)
		return fd;
	long r = sys2(SYS_fstat, fd, &st);
	if (r >= 0)
		files_fill(&answer->info, &st);
	if (r >= 0 && S_ISLNK(st.st_mode)) {
		r = sys4(SYS_readlinkat, fd, "", target, sizeof(target) - 1);
		answer->len = r > 0 ? (uint32_t)r : 0;
	}
	(void)sys1(SYS_close, fd);
	if (r >= 0)
		files_say(answer, target, -1);
	return r;
}

/* Looked at before it is opened, since opening alone can wait or do something; the same inode is
 * then opened, and looked at again. */
static long open_file(const struct files_ask *ask, struct files_answer *answer)
{
	struct stat st = {0};
	long path = files_look(files_ask_path(ask), 0);

	if (path < 0)
		return path;
	long fd = -1, r = files_check_regular((int)path, &st);
	files_fill(&answer->info, &st);
	if (r >= 0)
		r = fd = files_reopen((int)path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r >= 0)
		r = files_check_regular((int)fd, &st);
	if (r >= 0)
		files_say(answer, NULL, (int)fd);
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
	(void)sys1(SYS_close, path);
	return r;
}

static long write_file(const struct files_ask *ask, struct files_answer *answer)
{
	int fd = -1;
	long r = files_write(ask, answer, &fd);

	if (r >= 0)
		files_say(answer, NULL, fd);
	return r;
}

static long make_dir(const struct files_ask *ask)
{
	struct spot s;

	if (ask->flags & FILES_PARENTS)
		return files_make_dirs(files_ask_path(ask), ask->mode);
	long r = files_spot(files_ask_path(ask), 0, 0, &s);
	if (r < 0)
		return r;
	r = sys3(SYS_mkdirat, s.dir, s.name, ask->mode);
	files_spot_done(&s);
	return r;
}

static long make_link(const struct files_ask *ask)
{
	struct spot s;
	long r = files_spot(files_ask_path(ask), 0, 0, &s);

	if (r < 0)
		return r;
	r = sys3(SYS_symlinkat, files_ask_path2(ask), s.dir, s.name);
	files_spot_done(&s);
	return r;
}

static long change_mode(const struct files_ask *ask)
{
	char own[32];
	long fd = files_look(files_ask_path(ask), 0);

	if (fd < 0)
		return fd;
	files_own_path(own, (int)fd);
	long r = sys3(SYS_fchmodat, AT_FDCWD, own, ask->mode);
	(void)sys1(SYS_close, fd);
	return r;
}

/* One try. A server that takes nobody is not ours to wait for: then the other side does. */
static long try_connect(const void *addr, long len, int family)
{
	const struct timeval moment = {.tv_usec = 100000};
	long fd = sys3(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	(void)sys5(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
	long r = sys3(SYS_connect, fd, addr, len);
	if (r == -EINPROGRESS || r == -EAGAIN)
		r = 0;
	if (r >= 0)
		r = sys3(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
	if (r >= 0)
		return fd;
	(void)sys1(SYS_close, fd);
	return r;
}

/* The sandbox's own loopback and nothing else, as a command would: a filter or rule that keeps it
 * from connecting keeps us, too. Some servers listen on one of the two addresses only. */
static long connect_port(const struct files_ask *ask, struct files_answer *answer)
{
	const uint16_t port = htobe16((uint16_t)ask->mode);
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htobe32(0x7f000001)};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr.s6_addr[15] = 1};
	long fd = try_connect(&v4, sizeof(v4), AF_INET);

	if (fd == -ECONNREFUSED)
		fd = try_connect(&v6, sizeof(v6), AF_INET6);
	if (fd < 0)
		return fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT ? -ECONNREFUSED : fd;
	files_say(answer, NULL, (int)fd);
	(void)sys1(SYS_close, fd);
	return 0;
}

/* 0: done, to be said; 1: it was said; -errno. */
static long do_ask(const struct files_ask *ask, struct files_answer *answer)
{
	long r = 1;

	switch ((enum files_op)ask->op) {
	case FILES_STAT: r = stat_path(ask, answer); return r < 0 ? r : 1;
	case FILES_OPEN: r = open_file(ask, answer); return r < 0 ? r : 1;
	case FILES_WRITE: r = write_file(ask, answer); return r < 0 ? r : 1;
	case FILES_COMMIT: return files_commit(ask->mode);
	case FILES_ABORT: return files_abort(ask->mode);
	case FILES_MKDIR: return make_dir(ask);
	case FILES_MOVE: return files_move(ask);
	case FILES_REMOVE:
		return files_remove(files_ask_path(ask), (ask->flags & FILES_BELOW) != 0);
	case FILES_CHMOD: return change_mode(ask);
	case FILES_LIST: return files_list(ask);
	case FILES_SYMLINK: return make_link(ask);
	case FILES_WATCH: return files_watch(ask, CHANNEL);
	case FILES_CONNECT: r = connect_port(ask, answer); return r < 0 ? r : 1;
	case FILES_RENAME: return files_rename(ask, given);
	case FILES_SYNC: /* nobody watches here */
	case FILES_OP_END: break;
	}
	return -EINVAL;
}

/* Those of the question before are closed. With room for two: the kernel drops what nobody wants. */
static long receive(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(given))];
	} control;
	struct iovec iov = {.iov_base = &question, .iov_len = sizeof(question)};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head.cmsg_len = 0;
	for (int i = 0; i < 2; i++) {
		if (given[i] >= 0)
			(void)sys1(SYS_close, given[i]);
		given[i] = -1;
	}
	long n = sys3(SYS_recvmsg, CHANNEL, &hdr, MSG_CMSG_CLOEXEC);
	if (n <= 0 || !hdr.msg_controllen || control.head.cmsg_type != SCM_RIGHTS)
		return n;
	unsigned got = (unsigned)((control.head.cmsg_len - CMSG_LEN(0)) / sizeof(int));
	for (unsigned i = 0; i < got; i++)
		given[i] = ((int *)(void *)CMSG_DATA(&control.head))[i];
	return n;
}

static __attribute__((noreturn)) void serve(void)
{
	for (;;) {
		long n = receive();

		if (n == -EINTR)
			continue;
		if (n <= 0 || files_ask_check(&question.ask, (uint32_t)n) < 0)
			leave();
		struct files_answer answer = {0};
		heard_ns = guest_now_ns();
		long r = do_ask(&question.ask, &answer);
		if (r == 1)
			continue;
		answer.error = r < 0 ? (int32_t)-r : 0;
		answer.len = 0;
		files_say(&answer, NULL, -1);
	}
}

/* A command's rights and nothing of PID 1's: its control socket ends the sandbox. */
static __attribute__((noreturn)) void child(const struct guest *g, int sock)
{
	struct files_answer hello = {0};
	uint64_t all = ~0ull;
	long r = 0;

	/* Signals for everybody inside are not for us; what cannot be blocked still ends us. */
	(void)sys4(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	(void)sys0(SYS_setsid);
	(void)sys5(SYS_prctl, PR_SET_NAME, "pinfold-files", 0, 0, 0);
	if (g->ruleset >= 0)
		r = guest_restrict(g->ruleset);
	if (r >= 0)
		r = sys3(SYS_dup3, sock, CHANNEL, O_CLOEXEC);
	(void)sys3(SYS_close_range, 0, CHANNEL - 1, 0);
	(void)sys3(SYS_close_range, CHANNEL + 1, ~0u, 0);
	if (r < 0)
		guest_end(1);
	(void)sys1(SYS_umask, 0); /* modes are asked for as they are to be */
	files_say(&hello, NULL, -1);
	serve();
}

void guest_files_start(const struct guest *g, int sock)
{
	long pid = sys2(SYS_clone, SIGCHLD, 0);

	if (pid == 0)
		child(g, sock);
	if (pid < 0) {
		struct files_answer answer = {.error = (int32_t)-pid};

		(void)send_answer(sock, &answer, NULL, -1, MSG_DONTWAIT); /* or he is gone */
	}
}
