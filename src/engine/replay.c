/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a run again: what was kept of it becomes options, what it stood on is looked at (a snapshot
 * of the workspace, the directory, the image), and what comes of it goes to replay_compare.c. The
 * file is ours, in a directory of mode 0700, but it is read like anybody's.
 */
#include "engine/replay.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/replay_int.h"
#include "engine/run_int.h"
#include "engine/workspace_int.h"
#include "store/image.h"

#define KEPT_MAX (64u << 20)
#define TEXTS_MAX 16384u

/* What was kept, and the options made of it. */
struct kept {
	struct value *all;
	const struct value *request; /* borrowed */
	char *texts[TEXTS_MAX];	     /* decoded; owned */
	unsigned n_texts;
	const char **lists[8];
	unsigned n_lists;
	bool bad;
	bool by_hash; /* made of the ledger, which has hashes */
	bool foreign; /* of a run over HTTP: who wrote it is less than we are */
	char *input;
	size_t input_len;
};

static void kept_free(struct kept **p)
{
	struct kept *k = *p;

	if (!k)
		return;
	for (unsigned i = 0; i < k->n_texts; i++)
		free(k->texts[i]);
	for (unsigned i = 0; i < k->n_lists; i++)
		free((void *)k->lists[i]);
	value_free(k->all);
	free(k);
}
#define auto_kept __attribute__((cleanup(kept_free)))

/* Values of variables, program text and input are kept of a run that asks for it alone. Of others
 * there is the ledger. */
static int nothing_kept(const char *run, struct kept *k, struct err *e)
{
	int known = replay_from_ledger(run, &k->all, &k->foreign);

	*e = (struct err)ERR_INIT;
	if (k->all) {
		k->request = value_get(k->all, "request");
		k->by_hash = true;
		return 0;
	}
	(void)err_set(e, ERR_MISSING,
		      known ? "%.40s: it did not run to its end"
			    : "%.40s: the ledger knows no such run",
		      run);
	(void)err_detail(e, "replay");
	return err_remedy(e, "pinfold audit --kind run lists them");
}

static int kept_read(const char *run, struct kept *k, struct err *e)
{
	auto_close int fd = artifact_of_replay(run, &k->foreign, e);
	struct stat st;
	size_t len = 0;

	if (fd < 0)
		return fd == -ENOENT ? nothing_kept(run, k, e) : fd;
	if (fstat(fd, &st) < 0 || st.st_size > (off_t)KEPT_MAX)
		return err_set(e, ERR_INTERNAL, "%s: what is kept of it is damaged", run);
	auto_free char *text = malloc((size_t)st.st_size + 1);
	if (!text || fd_read_max(fd, text, (size_t)st.st_size, &len) < 0)
		return err_sys(e, "%s", run);
	if (value_parse(text, len, &k->all, e) < 0 ||
	    value_int(value_get(k->all, "version")) != REPLAY_VERSION) {
		*e = (struct err)ERR_INIT;
		return err_set(e, ERR_INTERNAL, "%s: what is kept of it is damaged", run);
	}
	k->request = value_get(k->all, "request");
	return 0;
}

/* NULL for null. What cannot be decoded makes all of it bad. */
static char *text_of(struct kept *k, const struct value *v, size_t *ret_len)
{
	const char *coded = value_str(v);
	void *bytes = NULL;
	size_t len = 0;

	if (!coded)
		return NULL;
	if (k->n_texts == TEXTS_MAX || value_from_base64(coded, value_len(v), &bytes, &len) < 0) {
		k->bad = true;
		return NULL;
	}
	char *text = realloc(bytes, len + 1);
	if (!text) {
		free(bytes);
		k->bad = true;
		return NULL;
	}
	text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	return k->texts[k->n_texts++] = text;
}

static const char *word(struct kept *k, const char *key)
{
	return text_of(k, value_get(k->request, key), NULL);
}

