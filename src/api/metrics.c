/* SPDX-License-Identifier: Apache-2.0 */
#include "api/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
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

struct metrics {
	pthread_mutex_t lock;
	const struct server *server;
	struct histogram calls[OPS_MAX];
	uint64_t runs[STATUSES];
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

void metrics_call(struct metrics *m, const struct op *op, bool failed, uint64_t us)
{
	size_t b = 0;

	if (!m)
		return;
	while (b < BOUNDS && us > bounds_us[b])
		b++;
	(void)pthread_mutex_lock(&m->lock);
	struct histogram *h = &m->calls[place_of(op)];
	h->bucket[b]++;
	h->sum_us += us;
	h->count++;
	h->failed += failed;
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_run(struct metrics *m, const char *status)
{
	if (!m)
		return;
	(void)pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < STATUSES; i++)
		m->runs[i] += strcmp(statuses[i], status) == 0;
	(void)pthread_mutex_unlock(&m->lock);
}

static void write_calls(FILE *f, const struct metrics *m)
{
	(void)fputs("# HELP pinfold_call_seconds Time of operations, from the request to its end.\n"
		    "# TYPE pinfold_call_seconds histogram\n",
		    f);
	for (size_t i = 0; i < op_count() && i < OPS_MAX; i++) {
		const struct histogram *h = &m->calls[i];
		const char *name = op_at(i)->name;
		uint64_t sum = 0;

		if (!h->count)
			continue;
		for (size_t b = 0; b < BOUNDS; b++) {
			sum += h->bucket[b];
			(void)fprintf(
				f, "pinfold_call_seconds_bucket{operation=\"%s\",le=\"%g\"} %llu\n",
				name, (double)bounds_us[b] / 1e6, (unsigned long long)sum);
		}
		(void)fprintf(f,
			      "pinfold_call_seconds_bucket{operation=\"%s\",le=\"+Inf\"} %llu\n"
			      "pinfold_call_seconds_sum{operation=\"%s\"} %.6f\n"
			      "pinfold_call_seconds_count{operation=\"%s\"} %llu\n",
			      name, (unsigned long long)h->count, name, (double)h->sum_us / 1e6,
			      name, (unsigned long long)h->count);
	}
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

char *metrics_text(struct metrics *m, struct api *api, size_t *ret_len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);

	if (!f)
		return NULL;
	(void)pthread_mutex_lock(&m->lock);
	write_calls(f, m);
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
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
