/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/pressure.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/fd.h"

#define STALLS "/proc/pressure/memory"
#define AFTER_US 5000000u /* how long a trigger's word counts: avg10 is slow to tell */
#define MUCH 1000u	  /* avg10 of 10 %: of ten seconds one was lost */
#define OVER 200u	  /* and of 2 %: it is over */
/* Thousandths of all memory that are available. */
#define ALMOST_NONE 25u
#define VERY_LITTLE 50u
#define LITTLE 200u

/* 300 ms in 2 s. Shorter windows, and others than multiples of 2 s, only root may have. */
static const char *const triggers[2] = {"some 300000 2000000", "full 200000 2000000"};

/* Only to the kernel's own file: this writes. */
static int open_trigger(const char *path, const char *text)
{
	struct statfs fs;
	auto_close int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstatfs(fd, &fs) < 0 ||
	    (fs.f_type != PROC_SUPER_MAGIC && fs.f_type != CGROUP2_SUPER_MAGIC) ||
	    write(fd, text, strlen(text) + 1) < 0)
		return FD_NONE;
	return take_fd(&fd);
}

void pressure_open(struct pressure *p)
{
	const char *own = getenv("PINFOLD_PRESSURE");

	*p = (struct pressure){.path = own ? own : STALLS};
	for (int i = 0; i < 2; i++)
		p->fd[i] = open_trigger(p->path, triggers[i]);
}

void pressure_close(struct pressure *p)
{
	fd_close(&p->fd[0]);
	fd_close(&p->fd[1]);
}

void pressure_stalled(struct pressure *p, unsigned which, uint64_t now_us)
{
	p->stalled_us[which] = now_us;
	pressure_check(p, now_us);
}

static void read_text(const char *path, char *text, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	if (fd < 0 || fd_read_max(fd, text, size - 1, &len) < 0)
		len = 0;
	text[len] = '\0';
}

void pressure_check(struct pressure *p, uint64_t now_us)
{
	struct pressure_look look = {.available = 1000, .own = strcmp(p->path, STALLS) != 0};
	unsigned *avg[2] = {&look.some, &look.full};
	char text[4096];

	read_text(p->path, text, sizeof(text));
	pressure_parse(text, &look);
	read_text("/proc/meminfo", text, sizeof(text));
	pressure_parse_memory(text, &look);
	for (int i = 0; i < 2; i++)
		if (p->stalled_us[i] && now_us - p->stalled_us[i] < AFTER_US && *avg[i] < MUCH)
			*avg[i] = MUCH;
	p->level = pressure_judge(&look, p->level);
}

enum pressure_level pressure_judge(const struct pressure_look *look, enum pressure_level before)
{
	bool counts = look->own || look->available < LITTLE;

	if (look->available < ALMOST_NONE || (counts && look->full >= MUCH))
		return PRESSURE_HEAVY;
	if (look->available < VERY_LITTLE || (counts && look->some >= MUCH))
		return PRESSURE_SOME;
	/* Not over yet: what is made now would be given back in a moment. */
	if (before != PRESSURE_NONE && counts && look->some >= OVER)
		return PRESSURE_SOME;
	return PRESSURE_NONE;
}

static unsigned avg10(const char *text, const char *line)
{
	unsigned whole = 0, part = 0;
	const char *p = strstr(text, line);

	if (!p || sscanf(p + strlen(line), " avg10=%3u.%2u", &whole, &part) != 2)
		return 0;
	return whole * 100 + part;
}

void pressure_parse(const char *stalls, struct pressure_look *ret)
{
	ret->some = avg10(stalls, "some");
	ret->full = avg10(stalls, "full");
}

void pressure_parse_memory(const char *meminfo, struct pressure_look *ret)
{
	unsigned long long total = 0, available = 0;
	const char *t = strstr(meminfo, "MemTotal:"), *a = strstr(meminfo, "MemAvailable:");

	if (t && a && sscanf(t, "MemTotal: %llu", &total) == 1 &&
	    sscanf(a, "MemAvailable: %llu", &available) == 1 && total > 0)
		ret->available = (unsigned)(available * 1000 / total);
}