static const char *const *list(struct kept *k, const char *key)
{
	const struct value *v = value_get(k->request, key);
	size_t n = value_len(v);
	const char **to = calloc(n + 1, sizeof(*to));

	if (!to || k->n_lists == sizeof(k->lists) / sizeof(k->lists[0])) {
		free((void *)to);
		k->bad = true;
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = text_of(k, value_at(v, i), NULL);
	return k->lists[k->n_lists++] = to;
}

static uint64_t number(const struct kept *k, const char *key)
{
	int64_t n = value_int(value_get(k->request, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Nothing else: no package is looked for or fetched for a replay. */
static const char *layers_of(const struct kept *k)
{
	const char *text = value_str(value_get(k->all, "deps"));

	return text && text[0] == DEPS_AGAIN ? text : "off";
}

static int options_of(struct kept *k, struct pinfold_run_options *o, struct err *e)
{
	*o = (struct pinfold_run_options){
		.size = sizeof(*o),
		.argv = list(k, "argv"),
		.lang = word(k, "lang"),
		.code_name = word(k, "code_name"),
		.env = list(k, "env"),
		.workdir = word(k, "workdir"),
		.user = word(k, "user"),
		.image = word(k, "image"),
		.limits = word(k, "limits"),
		.hide = list(k, "hide"),
		.show = list(k, "show"),
		.time_ms = number(k, "time_ms"),
		.grace_ms = number(k, "grace_ms"),
		.cpu_time_ms = number(k, "cpu_time_ms"),
		.cpus_milli = number(k, "cpus_milli"),
		.memory_bytes = number(k, "memory_bytes"),
		.pids = number(k, "pids"),
		.disk_bytes = number(k, "disk_bytes"),
		.nofile = number(k, "nofile"),
		.keep_ms = number(k, "keep_ms"),
		.allow = list(k, "allow"),
		.policy = word(k, "policy"),
		.deps = layers_of(k),
		.replay = value_str(value_get(k->all, "recording")),
		.flags = (uint32_t)number(k, "flags") & REPLAY_FLAGS,
		.clock_start_s = (int64_t)number(k, "clock_start_s"),
	};
	o->code = text_of(k, value_get(k->request, "code"), &o->code_len);
	k->input = text_of(k, value_get(k->all, "input"), &k->input_len);
	if (k->bad)
		return err_set(e, ERR_INTERNAL, "what is kept of it is damaged");
	if (!k->input_len)
		o->flags |= PINFOLD_NO_STDIN;
	if (k->foreign)
		o->flags &= ~PINFOLD_OWN_POLICY;
	return 0;
}

/* The directory is looked at before it is shown; what is changed in between is the caller's
 * doing. */
static int check_dir(struct kept *k, struct pinfold_run_options *o, struct err *e)
{
	const struct value *dir = value_get(k->all, "dir");
	const char *want = value_str(value_get(dir, "digest"));
	const char *path = text_of(k, value_get(dir, "path"), NULL);
	struct secrets hidden = {0};
	char digest[HASH_TEXT_SIZE];

	if (!path || !want)
		return 0;
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		(void)err_sys(e, "--dir %s", path);
		return err_remedy(e, "bring the directory of the run back to its place");
	}
	int r = secrets_find(fd, &(struct secrets_said){o->hide, o->show}, &hidden, e);
	if (r >= 0)
		r = dir_digest(fd, (const char *const *)hidden.path, digest, e);
	secrets_done(&hidden);
	if (r < 0)
		return r;
	if (value_kind(value_get(k->all, "workspace")) != VALUE_OBJECT)
		o->dir = path;
	if (strcmp(digest, want) == 0)
		return 0;
	(void)err_set(e, ERR_CONFLICT, "--dir %s: its files are not those of the run", path);
	(void)err_detail(e, "changed");
	return err_remedy(e, "bring it back to how it was; its digest was %s", want);
}

/* What one who serves could ask for in our name: directories of ours, workspaces, the network. */
static int check_foreign(const struct kept *k, const char *run, struct err *e)
{
	static const char *const ours[] = {"dir", "workspace", "recording"};
	bool bad = value_len(value_get(k->request, "allow")) > 0 ||
		   value_str(value_get(k->request, "policy")) != NULL;

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		bad = bad || value_kind(value_get(k->all, ours[i])) > VALUE_NULL;
	if (!k->foreign || !bad)
		return 0;
	(void)err_set(e, ERR_DENIED,
		      "%s: what is kept of it has more than a run over HTTP can have", run);
	return err_remedy(e, "the process that serves HTTP wrote it: see what became of that");
}

static int check_possible(const struct kept *k, const char *run, struct err *e)
{
	const char *why = value_str(value_get(k->all, "why_not"));

	if (!why)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%s cannot be run again: %s", run, why);
	if (!k->by_hash)
		return err_remedy(e, "docs/replay.md lists what can");
	return err_remedy(e,
			  "run it once more with pinfold run %s, which keeps what is needed for an "
			  "hour, or for --keep",
			  strstr(why, "--record") ? "--record" : "--deterministic");
}

/* An image of the same name may have come since. */
static int check_image(const struct kept *k, const struct pinfold_run_options *o, struct err *e)
{
	const char *was = value_str(value_get(k->all, "image"));
	auto_free struct store_image *image = calloc(1, sizeof(*image));
	struct pinfold_store *store = NULL;

	if (!was)
		return 0;
	int r = image ? workspace_store(NULL, &store, e) : err_sys(e, "--image");
	if (r >= 0)
		r = store_image_find(store->store, o->image ? o->image : "", image, e);
	pinfold_store_close(store);
	if (r < 0 || strcmp(image->digest, was) == 0)
		return r;
	(void)err_set(e, ERR_CONFLICT, "--image %s: the one of this name is another now", o->image);
	(void)err_detail(e, "changed");
	return err_remedy(e, "import the one with the digest %s", was);
}

/* Feeds it, until the result is there. */
static void attend(struct pinfold_run *run, const struct kept *k)
{
	struct pinfold_event ev;
	size_t at = 0;

	while (run->state != RUN_ENDED || !run->result_told) {
		int to = pinfold_run_stdin_fd(run);
		struct pollfd p[2] = {{.fd = pinfold_run_fd(run), .events = POLLIN},
				      {.fd = to, .events = POLLOUT}};

		if (pinfold_run_next(run, 0, &ev) > 0)
			continue;
		(void)poll(p, 2, -1); /* interrupted it looks once more */
		if (to < 0 || !p[1].revents)
			continue;
		ssize_t n = at < k->input_len ? write(to, k->input + at, k->input_len - at) : 0;
		at += n > 0 ? (size_t)n : 0;
		if (at == k->input_len || (n < 0 && errno != EAGAIN && errno != EINTR))
			pinfold_run_stdin_close(run);
	}
}

static int start(struct kept *k, struct pinfold_run_options *o, struct twin *t,
		 struct pinfold_run **ret, struct err *e)
{
	const struct workspace_how how = {.use = USE_ALONE, .kind = "exec"};
	int r = twin_make(k->all, o->run_id, t, e);

	if (r < 0)
		return r;
	if (t->name[0]) {
		o->image = NULL;
		return workspace_start(t->store->store, t->name, o, &how, ret, e);
	}
	return run_launch(o, ret, e);
}

static int again(struct kept *k, struct pinfold_run_options *o, struct replay_report *report,
		 struct err *e)
{
	struct twin t;
	struct pinfold_run *run = NULL;
	int r = start(k, o, &t, &run, e);

	if (r >= 0) {
		attend(run, k);
		auto_value *now = replay_outcome(run);
		replay_compare(value_get(k->all, "outcome"), now, report);
	}
	pinfold_run_free(run);
	twin_done(&t);
	return r;
}

static struct value *asked(const char *run, const char *id)
{
	struct value *v = value_object();

	value_set(v, "run", value_of_str(run));
	value_set(v, "replay", value_of_str(id));
	return v;
}

static struct value *found(const struct replay_report *report, const char *run)
{
	struct value *v = asked(run, report->result->replay);

	value_set(v, "identical", value_of_bool(report->result->identical));
	value_set(v, "differences", value_of_u64(report->result->differences));
	if (report->first[0])
		value_set(v, "first", value_of_str(report->first));
	return v;
}

static int replay(const char *run, uint32_t flags, struct replay_report *report, struct err *e)
{
	auto_kept struct kept *k = calloc(1, sizeof(*k));
	struct pinfold_run_options o;
	struct op op = {.kind = NULL};
	char id[ID_SIZE];

	if (!k)
		return err_sys(e, "replay");
	if (!id_is("run", run)) {
		(void)err_set(e, ERR_INVALID, "RUN: \"%.40s\" is no id of a run", run);
		return err_remedy(e, "pinfold audit lists them");
	}
	int r = id_make("run", id, e);
	if (r >= 0)
		r = op_begin(&op, "run.replay", NULL, asked(run, id), e);
	if (r < 0)
		return r;
	(void)snprintf(report->result->run, sizeof(report->result->run), "%s", run);
	(void)snprintf(report->result->replay, sizeof(report->result->replay), "%s", id);
	r = kept_read(run, k, e);
	if (r >= 0)
		r = check_possible(k, run, e);
	if (r >= 0)
		r = check_foreign(k, run, e);
	if (r >= 0)
		r = options_of(k, &o, e);
	if (r >= 0)
		r = check_dir(k, &o, e);
	if (r >= 0)
		r = check_image(k, &o, e);
	if (r >= 0) {
		o.run_id = id;
		o.flags |= flags | (k->by_hash ? REPLAY_COMPARED : 0);
		r = again(k, &o, report, e);
	}
	return op_end(&op, r, r < 0 ? NULL : found(report, run), e);
}

int pinfold_replay_as(const char *run, uint32_t flags, pinfold_replay_fn *each, void *arg,
		      struct pinfold_replay_result *ret_result, struct pinfold_error *ret_error)
{
	struct replay_report report = {.each = each, .arg = arg, .result = ret_result};
	struct err e = ERR_INIT;

	*ret_result = (struct pinfold_replay_result){.identical = 1};
	if (replay(run, flags & PINFOLD_DETERMINISTIC, &report, &e) >= 0)
		return 0;
	error_public(&e, ret_error);
	return -1;
}

int pinfold_replay(const char *run, pinfold_replay_fn *each, void *arg,
		   struct pinfold_replay_result *ret_result, struct pinfold_error *ret_error)
{
	return pinfold_replay_as(run, 0, each, arg, ret_result, ret_error);
}
