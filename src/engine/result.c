/* SPDX-License-Identifier: Apache-2.0 */
/* The result document of the contract. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/utf8.h"
#include "deps/lock.h"
#include "engine/egress_live.h"
#include "wire/msg.h"

static void write_stream(struct json *j, const char *key, struct capture *c, const char *artifact)
{
	struct capture_view v;

	capture_view(c, &v);
	bool text = utf8_valid(v.head, v.head_len) && utf8_valid(v.tail, v.tail_len);
	json_open(j, key, '{');
	if (text) {
		json_text_begin(j, "text");
		json_text_part(j, v.head, v.head_len);
		json_text_part(j, v.tail, v.tail_len);
		json_text_end(j);
	} else {
		json_base64(j, "text", v.head, v.head_len, v.tail, v.tail_len);
	}
	json_str(j, "encoding", text ? "utf-8" : "base64");
	json_u64(j, "bytes", c->total);
	json_bool(j, "truncated", capture_truncated(c));
	json_u64(j, "omitted_bytes", c->total - v.head_len - v.tail_len);
	json_u64(j, "head_bytes", v.head_len);
	json_bool(j, "control_bytes", c->control_bytes);
	json_str(j, "artifact", artifact[0] == '/' ? artifact : NULL);
	json_close(j, '}');
}

static uint64_t cpu_us(const struct pinfold_run *run)
{
	const struct rusage *u = &run->rusage;
	uint64_t cpu = (uint64_t)u->ru_utime.tv_sec * 1000000 + (uint64_t)u->ru_utime.tv_usec +
		       (uint64_t)u->ru_stime.tv_sec * 1000000 + (uint64_t)u->ru_stime.tv_usec;

	/* Children that nobody waited for are in the group's count alone. */
	if (run->usage.cpu_us > cpu)
		cpu = run->usage.cpu_us;
	return cpu - (run->cpu_before_us < cpu ? run->cpu_before_us : cpu);
}

void pinfold_run_summary(const struct pinfold_run *run, struct pinfold_run_summary *ret_summary)
{
	*ret_summary = (struct pinfold_run_summary){
		.limit = run->limit_kind,
		.denials = run->n_denials,
		.alerts = run->alerts.n,
		.wall_us = run->ended_us > run->started_us ? run->ended_us - run->started_us : 0,
		.cpu_us = cpu_us(run)};
}

static void write_usage(struct json *j, const struct pinfold_run *run)
{
	const struct rusage *u = &run->rusage;
	uint64_t memory = run->usage.memory_peak_bytes;
	uint64_t pids = run->usage.pids_peak;

	if (!memory)
		memory = run->polled_memory_peak > (uint64_t)u->ru_maxrss * 1024
				 ? run->polled_memory_peak
				 : (uint64_t)u->ru_maxrss * 1024;
	unsigned guests = spec_guests(&run->req.spec);
	pids = pids > guests ? pids - guests : run->polled_pids_peak;
	json_open(j, "usage", '{');
	json_ms(j, "wall_ms", run->ended_us - run->started_us);
	json_ms(j, "cpu_ms", cpu_us(run));
	json_u64(j, "memory_peak_bytes", memory);
	json_u64(j, "processes_peak", pids ? pids : 1);
	json_u64(j, "disk_bytes", run->disk_bytes);
	json_close(j, '}');
}

static void write_limit_row(struct json *j, const char *key, uint64_t value, enum held held)
{
	json_open(j, key, '{');
	json_u64(j, "value", value);
	json_str(j, "held_by", held_name(held));
	json_close(j, '}');
}

void request_write_limits(const struct request *r, struct json *j)
{
	const struct sandbox_limits *l = &r->spec.limits;
	const struct run_held *h = &r->held;

	json_open(j, "limits", '{');
	write_limit_row(j, "time", l->time_ms, h->time);
	write_limit_row(j, "grace", l->grace_ms, h->time);
	if (l->cpu_time_ms)
		write_limit_row(j, "cpu_time", l->cpu_time_ms, h->cpu_time);
	json_open(j, "cpus", '{');
	json_ms(j, "value", l->cpus_milli);
	json_str(j, "held_by", held_name(h->cpus));
	json_close(j, '}');
	write_limit_row(j, "memory", l->memory_bytes, h->memory);
	write_limit_row(j, "pids", l->pids, h->pids);
	write_limit_row(j, "disk", l->disk_bytes, h->disk);
	write_limit_row(j, "nofile", l->nofile, h->nofile);
	/* What is beyond is counted, and written elsewhere. */
	write_limit_row(j, "output", r->output_bytes, HELD_QUOTA);
	json_close(j, '}');
}

