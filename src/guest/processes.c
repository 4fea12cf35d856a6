/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in the sandbox, as the kernel tells us here inside: one record a process, written to a
 * file in memory that the asker made. He reads what hostile code may have named itself; we only
 * copy.
 */
#include <fcntl.h>
#include <signal.h>

#include "base/sys.h"
#include "guest/guest.h"

#define BUF_SIZE 8192

static char *put(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	*to = '\0';
	return to;
}

/* The beginning of a file of /proc/PID. */
static uint32_t read_file(const char *pid, const char *name, char *to, uint32_t size)
{
	char path[64];

	(void)put(put(put(put(path, "/proc/"), pid), "/"), name);
	long fd = sys3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	long n = sys3(SYS_read, fd, to, size);
	(void)sys1(SYS_close, fd);
	return n > 0 ? (uint32_t)n : 0;
}

static long write_one(void *of, const char *pid)
{
	struct msg_process p = {0};
	int to = *(int *)of;

	for (const char *c = pid; *c; c++)
		p.pid = p.pid * 10 + (uint32_t)(*c - '0');
	p.stat_len = read_file(pid, "stat", p.stat, sizeof(p.stat));
	p.command_len = read_file(pid, "cmdline", p.command, sizeof(p.command));
	p.asked_for = guest_job_is((int)p.pid);
	return p.stat_len ? sys3(SYS_write, to, &p, sizeof(p)) : 0;
}

static int is_pid(const char *name)
{
	size_t n = 0;

	while (name[n] >= '0' && name[n] <= '9')
		n++;
	return n > 0 && n < 11 && !name[n];
}

/* Each process until one of them is too much. */
static void for_each(long (*one)(void *of, const char *pid), void *of)
{
	static char buf[BUF_SIZE] __attribute__((aligned(8)));
	long have, r = 0;
	long fd = sys3(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (fd >= 0 && r >= 0 && (have = sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long pos = 0; pos < have && r >= 0;
		     pos += *(uint16_t *)(void *)(buf + pos + 16))
			if (is_pid(buf + pos + 19))
				r = one(of, buf + pos + 19);
	if (fd >= 0)
		(void)sys1(SYS_close, fd);
}

void guest_processes(int to)
{
	for_each(write_one, &to);
}

struct largest {
	uint32_t pid;
	uint64_t pages, all;
};

static const char *number(const char *p, uint64_t *ret)
{
	for (*ret = 0; *p >= '0' && *p <= '9'; p++)
		*ret = *ret * 10 + (uint64_t)(*p - '0');
	return p;
}

/* statm: all of it, what is resident, and more. */
static long compare(void *of, const char *pid)
{
	struct largest *l = of;
	char text[128];
	uint64_t id, size, pages;
	uint32_t n = read_file(pid, "statm", text, sizeof(text) - 1);

	text[n] = '\0';
	(void)number(pid, &id);
	const char *p = number(text, &size);
	(void)number(*p == ' ' ? p + 1 : p, &pages);
	l->all += pages;
	if (id > 1 && pages > l->pages) {
		l->pid = (uint32_t)id;
		l->pages = pages;
	}
	return 0;
}

/* We may be told late, when who was meant is gone already: then nobody else is to go for it. */
void guest_relieve(const struct guest *g, uint64_t pages)
{
	struct largest l = {0};

	for_each(compare, &l);
	if (l.pid && l.all > pages)
		guest_kill(g, (int)l.pid, SIGKILL);
}
