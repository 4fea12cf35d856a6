/* SPDX-License-Identifier: Apache-2.0 */
/* Code in an interpreter that stays. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/runs.h"
#include "base/fd.h"
#include "base/id.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

/* What one execution brought, beside its output. */
struct execution {
	struct call *call;
	struct box *box;
	struct session *session;
	struct record *rec;
	char run[16];
	struct text value;	/* of the last expression, and what was displayed as text */
	struct text traceback;
	char name[80];		/* of the error */
	struct value *images;	/* array of {type, data} */
	unsigned images_left;	/* that were too large or too many */
	struct value *done;
};

static void execution_done(struct execution *x)
{
	text_done(&x->value);
	text_done(&x->traceback);
	value_free(x->images);
	value_free(x->done);
}

/* For who follows; the record has the bytes. */
static void tell(struct execution *x, int stream, const struct pinfold_session_event *ev)
{
	struct value *v = value_object();
	size_t len = 0;

	spool_add(&x->rec->output[stream], ev->data, ev->len);
	value_set(v, "text", value_of_bytes(ev->data, ev->len));
	value_set(v, "encoding", value_of_str("utf-8"));
	auto_free char *text = value_text(v, &len);
	if (text)
		feed_add(x->rec->feed, stream ? "stderr" : "stdout", text, len);
	value_free(v);
}

static void take_image(struct execution *x, struct value *result, const char *mime)
{
	struct value *data = value_get(result, mime), *v;

	if (!value_str(data))
		return;
	if (value_len(data) / 4 * 3 > IMAGE_MAX || value_len(x->images) >= IMAGES_MAX) {
		x->images_left++;
		return;
	}
	v = value_object();
	value_set(v, "type", value_of_str(mime));
	value_set(v, "data", value_share(data));
	value_add(x->images, v);
}

static void take_result(struct execution *x, const struct pinfold_session_event *ev)
{
	static const char *const kinds[] = {"text/plain", "text/markdown", "text/latex", "text/html"};
	auto_value *v = NULL;
	struct err ignored = ERR_INIT;

	if (value_parse(ev->data, ev->len, &v, &ignored) < 0)
		return;
	bool image = value_get(v, "image/png") || value_get(v, "image/jpeg");
	take_image(x, v, value_get(v, "image/png") ? "image/png" : "image/jpeg");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !image; i++) {
		const struct value *text = value_get(v, kinds[i]);

		if (!value_str(text))
			continue;
		text_add(&x->value, value_str(text), value_len(text));
		text_put(&x->value, "\n");
		return;
	}
}

static void take_error(struct execution *x, const struct pinfold_session_event *ev)
{
	auto_value *v = NULL;
	struct err ignored = ERR_INIT;

	if (value_parse(ev->data, ev->len, &v, &ignored) < 0)
		return;
	const char *name = value_str(value_get(v, "name"));
	const struct value *traceback = value_get(v, "traceback");
	(void)snprintf(x->name, sizeof(x->name), "%s", name ? name : "error");
	if (value_len(traceback))
		text_add(&x->traceback, value_str(traceback), value_len(traceback));
	else
		text_fmt(&x->traceback, "%s: %s", x->name, value_str(value_get(v, "value")));
}

static void take_event(struct execution *x, const struct pinfold_session_event *ev)
{
	struct err ignored = ERR_INIT;

	switch (ev->kind) {
	case PINFOLD_SESSION_STDOUT: tell(x, 0, ev); return;
	case PINFOLD_SESSION_STDERR: tell(x, 1, ev); return;
	case PINFOLD_SESSION_RESULT: take_result(x, ev); return;
	case PINFOLD_SESSION_ERROR: take_error(x, ev); return;
	case PINFOLD_SESSION_INPUT: return; /* refused by the driver */
	case PINFOLD_SESSION_DONE: (void)value_parse(ev->data, ev->len, &x->done, &ignored); return;
	}
}

