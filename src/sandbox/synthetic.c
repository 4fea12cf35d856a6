/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/synthetic.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

#define CPUINFO_MAX 65536

unsigned synthetic_cpus(uint64_t cpus_milli)
{
	cpu_set_t set;
	long host = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	uint64_t want = (cpus_milli + 999) / 1000;

	if (host < 1)
		host = 1;
	return want < 1 ? 1 : want > (uint64_t)host ? (unsigned)host : (unsigned)want;
}

/* The host's own blocks, as many as the sandbox has processors: flags and model stay true. */
char *synthetic_cpuinfo(uint64_t cpus_milli)
{
	char *text = malloc(CPUINFO_MAX);
	auto_close int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	if (!text)
		return NULL;
	if (fd < 0 || fd_read_max(fd, text, CPUINFO_MAX - 1, &len) < 0)
		len = 0; /* an empty cpuinfo is what a program gets elsewhere, too */
	text[len] = '\0';
	char *end = text;
	for (unsigned i = 0; i < synthetic_cpus(cpus_milli); i++) {
		char *gap = strstr(end, "\n\n");

		if (!gap)
			return text;
		end = gap + 2;
	}
	*end = '\0';
	return text;
}

char *synthetic_meminfo(uint64_t bytes)
{
	char *text = NULL;
	unsigned long long kb = bytes / 1024;
	int n = asprintf(&text,
			 "MemTotal:       %8llu kB\nMemFree:        %8llu kB\n"
			 "MemAvailable:   %8llu kB\nBuffers:        %8d kB\n"
			 "Cached:         %8d kB\nSwapCached:     %8d kB\n"
			 "Active:         %8d kB\nInactive:       %8d kB\n"
			 "SwapTotal:      %8d kB\nSwapFree:       %8d kB\n"
			 "Dirty:          %8d kB\nWriteback:      %8d kB\n"
			 "AnonPages:      %8d kB\nMapped:         %8d kB\n"
			 "Shmem:          %8d kB\nSlab:           %8d kB\n"
			 "SReclaimable:   %8d kB\nSUnreclaim:     %8d kB\n"
			 "CommitLimit:    %8llu kB\nCommitted_AS:   %8d kB\n",
			 kb, kb, kb, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kb, 0);

	return n < 0 ? NULL : text;
}

char *synthetic_stat(uint64_t cpus_milli, int64_t start_s)
{
	static const char zeros[] = "0 0 0 0 0 0 0 0 0 0\n";
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	(void)fprintf(f, "cpu  %s", zeros);
	for (unsigned i = 0; i < synthetic_cpus(cpus_milli); i++)
		(void)fprintf(f, "cpu%u %s", i, zeros);
	(void)fprintf(f, "intr 0\nctxt 0\nbtime %lld\nprocesses 2\nprocs_running 1\n",
		      (long long)start_s);
	(void)fprintf(f, "procs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n");
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
