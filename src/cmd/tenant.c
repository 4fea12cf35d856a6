/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tenants.h"
#include "base/json.h"
#include "base/parse.h"
#include "cmd/http.h"
#include "cmd/noted.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Quotas of tenants of the HTTP API. set changes those that are given and leaves the "
	"others; the value none removes one. ls lists them, rm NAME removes all of a tenant's. "
	"They count from the next request on. The tenant '*' stands for all that have none of "
	"their own.",
	"A unit of the budget is a second of processor time, or a GiB of memory limit held for a "
	"second. When processor time or budget is used up, all that the tenant has running is ended, "
	"and nothing starts before the period is over. When one of the network is, nothing is reached "
	"and connections break; nothing is ended.",
	NULL,
};

const struct verb_doc tenant_doc = {
	.usage = {"set NAME [--live N] [--runs-per-minute N] [options]", "ls [--json]", "rm NAME"},
	.paragraphs = paragraphs,
	.examples = {{"An hour of processor time a day, ten sandboxes at once:",
		      "pinfold tenant set agent-1 --live 10 --cpu-seconds 3600/day"},
		     {"What has been used:", "curl -H \"Authorization: Bearer $TOKEN\" "
					     "http://127.0.0.1:8787/v1/usage"}},
};

static int wrong(const char *option, struct err *e)
{
	(void)err_wrap(e, "--%s", option);
	return -EINVAL;
}

static int take_count(const char *option, const char *text, uint64_t max, uint64_t *to,
		      struct err *e)
{
	if (!text)
		return 0;
	if (strcmp(text, "none") == 0) {
		*to = 0;
		return 0;
	}
	if (parse_count(text, to, e) < 0)
		return wrong(option, e);
	if (*to <= max)
		return 0;
	(void)err_set(e, ERR_INVALID, "--%s: too much", option);
	return err_remedy(e, "give a value up to %llu", (unsigned long long)max);
}

static int take_size(const char *option, const char *text, uint64_t *to, struct err *e)
{
	if (!text)
		return 0;
	if (strcmp(text, "none") == 0) {
		*to = 0;
		return 0;
	}
	return parse_size(text, to, e) < 0 ? wrong(option, e) : 0;
}

