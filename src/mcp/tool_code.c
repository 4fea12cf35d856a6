/* SPDX-License-Identifier: Apache-2.0 */
/* Code in an interpreter that stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/execute.h"
#include "api/runs.h"
#include "base/fd.h"
#include "base/id.h"
#include "mcp/asked.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/tools.h"
#include "pinfold/pinfold.h"

/* What one execution brought, beside its output. */
struct brought {
	struct text value; /* of the last expression, and what was displayed as text */
	struct value *images[IMAGES_MAX]; /* borrowed */
	const char *types[IMAGES_MAX];
	unsigned n_images, images_left; /* that were too large, or too many */
};

static void take_image(struct brought *b, struct value *data, const char *mime)
{
	if (value_len(data) / 4 * 3 > IMAGE_MAX || b->n_images == IMAGES_MAX) {
		b->images_left++;
		return;
	}
	b->types[b->n_images] = mime;
	b->images[b->n_images++] = data;
}

/* The richest form that a model can take. */
static void take_result(struct brought *b, const struct value *data)
{
	static const char *const images[] = {"image/png", "image/jpeg"};
	static const char *const texts[] = {"text/plain", "text/markdown", "text/latex",
					    "text/html"};

	for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++)
		if (value_str(value_get(data, images[i]))) {
			take_image(b, value_get(data, images[i]), images[i]);
			return;
		}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const struct value *text = value_get(data, texts[i]);

		if (!value_str(text))
			continue;
		text_add(&b->value, value_str(text), value_len(text));
		text_put(&b->value, "\n");
		return;
	}
	size_t len = 0;
	auto_free char *json = value_text(value_get(data, "application/json"), &len);
	if (json) {
		text_add(&b->value, json, len);
		text_put(&b->value, "\n");
	}
}

static bool ran_out_of_memory(const struct value *result)
{
	const char *reason = value_str(value_get(result, "reason"));

	return reason && !strcmp(reason, "oom");
}

/* Its interpreter is no more. */
static void title_of_end(const struct value *result, const char *took, char *ret, size_t size)
{
	const struct value *code = value_get(result, "exit_code");
	int64_t sig = value_int(value_get(result, "signal"));

	if (ran_out_of_memory(result))
		(void)snprintf(ret, size, "out of memory after %s, the interpreter was killed",
			       took);
	else if (sig > 0)
		(void)snprintf(ret, size,
			       "the interpreter was killed by signal %lld (SIG%s) after %s",
			       (long long)sig,
			       sigabbrev_np((int)sig) ? sigabbrev_np((int)sig) : "?", took);
	else if (value_kind(code) == VALUE_INT)
		(void)snprintf(ret, size, "the interpreter ended with exit %lld after %s",
			       (long long)value_int(code), took);
	else
		(void)snprintf(ret, size, "the interpreter ended after %s", took);
}

static void title_of(const struct value *result, const char *status, uint64_t wall_ms, char *ret,
		     size_t size)
{
	const char *name = value_str(value_get(value_get(result, "error"), "name"));
	const struct value *code = value_get(result, "exit_code");
	char took[32];

	(void)text_seconds(wall_ms, took);
	bool ended = !strcmp(status, "ok") || (!strcmp(status, "error") && !name);
	if (ended && value_kind(code) == VALUE_INT)
		(void)snprintf(ret, size, "exit %lld in %s", (long long)value_int(code), took);
	else if (!strcmp(status, "ok"))
		(void)snprintf(ret, size, "ok in %s", took);
	else if (!strcmp(status, "error"))
		(void)snprintf(ret, size, "%.80s in %s", name ? name : "error", took);
	else if (!strcmp(status, "timeout"))
		(void)snprintf(ret, size, "timed out after %s, interrupted", took);
	else if (!strcmp(status, "interrupted"))
		(void)snprintf(ret, size, "interrupted after %s", took);
	else
		title_of_end(result, took, ret, size);
}

