/* SPDX-License-Identifier: Apache-2.0 */
#include "api/execute.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "api/changed.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/utf8.h"
#include "pinfold/pinfold.h"

#define INLINE_MAX (1u << 20) /* of each stream, in the result */

/* What one execution has given so far. */
struct gathered {
	struct value *results, *error, *done, *alerts;
};

static void tell(struct record *rec, const char *event, const struct value *data)
{
	size_t len = 0;
	auto_free char *text = value_text(data, &len);

	if (text)
		feed_add(rec->feed, event, text, len);
}

static void take_output(struct record *rec, int stream, const struct pinfold_session_event *ev)
{
	spool_add(&rec->output[stream], ev->data, ev->len);
	record_tell_output(rec, stream, ev->data, ev->len);
}

/* Drivers live with hostile code; the library has looked at the shape, we take no more than
 * JSON. */
static struct value *parse(const struct pinfold_session_event *ev)
{
	struct value *v = NULL;
	struct err ignored = ERR_INIT;

	return value_parse(ev->data, ev->len, &v, &ignored) < 0 ? NULL : v;
}

static void take_event(struct record *rec, struct gathered *g,
		       const struct pinfold_session_event *ev)
{
	struct value *v = NULL;

	switch (ev->kind) {
	case PINFOLD_SESSION_STDOUT:
	case PINFOLD_SESSION_STDERR:
		take_output(rec, ev->kind == PINFOLD_SESSION_STDERR, ev);
		return;
	case PINFOLD_SESSION_RESULT:
		v = value_object();
		value_set(v, "data", parse(ev));
		value_set(v, "is_main", value_of_bool(ev->is_main));
		tell(rec, "output", v);
		value_add(g->results, v);
		return;
	case PINFOLD_SESSION_ERROR:
		value_free(g->error);
		g->error = parse(ev);
		tell(rec, "error", g->error);
		return;
	case PINFOLD_SESSION_DONE:
		value_free(g->done);
		g->done = parse(ev);
		return;
	case PINFOLD_SESSION_ALERT:
		v = record_pair("rule", ev->data, ev->len);
		tell(rec, "alert", v);
		value_add(g->alerts, v);
		return;
	case PINFOLD_SESSION_INPUT: return; /* by follow() */
	}
}

static void ask_for_line(struct box *b, struct session *s, struct record *rec,
			 const struct pinfold_session_event *ev)
{
	auto_value *v = value_object();

	(void)pthread_mutex_lock(&b->lock);
	s->asking = true;
	(void)pthread_mutex_unlock(&b->lock);
	value_set_text(v, ev->data, ev->len);
	value_set(v, "prompt", value_copy(value_get(v, "text")));
	tell(rec, "input", v);
}

/* Somebody brought the line. */
static void give_line(struct box *b, struct session *s)
{
	struct pinfold_error ignored; /* it was interrupted meanwhile, and asks no more */
	uint64_t n;

	(void)!read(s->wake, &n, sizeof(n)); /* nobody else does */
	(void)pthread_mutex_lock(&b->lock);
	auto_free char *line = s->answered ? take_ptr(&s->line) : NULL;
	bool give = s->answered;
	s->asking = s->answered = false;
	(void)pthread_mutex_unlock(&b->lock);
	if (give)
		(void)pinfold_session_input(s->handle, line, line ? strlen(line) : 0, &ignored);
}

static void follow(struct call *c, struct box *b, struct session *session, struct record *rec,
		   struct gathered *g)
{
	struct pinfold_session *s = session->handle;
	struct pinfold_session_event ev = {0};
	bool stopped = false;

	while (ev.kind != PINFOLD_SESSION_DONE) {
		struct pollfd p[3] = {{.fd = pinfold_session_fd(s), .events = POLLIN},
				      {.fd = stopped ? -1 : call_cancelled_fd(c), .events = POLLIN},
				      {.fd = session->wake, .events = POLLIN}};

		if (pinfold_session_next(s, 0, &ev) > 0) {
			if (ev.kind == PINFOLD_SESSION_INPUT)
				ask_for_line(b, session, rec, &ev);
			take_event(rec, g, &ev);
			continue;
		}
		if (!pinfold_session_alive(s))
			return;
		(void)poll(p, 3, -1);
		if (p[2].revents)
			give_line(b, session);
		if (p[1].revents) {
			stopped = true;
			pinfold_session_interrupt(s);
		}
	}
}

static struct value *stream_value(struct record *rec, int stream)
{
	struct spool *s = &rec->output[stream];
	struct value *o = value_object();
	uint64_t total = 0, kept = spool_size(s, &total);
	size_t n = kept < INLINE_MAX ? (size_t)kept : INLINE_MAX;
	auto_free char *text = malloc(n + 1);
	size_t got = text ? spool_read(s, 0, text, n) : 0;

