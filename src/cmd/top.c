/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/pinfold.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

#define INTERVAL_MS 2000u
#define INTERVAL_MAX_MS 3600000u
#define FIRST_MS 250 /* processor time is what was used between two looks */
#define TENANTS_SHOWN 64u

static const char *const paragraphs[] = {
	"Shows what lives in the daemon: on top how many run and wait and the sandboxes that wait "
	"ready-made, then each sandbox, the busiest first, then each tenant. Everybody sees their "
	"own, root sees all. Ctrl-C ends it.",
	NULL,
};

const struct verb_doc top_doc = {
	.usage = {"[--once] [--interval DURATION] [--json]"},
	.paragraphs = paragraphs,
	.examples = {{"Watch:", "pinfold top"}, {"In a script:", "pinfold top --json"}},
};

/* One look. */
struct look {
	struct pinfold_daemon_info daemon;
	struct pinfold_sandbox_info *list;
	size_t n;
	uint64_t at_ms;
};

struct line {
	const struct pinfold_sandbox_info *s;
	double cpu; /* per cent of one processor; < 0: not known */
	char tenant[72];
	const char *name;
};

static int look(struct look *l, struct pinfold_error *failure)
{
	*l = (struct look){.at_ms = show_now_ms()};
	if (pinfold_daemon_info(&l->daemon, failure) < 0)
		return -1;
	return pinfold_sandbox_list(&l->list, &l->n, failure);
}

static const char *metadata(const struct pinfold_sandbox_info *s, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = s->metadata; *p; p += strlen(p) + 1)
		if (strncmp(p, key, n) == 0 && p[n] == '=')
			return p + n + 1;
	return "";
}

static double percent(const struct look *before, const struct look *now,
		      const struct pinfold_sandbox_info *s)
{
	uint64_t used = 0, ms = now->at_ms > s->created_ms ? now->at_ms - s->created_ms : 1;

	if (s->cpu_ms == UINT64_MAX)
		return -1;
	for (size_t i = 0; i < before->n; i++)
		if (strcmp(before->list[i].id, s->id) == 0 && before->list[i].cpu_ms <= s->cpu_ms) {
			used = before->list[i].cpu_ms;
			ms = now->at_ms > before->at_ms ? now->at_ms - before->at_ms : 1;
		}
	return 100.0 * (double)(s->cpu_ms - used) / (double)(ms ? ms : 1);
}

static int busiest(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->cpu < y->cpu ? 1 : x->cpu > y->cpu ? -1 : strcmp(x->s->id, y->s->id);
}

/* Those that live, busiest first; malloced. */
static struct line *lines_of(const struct look *before, const struct look *now, size_t *ret_n)
{
	struct line *all = calloc(now->n + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < now->n; i++) {
		const struct pinfold_sandbox_info *s = &now->list[i];
		const char *tenant = metadata(s, "pinfold.tenant");

		if (s->ended_ms)
			continue;
		all[n] = (struct line){.s = s, .cpu = percent(before, now, s)};
		all[n].name = metadata(s, "pinfold.name");
		if (!*all[n].name)
			all[n].name = metadata(s, "pinfold.used");
		if (*tenant)
			(void)snprintf(all[n].tenant, sizeof(all[n].tenant), "%s", tenant);
		else
			(void)snprintf(all[n].tenant, sizeof(all[n].tenant), "uid-%u", s->uid);
		n++;
	}
	if (all)
		qsort(all, n, sizeof(*all), busiest);
	*ret_n = n;
	return all;
}

struct sum {
	const char *tenant;
	size_t live;
	double cpu;
	uint64_t memory;
};

static size_t sum_up(const struct line *lines, size_t n, struct sum sums[TENANTS_SHOWN])
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < k && strcmp(sums[at].tenant, lines[i].tenant) != 0)
			at++;
		if (at == TENANTS_SHOWN)
			continue;
		if (at == k)
			sums[k++] = (struct sum){.tenant = lines[i].tenant};
		sums[at].live++;
		sums[at].cpu += lines[i].cpu > 0 ? lines[i].cpu : 0;
		if (lines[i].s->memory_bytes != UINT64_MAX)
			sums[at].memory += lines[i].s->memory_bytes;
	}
	return k;
}

static void print_daemon(const struct pinfold_daemon_info *d)
{
	printf("running %u of %u, queue %u of %u, memory pressure %s; waiting:", d->running,
	       d->running_max, d->queued, d->queued_max, d->pressure);
	for (unsigned i = 0; i < PINFOLD_POOLS; i++)
		if (d->pools[i].waiting || d->pools[i].wanted)
			printf(" %s %u/%u", d->pools[i].kind, d->pools[i].waiting,
			       d->pools[i].wanted);
	printf("\n\n");
}