static void follow(struct execution *x)
{
	struct pinfold_session *s = x->session->handle;
	struct pinfold_session_event ev = {0};
	bool told = false;

	while (ev.kind != PINFOLD_SESSION_DONE) {
		struct pollfd p[2] = {
			{.fd = pinfold_session_fd(s), .events = POLLIN},
			{.fd = told ? -1 : call_cancelled_fd(x->call), .events = POLLIN}};

		if (pinfold_session_next(s, 0, &ev) > 0) {
			take_event(x, &ev);
			continue;
		}
		if (!pinfold_session_alive(s))
			return;
		(void)poll(p, 2, -1); /* whatever it says, we look */
		if (!told && call_cancelled(x->call)) {
			pinfold_session_interrupt(s);
			told = true;
		}
	}
}

static void title_of(const struct execution *x, const char *status, uint64_t wall_ms, char *ret,
		     size_t size)
{
	const char *reason = value_str(value_get(x->done, "reason"));
	const struct value *code = value_get(x->done, "exit_code");
	char took[32];

	(void)text_seconds(wall_ms, took);
	if (!strcmp(status, "ok") && value_kind(code) == VALUE_INT)
		(void)snprintf(ret, size, "exit %lld in %s", (long long)value_int(code), took);
	else if (!strcmp(status, "ok"))
		(void)snprintf(ret, size, "ok in %s", took);
	else if (!strcmp(status, "error"))
		(void)snprintf(ret, size, "%s in %s", *x->name ? x->name : "error", took);
	else if (!strcmp(status, "timeout"))
		(void)snprintf(ret, size, "timed out after %s, interrupted", took);
	else if (!strcmp(status, "interrupted"))
		(void)snprintf(ret, size, "interrupted after %s", took);
	else
		(void)snprintf(ret, size, "the interpreter ended (%s) after %s",
			       reason ? reason : "died", took);
}

static void add_notes(const struct execution *x, const char *status, struct text *notes)
{
	if (x->traceback.len) {
		struct stream s = {.name = "error", .head = x->traceback.data, .head_len = x->traceback.len};
		bool cut = false;

		text_stream(notes, &s, 6000, &cut);
	}
	if (x->images_left)
		text_fmt(notes,
			 "%u image%s left out: at most %u of up to 700 KB each are shown. Use "
			 "savefig(dpi=80), or write files to /home/user/out.\n",
			 x->images_left, x->images_left == 1 ? " was" : "s were", IMAGES_MAX);
	if (!value_true(value_get(x->done, "alive")) && strcmp(status, "ok") != 0)
		text_put(notes, "The variables of this session are gone; the next call starts it anew.\n");
	if (!strcmp(status, "timeout"))
		text_fmt(notes, "Next: pass timeout_ms up to 600000, or run it with %s background=true.\n",
			 tool_name(tool_exec));
}

static struct value *meta_of(const struct execution *x, const struct outcome *o, const char *status)
{
	struct value *v = value_object();
	uint64_t bytes[2] = {0};

	for (int i = 0; i < 2; i++)
		(void)spool_size(&x->rec->output[i], &bytes[i]);
	value_set(v, "run_id", value_of_str(x->rec->id));
	value_set(v, "run", value_of_str(x->run));
	value_set(v, "status", value_of_str(status));
	value_set(v, "error", *x->name ? value_of_str(x->name) : value_of_null());
	value_set(v, "timed_out", value_of_bool(!strcmp(status, "timeout")));
	value_set(v, "execution_count", value_of_int(value_int(value_get(x->done, "execution_count"))));
	value_set(v, "duration_ms", value_of_u64(o->wall_ms));
	value_set(v, "stdout_bytes", value_of_u64(bytes[0]));
	value_set(v, "stderr_bytes", value_of_u64(bytes[1]));
	value_set(v, "truncated", value_of_bool(o->cut));
	value_set(v, "artifacts", o->files ? value_copy(o->files) : value_array());
	return v;
}