static void add_traceback(const struct value *error, struct text *notes)
{
	const struct value *traceback = value_get(error, "traceback");
	const char *name = value_str(value_get(error, "name")),
		   *why = value_str(value_get(error, "value"));
	auto_text line = TEXT_INIT;
	struct stream s = {
		.name = "error", .head = value_str(traceback), .head_len = value_len(traceback)};
	bool cut = false;

	if (!s.head_len) {
		text_fmt(&line, "%s: %s", name ? name : "error", why ? why : "");
		s.head = line.data;
		s.head_len = line.len;
	}
	text_stream(notes, &s, 6000, &cut);
	text_done(&line);
	line = (struct text)TEXT_INIT;
	text_fmt(&line, "%s: %s", name ? name : "Error", why ? why : "");
	note_missing(notes, line.data);
}

static void add_notes(const struct value *result, const char *status, bool alive,
		      const struct brought *b, struct text *notes)
{
	if (value_kind(value_get(result, "error")) == VALUE_OBJECT)
		add_traceback(value_get(result, "error"), notes);
	tool_add_alerts(notes, result);
	if (b->images_left)
		text_fmt(notes,
			 "%u image%s left out: at most %u of up to 700 KB each are shown. Use "
			 "savefig(dpi=80), or write files to /home/user/out.\n",
			 b->images_left, b->images_left == 1 ? " was" : "s were", IMAGES_MAX);
	if (ran_out_of_memory(result))
		text_fmt(
			notes,
			"[limit_exceeded.memory] Killed at the memory limit of the sandbox; its files are "
			"still there. Process data in chunks, or use %s with memory_mb<=4096.\n",
			tool_name(tool_create));
	if (!alive)
		text_put(notes,
			 "The variables of this session are gone; the next call starts it anew.\n");
	if (!strcmp(status, "timeout"))
		text_fmt(notes,
			 "Next: pass timeout_ms up to 600000, or run it with %s background=true.\n",
			 tool_name(tool_exec));
}

static struct value *meta_of(const struct value *result, const struct outcome *o,
			     const char *status)
{
	static const char *const same[] = {"execution_count", "exit_code", "signal"};
	struct value *v = value_object(), *files = value_get(result, "files");
	const char *name = value_str(value_get(value_get(result, "error"), "name"));
	uint64_t bytes[2] = {0};

	for (int i = 0; i < 2; i++)
		(void)spool_size(&o->rec->output[i], &bytes[i]);
	value_set(v, "run_id", value_of_str(o->rec->id));
	value_set(v, "run", value_of_str(o->run));
	value_set(v, "status", value_of_str(status));
	value_set(v, "error", name ? value_of_str(name) : value_of_null());
	value_set(v, "timed_out", value_of_bool(!strcmp(status, "timeout")));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		value_set(v, same[i], value_copy(value_get(result, same[i])));
	value_set(v, "duration_ms", value_of_u64(o->wall_ms));
	value_set(v, "stdout_bytes", value_of_u64(bytes[0]));
	value_set(v, "stderr_bytes", value_of_u64(bytes[1]));
	value_set(v, "truncated", value_of_bool(o->cut));
	value_set(v, "untrusted", value_of_str("stdout stderr results error artifacts"));
	value_set(v, "artifacts", files ? value_copy(files) : value_array());
	if (value_get(result, "packages"))
		value_set(v, "packages", value_copy(value_get(result, "packages")));
	return v;
}

static int reply(struct call *c, struct outcome *o, const struct value *result, bool alive,
		 struct err *e)
{
	const char *status = value_str(value_get(result, "status"));
	const struct value *list = value_get(result, "results");
	struct brought b = {.value = TEXT_INIT};
	auto_text t = TEXT_INIT;
	char title[160];

	status = status ? status : "died";
	for (size_t i = 0; i < value_len(list); i++)
		take_result(&b, value_get(value_at(list, i), "data"));
	o->wall_ms = (uint64_t)value_real(value_get(value_get(result, "usage"), "wall_ms"));
	o->files = value_get(result, "files");
	o->value = b.value.data;
	o->title = title;
	title_of(result, status, o->wall_ms, title, sizeof(title));
	add_notes(result, status, alive, &b, &o->notes);
	show_run(&t, o);
	int r = tool_reply(c, &t, e);
	for (unsigned i = 0; r >= 0 && i < b.n_images; i++)
		tool_add_image(c, value_share(b.images[i]), b.types[i]);
	if (r >= 0) {
		show_links(c, o);
		tool_add_meta(c, meta_of(result, o, status));
	}
	text_done(&b.value);
	return r;
}

