/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger alone knows of a run, in the form that replay_keep.c has. It has no values of
 * variables, no input and no program text, so runs that had some cannot be made again of it; what
 * they printed it has as hashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/replay.h"
#include "engine/replay_int.h"
#include "engine/run_int.h"
#include "ledger/find.h"
#include "wire/msg.h"

static struct value *coded(const char *text)
{
	return text ? value_of_base64(text, strlen(text)) : value_of_null();
}

static const char *text_of(const struct value *v, const char *key)
{
	return value_str(value_get(v, key));
}

/* All of a list: what an event has no room for is in those behind it. */
static void add_rows(struct value *to, const struct find_run *f, const struct value *data,
		     const char *name, struct value *(*row)(const struct value *))
{
	const struct value *lists[] = {value_get(data, name), value_get(f->more, name)};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < value_len(lists[k]); i++)
			value_add(to, row(value_at(lists[k], i)));
}

static struct value *word(const struct value *v)
{
	return coded(value_str(v) ? value_str(v) : "");
}

/* The ledger leaves out what looks like a secret, and the ends of long words. */
static bool is_whole(const struct value *words, const char *want)
{
	uint8_t digest[HASH_BYTES];
	char text[HASH_TEXT_SIZE];
	struct hash h;

	hash_init(&h);
	for (size_t i = 0; i < value_len(words); i++) {
		const struct value *w = value_at(words, i);
		void *bytes = NULL;
		size_t len = 0;

		if (value_from_base64(value_str(w), value_len(w), &bytes, &len) == 0)
			hash_add(&h, bytes, len);
		hash_add(&h, "", 1);
		free(bytes);
	}
	hash_done(&h, digest);
	hash_text(digest, text);
	return want && strcmp(text, want) == 0;
}

static const char *why_not(const struct value *begin, const struct value *asked,
			   const struct value *ended, const struct value *words)
{
	const char *kind = text_of(begin, "kind");
	const char *why = !kind || (strcmp(kind, "run") != 0 && strcmp(kind, "workspace.exec") != 0)
				  ? "it stood on what came before it in its sandbox"
			  : value_get(asked, "code_sha256") ? "the ledger has no program texts"
			  : value_get(asked, "environment")
				  ? "the ledger has no values of variables"
			  : value_int(value_get(value_get(ended, "stdin"), "bytes"))
				  ? "the ledger has not what it read"
			  : text_of(asked, "dir") ? "the ledger has not what was in its directory"
			  : !is_whole(words, text_of(asked, "command_sha256"))
				  ? "the ledger leaves out what looks like a secret, and long words"
				  : NULL;

	if (value_get(asked, "policy"))
		return "it could reach the network, and nothing was recorded; --record does that";
	if (value_true(value_get(asked, "pty")))
		return "it had a terminal";
	return why;
}

static struct value *request_of(const struct find_run *f, const struct value *asked)
{
	static const char *const limits[][2] = {
		{"time_ms", "time_ms"},	  {"memory_bytes", "memory"},
		{"pids", "pids"},	  {"cpus_milli", "cpus_milli"},
		{"grace_ms", "grace_ms"}, {"cpu_time_ms", "cpu_time_ms"},
		{"nofile", "nofile"},
	};
	struct value *v = value_object(), *argv = value_array();
	const char *image = text_of(asked, "image");

	add_rows(argv, f, asked, "command", word);
	value_set(v, "argv", argv);
	value_set(v, "user", coded(text_of(asked, "user")));
	value_set(v, "workdir", coded(text_of(asked, "workdir")));
	value_set(v, "image", coded(image && strcmp(image, "host") != 0 ? image : NULL));
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		value_set(v, limits[i][0],
			  value_of_int(
				  value_int(value_get(value_get(asked, "limits"), limits[i][1]))));
	if (value_get(asked, "clock_start_s")) {
		value_set(v, "flags", value_of_int(PINFOLD_DETERMINISTIC));
		value_set(v, "clock_start_s", value_copy(value_get(asked, "clock_start_s")));
	}
	/* A workspace has its own. */
	if (!text_of(f->begin.value, "workspace"))
		value_set(v, "disk_bytes",
			  value_of_int(value_int(value_get(value_get(asked, "limits"), "disk"))));
	return v;
}

