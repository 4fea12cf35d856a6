/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to every process of the sandbox. In a pid namespace that is one call. At level
 * `landlock` there is none: kill(-1) would reach all that the user runs, so the guest, to which
 * the kernel gives every orphan below it, walks its descendants. Numbers are never trusted: each
 * process is held by a pidfd and looked up again before it is signalled.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/sys.h"
#include "guest/guest.h"

#define TREE_MAX 4096

static char *put_str(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	*to = '\0';
	return to;
}

static char *put_num(char *to, unsigned v)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n > 0)
		*to++ = digits[--n];
	*to = '\0';
	return to;
}

/* The kernel's list of a process's children, as text. */
static long read_children(int pid, char *text, size_t size)
{
	char path[64];
	char *p = put_num(put_str(path, "/proc/"), (unsigned)pid);

	p = put_num(put_str(p, "/task/"), (unsigned)pid);
	(void)put_str(p, "/children");
	long fd = sys3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	long n = sys3(SYS_read, fd, text, size);
	(void)sys1(SYS_close, fd);
	return n < 0 ? 0 : n;
}

/* The next number in the list at *pos, 0 at its end. */
static int next_child(const char *text, long len, long *pos)
{
	int pid = 0;

	while (*pos < len && text[*pos] == ' ')
		(*pos)++;
	while (*pos < len && text[*pos] >= '0' && text[*pos] <= '9')
		pid = pid * 10 + (text[(*pos)++] - '0');
	return pid;
}

static int is_child(int parent, int child)
{
	static char text[8192];
	long len = read_children(parent, text, sizeof(text)), pos = 0;
	int pid;

	while ((pid = next_child(text, len, &pos)))
		if (pid == child)
			return 1;
	return 0;
}

static void signal_one(int parent, int pid, int sig)
{
	long fd = sys2(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (is_child(parent, pid))
		(void)sys4(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	(void)sys1(SYS_close, fd);
}

static void signal_tree(int sig)
{
	static int queue[TREE_MAX];
	static char text[8192];
	int head = 0, tail = 0;

	queue[tail++] = (int)sys0(SYS_getpid);
	while (head < tail) {
		int parent = queue[head++], pid;
		long len = read_children(parent, text, sizeof(text)), pos = 0;

		while ((pid = next_child(text, len, &pos))) {
			if (tail < TREE_MAX)
				queue[tail++] = pid;
			signal_one(parent, pid, sig);
		}
	}
}

void guest_signal_all(const struct guest *g, int sig)
{
	if (g->plan->flags & PLAN_HOST_LEVEL)
		signal_tree(sig);
	else
		(void)sys2(SYS_kill, -1, sig); /* ESRCH: nobody is left */
}
