/* SPDX-License-Identifier: Apache-2.0 */
/* What the events of a run say of it. Names of variables, never their values; hashes, never
 * contents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "egress/policy.h"
#include "engine/host_layer.h"
#include "engine/record.h"
#include "engine/run_int.h"
#include "ledger/redact.h"
#include "store/history.h"

#define WORD_BYTES 1024u

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
	struct redact_state state = {0};

	(void)redact(text, &state, to, sizeof(to));
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

/* Is a value of a variable one to look for? Short ones and paths are everywhere. */
static bool is_telling(const char *name, size_t len, const char *value)
{
	bool secret = redact_names(name, len);

	return strlen(value) >= (secret ? 4 : 8) && (secret || *value != '/');
}

/* The word with values of variables replaced by their names; NULL: it has none of them. */
static char *by_name(const char *word, const char *const *env)
{
	char *text = NULL;
	unsigned most = 64;

	for (unsigned i = 0; env && env[i]; i++) {
		const char *end = strchr(env[i], '='), *from = text ? text : word, *at;

		if (!end || !is_telling(env[i], (size_t)(end - env[i]), end + 1))
			continue;
		while (most-- > 0 && (at = strstr(from, end + 1))) {
			char *next = NULL;

			if (asprintf(&next, "%.*s$%.*s%s", (int)(at - from), from,
				     (int)(end - env[i]), env[i], at + strlen(end + 1)) < 0)
				return text;
			free(text);
			from = text = next;
		}
	}
	return text;
}

struct value *record_words(const char *const *argv, const char *const *env)
{
	struct value *words = value_array();
	struct redact_state state = {0};

	for (unsigned i = 0; argv && argv[i]; i++) {
		auto_free char *named = by_name(argv[i], env);
		char text[WORD_BYTES];

		(void)redact(named ? named : argv[i], &state, text, sizeof(text));
		value_add(words, value_of_str(text));
	}
	return words;
}

/* Of all of them, as they are. */
static void set_command_hash(struct value *v, const char *const *argv)
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	for (unsigned i = 0; argv && argv[i]; i++)
		hash_add(&h, argv[i], strlen(argv[i]) + 1);
	hash_done(&h, digest);
	value_set(v, "command_sha256", of_hash(digest));
}

static void set_limits(struct value *v, const struct sandbox_limits *l,
		       const struct pinfold_run_options *o)
{
	struct value *to = value_object();

	value_set(to, "time_ms", value_of_u64(l->time_ms));
	value_set(to, "memory", value_of_u64(l->memory_bytes));
	value_set(to, "pids", value_of_u64(l->pids));
	value_set(to, "disk", value_of_u64(l->disk_bytes));
	value_set(to, "cpus_milli", value_of_u64(l->cpus_milli));
	if (o->grace_ms)
		value_set(to, "grace_ms", value_of_u64(l->grace_ms));
	if (o->cpu_time_ms)
		value_set(to, "cpu_time_ms", value_of_u64(l->cpu_time_ms));
	if (o->nofile)
		value_set(to, "nofile", value_of_u64(l->nofile));
	value_set(v, "limits", to);
}

/* What it may reach, by the hash of its rules as the gate gets them. */
static void set_policy(struct value *v, const struct policy *p)
{
	struct value *to = value_object();
	auto_free void *block = NULL;
	struct err none = ERR_INIT;
	uint8_t digest[HASH_BYTES];
	size_t len = 0;

	if (!p || policy_pack(p, &block, &len, &none) < 0) {
		value_free(to);
		return;
	}
	hash_bytes(block, len, digest);
	value_set(to, "sha256", of_hash(digest));
	value_set(v, "policy", to);
}

/* A name of something that is there is what it is; one of nothing may be a secret in the wrong
 * place. */
static void set_name(struct value *v, const char *key, const char *text, bool is_there)
{
	if (text)
		value_set(v, key, is_there ? record_word(text) : record_redacted(text));
}

static void set_image(struct value *v, const struct pinfold_run *run,
		      const struct pinfold_run_options *o)
{
	const struct request *r = &run->req;
	char number[HASH_TEXT_SIZE];

	if (r->image_name[0])
		value_set(v, "image", record_word(r->image_name));
	else
		set_name(v, "image", o->image ? o->image : "host", r->spec.argv);
	if (r->image_digest[0])
		value_set(v, "image_digest", value_of_str(r->image_digest));
	else if (!r->image_name[0] && !names_image(o) && r->spec.argv && run->record.dir >= 0 &&
		 host_layer(run->record.dir, number))
		value_set(v, "host_layer", value_of_str(number));
}

/* A path can have a secret in it as any word can. */
static void set_workdir(struct value *v, const struct pinfold_run_options *o)
{
	const char *const words[] = {o->workdir, NULL};

	if (!o->workdir)
		return;
	auto_value *said = record_words(words, o->env);
	const char *text = value_str(value_at(said, 0));
	value_set(v, "workdir", value_of_str(text));
	if (!text || strcmp(text, o->workdir) != 0)
		value_set(v, "workdir_redacted", value_of_bool(true));
}

struct value *record_run_asked(const struct pinfold_run *run, const struct pinfold_run_options *o)
{
	const struct sandbox_spec *spec = &run->req.spec;
	struct value *v = value_object();
	uint8_t digest[HASH_BYTES];

	set_command_hash(v, o->argv);
	record_run_first(v, run);
	if (o->request)
		value_set(v, "request", record_word(o->request));
	if (o->lang && o->code) {
		hash_bytes(o->code, o->code_len, digest);
		value_set(v, "code_sha256", of_hash(digest));
	}
	set_name(v, "lang", o->lang, spec->argv);
	set_name(v, "user", o->user, spec->argv);
	set_name(v, "dir", o->dir, spec->argv);
	set_workdir(v, o);
	if (o->flags & PINFOLD_PTY)
		value_set(v, "pty", value_of_bool(true));
	if ((o->flags & PINFOLD_DETERMINISTIC) && spec->argv)
		value_set(v, "clock_start_s", value_of_int(spec->pinned.start_s));
	if (!run->exec) /* else it is the sandbox's, and was said when that was made */
		set_image(v, run, o);
	set_policy(v, run->req.policy);
	if (!spec->argv)
		return v; /* refused before that was known */
	value_set(v, "isolation",
		  value_of_str(spec->level == LEVEL_STRICT ? "strict" : "landlock"));
	if (!run->exec)
		set_limits(v, &spec->limits, o);
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

/* What it was given, whether it read that or not. */
static void set_input(struct value *v, const struct pinfold_run *run)
{
	struct hash h = run->record.input;
	struct value *one = value_object();
	uint8_t digest[HASH_BYTES];

	hash_done(&h, digest);
	value_set(one, "bytes", value_of_u64(run->record.input_bytes));
	value_set(one, "sha256", of_hash(digest));
	value_set(v, "stdin", one);
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
	if (run->recorded.sha256[0])
		value_set(v, "recording", value_of_str(run->recorded.sha256));
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
	if (!run->req.spec.session) /* whose input is pieces of code, one after the other */
		set_input(v, run);
	record_run_lists(v, run);
	return v;
}