/* Of modes the ledger knows nothing. */
static struct value *file(const struct value *row)
{
	static const char *const names[] = {
		[MSG_ADDED] = "added", [MSG_MODIFIED] = "modified", [MSG_DELETED] = "deleted"};
	struct value *v = value_object();
	const char *change = text_of(row, "change"), *sha256 = text_of(row, "sha256");

	value_set(v, "path", coded(text_of(row, "path") ? text_of(row, "path") : ""));
	for (int i = MSG_ADDED; change && i <= MSG_DELETED; i++)
		if (strcmp(change, names[i]) == 0)
			value_set(v, "change", value_of_int(i));
	value_set(v, "size", value_of_int(value_int(value_get(row, "size"))));
	value_set(v, "sha256", value_of_str(sha256 ? sha256 : ""));
	return v;
}

static struct value *outcome_of(const struct find_run *f, const struct value *ended)
{
	static const char *const same[] = {"status", "exit_status", "stdout", "stderr"};
	struct value *v = value_object();

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (value_get(ended, same[i]))
			value_set(v, same[i], value_copy(value_get(ended, same[i])));
	/* Where nobody asked for the list there is none. */
	if (value_get(ended, "files_changed") || value_get(ended, "snapshot")) {
		struct value *files = value_array();
		int64_t all = value_int(value_get(ended, "files_changed"));

		add_rows(files, f, ended, "files", file);
		value_set(v, "files_omitted", value_of_int(all - (int64_t)value_len(files)));
		value_set(v, "files", files);
	}
	return v;
}

static struct value *layers_of(const struct value *asked)
{
	struct run_deps had = {.layers = value_copy(value_get(asked, "package_layers"))};
	auto_free char *text = had.layers ? deps_again(&had) : NULL;

	value_free(had.layers);
	return text ? value_of_str(text) : value_of_null();
}

static struct value *kept_of(const struct find_run *f)
{
	const struct value *begin = f->begin.value, *asked = value_get(begin, "data");
	const struct value *ended = value_get(f->end.value, "data");
	struct value *v = value_object(), *request = request_of(f, asked);

	value_set(v, "version", value_of_int(REPLAY_VERSION));
	value_set(v, "why_not",
		  value_of_str(why_not(begin, asked, ended, value_get(request, "argv"))));
	value_set(v, "request", request);
	value_set(v, "deps", layers_of(asked));
	value_set(v, "input", coded(""));
	value_set(v, "outcome", outcome_of(f, ended));
	if (text_of(asked, "image_digest"))
		value_set(v, "image", value_of_str(text_of(asked, "image_digest")));
	if (text_of(begin, "workspace")) {
		struct value *w = value_object();

		value_set(w, "name", value_of_str(text_of(begin, "workspace")));
		value_set(w, "snapshot",
			  value_of_int(value_int(value_get(asked, "snapshot_before"))));
		value_set(v, "workspace", w);
	}
	return v;
}

/* A chain of who serves HTTP, or of a tenant, is of somebody who is less than we are. */
int replay_from_ledger(const char *run, struct value **ret, bool *ret_foreign)
{
	auto_free struct record_chain *chain = calloc(RECORD_CHAINS_MAX, sizeof(*chain));
	struct err none = ERR_INIT;
	int n = chain ? record_chains(chain, RECORD_CHAINS_MAX, &none) : 0, known = 0;

	for (int i = 0; i < n; i++) {
		struct find_run f;

		if (!*ret && find_run(chain[i].fd, run, &f, &none) > 0) {
			known = 1;
			if (f.begin.value && f.end.value &&
			    value_get(value_get(f.end.value, "data"), "stdout"))
				*ret = kept_of(&f);
			*ret_foreign = strcmp(chain[i].name, "ledger") != 0;
			find_done(&f);
		}
		fd_close(&chain[i].fd);
	}
	return known;
}
