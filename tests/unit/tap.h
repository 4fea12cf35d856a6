/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TAP for unit tests. Each test is a function that runs in a process of its own, with a deadline;
 * after it no descriptor may be open that was not before, and no child may be left.
 *
 *	static void adds(void)
 *	{
 *		is_int(1 + 1, 2, "one and one");
 *	}
 *
 *	int main(void)
 *	{
 *		TAP_RUN(adds);
 *		return tap_done();
 *	}
 *
 * The plan is printed last; call tap_plan(n) first where the number is known. Checks may be made in
 * children of a test too: the count is shared memory.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAP_SECONDS 200 /* a hang, not a slow machine */
#define TAP_FDS_MAX 256

struct tap_state {
	int count;
	int failed;
	int planned;
};

__attribute__((unused)) static struct tap_state *tap_state(void)
{
	static struct tap_state *state;

	if (!state) {
		state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (state == MAP_FAILED) {
			printf("Bail out! no memory\n");
			exit(1);
		}
		setvbuf(stdout, NULL, _IOLBF, 0);
	}
	return state;
}

__attribute__((unused)) static void tap_plan(int n)
{
	tap_state()->planned = n;
	printf("1..%d\n", n);
}

/* A comment line for people. */
__attribute__((unused, format(printf, 1, 2))) static void diag(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

__attribute__((unused)) static int tap_result(int good, const char *file, int line,
					      const char *name)
{
	int n = __atomic_add_fetch(&tap_state()->count, 1, __ATOMIC_SEQ_CST);

	if (good) {
		printf("ok %d - %s\n", n, name);
		return 1;
	}
	__atomic_add_fetch(&tap_state()->failed, 1, __ATOMIC_SEQ_CST);
	printf("not ok %d - %s\n# %s:%d\n", n, name, file, line);
	return 0;
}

__attribute__((unused)) static int tap_int(long long got, long long want, const char *file,
					   int line, const char *name)
{
	if (tap_result(got == want, file, line, name))
		return 1;
	diag("got %lld, want %lld", got, want);
	return 0;
}

__attribute__((unused)) static int tap_str(const char *got, const char *want, const char *file,
					   int line, const char *name)
{
	if (tap_result(got && want ? !strcmp(got, want) : got == want, file, line, name))
		return 1;
	diag("got  \"%s\"", got ? got : "(null)");
	diag("want \"%s\"", want ? want : "(null)");
	return 0;
}

/* All four return whether the check held. */
#define ok(cond, name) tap_result(!!(cond), __FILE__, __LINE__, name)
#define is_int(got, want, name) tap_int((got), (want), __FILE__, __LINE__, name)
#define is_str(got, want, name) tap_str((got), (want), __FILE__, __LINE__, name)
#define has_str(hay, needle, name) ok(strstr((hay), (needle)), name)

__attribute__((unused)) static void skip(const char *name, const char *reason)
{
	int n = __atomic_add_fetch(&tap_state()->count, 1, __ATOMIC_SEQ_CST);

	printf("ok %d - %s # SKIP %s\n", n, name, reason);
}

/* The open descriptors, without the one that reads the list. Returns how many. */
__attribute__((unused)) static int tap_fds(int *fds)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)) && n < TAP_FDS_MAX) {
		int fd = -1;

		if (sscanf(entry->d_name, "%d", &fd) == 1 && fd != dirfd(dir))
			fds[n++] = fd;
	}
	if (dir)
		closedir(dir);
	return n;
}

__attribute__((unused)) static int tap_left_fds(const int *before, int n_before)
{
	int after[TAP_FDS_MAX], n = tap_fds(after), left = 0;

	for (int i = 0; i < n; i++) {
		char path[64], target[256];
		ssize_t len;
		int known = 0;

		for (int j = 0; j < n_before; j++)
			known |= before[j] == after[i];
		if (known)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", after[i]);
		len = readlink(path, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = 0;
		diag("descriptor %d is left open: %s", after[i], target);
		left++;
	}
	return left;
}

__attribute__((unused)) static void tap_child(void (*test)(void), const char *name)
{
	int before[TAP_FDS_MAX], n_before, left;
	char line[160];

	alarm(TAP_SECONDS);
	n_before = tap_fds(before);
	test();
	left = tap_left_fds(before, n_before);
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD) {
		diag("a child is left");
		left++;
	}
	if (left) {
		snprintf(line, sizeof(line), "%s: leaves nothing behind", name);
		tap_result(0, __FILE__, __LINE__, line);
	}
	fflush(stdout);
	/* exit and not _exit: leak checkers look at the end. */
	exit(0);
}

__attribute__((unused)) static void tap_run(void (*test)(void), const char *name)
{
	char line[160];
	int status = 0, count = tap_state()->count;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		tap_child(test, name);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		snprintf(line, sizeof(line), "%s: ended with status 0x%x", name, (unsigned)status);
		tap_result(0, __FILE__, __LINE__, line);
	} else if (tap_state()->count == count) {
		snprintf(line, sizeof(line), "%s: checked nothing", name);
		tap_result(0, __FILE__, __LINE__, line);
	}
}

#define TAP_RUN(test) tap_run(test, #test)

/* The exit status of main(). */
__attribute__((unused)) static int tap_done(void)
{
	if (!tap_state()->planned)
		tap_plan(tap_state()->count);
	return tap_state()->failed || tap_state()->planned != tap_state()->count;
}

#endif