static int show(struct execution *x, const char *session, int64_t began_ns, struct err *e)
{
	const char *status = value_str(value_get(x->done, "status"));
	auto_value *files = show_changes(x->box, began_ns);
	auto_text t = TEXT_INIT;
	char title[160];
	struct outcome o = {.box = x->box, .rec = x->rec, .run = x->run, .session = session,
			    .title = title, .brief = true, .notes = TEXT_INIT, .files = files,
			    .value = x->value.data,
			    .max_chars = (size_t)arg_int(x->call, "max_output_chars", 12000)};

	status = status ? status : "died";
	o.wall_ms = (uint64_t)value_real(value_get(x->done, "wall_ms"));
	title_of(x, status, o.wall_ms, title, sizeof(title));
	add_notes(x, status, &o.notes);
	show_run(&t, &o);
	text_done(&o.notes);
	int r = tool_reply(x->call, &t, e);
	for (size_t i = 0; r >= 0 && i < value_len(x->images); i++) {
		struct value *image = value_at(x->images, i);

		tool_add_image(x->call, value_share(value_get(image, "data")),
			       value_str(value_get(image, "type")));
	}
	if (r >= 0)
		tool_add_meta(x->call, meta_of(x, &o, status));
	return r;
}

/* What REST shows of it. */
static char *document(const struct execution *x)
{
	auto_value *v = value_object();

	value_set(v, "id", value_of_str(x->rec->id));
	value_set(v, "sandbox", value_of_str(x->box->id));
	value_set(v, "execution", x->done ? value_copy(x->done) : value_of_null());
	return value_text(v, NULL);
}

static int execute(struct execution *x, const char *session, struct err *e)
{
	const struct value *code = arg(x->call, "code");
	struct pinfold_error failure;
	int64_t began = show_now_ns();
	char id[ID_SIZE];

	if (id_make("run", id, e) < 0)
		return -EIO;
	x->rec = record_new(x->call->api->runs, x->call->who.tenant, id);
	if (!x->rec)
		return err_sys(e, "record of a run");
	(void)snprintf(x->rec->sandbox, sizeof(x->rec->sandbox), "%s", x->box->id);
	(void)snprintf(x->rec->command, sizeof(x->rec->command), "%s", value_str(code));
	(void)snprintf(x->run, sizeof(x->run), "r%u",
		       names_add_run(tool_mcp(x->call)->names, x->box->id, id));
	(void)pthread_mutex_lock(&x->box->lock);
	(void)snprintf(x->session->run, sizeof(x->session->run), "%s", x->run);
	(void)pthread_mutex_unlock(&x->box->lock);
	int r = pinfold_session_execute(x->session->handle, value_str(code), value_len(code),
					(uint64_t)arg_int(x->call, "timeout_ms", 30000),
					PINFOLD_EXECUTE_NO_INPUT, &failure);
	if (r < 0)
		r = api_error(e, &failure);
	if (r >= 0) {
		call_stream(x->call, x->rec->feed);
		follow(x);
	}
	record_end(x->call->api->runs, x->rec, r < 0 ? "failed" : "exited", document(x));
	if (r >= 0)
		r = show(x, session, began, e);
	record_unref(x->call->api->runs, x->rec);
	return r;
}

static int still_busy(struct err *e)
{
	char run[16] = "";
	const char *at = strstr(e->text, "still running ");

	if (at)
		(void)sscanf(at, "still running %15[a-z0-9]", run);
	e->remedy[0] = '\0';
	return err_remedy(e,
			  "Wait with %s process_id=\"%s\" wait_ms=20000, interrupt it with %s "
			  "process_id=\"%s\" signal=\"INT\", or use another session name",
			  tool_name(tool_process_read), run, tool_name(tool_process_write), run);
}

int tool_run_code(struct call *c, struct err *e)
{
	const char *lang = arg_str(c, "language"), *session = arg_str(c, "session");
	struct execution x = {.call = c, .value = TEXT_INIT, .traceback = TEXT_INIT};
	char name[BOX_NAME_SIZE];

	lang = !lang ? "python" : !strcmp(lang, "javascript") ? "node" : lang;
	session = session ? session : "main";
	/* Each language has a session of that name. */
	(void)snprintf(name, sizeof(name), "%s%s%s", session, strcmp(lang, "python") ? "-" : "",
		       strcmp(lang, "python") ? lang : "");
	x.box = tool_box(c, e);
	if (!x.box)
		return -ENOENT;
	x.images = value_array();
	x.session = box_session(x.box, name, lang, arg_true(c, "reset"), e);
	int r = x.session		   ? execute(&x, session, e)
		: e->kind == ERR_BUSY ? still_busy(e)
				      : -EIO;
	if (x.session)
		box_session_put(x.box, x.session);
	execution_done(&x);
	box_put(c->api, x.box);
	return r;
}