static void write_limit(struct json *j, const struct pinfold_run *run)
{
	if (!run->limit_kind) {
		json_none(j, "limit");
		return;
	}
	json_open(j, "limit", '{');
	json_str(j, "kind", run->limit_kind);
	json_u64(j, "value", run->limit_value);
	json_str(j, "unit", run->limit_unit);
	json_str(j, "hint", run->limit_hint);
	json_close(j, '}');
}

static void write_denials(struct json *j, const struct pinfold_run *run)
{
	json_open(j, "denials", '[');
	for (unsigned i = 0; i < run->n_denials; i++) {
		const struct run_denial *d = &run->denials[i];

		json_open(j, NULL, '{');
		json_str(j, "kind", d->kind);
		json_str(j, "what", d->what);
		json_u64(j, "count", d->count);
		json_str(j, "hint", d->hint);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (run->denials_omitted)
		json_u64(j, "denials_omitted", run->denials_omitted);
}

const char *run_file_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "directory";
	case S_IFLNK: return "symlink";
	case S_IFIFO: return "fifo";
	case S_IFSOCK: return "socket";
	default: return "other";
	}
}

static void write_path(struct json *j, const struct run_file *f)
{
	if (utf8_valid(f->path, f->path_len)) {
		json_str(j, "path", f->path);
		return;
	}
	/* Exact bytes for names that are no text; "path" alone would be ambiguous. */
	json_bytes(j, "path", f->path, f->path_len);
	json_base64(j, "path_base64", f->path, f->path_len, NULL, 0);
}

