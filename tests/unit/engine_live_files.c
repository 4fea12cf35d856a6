/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of a channel to files, with a file server that hostile code has taken over: it says
 * whatever it likes, gives whatever descriptor it likes, or nothing. Its answers wait in the socket
 * before the question is asked.
 */
#include "engine/live_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "tap.h"

#define SILENCE_MS 50

static int theirs;
static struct pinfold_error error;

static struct pinfold_files *begin(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return NULL;
	theirs = pair[1];
	struct pinfold_files *f = files_new("", pair[0]);
	if (f)
		f->patience_ms = SILENCE_MS;
	return f;
}

static void end(struct pinfold_files *f)
{
	pinfold_files_close(f);
	fd_close(&theirs);
}

static void say(struct files_answer a, const void *data, size_t len, int fd)
{
	char bytes[sizeof(a) + FILES_DATA_MAX];

	a.magic = a.magic ? a.magic : FILES_MAGIC;
	a.seq = a.seq ? a.seq : 1;
	a.len = a.len ? a.len : (uint32_t)len;
	memcpy(bytes, &a, sizeof(a));
	if (len)
		memcpy(bytes + sizeof(a), data, len);
	(void)passfd_send(theirs, bytes, sizeof(a) + len, &fd, 1);
}

static bool failed_with(const char *code)
{
	bool same = strcmp(error.code, code) == 0;

	if (!same)
		printf("# %s: %s\n", error.code, error.message);
	return same;
}

/* pinfold_file_open() with this descriptor as the answer. */
static int opens(int fd)
{
	struct pinfold_files *f = begin();
	int got = FD_NONE;

	say((struct files_answer){.info = {.mode = S_IFREG | 0644}}, NULL, 0, fd);
	int r = pinfold_file_open(f, "/x", &got, NULL, &error);
	fd_close(&got);
	end(f);
	return r;
}

/* Whatever it claims of them: only a regular file is taken. */
static void descriptors(void)
{
	static const char *const bad[] = {"/dev/zero", "/", "/proc/self/status", "/proc/self/mem"};
	char name[64] = "/tmp/live-files-XXXXXX";
	auto_close int file = mkstemp(name), sock = socket(AF_UNIX, SOCK_STREAM, 0);
	int p[2];

	(void)unlink(name);
	is_int(opens(file), 0, "a regular file");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_close int fd = open(bad[i], O_RDONLY | O_CLOEXEC);

		ok(opens(fd) < 0 && failed_with("internal"), bad[i]);
	}
	ok(pipe(p) == 0 && opens(p[0]) < 0 && failed_with("internal"), "a pipe");
	ok(opens(sock) < 0 && failed_with("internal"), "a socket");
	ok(opens(FD_NONE) < 0 && failed_with("internal"), "none at all");
	fd_close(&p[0]);
	fd_close(&p[1]);
}

static int writes(int fd, uint64_t number)
{
	struct pinfold_files *f = begin();
	struct pinfold_file_writer *w = NULL;

	say((struct files_answer){.value = number}, NULL, 0, fd);
	int r = pinfold_file_write(f, "/x", 0, 0, &w, &error);
	if (r == 0) {
		say((struct files_answer){.seq = 2}, NULL, 0, FD_NONE);
		r = pinfold_file_commit(w, &error);
	}
	end(f);
	return r;
}

static void writers(void)
{
	char name[64] = "/tmp/live-files-XXXXXX";
	auto_close int file = mkstemp(name), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)unlink(name);
	is_int(writes(file, 0), 0, "a file to write");
	ok(writes(null, 0) < 0 && failed_with("internal"), "a device");
	ok(writes(file, 1u << 30) < 0 && failed_with("internal"), "a number that is none");
	ok(writes(FD_NONE, 0) < 0 && failed_with("internal"), "none at all");
}

static int stats(struct files_answer a, const void *data, size_t len, int fd)
{
	struct pinfold_files *f = begin();
	struct pinfold_file_info info;

	say(a, data, len, fd);
	int r = pinfold_file_stat(f, "/x", 0, &info, &error);
	end(f);
	return r;
}

static void nonsense(void)
{
	char long_target[5000];
	auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	memset(long_target, 'x', sizeof(long_target));
	is_int(stats((struct files_answer){0}, NULL, 0, FD_NONE), 0, "an answer");
	ok(stats((struct files_answer){.magic = 1}, NULL, 0, FD_NONE) < 0 &&
		   failed_with("internal"),
	   "somebody else's");
	ok(stats((struct files_answer){.seq = 9}, NULL, 0, FD_NONE) < 0 && failed_with("internal"),
	   "to another question");
	ok(stats((struct files_answer){.len = 99}, "x", 1, FD_NONE) < 0 && failed_with("internal"),
	   "shorter than it says");
	ok(stats((struct files_answer){0}, long_target, sizeof(long_target), FD_NONE) < 0 &&
		   failed_with("internal"),
	   "a target that no link has");
	ok(stats((struct files_answer){0}, NULL, 0, null) < 0 && failed_with("internal"),
	   "a descriptor that nobody asked for");
	ok(stats((struct files_answer){.error = ENOENT}, NULL, 0, null) < 0 &&
		   failed_with("internal"),
	   "one with an error");
	ok(stats((struct files_answer){.error = 4095}, NULL, 0, FD_NONE) < 0 &&
		   failed_with("internal"),
	   "an error that nobody knows");
	ok(stats((struct files_answer){.error = ENOENT}, NULL, 0, FD_NONE) < 0 &&
		   failed_with("not_found.file"),
	   "one that everybody knows");
}