static void print_line(const struct line *l, uint64_t now_ms)
{
	const struct pinfold_sandbox_info *s = l->s;
	char age[24], cpu[24] = "-", memory[24] = "-", processes[24] = "-";

	(void)show_span(now_ms > s->created_ms ? now_ms - s->created_ms : 0, age, sizeof(age));
	if (l->cpu >= 0)
		(void)snprintf(cpu, sizeof(cpu), "%.1f", l->cpu);
	if (s->memory_bytes != UINT64_MAX)
		(void)show_size(s->memory_bytes, memory, sizeof(memory));
	if (s->processes != UINT64_MAX)
		(void)snprintf(processes, sizeof(processes), "%llu",
			       (unsigned long long)s->processes);
	printf("%-29s  %-12.12s  %-14.14s  %5s  %6s  %7s  %5s  %-8s  ", s->id,
	       *l->name ? l->name : "-", l->tenant, age, cpu, memory, processes, s->status);
	show_text(s->command);
}

static void print_text(const struct look *now, const struct line *lines, size_t n, size_t rows)
{
	struct sum sums[TENANTS_SHOWN];
	char memory[24];
	size_t k = sum_up(lines, n, sums), room = rows > k + 6 ? rows - k - 6 : 1;

	print_daemon(&now->daemon);
	printf("%-29s  %-12s  %-14s  %5s  %6s  %7s  %5s  %-8s  %s\n", "ID", "NAME", "TENANT", "AGE",
	       "CPU%", "MEMORY", "PROCS", "STATUS", "COMMAND");
	for (size_t i = 0; i < n && i < room; i++)
		print_line(&lines[i], now->at_ms);
	if (n > room)
		printf("and %zu more\n", n - room);
	if (k)
		printf("\n%-20s  %5s  %6s  %7s\n", "TENANT", "LIVE", "CPU%", "MEMORY");
	for (size_t i = 0; i < k; i++)
		printf("%-20.20s  %5zu  %6.1f  %7s\n", sums[i].tenant, sums[i].live, sums[i].cpu,
		       show_size(sums[i].memory, memory, sizeof(memory)));
}

static void put_or_none(struct json *j, const char *key, uint64_t n)
{
	if (n == UINT64_MAX)
		json_none(j, key);
	else
		json_u64(j, key, n);
}

static void put_line(struct json *j, const struct line *l)
{
	json_open(j, NULL, '{');
	json_str(j, "id", l->s->id);
	json_str(j, "name", *l->name ? l->name : NULL);
	json_str(j, "tenant", l->tenant);
	json_str(j, "status", l->s->status);
	show_time(j, "created", l->s->created_ms);
	put_or_none(j, "cpu_percent_milli", l->cpu < 0 ? UINT64_MAX : (uint64_t)(l->cpu * 1000));
	put_or_none(j, "memory_bytes", l->s->memory_bytes);
	put_or_none(j, "processes", l->s->processes);
	json_bytes(j, "command", l->s->command, strlen(l->s->command));
	json_close(j, '}');
}

static int print_json(const struct look *now, const struct line *lines, size_t n)
{
	const struct pinfold_daemon_info *d = &now->daemon;
	struct json j;

	json_init(&j, STDOUT_FILENO);
	json_open(&j, NULL, '{');
	json_u64(&j, "running", d->running);
	json_u64(&j, "running_max", d->running_max);
	json_u64(&j, "queued", d->queued);
	json_u64(&j, "queued_max", d->queued_max);
	json_str(&j, "pressure", d->pressure);
	json_open(&j, "pools", '{');
	for (unsigned i = 0; i < PINFOLD_POOLS; i++) {
		json_open(&j, d->pools[i].kind, '{');
		json_u64(&j, "waiting", d->pools[i].waiting);
		json_u64(&j, "wanted", d->pools[i].wanted);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_open(&j, "items", '[');
	for (size_t i = 0; i < n; i++)
		put_line(&j, &lines[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	return show_end(&j);
}

static int print(const struct request *r, const struct look *before, const struct look *now,
		 bool clear)
{
	struct winsize size;
	size_t n = 0, rows = SIZE_MAX;
	auto_free struct line *lines = lines_of(before, now, &n);

	if (!lines)
		return -ENOMEM;
	if (r->json)
		return print_json(now, lines, n);
	if (clear && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row)
		rows = size.ws_row;
	if (clear)
		printf("\033[H\033[J");
	print_text(now, lines, n, rows);
	return fflush(stdout) == 0 ? 0 : -errno;
}

int cmd_top(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct look before = {0}, now = {0};
	struct pinfold_error failure;
	struct err e = ERR_INIT;
	int used = 0, status = 0, result = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, r.json);
	bool stay = !r.once && !r.json && isatty(STDOUT_FILENO);
	int wait_ms = FIRST_MS;
	if (look(&before, &failure) < 0)
		return say_library_failure(&failure, r.json);
	do {
		(void)poll(NULL, 0, wait_ms);
		result = look(&now, &failure);
		if (result < 0)
			break;
		if (print(&r, &before, &now, stay) < 0)
			stay = false; /* nobody reads it */
		pinfold_sandbox_list_free(before.list);
		before = now;
		now = (struct look){0};
		wait_ms = (int)(r.interval_ms > INTERVAL_MAX_MS ? INTERVAL_MAX_MS
				: r.interval_ms			? r.interval_ms
								: INTERVAL_MS);
	} while (stay);
	pinfold_sandbox_list_free(before.list);
	return result < 0 ? say_library_failure(&failure, r.json) : 0;
}