static int take_period(const char *text, uint64_t *ret_s, struct err *e)
{
	static const struct {
		const char *name;
		uint64_t s;
	} words[] = {{"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 7 * 86400}};
	uint64_t ms = 0;

	for (unsigned i = 0; i < 4; i++)
		if (strcmp(text, words[i].name) == 0) {
			*ret_s = words[i].s;
			return 0;
		}
	if (parse_duration(text, &ms, e) < 0)
		return -EINVAL;
	*ret_s = (ms + 999) / 1000;
	if (*ret_s <= TENANT_PERIOD_MAX)
		return 0;
	(void)err_set(e, ERR_INVALID, "a period of more than a year");
	return err_remedy(e, "use day, week or 30d");
}

/* AMOUNT/PERIOD */
static int take_rate_of(const char *option, const char *text,
			int (*parse)(const char *, uint64_t *, struct err *), uint64_t *to,
			uint64_t *to_period_s, struct err *e)
{
	char amount[32];
	uint64_t n = 0, period = 0;
	const char *slash = text ? strchr(text, '/') : NULL;

	if (!text)
		return 0;
	if (strcmp(text, "none") == 0) {
		*to = *to_period_s = 0;
		return 0;
	}
	if (!slash || slash - text >= (ptrdiff_t)sizeof(amount)) {
		(void)err_set(e, ERR_INVALID, "--%s: \"%.60s\" has no period", option, text);
		return err_remedy(e, "use for example 3600/day; minute, hour, week or 30d do, too");
	}
	(void)snprintf(amount, sizeof(amount), "%.*s", (int)(slash - text), text);
	if (parse(amount, &n, e) < 0 || take_period(slash + 1, &period, e) < 0)
		return wrong(option, e);
	*to = n;
	*to_period_s = period;
	return 0;
}

static int take_rate(const char *option, const char *text, uint64_t *to, uint64_t *to_period_s,
		     struct err *e)
{
	return take_rate_of(option, text, parse_count, to, to_period_s, e);
}

static const char *const egress_names[PINFOLD_PURSE_SUMS] = {"egress-bytes", "egress-connections",
							     "egress-requests"};

static int take_egress(struct tenant *t, const struct request *r, struct err *e)
{
	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++) {
		char option[40];

		(void)snprintf(option, sizeof(option), "total-%s", egress_names[i]);
		if (take_rate_of(option, r->quota_egress[i],
				 i == PINFOLD_PURSE_BYTES ? parse_size : parse_count,
				 &t->egress[i].n, &t->egress[i].period_s, e) < 0)
			return -EINVAL;
	}
	return 0;
}

static int change(struct tenant *t, void *arg, struct err *e)
{
	const struct request *r = arg;

	if (take_count("live", r->quota_live, 1000000, &t->live, e) < 0 ||
	    take_count("runs-per-minute", r->quota_runs, TENANT_RUNS_MAX, &t->runs, e) < 0 ||
	    take_size("total-memory", r->quota_memory, &t->memory, e) < 0 ||
	    take_size("total-disk", r->quota_disk, &t->disk, e) < 0 ||
	    take_rate("cpu-seconds", r->quota_cpu, &t->cpu_s, &t->cpu_period_s, e) < 0 ||
	    take_rate("budget", r->quota_budget, &t->budget, &t->budget_period_s, e) < 0 ||
	    take_egress(t, r, e) < 0)
		return -EINVAL;
	return 0;
}

static int set(int dir, const char *name, struct request *r, struct err *e)
{
	if (!r->quota_live && !r->quota_runs && !r->quota_memory && !r->quota_disk &&
	    !r->quota_cpu && !r->quota_budget && !r->quota_egress[0] && !r->quota_egress[1] &&
	    !r->quota_egress[2]) {
		(void)err_set(e, ERR_INVALID, "tenant set: which quota is missing");
		return err_remedy(e, "pinfold help tenant lists them");
	}
	struct noted n = {.kind = "tenant.set"};
	noted_word(&n, "name", name);
	noted_word(&n, "live", r->quota_live);
	noted_word(&n, "runs_per_minute", r->quota_runs);
	noted_word(&n, "memory", r->quota_memory);
	noted_word(&n, "disk", r->quota_disk);
	noted_word(&n, "cpu_seconds", r->quota_cpu);
	noted_word(&n, "budget", r->quota_budget);
	noted_word(&n, "egress_bytes", r->quota_egress[PINFOLD_PURSE_BYTES]);
	noted_word(&n, "egress_connections", r->quota_egress[PINFOLD_PURSE_CONNECTIONS]);
	noted_word(&n, "egress_requests", r->quota_egress[PINFOLD_PURSE_REQUESTS]);
	int k = noted_begin(&n, e);
	return k < 0 ? k : noted_end(&n, tenant_change(dir, name, change, r, e), e);
}

static int forget(int dir, const char *name, struct err *e)
{
	struct noted n = {.kind = "tenant.remove"};

	noted_word(&n, "name", name);
	int r = noted_begin(&n, e);
	return r < 0 ? r : noted_end(&n, tenant_remove(dir, name, e), e);
}

static const char *rate(uint64_t n, uint64_t period_s, char *text, size_t size)
{
	char span[24];

	(void)snprintf(text, size, "-");
	if (n)
		(void)snprintf(text, size, "%llu/%s", (unsigned long long)n,
			       show_span(period_s * 1000, span, sizeof(span)));
	return text;
}

static const char *count(uint64_t n, char *text, size_t size)
{
	(void)snprintf(text, size, n ? "%llu" : "-", (unsigned long long)n);
	return text;
}

static const char *bytes(uint64_t n, char *text, size_t size)
{
	if (n)
		return show_size(n, text, size);
	return count(0, text, size);
}

/* A line of its own, where somebody has one: they are few. */
static void print_egress(const struct tenant *t)
{
	bool any = false;

	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++) {
		char text[48], size[24], span[24];

		if (!t->egress[i].n)
			continue;
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)t->egress[i].n);
		printf("%s %s %s/%s", any ? "," : "  ", egress_names[i],
		       i == PINFOLD_PURSE_BYTES ? show_size(t->egress[i].n, size, sizeof(size))
						: text,
		       show_span(t->egress[i].period_s * 1000, span, sizeof(span)));
		any = true;
	}
	if (any)
		printf("\n");
}