static int show(struct call *c, struct box *b, const char *session, const char *run,
		const struct value *result, bool alive, struct err *e)
{
	struct outcome o = {.box = b,
			    .session = session,
			    .brief = true,
			    .notes = TEXT_INIT,
			    .max_chars = (size_t)arg_int(c, "max_output_chars", 12000)};
	char name[16];

	o.rec = record_find(c->api->runs, c->who.tenant, run, e);
	if (!o.rec)
		return -ENOENT;
	(void)snprintf(name, sizeof(name), "r%u", names_of_run(tool_mcp(c)->names, b->id, run));
	o.run = name;
	int r = reply(c, &o, result, alive, e);
	text_done(&o.notes);
	record_unref(c->api->runs, o.rec);
	return r;
}

static int run(struct call *c, struct box *b, struct session *s, const char *session, struct err *e)
{
	const struct value *code = arg(c, "code");
	struct execution x = {.code = value_str(code),
			      .code_len = value_len(code),
			      .time_ms = (uint64_t)arg_int(c, "timeout_ms", 30000)};
	struct running asked;

	if (id_make("run", x.run, e) < 0)
		return -EIO;
	asked_begin(c, &asked, b, x.run);
	int r = execute(c, b, s, &x, e);
	asked_end(c, &asked);
	auto_value *result = x.result;
	if (r < 0)
		return r;
	return show(c, b, session, x.run, result, pinfold_session_alive(s->handle), e);
}

/* A modern client that brought a person's word: what it began goes on. */
static int again(struct call *c, struct box *b, const char *session, struct err *e)
{
	struct record *rec = NULL;
	struct err ignored = ERR_INIT;
	auto_value *result = NULL;
	int r = asked_resume(c, b, &rec, e);

	if (!rec)
		return r;
	if (!rec->result || value_parse(rec->result, strlen(rec->result), &result, &ignored) < 0)
		r = err_set(e, ERR_INTERNAL, "no result of run %s", rec->id);
	else
		r = show(c, b, session, rec->id, result, value_true(value_get(result, "alive")), e);
	record_unref(c->api->runs, rec);
	return r < 0 ? r : 1;
}

/* Said with the short name of what it is busy with. */
static int still_busy(struct call *c, const struct box *b, const char *session, struct err *e)
{
	const char *at = strstr(e->text, "still running ");
	unsigned seconds = 0, number;
	char run[32] = "";

	if (!at || sscanf(at, "still running %31s (%u", run, &seconds) != 2)
		return -EBUSY;
	number = names_of_run(tool_mcp(c)->names, b->id, run);
	(void)err_set(e, ERR_BUSY, "session \"%s\" is still running r%u (%u s)", session, number,
		      seconds);
	return err_remedy(e,
			  "Wait with %s process_id=\"r%u\" wait_ms=20000, interrupt it with %s "
			  "process_id=\"r%u\" signal=\"INT\", or use another session name",
			  tool_name(tool_process_read), number, tool_name(tool_process_write),
			  number);
}

int tool_run_code(struct call *c, struct err *e)
{
	const char *lang = arg_str(c, "language"), *session = arg_str(c, "session");
	char name[BOX_NAME_SIZE];

	lang = !lang ? "python" : !strcmp(lang, "javascript") ? "node" : lang;
	session = session ? session : "main";
	/* Each language has a session of that name. */
	(void)snprintf(name, sizeof(name), "%.24s%s%s", session, strcmp(lang, "python") ? "-" : "",
		       strcmp(lang, "python") ? lang : "");
	struct box *b = tool_box_for(c, lang, arg(c, "code"), e);
	if (!b)
		return -ENOENT;
	int r = again(c, b, session, e);
	if (r != 0) {
		box_put(c->api, b);
		return r < 0 ? r : 0;
	}
	struct session *s = box_session(b, name, lang, arg_true(c, "reset"), e);
	r = s			  ? run(c, b, s, session, e)
	    : e->kind == ERR_BUSY ? still_busy(c, b, session, e)
				  : -EIO;
	if (s)
		box_session_put(b, s);
	box_put(c->api, b);
	return r;
}