static void write_files(struct json *j, const struct pinfold_run *run)
{
	static const char *const changes[] = {
		[MSG_ADDED] = "added", [MSG_MODIFIED] = "modified", [MSG_DELETED] = "deleted"};

	json_open(j, "files", '[');
	for (unsigned i = 0; i < run->n_files; i++) {
		const struct run_file *f = &run->files[i];
		bool gone = f->change == MSG_DELETED;

		json_open(j, NULL, '{');
		write_path(j, f);
		json_str(j, "change", changes[f->change]);
		json_str(j, "type", run_file_type(f->mode));
		json_u64(j, "size", gone ? 0 : f->size);
		json_str(j, "sha256", f->sha256[0] ? f->sha256 : NULL);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (run->files_omitted)
		json_u64(j, "files_omitted", run->files_omitted);
}

/* Those of row `row`, where there are some. */
static void write_requests(struct json *j, const struct pinfold_run *run, unsigned row)
{
	bool any = false;

	for (unsigned i = 0; i < run->n_requests; i++) {
		const struct run_request *q = &run->requests[i];
		const char *space = strchr(q->what, ' ');

		if (q->row != row || !space)
			continue;
		if (!any)
			json_open(j, "requests", '[');
		any = true;
		json_open(j, NULL, '{');
		json_bytes(j, "method", q->what, (size_t)(space - q->what));
		json_str(j, "path", space + 1);
		if (q->status)
			json_u64(j, "status", q->status);
		else
			json_none(j, "status"); /* a person is asked */
		json_u64(j, "ms", q->ms);
		json_close(j, '}');
	}
	if (any)
		json_close(j, ']');
}

static void write_decision(struct json *j, const struct pinfold_run *run,
			   const struct gate_report *r)
{
	static const char *const verdicts[] = {
		[GATE_ALLOWED] = "allowed", [GATE_DENIED] = "denied", [GATE_PENDING] = "pending"};

	json_open(j, NULL, '{');
	json_str(j, "host", r->host);
	json_u64(j, "port", r->port);
	json_str(j, "verdict", verdicts[r->verdict]);
	json_str(j, "rule", r->rule[0] ? r->rule : NULL);
	json_u64(j, "count", r->count);
	json_u64(j, "bytes_in", r->bytes_in);
	json_u64(j, "bytes_out", r->bytes_out);
	if (r->ms)
		json_u64(j, "ms", r->ms);
	write_requests(j, run, r->row);
	json_close(j, '}');
}

void result_network(struct json *j, const struct pinfold_run *run)
{
	json_open(j, "network", '[');
	for (unsigned i = 0; i < run->n_rows; i++)
		write_decision(j, run, &run->rows[i]);
	for (unsigned i = 0; i < run->n_denials; i++) {
		const struct run_denial *d = &run->denials[i];
		struct gate_report r = {.row = GATE_ROWS_MAX,
					.verdict = GATE_DENIED,
					.port = d->port,
					.count = d->count};

		if (strcmp(d->kind, "network") != 0 || d->by_gate)
			continue;
		(void)snprintf(r.host, sizeof(r.host), "%s", d->host);
		write_decision(j, run, &r);
	}
	json_close(j, ']');
	if (run->rows_omitted)
		json_u64(j, "network_omitted", run->rows_omitted);
	if (run->requests_dropped + run->requests_lost)
		json_u64(j, "requests_omitted", run->requests_dropped + run->requests_lost);
}

/* What was there of packages; only where somebody asked for them. */
static void write_packages(struct json *j, const struct run_deps *d)
{
	static const char *const seen[] = {"imported", "imported_so_far"};

	if (!d->packages)
		return;
	json_open(j, "packages", '[');
	for (size_t i = 0; i < value_len(d->packages); i++) {
		const struct value *p = value_at(d->packages, i);

		json_open(j, NULL, '{');
		json_str(j, "name", value_str(value_get(p, "name")));
		json_str(j, "version", value_str(value_get(p, "version")));
		json_str(j, "sha256", value_str(value_get(p, "sha256")));
		json_str(j, "language", value_str(value_get(p, "language")));
		for (size_t k = 0; k < 2; k++)
			if (value_kind(value_get(p, seen[k])) == VALUE_BOOL)
				json_bool(j, seen[k], value_true(value_get(p, seen[k])));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void write_missing(struct json *j, const struct pinfold_run *run)
{
	const struct deps_missing *m = &run->missing;
	char hint[512];

	if (!m->module[0])
		return;
	deps_hint(run, hint, sizeof(hint));
	json_open(j, "missing", '{');
	json_str(j, "language", lock_part_name(m->lang));
	json_str(j, "module", m->module);
	json_str(j, "package", m->package);
	json_str(j, "hint", hint);
	json_close(j, '}');
}

/* With --deps retry: why this is the second run of the program. */
static void write_retried(struct json *j, const struct value *retried)
{
	if (!retried)
		return;
	json_open(j, "retried", '{');
	for (const char *k = value_next_key(retried, NULL); k; k = value_next_key(retried, k))
		json_str(j, k, value_str(value_get(retried, k)));
	json_close(j, '}');
}

static void write_error(struct json *j, const struct pinfold_error *e)
{
	if (!e) {
		json_none(j, "error");
		return;
	}
	json_open(j, "error", '{');
	json_str(j, "code", e->code);
	json_str(j, "message", e->message);
	json_str(j, "remedy", e->remedy[0] ? e->remedy : err_advice(e->code));
	if (e->retry_after_ms)
		json_u64(j, "retry_after_ms", e->retry_after_ms);
	json_close(j, '}');
}

/* Where its end is in the ledger; pinfold receipt makes the rest of it. */
static void write_receipt(struct json *j, const struct record *r)
{
	char text[HASH_TEXT_SIZE];

	if (!r->kept) {
		json_none(j, "receipt");
		return;
	}
	hash_text(r->place.leaf.byte, text);
	json_open(j, "receipt", '{');
	json_str(j, "ledger", r->place.chain);
	json_u64(j, "position", r->place.at);
	json_str(j, "sha256", text);
	json_close(j, '}');
}

static void write_outcome(struct json *j, const struct pinfold_run *run)
{
	bool by_signal = strcmp(run->status, "exited") != 0 && !run->failed;
	int st = run->wait_status;

	json_str(j, "status", run->status);
	if (by_signal &&
	    !(run->have_status && WIFEXITED(st) && (run->stop != STOP_NONE || run->exec)))
		json_none(j, "exit_code");
	else
		json_u64(j, "exit_code",
			 (uint64_t)(run->failed || !by_signal ? run->exit_status
							      : WEXITSTATUS(st)));
	if (by_signal && run->have_status && WIFSIGNALED(st))
		json_u64(j, "signal", (uint64_t)WTERMSIG(st));
	else if (by_signal && !run->have_status && !run->hangs_up)
		json_u64(j, "signal", 9);
	else
		json_none(j, "signal");
}

static const char *start_name(const struct pinfold_run *run)
{
	if (run->exec || run->follows)
		return "live";
	return run->warm == 2 ? "interpreter" : run->warm ? "warm" : "cold";
}

int pinfold_run_write_json(const struct pinfold_run *run, int fd)
{
	struct pinfold_run *mine = (struct pinfold_run *)(uintptr_t)run; /* the ring is turned */
	struct json j;

	json_init(&j, fd);
	json_open(&j, NULL, '{');
	json_str(&j, "id", run->id);
	json_str(&j, "sandbox", run->req.spec.id);
	if (run->workspace[0])
		json_str(&j, "workspace", run->workspace);
	else
		json_none(&j, "workspace");
	if (run->snapshot)
		json_u64(&j, "snapshot", run->snapshot);
	json_str(&j, "isolation", run->req.spec.level == LEVEL_STRICT ? "strict" : "landlock");
	json_str(&j, "start", start_name(run));
	write_outcome(&j, run);
	write_stream(&j, "stdout", &mine->capture[0], run->artifact[0]);
	write_stream(&j, "stderr", &mine->capture[1], run->artifact[1]);
	write_usage(&j, run);
	request_write_limits(&run->req, &j);
	write_limit(&j, run);
	write_denials(&j, run);
	write_files(&j, run);
	result_network(&j, run);
	if (run->recorded.sha256[0]) {
		json_open(&j, "recording", '{');
		json_str(&j, "sha256", run->recorded.sha256);
		json_u64(&j, "exchanges", run->recorded.exchanges);
		json_u64(&j, "bytes", run->recorded.bytes);
		json_bool(&j, "complete", run->recorded.is_whole);
		json_close(&j, '}');
	}
	alerts_write(&j, run);
	write_packages(&j, &run->req.deps);
	write_missing(&j, run);
	write_retried(&j, run->retried);
	write_error(&j, run->failed ? &run->error : NULL);
	write_receipt(&j, &run->record);
	json_close(&j, '}');
	int r = json_end(&j);
	errno = -r;
	return r < 0 ? -1 : 0;
}

static void write_no_stream(struct json *j, const char *key)
{
	struct capture none;

	capture_init(&none, 1);
	write_stream(j, key, &none, "");
	capture_done(&none);
}

int pinfold_error_write_json(const struct pinfold_error *error, int fd)
{
	static const char *const nothing[] = {"id", "sandbox", "workspace", "isolation"};
	struct json j;

	json_init(&j, fd);
	json_open(&j, NULL, '{');
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		json_none(&j, nothing[i]);
	json_str(&j, "status", "failed");
	json_u64(&j, "exit_code", 125);
	json_none(&j, "signal");
	write_no_stream(&j, "stdout");
	write_no_stream(&j, "stderr");
	json_open(&j, "usage", '{');
	json_u64(&j, "wall_ms", 0);
	json_u64(&j, "cpu_ms", 0);
	json_u64(&j, "memory_peak_bytes", 0);
	json_u64(&j, "processes_peak", 0);
	json_u64(&j, "disk_bytes", 0);
	json_close(&j, '}');
	json_open(&j, "limits", '{');
	json_close(&j, '}');
	json_none(&j, "limit");
	static const char *const lists[] = {"denials", "files", "network", "alerts"};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		json_open(&j, lists[i], '[');
		json_close(&j, ']');
	}
	write_error(&j, error);
	json_none(&j, "receipt");
	json_close(&j, '}');
	int r = json_end(&j);
	errno = -r;
	return r < 0 ? -1 : 0;
}