static void silence(void)
{
	struct pinfold_files *f = begin();
	struct pinfold_file_info info;

	ok(pinfold_file_stat(f, "/x", 0, &info, &error) < 0 && failed_with("timeout"),
	   "no answer is not waited for");
	ok(pinfold_file_stat(f, "/x", 0, &info, &error) < 0 && failed_with("conflict.gone"),
	   "and the channel is given up");
	end(f);
	f = begin();
	fd_close(&theirs);
	ok(pinfold_file_stat(f, "/x", 0, &info, &error) < 0 && failed_with("conflict.gone"),
	   "nobody is there");
	end(f);
}

/* Signs of life without end. */
static void endless(void)
{
	struct pinfold_files *f = begin();
	struct pinfold_file_info info;
	struct files_answer working = {.magic = FILES_MAGIC, .seq = 1, .more = 1};
	pid_t pid = fork();

	if (pid == 0) {
		fd_close(&f->sock);
		while (send(theirs, &working, sizeof(working), MSG_NOSIGNAL) > 0)
			;
		_exit(0);
	}
	fd_close(&theirs);
	ok(pinfold_file_stat(f, "/x", 0, &info, &error) < 0 && failed_with("timeout"),
	   "one that only says that it goes on");
	end(f);
	(void)waitpid(pid, NULL, 0);
}

static int none(const char *path, const struct pinfold_file_info *info, void *arg)
{
	(void)path;
	(void)info;
	++*(int *)arg;
	return 0;
}

static int lists(const void *data, size_t len, int *n)
{
	struct pinfold_files *f = begin();

	*n = 0;
	say((struct files_answer){0}, data, len, FD_NONE);
	int r = pinfold_file_list(f, "/x", 1, 0, none, n, &error);
	end(f);
	return r;
}

static size_t put(char *to, const char *name, size_t len)
{
	struct files_entry e = {.name_len = (uint32_t)len, .info = {.mode = S_IFREG}};

	memcpy(to, &e, sizeof(e));
	memcpy(to + sizeof(e), name, len);
	return sizeof(e) + len;
}

static void listings(void)
{
	static const char *const bad[] = {"..", "a/../../b", "", "."};
	char data[1024];
	int n;

	is_int(lists(data, put(data, "a", 1), &n), 0, "a name");
	is_int(n, 1, "was told");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(lists(data, put(data, bad[i], strlen(bad[i])), &n) < 0 &&
			   failed_with("internal") && n == 0,
		   "a name that no directory holds");
	is_int(lists(data, put(data, "a\0b", 3), &n), -1, "nor one with a NUL");
	is_int(lists(data, 20, &n), -1, "half an entry");
}

/* Entries without end cost bounded memory. */
static void flood(void)
{
	struct pinfold_files *f = begin();
	char name[256];
	int n = 0;
	pid_t pid = fork();

	memset(name, 'x', 255);
	if (pid == 0) {
		static union {
			struct files_answer a;
			char bytes[sizeof(struct files_answer) + FILES_DATA_MAX];
		} packet;
		size_t len = 0;

		fd_close(&f->sock);
		while (len + 400 < FILES_DATA_MAX)
			len += put(packet.bytes + sizeof(packet.a) + len, name, 255);
		packet.a = (struct files_answer){
			.magic = FILES_MAGIC, .seq = 1, .more = 1, .len = (uint32_t)len};
		while (send(theirs, &packet, sizeof(packet.a) + len, MSG_NOSIGNAL) > 0)
			;
		_exit(0);
	}
	fd_close(&theirs);
	f->patience_ms = 10000;
	ok(pinfold_file_list(f, "/x", 1, 0, none, &n, &error) < 0 && failed_with("limit_exceeded"),
	   "a directory without end");
	is_int(n, 0, "of which nothing is told");
	end(f);
	(void)waitpid(pid, NULL, 0);
}

static void paths(void)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{"a", "/home/user/a"},
		{"/a", "/a"},
		{"./a//b/", "/home/user/a/b"},
		{"/", "/"},
		{"///", "/"},
		{".", "/home/user"},
		{"/a/../b", "/a/../b"},
		{"/./.", "/"},
		{"..", "/home/user/.."},
		{"/a/./b/.", "/a/b"},
		{"~", "/home/user/~"},
	};
	char to[FILES_PATH_SIZE], deep[2 * FILES_PATH_SIZE];
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(files_absolute(rows[i].path, to, &e) == (int)strlen(rows[i].want) &&
			   strcmp(to, rows[i].want) == 0,
		   rows[i].path);
	ok(files_absolute("", to, &e) < 0 && e.kind == ERR_INVALID, "no path");
	memset(deep, 'x', sizeof(deep));
	deep[0] = '/';
	deep[FILES_PATH_SIZE - 1] = '\0';
	is_int(files_absolute(deep, to, &e), FILES_PATH_SIZE - 1, "the longest path");
	deep[FILES_PATH_SIZE - 1] = 'x';
	deep[FILES_PATH_SIZE] = '\0';
	ok(files_absolute(deep, to, &e) < 0 && e.kind == ERR_INVALID, "one that is longer");
	deep[0] = 'x';
	deep[FILES_PATH_SIZE - 5] = '\0';
	ok(files_absolute(deep, to, &e) < 0 && e.kind == ERR_INVALID, "or is with /home/user");
}

int main(void)
{
	TAP_RUN(paths);
	TAP_RUN(descriptors);
	TAP_RUN(writers);
	TAP_RUN(nonsense);
	TAP_RUN(silence);
	TAP_RUN(endless);
	TAP_RUN(listings);
	TAP_RUN(flood);
	return tap_done();
}