static void print_list(const struct tenant *list, size_t n)
{
	char a[24], b[24], c[24], d[24], f[48], g[48];

	printf("%-20s  %-6s  %-9s  %-7s  %-7s  %-14s  %s\n", "TENANT", "LIVE", "RUNS/MIN", "MEMORY",
	       "DISK", "CPU-SECONDS", "BUDGET");
	for (size_t i = 0; i < n; i++) {
		const struct tenant *t = &list[i];

		printf("%-20s  %-6s  %-9s  %-7s  %-7s  %-14s  %s\n", t->name,
		       count(t->live, a, sizeof(a)), count(t->runs, b, sizeof(b)),
		       bytes(t->memory, c, sizeof(c)), bytes(t->disk, d, sizeof(d)),
		       rate(t->cpu_s, t->cpu_period_s, f, sizeof(f)),
		       rate(t->budget, t->budget_period_s, g, sizeof(g)));
		print_egress(t);
	}
}

static void put(struct json *j, const char *key, uint64_t n)
{
	if (n)
		json_u64(j, key, n);
	else
		json_none(j, key);
}

static void put_egress(struct json *j, const struct tenant *t)
{
	static const char *const keys[PINFOLD_PURSE_SUMS][2] = {
		{"egress_bytes", "egress_bytes_period_s"},
		{"egress_connections", "egress_connections_period_s"},
		{"egress_requests", "egress_requests_period_s"}};

	for (unsigned i = 0; i < PINFOLD_PURSE_SUMS; i++) {
		put(j, keys[i][0], t->egress[i].n);
		put(j, keys[i][1], t->egress[i].period_s);
	}
}

static int list_all(int dir, const struct request *r, struct err *e)
{
	auto_free struct tenant *list = NULL;
	size_t n = 0;
	struct json j;
	int result = tenant_list(dir, &list, &n, e);

	if (result < 0)
		return result;
	if (!r->json) {
		print_list(list, n);
		return 0;
	}
	show_list_begin(&j);
	for (size_t i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_str(&j, "tenant", list[i].name);
		put(&j, "live", list[i].live);
		put(&j, "runs_per_minute", list[i].runs);
		put(&j, "memory", list[i].memory);
		put(&j, "disk", list[i].disk);
		put(&j, "cpu_seconds", list[i].cpu_s);
		put(&j, "cpu_seconds_period_s", list[i].cpu_period_s);
		put(&j, "budget", list[i].budget);
		put(&j, "budget_period_s", list[i].budget_period_s);
		put_egress(&j, &list[i]);
		json_close(&j, '}');
	}
	return show_list_end(&j);
}

static int act(struct request *r, int argc, char **argv, struct err *e)
{
	struct pinfold_error failure;
	char home[4096];

	if (pinfold_home(home, sizeof(home), &failure) < 0)
		return err_set(e, ERR_INVALID, "%s", failure.message);
	auto_close int dir = http_open_dir(home, e);
	if (dir < 0)
		return dir;
	if (argc == 2 && strcmp(argv[0], "set") == 0)
		return set(dir, argv[1], r, e);
	if (argc == 1 && strcmp(argv[0], "ls") == 0)
		return list_all(dir, r, e);
	if (argc == 2 && strcmp(argv[0], "rm") == 0)
		return forget(dir, argv[1], e);
	(void)err_set(e, ERR_INVALID,
		      "tenant: what is to be done is missing, or too much is there");
	return err_remedy(e, "use pinfold tenant set NAME, ls or rm NAME");
}

int cmd_tenant(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct err e = ERR_INIT;
	char *words[3], *moved[64];
	int used = 0, status = 0, n = 0, behind = 0;

	/* Options stand behind the words that say what to do. */
	while (n < 2 && n < argc && argv[n][0] != '-') {
		words[n] = argv[n];
		n++;
	}
	for (int i = n; i < argc && behind < 63; i++)
		moved[behind++] = argv[i];
	moved[behind] = NULL;
	if (!request_begin(&r, v, behind, moved, &used, &status))
		return status;
	for (int i = used; i < behind && n < 3; i++)
		words[n++] = moved[i];
	return act(&r, n, words, &e) < 0 ? say_failure(&e, r.json) : 0;
}
