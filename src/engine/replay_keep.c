/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a replay needs, of runs that ask for it. The format is in replay.h. */
#include "engine/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/run_int.h"
#include "store/history.h"

static struct value *of_text(const char *text)
{
	return text ? value_of_base64(text, strlen(text)) : value_of_null();
}

static struct value *of_list(const char *const *list)
{
	struct value *v = value_array();

	for (; list && *list; list++)
		value_add(v, of_text(*list));
	return v;
}

static void set_limits(struct value *v, const struct pinfold_run_options *o)
{
	value_set(v, "time_ms", value_of_u64(o->time_ms));
	value_set(v, "grace_ms", value_of_u64(o->grace_ms));
	value_set(v, "cpu_time_ms", value_of_u64(o->cpu_time_ms));
	value_set(v, "cpus_milli", value_of_u64(o->cpus_milli));
	value_set(v, "memory_bytes", value_of_u64(o->memory_bytes));
	value_set(v, "pids", value_of_u64(o->pids));
	value_set(v, "disk_bytes", value_of_u64(o->disk_bytes));
	value_set(v, "nofile", value_of_u64(o->nofile));
	value_set(v, "keep_ms", value_of_u64(o->keep_ms));
}

static struct value *request_of(const struct pinfold_run *run, const struct pinfold_run_options *o)
{
	struct value *v = value_object();

	value_set(v, "argv", of_list(o->argv));
	value_set(v, "lang", of_text(o->lang));
	value_set(v, "code", o->code ? value_of_base64(o->code, o->code_len) : value_of_null());
	value_set(v, "code_name", of_text(o->code_name));
	value_set(v, "env", of_list(o->env));
	value_set(v, "workdir", of_text(o->workdir));
	value_set(v, "user", of_text(o->user));
	value_set(v, "image", of_text(o->image));
	value_set(v, "limits", of_text(o->limits));
	value_set(v, "hide", of_list(o->hide));
	value_set(v, "show", of_list(o->show));
	value_set(v, "allow", of_list(o->allow));
	value_set(v, "policy", of_text(o->policy));
	value_set(v, "flags", value_of_int(o->flags & REPLAY_FLAGS));
	value_set(v, "clock_start_s", value_of_int(run->req.spec.pinned.start_s));
	set_limits(v, o);
	return v;
}

static const char *why_not(const struct pinfold_run *run)
{
	const struct request *r = &run->req;

	return r->policy && !r->records && !r->replays
		       ? "it could reach the network, and nothing was recorded; --record does that"
	       : r->spec.pty ? "it had a terminal"
			     : NULL;
}

/* NULL where there is none. */
static struct value *dir_of(const struct pinfold_run *run, struct value *kept)
{
	const struct sandbox_spec *spec = &run->req.spec;
	char digest[HASH_TEXT_SIZE];
	struct err e = ERR_INIT;

	if (spec->dir_fd < 0)
		return value_of_null();
	if (dir_digest(spec->dir_fd, spec->hidden, digest, &e) < 0) {
		value_set(kept, "why_not", value_of_str(e.text));
		return value_of_null();
	}
	struct value *v = value_object();
	value_set(v, "path", of_text(run->req.dir_real));
	value_set(v, "digest", value_of_str(digest));
	return v;
}

static struct value *workspace_of(const struct pinfold_run *run)
{
	struct err none = ERR_INIT;
	struct snap before;

	if (!run->upper || history_get(run->upper->store, run->upper->w.head, &before, &none) < 0)
		return value_of_null();
	struct value *v = value_object();
	value_set(v, "name", value_of_str(run->upper->w.name));
	value_set(v, "snapshot", value_of_int(before.seq));
	return v;
}

bool request_is_kept(const struct pinfold_run_options *o)
{
	return (o->flags & (PINFOLD_DETERMINISTIC | PINFOLD_RECORD | REPLAY_COMPARED)) || o->replay;
}

int replay_begin(struct pinfold_run *run, struct err *e)
{
	const struct pinfold_run_options *o = run->options;

	if (!o || !request_is_kept(o) || run->exec || run->req.spec.tool)
		return 0;
	struct replay *r = calloc(1, sizeof(*r));
	if (!r)
		return err_sys(e, "run");
	run->replay = r;
	for (int i = 0; i < 2; i++)
		hash_init(&r->output[i].hash);
	if (o->flags & REPLAY_COMPARED)
		return 0;
	r->kept = value_object();
	value_set(r->kept, "version", value_of_int(REPLAY_VERSION));
	value_set(r->kept, "request", request_of(run, o));
	value_set(r->kept, "why_not", value_of_str(why_not(run)));
	value_set(r->kept, "dir", dir_of(run, r->kept));
	value_set(r->kept, "workspace", workspace_of(run));
	auto_free char *layers = deps_again(&run->req.deps);
	value_set(r->kept, "deps", layers ? value_of_str(layers) : value_of_null());
	if (names_image(o))
		value_set(r->kept, "image", value_of_str(run->req.image_digest));
	return 0;
}

