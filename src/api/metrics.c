/* SPDX-License-Identifier: Apache-2.0 */
#include "api/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/quota.h"
#include "api/server.h"
#include "api/worker.h"
#include "base/fd.h"
#include "pinfold/pinfold.h"

#define OPS_MAX 128u

static const uint64_t bounds_us[] = {500,    1000,   2500,    5000,    10000,	 25000,	   50000,
				     100000, 250000, 1000000, 5000000, 30000000, 120000000};
#define BOUNDS (sizeof(bounds_us) / sizeof(*bounds_us))

struct histogram {
	uint64_t bucket[BOUNDS + 1], sum_us, count, failed;
};

static const char *const statuses[] = {"exited", "signaled", "timeout", "oom", "killed", "failed"};
#define STATUSES (sizeof(statuses) / sizeof(*statuses))

static const char *const limits[] = {"time",   "cpu_time", "memory", "pids", "disk",
				     "nofile", "inodes",   "output", "other"};
#define LIMITS (sizeof(limits) / sizeof(*limits))

static const char *const phases[PHASES] = {[PHASE_START] = "start", [PHASE_COMMAND] = "command"};

struct metrics {
	pthread_mutex_t lock;
	const struct server *server;
	struct histogram calls[OPS_MAX], phases[PHASES];
	uint64_t runs[STATUSES], limits[LIMITS], denials, alerts;
};

int metrics_new(struct metrics **ret, struct err *e)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return err_sys(e, "metrics");
	(void)pthread_mutex_init(&m->lock, NULL);
	*ret = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (m)
		(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

void metrics_server(struct metrics *m, const struct server *s)
{
	m->server = s;
}

static size_t place_of(const struct op *op)
{
	size_t i = 0;

	while (i < op_count() && op_at(i) != op)
		i++;
	return i < OPS_MAX ? i : OPS_MAX - 1;
}

static void add_to(struct histogram *h, uint64_t us)
{
	size_t b = 0;

	while (b < BOUNDS && us > bounds_us[b])
		b++;
	h->bucket[b]++;
	h->sum_us += us;
	h->count++;
}

uint64_t metrics_now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void metrics_call(struct metrics *m, const struct op *op, bool failed, uint64_t us)
{
	if (!m)
		return;
	(void)pthread_mutex_lock(&m->lock);
	struct histogram *h = &m->calls[place_of(op)];
	add_to(h, us);
	h->failed += failed;
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_phase(struct metrics *m, enum phase p, uint64_t us)
{
	if (!m)
		return;
	(void)pthread_mutex_lock(&m->lock);
	add_to(&m->phases[p], us);
	(void)pthread_mutex_unlock(&m->lock);
}

static unsigned limit_of(const char *kind)
{
	unsigned i = 0;

	while (i < LIMITS - 1 && strcmp(limits[i], kind) != 0)
		i++;
	return i;
}

void metrics_run(struct metrics *m, const struct metrics_ended *ended)
{
	if (!m)
		return;
	(void)pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < STATUSES; i++)
		m->runs[i] += strcmp(statuses[i], ended->status) == 0;
	if (ended->limit)
		m->limits[limit_of(ended->limit)]++;
	m->denials += ended->denials;
	m->alerts += ended->alerts;
	add_to(&m->phases[PHASE_COMMAND], ended->wall_us);
	(void)pthread_mutex_unlock(&m->lock);
}

static void write_histogram(FILE *f, const char *metric, const char *label, const char *name,
			    const struct histogram *h)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < BOUNDS; b++) {
		sum += h->bucket[b];
		(void)fprintf(f, "%s_bucket{%s=\"%s\",le=\"%g\"} %llu\n", metric, label, name,
			      (double)bounds_us[b] / 1e6, (unsigned long long)sum);
	}
	(void)fprintf(f,
		      "%s_bucket{%s=\"%s\",le=\"+Inf\"} %llu\n"
		      "%s_sum{%s=\"%s\"} %.6f\n"
		      "%s_count{%s=\"%s\"} %llu\n",
		      metric, label, name, (unsigned long long)h->count, metric, label, name,
		      (double)h->sum_us / 1e6, metric, label, name, (unsigned long long)h->count);
}

static void write_phases(FILE *f, const struct metrics *m)
{
	(void)fputs("# HELP pinfold_run_phase_seconds Time of runs: until the command runs, and "
		    "the command.\n# TYPE pinfold_run_phase_seconds histogram\n",
		    f);
	for (unsigned i = 0; i < PHASES; i++)
		write_histogram(f, "pinfold_run_phase_seconds", "phase", phases[i], &m->phases[i]);
}