	if (got < total && text)
		got -= utf8_cut_tail(text, got);
	value_set_text(o, text, got);
	value_set(o, "bytes", value_of_u64(total));
	value_set(o, "truncated", value_of_bool(got < total));
	value_set(o, "omitted_bytes", value_of_u64(total - got));
	value_set(o, "artifact", value_of_null());
	if (got < total) {
		char path[96];

		op_route(stream ? "run.stderr" : "run.stdout", rec->id, path, sizeof(path));
		value_set(o, "artifact", value_of_str(path));
	}
	return o;
}

/* What the sandbox has of packages, and what of them was imported until now. */
static void set_packages(struct value *o, const struct session *s)
{
	auto_free char *text = s->handle ? pinfold_session_packages(s->handle) : NULL;
	struct value *packages = NULL;
	struct err none = ERR_INIT; /* it is our own text */

	if (text && value_parse(text, strlen(text), &packages, &none) >= 0)
		value_set(o, "packages", packages);
}

static struct value *result_of(struct box *b, struct session *s, struct record *rec,
			       struct gathered *g, int64_t began)
{
	struct value *o = value_object(), *usage = value_object();
	static const char *const keys[] = {"status", "execution_count", "exit_code", "signal",
					   "reason"};

	value_set(o, "id", value_of_str(rec->id));
	value_set(o, "sandbox", value_of_str(b->id));
	for (unsigned i = 0; i < 5; i++) {
		struct value *v = value_get(g->done, keys[i]);

		value_set(o, keys[i],
			  v   ? value_share(v)
			  : i ? value_of_null()
			      : value_of_str("died"));
	}
	value_set(o, "alive", value_of_bool(value_true(value_get(g->done, "alive"))));
	value_set(o, "stdout", stream_value(rec, 0));
	value_set(o, "stderr", stream_value(rec, 1));
	value_set(o, "results", g->results);
	value_set(o, "alerts", g->alerts);
	value_set(o, "error", g->error ? g->error : value_of_null());
	struct value *wall = value_get(g->done, "wall_ms");
	value_set(usage, "wall_ms", wall ? value_share(wall) : value_of_null());
	value_set(o, "usage", usage);
	struct value *files = session_changes(b, s, began);
	if (value_len(files))
		changed_now(b);
	value_set(o, "files", files);
	set_packages(o, s);
	return o;
}

int execute(struct call *c, struct box *b, struct session *s, struct execution *x, struct err *e)
{
	struct gathered g = {.results = value_array(), .alerts = value_array()};
	struct pinfold_error failure;
	const char *id = x->run;

	if (!x->run[0] && id_make("run", x->run, e) < 0)
		return -EIO;
	char command[64];
	(void)snprintf(command, sizeof(command), "%s (%zu bytes)", s->lang, x->code_len);
	(void)snprintf(c->run, sizeof(c->run), "%s", id);
	struct record *rec = record_new(c->api->runs, c->who.tenant, id);
	if (!rec)
		return err_sys(e, "record of a run");
	(void)snprintf(rec->command, sizeof(rec->command), "%s", command);
	(void)snprintf(rec->sandbox, sizeof(rec->sandbox), "%s", b->id);
	(void)pthread_mutex_lock(&b->lock); /* who finds it busy reads it */
	(void)snprintf(s->run, sizeof(s->run), "%s", id);
	(void)pthread_mutex_unlock(&b->lock);
	rec->cancel_fd = c->cancel;
	if (x->input && s->wake < 0)
		s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->input && s->wake < 0)
		x->input = false;
	int64_t began = changed_begin(b);
	int r = 0;
	if (pinfold_session_execute(s->handle, x->code, x->code_len, x->time_ms,
				    x->input ? 0 : PINFOLD_EXECUTE_NO_INPUT, &failure) < 0) {
		r = api_error(e, &failure);
		value_free(g.results);
		value_free(g.alerts);
		record_end(c->api->runs, rec, "failed", NULL);
	} else {
		record_announce(c, rec); /* not before: an error must be the answer */
		follow(c, b, s, rec, &g);
		x->result = result_of(b, s, rec, &g, began);
		const char *status = value_str(value_get(x->result, "status"));
		if (x->give_back)
			box_session_put(b, s);
		x->given = x->give_back;
		record_end(c->api->runs, rec, status ? status : "died",
			   value_text(x->result, NULL));
		value_free(g.done);
	}
	record_unref(c->api->runs, rec);
	return r;
}
