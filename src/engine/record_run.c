/* SPDX-License-Identifier: Apache-2.0 */
/* What the events of a run say of it. Names of variables, never their values; hashes, never contents. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/redact.h"
#include "store/history.h"

#define WORD_BYTES 1024u
#define WORDS_BYTES 512u
#define NAMES_MAX 32u
#define DENIALS_MAX 8u
#define FILES_MAX 16u

static struct value *of_hash(const uint8_t digest[HASH_BYTES])
{
	char text[HASH_TEXT_SIZE];

	hash_text(digest, text);
	return value_of_str(text);
}

struct value *record_word(const char *text)
{
	size_t n = strlen(text);

	return value_of_bytes(text, n < WORD_BYTES ? n : WORD_BYTES);
}

struct value *record_redacted(const char *text)
{
	char to[400];
	bool next = false;

	(void)redact(text, &next, to, sizeof(to));
	return value_of_str(to);
}

struct value *record_error(const struct err *e)
{
	struct value *v = value_object();
	char code[80];

	(void)snprintf(code, sizeof(code), "%s%s%s", err_code(e->kind), e->detail[0] ? "." : "",
		       e->detail);
	value_set(v, "code", value_of_str(code));
	value_set(v, "message", record_redacted(e->text));
	return v;
}

/* The words, without secrets and not too many; the hash is of all, as they are. */
static void set_command(struct value *v, const char *const *argv)
{
	struct value *words = value_array();
	uint8_t digest[HASH_BYTES];
	size_t room = WORDS_BYTES;
	bool secret = false;
	struct hash h;

	hash_init(&h);
	for (unsigned i = 0; argv && argv[i]; i++) {
		char text[WORDS_BYTES];

		hash_add(&h, argv[i], strlen(argv[i]) + 1);
		if (room < 16)
			continue;
		size_t n = redact(argv[i], &secret, text, room);
		value_add(words, value_of_str(text));
		room -= n < room ? n : room;
	}
	hash_done(&h, digest);
	value_set(v, "command", words);
	value_set(v, "command_sha256", of_hash(digest));
}

static void set_names(struct value *v, const char *const *env)
{
	struct value *names = value_array();
	unsigned i = 0;

	for (; env && env[i] && i < NAMES_MAX; i++) {
		const char *end = strchrnul(env[i], '=');
		size_t n = (size_t)(end - env[i]);

		value_add(names, value_of_bytes(env[i], n < 64 ? n : 64));
	}
	if (i)
		value_set(v, "environment", names);
	else
		value_free(names);
}

static void set_limits(struct value *v, const struct sandbox_limits *l)
{
	struct value *to = value_object();

	value_set(to, "time_ms", value_of_u64(l->time_ms));
	value_set(to, "memory", value_of_u64(l->memory_bytes));
	value_set(to, "pids", value_of_u64(l->pids));
	value_set(to, "disk", value_of_u64(l->disk_bytes));
	value_set(to, "cpus_milli", value_of_u64(l->cpus_milli));
	value_set(v, "limits", to);
}

static void set_text(struct value *v, const char *key, const char *text)
{
	if (text)
		value_set(v, key, record_word(text));
}

struct value *record_run_asked(const struct pinfold_run *run, const struct pinfold_run_options *o)
{
	const struct sandbox_spec *spec = &run->req.spec;
	struct value *v = value_object();
	uint8_t digest[HASH_BYTES];

	set_command(v, o->argv);
	if (o->lang && o->code) {
		hash_bytes(o->code, o->code_len, digest);
		value_set(v, "code_sha256", of_hash(digest));
	}
	set_text(v, "lang", o->lang);
	set_text(v, "user", o->user);
	set_text(v, "dir", o->dir);
	value_set(v, "image", record_word(o->image ? o->image : "host"));
	set_names(v, o->env);
	if (!spec->argv)
		return v; /* refused before that was known */
	value_set(v, "isolation",
		  value_of_str(spec->level == LEVEL_STRICT ? "strict" : "landlock"));
	if (!run->exec)
		set_limits(v, &spec->limits);
	struct err none = ERR_INIT;
	struct snap before;
	if (run->upper && history_get(run->upper->store, run->upper->w.head, &before, &none) >= 0)
		value_set(v, "snapshot_before", value_of_int(before.seq));
	return v;
}

static void set_output(struct value *v, const struct pinfold_run *run)
{
	static const char *const names[] = {"stdout", "stderr"};

	for (int i = 0; i < 2; i++) {
		struct hash h = run->record.output[i];
		struct value *one = value_object();
		uint8_t digest[HASH_BYTES];

		hash_done(&h, digest);
		value_set(one, "bytes", value_of_u64(run->record.output_bytes[i]));
		value_set(one, "sha256", of_hash(digest));
		value_set(v, names[i], one);
	}
}

static void set_denials(struct value *v, const struct pinfold_run *run)
{
	struct value *list = value_array();

	for (unsigned i = 0; i < run->n_denials && i < DENIALS_MAX; i++) {
		const struct run_denial *d = &run->denials[i];
		struct value *one = value_object();

		value_set(one, "kind", value_of_str(d->kind));
		value_set(one, "what", record_redacted(d->what));
		value_set(one, "count", value_of_u64(d->count));
		value_add(list, one);
	}
	value_set(v, "denials", list);
	uint64_t more = run->denials_omitted;
	more += run->n_denials > DENIALS_MAX ? run->n_denials - DENIALS_MAX : 0;
	if (more)
		value_set(v, "denials_omitted", value_of_u64(more));
}

static void set_files(struct value *v, const struct pinfold_run *run)
{
	struct value *list = value_array();

	for (unsigned i = 0; i < run->n_files && i < FILES_MAX; i++) {
		const struct run_file *f = &run->files[i];
		struct value *one = value_object();

		value_set(one, "path",
			  value_of_bytes(f->path, f->path_len < 256 ? f->path_len : 256));
		if (f->sha256[0])
			value_set(one, "sha256", value_of_str(f->sha256));
		value_add(list, one);
	}
	value_set(v, "files", list);
	value_set(v, "files_changed", value_of_u64(run->n_files + run->files_omitted));
}

static void set_end(struct value *v, const struct pinfold_run *run)
{
	int st = run->wait_status;

	value_set(v, "status", value_of_str(run->status ? run->status : "killed"));
	if (run->status)
		value_set(v, "exit_status", value_of_int(run->exit_status));
	if (run->have_status && WIFSIGNALED(st))
		value_set(v, "signal", value_of_int(WTERMSIG(st)));
	if (run->ended_us > run->started_us)
		value_set(v, "wall_ms", value_of_u64((run->ended_us - run->started_us) / 1000));
	if (run->limit_kind)
		value_set(v, "limit", value_of_str(run->limit_kind));
	if (run->snapshot)
		value_set(v, "snapshot", value_of_u64(run->snapshot));
}

struct value *record_run_outcome(const struct pinfold_run *run, const struct err *e)
{
	struct value *v = value_object();

	if (e) {
		value_set(v, "status", value_of_str("failed"));
		value_set(v, "error", record_error(e));
		return v;
	}
	set_end(v, run);
	if (run->failed) {
		struct value *why = value_object();

		value_set(why, "code", value_of_str(run->error.code));
		value_set(why, "message", record_redacted(run->error.message));
		value_set(v, "error", why);
	}
	set_output(v, run);
	set_denials(v, run);
	if (run->n_files)
		set_files(v, run);
	return v;
}