static void write_calls(FILE *f, const struct metrics *m)
{
	(void)fputs("# HELP pinfold_call_seconds Time of operations, from the request to its end.\n"
		    "# TYPE pinfold_call_seconds histogram\n",
		    f);
	for (size_t i = 0; i < op_count() && i < OPS_MAX; i++)
		if (m->calls[i].count)
			write_histogram(f, "pinfold_call_seconds", "operation", op_at(i)->name,
					&m->calls[i]);
	(void)fputs("# HELP pinfold_call_errors_total Operations that failed.\n"
		    "# TYPE pinfold_call_errors_total counter\n",
		    f);
	for (size_t i = 0; i < op_count() && i < OPS_MAX; i++)
		if (m->calls[i].failed)
			(void)fprintf(f, "pinfold_call_errors_total{operation=\"%s\"} %llu\n",
				      op_at(i)->name, (unsigned long long)m->calls[i].failed);
}

static void write_runs(FILE *f, const struct metrics *m)
{
	(void)fputs("# HELP pinfold_runs_total Runs that have ended, by how.\n"
		    "# TYPE pinfold_runs_total counter\n",
		    f);
	for (unsigned i = 0; i < STATUSES; i++)
		(void)fprintf(f, "pinfold_runs_total{status=\"%s\"} %llu\n", statuses[i],
			      (unsigned long long)m->runs[i]);
	(void)fputs("# HELP pinfold_limits_hit_total Runs that hit a limit, by which.\n"
		    "# TYPE pinfold_limits_hit_total counter\n",
		    f);
	for (unsigned i = 0; i < LIMITS; i++)
		(void)fprintf(f, "pinfold_limits_hit_total{limit=\"%s\"} %llu\n", limits[i],
			      (unsigned long long)m->limits[i]);
	(void)fprintf(f,
		      "# HELP pinfold_denials_total What was refused inside runs.\n"
		      "# TYPE pinfold_denials_total counter\n"
		      "pinfold_denials_total %llu\n"
		      "# HELP pinfold_alerts_total Alerts that runs raised.\n"
		      "# TYPE pinfold_alerts_total counter\n"
		      "pinfold_alerts_total %llu\n",
		      (unsigned long long)m->denials, (unsigned long long)m->alerts);
}

/* One metric of every tenant. Names of tenants have no character that would need escaping. */
struct row {
	FILE *f;
	const char *metric;
	uint64_t (*value)(const struct quota_sum *s);
};

static void write_row(const struct quota_sum *s, void *arg)
{
	const struct row *r = arg;

	(void)fprintf(r->f, "%s{tenant=\"%s\"} %llu\n", r->metric, s->tenant,
		      (unsigned long long)r->value(s));
}

static void write_refused(const struct quota_sum *s, void *arg)
{
	for (enum quota i = 0; i < QUOTAS; i++)
		if (s->refused[i])
			(void)fprintf(arg,
				      "pinfold_tenant_refused_total{tenant=\"%s\",quota=\"%s\"} "
				      "%llu\n",
				      s->tenant, quota_name(i), (unsigned long long)s->refused[i]);
}

static uint64_t sum_live(const struct quota_sum *s)
{
	return s->live;
}

static uint64_t sum_memory(const struct quota_sum *s)
{
	return s->memory;
}

static uint64_t sum_runs(const struct quota_sum *s)
{
	return s->runs;
}

static uint64_t sum_cpu(const struct quota_sum *s)
{
	return s->cpu_ms;
}

static uint64_t sum_units(const struct quota_sum *s)
{
	return s->units_ms;
}

static uint64_t sum_stopped(const struct quota_sum *s)
{
	return s->stopped;
}

static uint64_t sum_bytes(const struct quota_sum *s)
{
	return s->egress[PINFOLD_PURSE_BYTES];
}

static uint64_t sum_connections(const struct quota_sum *s)
{
	return s->egress[PINFOLD_PURSE_CONNECTIONS];
}

static uint64_t sum_requests(const struct quota_sum *s)
{
	return s->egress[PINFOLD_PURSE_REQUESTS];
}

