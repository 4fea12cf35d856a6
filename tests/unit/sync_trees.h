/* SPDX-License-Identifier: Apache-2.0 */
/* Directories to synchronise, a session between two threads, and whether two trees are the same. */
#ifndef TESTS_SYNC_TREES_H
#define TESTS_SYNC_TREES_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "sync/session.h"
#include "tap.h"

/* from/ and to/ are the trees, a/ and b/ what the sides remember, parts/ what has arrived. */
struct trees {
	char path[64];
	int top, from, to, a, b, parts;
};

__attribute__((unused)) static int subdir(int at, const char *name)
{
	(void)mkdirat(at, name, 0755);
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

__attribute__((unused)) static void trees_open(struct trees *t)
{
	snprintf(t->path, sizeof(t->path), "/tmp/pinfold-sync-XXXXXX");
	if (!mkdtemp(t->path)) {
		printf("Bail out! no directory\n");
		exit(1);
	}
	(void)umask(022);
	t->top = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t->from = subdir(t->top, "from");
	t->to = subdir(t->top, "to");
	t->a = subdir(t->top, "a");
	t->b = subdir(t->top, "b");
	t->parts = subdir(t->top, "parts");
}

__attribute__((unused)) static void trees_close(struct trees *t)
{
	int fds[] = {t->top, t->from, t->to, t->a, t->b, t->parts};
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", t->path, NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
}

__attribute__((unused)) static void put_bytes(int dir, const char *path, const void *data,
					      size_t len)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)fd_write_all(fd, data, len);
	close(fd);
}

__attribute__((unused)) static void put(int dir, const char *path, const char *text)
{
	put_bytes(dir, path, text, strlen(text));
}

__attribute__((unused)) static void put_link(int dir, const char *path, const char *target)
{
	if (symlinkat(target, dir, path) < 0)
		diag("no link %s", path);
}

__attribute__((unused)) static void put_mode(int dir, const char *path, unsigned mode)
{
	if (fchmodat(dir, path, mode, 0) < 0)
		diag("no mode for %s", path);
}

/* Until file times of now are different from those of before. */
__attribute__((unused)) static void settle(void)
{
	struct timespec start, now;

	/* Times of files can be finer than the coarse clock, which is behind by a tick at most. */
	clock_gettime(CLOCK_REALTIME, &start);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec < start.tv_sec ||
	       (now.tv_sec == start.tv_sec && now.tv_nsec <= start.tv_nsec));
}

__attribute__((unused)) static uint64_t trees_seed = 4;

__attribute__((unused)) static uint32_t trees_random(uint32_t n)
{
	trees_seed = trees_seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(trees_seed >> 33) % n;
}

__attribute__((unused)) static void put_noise(int dir, const char *path, size_t len, uint64_t seed)
{
	uint8_t *data = malloc(len + 1);

	for (size_t i = 0; i < len; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		data[i] = (uint8_t)(seed >> 56);
	}
	put_bytes(dir, path, data, len);
	free(data);
}

/* What is at a path, as text: kind, mode, time, size, content. "" when nothing is. */
__attribute__((unused)) static void describe(int dir, const char *path, char *ret, size_t size)
{
	struct stat st;
	char extra[80] = "";

	*ret = 0;
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISREG(st.st_mode)) {
		int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

		(void)hash_fd(fd, UINT64_MAX, extra);
		close(fd);
		snprintf(ret, size, "file %o %lld.%09ld %lld %s", st.st_mode & 07777,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size,
			 extra);
	} else if (S_ISLNK(st.st_mode)) {
		ssize_t n = readlinkat(dir, path, extra, sizeof(extra) - 1);

		extra[n < 0 ? 0 : n] = 0;
		snprintf(ret, size, "link %s", extra);
	} else {
		snprintf(ret, size, "%s %o", S_ISDIR(st.st_mode) ? "dir" : "other",
			 st.st_mode & 07777);
	}
}

/* How many names of `a` are not, or not the same, in `b`; each is told. */
__attribute__((unused)) static unsigned lacking(int a, int b, const char *under)
{
	int fd = openat(a, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fdopendir(fd);
	struct dirent *d;
	unsigned n = 0;

	while (all && (d = readdir(all))) {
		char one[300], other[300];

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		describe(a, d->d_name, one, sizeof(one));
		describe(b, d->d_name, other, sizeof(other));
		if (strcmp(one, other) != 0) {
			diag("%s%s: %s, not %s", under, d->d_name, other, one);
			n++;
		} else if (strncmp(one, "dir", 3) == 0) {
			int x = openat(a, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			int y = openat(b, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			n += lacking(x, y, d->d_name);
			close(x);
			close(y);
		}
	}
	closedir(all);
	return n;
}

__attribute__((unused)) static bool same_trees(const struct trees *t)
{
	return lacking(t->from, t->to, "") + lacking(t->to, t->from, "") == 0;
}

struct half {
	struct sync_send_opts send;
	struct sync_receive_opts receive;
	int sock;
	int result;
	struct sync_stats stats;
	struct err e;
};

__attribute__((unused)) static void *send_half(void *arg)
{
	struct half *h = arg;

	h->result = sync_send(&h->send, h->sock, &h->stats, &h->e);
	close(h->sock);
	return NULL;
}

__attribute__((unused)) static void *receive_half(void *arg)
{
	struct half *h = arg;

	h->result = sync_receive(&h->receive, h->sock, &h->stats, &h->e);
	close(h->sock);
	return NULL;
}

struct session {
	struct half sender, receiver;
};

__attribute__((unused)) static void session_init(struct session *s, const struct trees *t)
{
	memset(s, 0, sizeof(*s));
	s->sender.send =
		(struct sync_send_opts){.tree_fd = t->from, .state_fd = t->a, .idle_ms = 20000};
	s->receiver.receive = (struct sync_receive_opts){
		.tree_fd = t->to, .state_fd = t->b, .partial_fd = t->parts, .idle_ms = 20000};
}

/* Both ends, one in a thread. 0: both are content. */
__attribute__((unused)) static int session_run(struct session *s)
{
	int pair[2];
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	s->sender.sock = pair[0];
	s->receiver.sock = pair[1];
	pthread_create(&thread, NULL, send_half, &s->sender);
	receive_half(&s->receiver);
	pthread_join(thread, NULL);
	if (s->sender.result < 0 || s->receiver.result < 0)
		diag("sender: %s; receiver: %s", s->sender.e.text, s->receiver.e.text);
	return s->sender.result < 0 || s->receiver.result < 0;
}

/* The same with what every test has. */
__attribute__((unused)) static int push(const struct trees *t, struct session *s)
{
	session_init(s, t);
	return session_run(s);
}

#endif