static void keep_head(struct replay_stream *s, const void *data, size_t len)
{
	size_t room = REPLAY_HEAD_MAX - s->head_len, n = len < room ? len : room;

	if (!s->head)
		s->head = malloc(REPLAY_HEAD_MAX); /* only what is used becomes memory */
	if (!s->head)
		return;
	memcpy(s->head + s->head_len, data, n);
	s->head_len += n;
}

void replay_output(struct pinfold_run *run, int stream, const void *data, size_t len)
{
	struct replay_stream *s = run->replay ? &run->replay->output[stream] : NULL;

	if (!s)
		return;
	hash_add(&s->hash, data, len);
	s->bytes += len;
	keep_head(s, data, len);
}

void pinfold_run_keep_input(struct pinfold_run *run, const void *data, size_t len)
{
	struct replay *r = run->replay;

	record_run_input(run, data, len);
	if (!r || r->input_lost || len == 0)
		return;
	if (!r->input)
		r->input = malloc(REPLAY_INPUT_MAX); /* only what is used becomes memory */
	r->input_lost = !r->input || len > REPLAY_INPUT_MAX - r->input_len;
	if (r->input_lost)
		return;
	memcpy(r->input + r->input_len, data, len);
	r->input_len += len;
}

static struct value *of_stream(const struct replay_stream *s)
{
	struct value *v = value_object();
	struct hash h = s->hash;
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];

	hash_done(&h, digest);
	hash_text(digest, text);
	value_set(v, "bytes", value_of_u64(s->bytes));
	value_set(v, "sha256", value_of_str(text));
	value_set(v, "head", value_of_base64(s->head ? s->head : "", s->head_len));
	return v;
}

static struct value *of_file(const struct run_file *f)
{
	struct value *v = value_object();

	value_set(v, "path", value_of_base64(f->path, f->path_len));
	value_set(v, "change", value_of_int(f->change));
	value_set(v, "mode", value_of_int(f->mode));
	value_set(v, "size", value_of_u64(f->size));
	value_set(v, "sha256", value_of_str(f->sha256));
	return v;
}

struct value *replay_outcome(const struct pinfold_run *run)
{
	struct value *v = value_object(), *files = value_array();

	value_set(v, "status", value_of_str(run->status));
	value_set(v, "exit_status", value_of_int(run->exit_status));
	value_set(v, "stdout", of_stream(&run->replay->output[0]));
	value_set(v, "stderr", of_stream(&run->replay->output[1]));
	for (unsigned i = 0; i < run->n_files; i++)
		value_add(files, of_file(&run->files[i]));
	value_set(v, "files", files);
	value_set(v, "files_omitted", value_of_u64(run->files_omitted));
	return v;
}

static void keep_recording(const struct pinfold_run *run, struct value *kept)
{
	const char *digest = run->req.replays ? run->req.replays : run->recorded.sha256;

	if (!run->req.policy)
		return;
	if (run->req.records && (!digest[0] || !run->recorded.is_whole))
		value_set(kept, "why_not",
			  value_of_str("not all that it got from the network could be recorded"));
	value_set(kept, "recording", value_of_str(digest));
}

void replay_keep(struct pinfold_run *run)
{
	struct replay *r = run->replay;
	struct err e = ERR_INIT;
	size_t len = 0;

	if (!r || !r->kept || run->exit_status == 125)
		return;
	if (r->input_lost)
		value_set(r->kept, "why_not",
			  value_of_str("it read more than 1 MiB of standard input"));
	keep_recording(run, r->kept);
	value_set(r->kept, "input", value_of_base64(r->input ? r->input : "", r->input_len));
	value_set(r->kept, "outcome", replay_outcome(run));
	auto_free char *text = value_text(r->kept, &len);
	auto_close int fd = text ? artifact_for_replay(run, &e) : FD_NONE;
	if (fd >= 0 && fd_write_all(fd, text, len) < 0)
		(void)!ftruncate(fd, 0); /* half of it is no JSON, and is refused */
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	value_free(r->kept);
	free(r->output[0].head);
	free(r->output[1].head);
	free(r->input);
	free(r);
}