static void write_tenants(FILE *f, struct quotas *q)
{
	static const struct {
		const char *metric, *help, *type;
		uint64_t (*value)(const struct quota_sum *s);
	} rows[] = {
		{"pinfold_tenant_live", "Sandboxes and runs of a tenant.", "gauge", sum_live},
		{"pinfold_tenant_memory_limit_bytes", "Their memory limits.", "gauge", sum_memory},
		{"pinfold_tenant_starts_total", "What a tenant started.", "counter", sum_runs},
		{"pinfold_tenant_cpu_milliseconds_total", "Processor time.", "counter", sum_cpu},
		{"pinfold_tenant_milliunits_total", "Of the budget.", "counter", sum_units},
		{"pinfold_tenant_egress_bytes_total", "Of the network, both ways.", "counter",
		 sum_bytes},
		{"pinfold_tenant_egress_connections_total", "To hosts that policies allow.",
		 "counter", sum_connections},
		{"pinfold_tenant_egress_requests_total", "Of HTTP that was looked into.", "counter",
		 sum_requests},
		{"pinfold_tenant_stopped_total", "Ended because a quota was used up.", "counter",
		 sum_stopped},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct row r = {f, rows[i].metric, rows[i].value};

		(void)fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", rows[i].metric, rows[i].help,
			      rows[i].metric, rows[i].type);
		quota_each(q, write_row, &r);
	}
	(void)fputs("# HELP pinfold_tenant_refused_total Refused because of a quota.\n"
		    "# TYPE pinfold_tenant_refused_total counter\n",
		    f);
	quota_each(q, write_refused, f);
}

static void write_gauge(FILE *f, const char *name, const char *help, uint64_t n)
{
	(void)fprintf(f, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name,
		      strstr(name, "_total") ? "counter" : "gauge", name, (unsigned long long)n);
}

static void write_live(FILE *f)
{
	struct pinfold_sandbox_info *list = NULL;
	struct pinfold_error failure;
	size_t n = 0, live = 0, held = 0;

	if (pinfold_sandbox_list(&list, &n, &failure) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		live += !list[i].ended_ms;
		held += !list[i].ended_ms && list[i].detached;
	}
	pinfold_sandbox_list_free(list);
	write_gauge(f, "pinfold_sandboxes", "Sandboxes that are there.", live);
	write_gauge(f, "pinfold_sandboxes_held", "Those that live by themselves.", held);
}

static void write_daemon(FILE *f)
{
	struct pinfold_daemon_info d;
	struct pinfold_error ignored;

	if (pinfold_daemon_info(&d, &ignored) < 0)
		return;
	write_gauge(f, "pinfold_running", "Runs and sandboxes that are somebody's.", d.running);
	write_gauge(f, "pinfold_running_max", "How many may be.", d.running_max);
	write_gauge(f, "pinfold_queue", "Requests that wait for a place.", d.queued);
	write_gauge(f, "pinfold_queue_max", "How many may.", d.queued_max);
	(void)fputs("# HELP pinfold_pool_waiting Sandboxes that wait ready-made.\n"
		    "# TYPE pinfold_pool_waiting gauge\n",
		    f);
	for (unsigned i = 0; i < PINFOLD_POOLS; i++)
		(void)fprintf(f, "pinfold_pool_waiting{kind=\"%s\"} %u\n", d.pools[i].kind,
			      d.pools[i].waiting);
	(void)fputs("# HELP pinfold_pool_wanted How many are to wait.\n"
		    "# TYPE pinfold_pool_wanted gauge\n",
		    f);
	for (unsigned i = 0; i < PINFOLD_POOLS; i++)
		(void)fprintf(f, "pinfold_pool_wanted{kind=\"%s\"} %u\n", d.pools[i].kind,
			      d.pools[i].wanted);
}

char *metrics_text(struct metrics *m, struct api *api, size_t *ret_len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);

	if (!f)
		return NULL;
	(void)pthread_mutex_lock(&m->lock);
	write_calls(f, m);
	write_phases(f, m);
	write_runs(f, m);
	if (m->server) {
		struct server_counts n;

		server_count(m->server, &n);
		write_gauge(f, "pinfold_connections", "Connections that are open.", n.connections);
		write_gauge(f, "pinfold_event_streams", "Streams of events that are open.",
			    n.streams);
		write_gauge(f, "pinfold_connections_total", "Connections so far.", n.accepted);
		write_gauge(f, "pinfold_requests_total", "Requests so far.", n.requests);
		write_gauge(f, "pinfold_refused_total",
			    "Connections and requests that were refused before they were a call.",
			    n.refused);
		write_gauge(
			f, "pinfold_dropped_total",
			"Connections that were closed because their client did not send or read, or "
			"idled when there was no room.",
			n.dropped);
	}
	(void)pthread_mutex_unlock(&m->lock);
	write_gauge(f, "pinfold_calls_running", "Calls that run.", workers_busy(api->workers));
	write_live(f);
	write_daemon(f);
	write_tenants(f, api->quotas);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
