/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenants have used, in a file `usage` that is replaced as a whole, so that it is there whole
 * or as it was before. Lines:
 *
 *	tenant NAME CPU_MS SINCE_S UNITS SINCE_S MINUTE AT_S CPU_ALL_MS UNITS_ALL_MS RUNS_ALL
 *	egress ALL BEFORE SINCE_S ALL BEFORE SINCE_S ALL BEFORE SINCE_S
 *	sandbox ID CPU_MS
 *
 * MINUTE is how many were started in the minute before AT_S. CPU_MS of a sandbox is what its
 * tenant's account has of it. A file that is damaged is an error: nobody gets his budget anew
 * because of it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/quota_int.h"
#include "api/tokens.h"
#include "base/fd.h"
#include "base/id.h"

#define FILE_NAME "usage"
#define FILE_MAX (4u << 20)

static bool read_tenant(struct quotas *q, const char *line)
{
	struct use got = {0};
	uint64_t minute = 0, at_s = 0, now = q->wall_s();

	if (sscanf(line,
		   "tenant %63s %" SCNu64 " %" SCNu64 " %lf %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   got.name, &got.cpu_ms, &got.cpu_since_s, &got.units, &got.units_since_s, &minute,
		   &at_s, &got.cpu_all_ms, &got.units_all_ms, &got.runs_all) != 10 ||
	    !tenant_is_valid(got.name) || !(got.units >= 0))
		return false;
	struct use *u = use_find(q, got.name, true);
	if (!u)
		return false;
	got.next = u->next;
	*u = got;
	/* When in that minute is not known: as late as can be. */
	u->runs_at_s = q->now_ms() / 1000;
	if (at_s + 60 > now)
		u->runs[u->runs_at_s % WINDOW_S] = (uint32_t)minute;
	return true;
}

/* Bytes, connections, requests; files of before have none. */
static bool read_egress(struct quotas *q, const char *line, const char *tenant)
{
	struct use *u = use_find(q, tenant, false);
	int at = 6, n = 0;

	for (unsigned i = 0; u && i < PINFOLD_PURSE_SUMS; i++, at += n)
		if (sscanf(line + at, " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &u->egress[i].all,
			   &u->egress[i].before, &u->egress[i].since_s, &n) != 3)
			return false;
	return u && line[at] == '\0';
}

/* Without a tenant yet: quota_compare() finds out whether it lives, and whose it is. */
static bool read_sandbox(struct quotas *q, const char *line, const char *tenant)
{
	char id[32];
	uint64_t cpu_ms = 0;
	struct use *u = use_find(q, tenant, false);

	if (!u || sscanf(line, "sandbox %31s %" SCNu64, id, &cpu_ms) != 2 || !id_is("sbx", id))
		return false;
	struct lease *l = lease_add(q, u, 0, 0);
	if (!l)
		return false;
	memcpy(l->sandbox, id, sizeof(l->sandbox));
	l->box = true;
	l->cpu_ms = cpu_ms;
	return true;
}

static int read_lines(struct quotas *q, char *text, struct err *e)
{
	char *save = NULL, tenant[TENANT_SIZE] = "";
	unsigned n = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool good = strncmp(line, "tenant ", 7) == 0   ? read_tenant(q, line)
			    : strncmp(line, "egress ", 7) == 0 ? read_egress(q, line, tenant)
							       : read_sandbox(q, line, tenant);

		n++;
		if (good && strncmp(line, "tenant ", 7) == 0)
			(void)sscanf(line, "tenant %63s", tenant);
		if (good)
			continue;
		(void)err_set(e, ERR_INTERNAL,
			      "the file of what tenants have used is damaged, line %u", n);
		return err_remedy(e, "remove api/state/usage in the data directory: then nothing "
				     "counts as used");
	}
	return 0;
}

int quota_load(struct quotas *q, struct err *e)
{
	auto_close int fd = openat(q->state, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = malloc(FILE_MAX + 1);
	size_t len = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open what tenants have used");
	if (!text || fd_read_max(fd, text, FILE_MAX, &len) < 0)
		return err_sys(e, "read what tenants have used");
	text[len] = '\0';
	return read_lines(q, text, e);
}

static uint64_t in_minute(const struct quotas *q, const struct use *u)
{
	uint64_t sum = 0;

	if (u->runs_at_s + WINDOW_S <= q->now_ms() / 1000)
		return 0;
	for (unsigned i = 0; i < WINDOW_S; i++)
		sum += u->runs[i];
	return sum;
}

static void write_use(FILE *f, const struct quotas *q, const struct use *u)
{
	(void)fprintf(f,
		      "tenant %s %" PRIu64 " %" PRIu64 " %.6f %" PRIu64 " %" PRIu64 " %" PRIu64
		      " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		      u->name, u->cpu_ms, u->cpu_since_s, u->units, u->units_since_s,
		      in_minute(q, u), q->wall_s(), u->cpu_all_ms, u->units_all_ms, u->runs_all);
	(void)fputs("egress", f);
	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++)
		(void)fprintf(f, " %" PRIu64 " %" PRIu64 " %" PRIu64, u->egress[i].all,
			      u->egress[i].before, u->egress[i].since_s);
	(void)fputs("\n", f);
	for (const struct lease *l = q->leases; l; l = l->next)
		if (l->use == u && l->box && l->sandbox[0])
			(void)fprintf(f, "sandbox %s %" PRIu64 "\n", l->sandbox, l->cpu_ms);
}

int quota_save(struct quotas *q)
{
	auto_free char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -errno;
	(void)pthread_mutex_lock(&q->lock);
	for (const struct use *u = q->users; u; u = u->next)
		write_use(f, q, u);
	q->dirty = false;
	(void)pthread_mutex_unlock(&q->lock);
	if (fclose(f) != 0)
		return -errno;
	auto_close int fd = openat(q->state, FILE_NAME ".new",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, text, len) < 0 || fdatasync(fd) < 0 ||
	    renameat(q->state, FILE_NAME ".new", q->state, FILE_NAME) < 0) {
		int r = -errno;

		(void)pthread_mutex_lock(&q->lock);
		q->dirty = true;
		(void)pthread_mutex_unlock(&q->lock);
		return r;
	}
	return 0;
}
