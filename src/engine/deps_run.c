/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deps_run.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "deps/command.h"
#include "deps/lock.h"
#include "deps/shell.h"
#include "deps/words.h"
#include "engine/deps_int.h"
#include "engine/deps_kind.h"
#include "engine/deps_layer.h"
#include "engine/run_int.h"
#include "pinfold/deps.h"
#include "sandbox/bundle.h"
#include "sandbox/plan.h"
#include "store/workspace.h"
#include "warden/place.h"

#define AGE_HOURS 72u
#define SCRIPT_MAX (256u << 10) /* of a shell's */

void deps_release(struct run_deps *d)
{
	for (unsigned i = 0; i < d->n; i++)
		fd_close(&d->lock[i]);
	if (!d->borrowed)
		store_close(d->store);
	value_free(d->packages);
	value_free(d->links);
	free(d->link);
	free(d->watched);
	value_free(d->imported);
	value_free(d->layers);
	*d = (struct run_deps){.store = NULL};
}

static bool is_mode(const char *mode)
{
	return mode && (strcmp(mode, "auto") == 0 || strcmp(mode, "manifest") == 0 ||
			strcmp(mode, "retry") == 0);
}

/* What cannot be had together with packages; NULL: nothing is in their way. */
static const char *obstacle(const struct pinfold_run_options *o)
{
	return names_image(o)					     ? "--image"
	       : o->isolation && strcmp(o->isolation, "strict") != 0 ? "--isolation"
								     : NULL;
}

/* Who configured this machine has the last word, and the first: PINFOLD_DEPS. */
static bool is_asked(struct pinfold_run_options *o)
{
	const char *standard = getenv("PINFOLD_DEPS");

	if (!o->deps && is_mode(standard) && !obstacle(o) && !mounts_below().usr)
		o->deps = standard;
	return is_mode(o->deps) || (o->deps && o->deps[0] == DEPS_AGAIN);
}

/* A default that nobody understands would be none, and nobody would notice. */
static int check_standard(const struct pinfold_run_options *o, struct err *e)
{
	const char *text = getenv("PINFOLD_DEPS");

	if (o->deps || !text || !*text || is_mode(text) || strcmp(text, "off") == 0 ||
	    strcmp(text, "never") == 0)
		return 0;
	(void)err_set(e, ERR_INVALID, "PINFOLD_DEPS: \"%.40s\" is nothing that can be done", text);
	return err_remedy(e, "set it to auto, manifest, retry, off or never");
}

static bool names_packages(const struct pinfold_run_options *o)
{
	return o->packages && o->packages[0];
}

static int refuse(const struct pinfold_run_options *o, struct err *e)
{
	const char *what = obstacle(o), *standard = getenv("PINFOLD_DEPS");

	if (standard && strcmp(standard, "never") == 0) {
		(void)err_set(e, ERR_DENIED, "packages may not be installed here");
		return err_remedy(e, "do without, or ask who set PINFOLD_DEPS=never");
	}
	if (what) {
		(void)err_set(e, ERR_UNSUPPORTED, "not with %s", what);
		return err_remedy(e, "leave one of the two out");
	}
	if (!mounts_below().usr)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED,
		      "something is mounted below /usr of this host, so no layer can be put on it");
	return err_remedy(e, "unmount it, or bring packages in with --dir");
}

/* Where programs are inside. */
static const char *root_of(const struct deps_ask *ask)
{
	const char *root = "/home/user";
	struct err none = ERR_INIT; /* a workspace that is none is said later */

	if (ask->workspace && deps_root(ask->store, ask->workspace, &root, &none) < 0)
		return NULL;
	return ask->dir ? "/work" : ask->workspace ? root : NULL;
}

/* The file that a word means there, below the root; false: it is elsewhere. */
static bool find_file(const char *root, const char *workdir, const char *word, char to[PATH_MAX])
{
	char path[PATH_MAX];
	size_t n = strlen(root);

	while (strncmp(word, "./", 2) == 0)
		word += 2;
	int len = word[0] == '/' ? snprintf(path, sizeof(path), "%s", word)
				 : snprintf(path, sizeof(path), "%s/%s",
					    workdir ? workdir : "/home/user", word);
	if (len >= PATH_MAX || strstr(path, "..") || strncmp(path, root, n) != 0 || path[n] != '/')
		return false;
	for (word = path + n; *word == '/'; word++)
		;
	(void)snprintf(to, PATH_MAX, "%s", word);
	return *to && *to != '-';
}

/* node -e TEXT, python3 FILE of the directory, or whatever it does with all of it. */
static void find_words(const struct pinfold_run_options *o, const char *const *words,
		       struct deps_ask *ask, struct deps_shell *own, char file[PATH_MAX])
{
	struct deps_words w = deps_words(ask->lang, words);
	char import[DEPS_IMPORT_SIZE];
	const char *root = w.file ? root_of(ask) : NULL;

	if (w.module && deps_words_import(ask->lang, w.module, import) &&
	    asprintf(&own->text, "%s%s", import, w.text ? w.text : "") >= 0) {
		ask->is_more = !w.text && !w.file;
		w.text = own->text;
	}
	if (w.text) {
		ask->text = w.text;
		ask->text_len = strlen(w.text);
	}
	if (root && find_file(root, o->workdir, w.file, file)) {
		ask->file = file;
	}
}

/* What a script for a shell says that lies in the directory: bash FILE, ./FILE. NULL: there is none. */
static char *read_script(const struct deps_ask *ask, const char *workdir, const char *word,
			 bool any)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	char file[PATH_MAX];
	struct stat st;
	size_t len = 0;

	if (!ask->dir || !find_file(root_of(ask), workdir, word, file))
		return NULL;
	auto_close int dir = open(ask->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = dir < 0 ? -1 : (int)syscall(SYS_openat2, dir, file, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	auto_free char *text = calloc(1, SCRIPT_MAX + 1);
	if (!text || fd_read_max(fd, text, SCRIPT_MAX, &len) < 0)
		return NULL;
	/* #!/bin/bash -eu, #!/usr/bin/env bash */
	char *end = text + strcspn(text, "\n"), was = *end;
	*end = '\0';
	bool is_shell = strncmp(text, "#!", 2) == 0 &&
			(strstr(text, "sh ") || strcmp(text + strlen(text) - 2, "sh") == 0);
	*end = was;
	return any || is_shell ? take_ptr(&text) : NULL;
}

/* sh -c TEXT, sh FILE, --lang bash: the programs that the text starts. */
static bool find_in_shell(const struct pinfold_run_options *o, const char *const *argv,
			  struct deps_ask *ask, struct deps_shell *shell, char file[PATH_MAX])
{
	bool bash = o->lang && strcmp(o->lang, "bash") == 0 && o->code;
	bool sh = argv && argv[0] && deps_is_shell(argv[0]);
	const char *text = bash ? o->code : sh ? deps_shell_text(argv + 1) : NULL;
	auto_free char *script = NULL;

	for (const char *const *w = sh ? argv + 1 : argv; !text && !script && w && *w; w++)
		if (**w != '-') {
			script = read_script(ask, o->workdir, *w, sh);
			break;
		}
	if (!text)
		text = script;
	if (!text || !deps_shell(text, deps_kind_of, shell))
		return false;
	const char *root = shell->file ? root_of(ask) : NULL;
	ask->lang = shell->lang;
	ask->text = shell->text;
	ask->text_len = shell->text ? strlen(shell->text) : 0;
	ask->is_more = shell->is_more;
	if (root && find_file(root, o->workdir, shell->file, file))
		ask->file = file;
	return true;
}

static bool host_has(const char *command)
{
	static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/usr/sbin"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(path, sizeof(path), "%s/%s", places[i], command) < (int)sizeof(path) &&
		    access(path, X_OK) == 0)
			return true;
	return false;
}

/* pytest, npx tsx FILE: a command of a package, which nothing has to import. All programs of the
 * directory count, too, unless it takes one. */
static bool find_command(const struct pinfold_run_options *o, const char *const *argv,
			 struct deps_ask *ask, struct deps_shell *own, char file[PATH_MAX])
{
	char import[DEPS_IMPORT_SIZE];
	struct deps_command c;

	if (!deps_command(argv, &c) || (strcmp(argv[0], "npx") != 0 && host_has(argv[0])) ||
	    !deps_words_import(c.lang, c.module, import) || !(own->text = strdup(import)))
		return false;
	ask->lang = c.lang;
	ask->text = own->text;
	ask->text_len = strlen(own->text);
	struct deps_words w = c.takes ? deps_words(c.lang, c.rest) : (struct deps_words){NULL};
	const char *root = w.file ? root_of(ask) : NULL;
	if (root && find_file(root, o->workdir, w.file, file))
		ask->file = file;
	ask->is_more = !ask->file;
	return true;
}

/* By what is started; of a command that says nothing of its language, by what its directory has. */
static void find_program(const struct pinfold_run_options *o, struct deps_ask *ask,
			 struct deps_shell *shell, char file[PATH_MAX])
{
	const char *const *argv = o->lang || !o->argv ? NULL : deps_shell_program(o->argv);
	bool takes = false;

	if (o->lang && !o->code && deps_lang_of(o->lang, &ask->lang) >= 0) {
		const char *root = o->argv && o->argv[0] ? root_of(ask) : NULL;

		if (root && find_file(root, o->workdir, o->argv[0], file))
			ask->file = file;
	} else if (o->lang && deps_lang_of(o->lang, &ask->lang) >= 0) {
		ask->text = o->code;
		ask->text_len = o->code_len;
	} else if (argv && argv[0] && find_command(o, argv, ask, shell, file)) {
		return;
	} else if (argv && argv[0] && deps_kind_of(argv[0], &ask->lang, &takes)) {
		if (takes)
			find_words(o, argv + 1, ask, shell, file);
	} else if (!find_in_shell(o, argv, ask, shell, file)) {
		ask->lang = deps_guess(ask->dir);
	}
}

unsigned deps_age_hours(void)
{
	const char *text = getenv("PINFOLD_DEPS_AGE");
	struct err none = ERR_INIT;
	uint64_t n = AGE_HOURS;

	if (text && strcmp(text, "0") == 0)
		return 0;
	if (text && parse_count(text, &n, &none) < 0)
		n = AGE_HOURS; /* too strict rather than not at all */
	return n < UINT32_MAX ? (unsigned)n : UINT32_MAX;
}

static void add_text(struct hash *h, const char *s)
{
	if (s)
		hash_add(h, s, strlen(s));
	hash_add(h, "", 1);
}

/* Its head says which files it has; a directory of the host that it is over may have changed. */
static int print_workspace(const struct deps_ask *ask, struct hash *h, struct err *e)
{
	auto_free struct workspace *w = calloc(1, sizeof(*w));

	if (!w)
		return err_sys(e, "deps");
	int r = workspace_find(ask->store, ask->workspace, w, e);
	if (r < 0)
		return r;
	hash_add(h, w->name, strlen(w->name) + 1);
	hash_add(h, &w->head, sizeof(w->head));
	return w->dir[0] ? deps_print_dir(w->dir, h, e) : 0;
}

/* What the question is, as a hash. */
static int print_ask(const struct deps_ask *ask, char ret[HASH_TEXT_SIZE], struct err *e)
{
	uint8_t digest[HASH_BYTES];
	struct hash h;
	int r;

	hash_init(&h);
	add_text(&h, "pinfold ask 2");
	add_text(&h, ask->mode);
	add_text(&h, lock_part_name(ask->lang));
	add_text(&h, ask->file);
	hash_add(&h, &ask->is_more, sizeof(ask->is_more));
	for (const char *const *p = ask->packages; p && *p; p++)
		add_text(&h, *p);
	hash_add(&h, &ask->age_hours, sizeof(ask->age_hours));
	hash_add(&h, &ask->text_len, sizeof(ask->text_len));
	hash_add(&h, ask->text ? ask->text : "", ask->text ? ask->text_len : 0);
	deps_print_host(ask->lang, &h);
	r = deps_table(&h, e);
	if (r >= 0 && ask->workspace)
		r = print_workspace(ask, &h, e);
	if (r >= 0 && ask->dir)
		r = deps_print_dir(ask->dir, &h, e);
	if (r >= 0 && ask->dir && ask->file)
		deps_print_file(ask->dir, ask->file, &h);
	hash_done(&h, digest);
	hash_text(digest, ret);
	return r;
}

void deps_list(struct run_deps *d, enum deps_lang lang, const struct value *part, const char *key)
{
	struct value *layer = value_object();

	value_set(layer, "language", value_of_str(lock_part_name(lang)));
	value_set(layer, "key", value_of_str(key));
	value_set(layer, "packages", value_of_u64(lock_count(part)));
	value_add(d->layers, layer);
	for (size_t i = 0; i < lock_count(part); i++) {
		struct lock_package p = lock_at(part, i);
		struct value *v = value_object();

		value_set(v, "name", value_of_str(p.name));
		value_set(v, "version", value_of_str(p.version));
		value_set(v, "sha256", value_of_str(p.sha256));
		value_set(v, "language", value_of_str(lock_part_name(lang)));
		value_add(d->packages, v);
	}
}

/* Checked again: the database may be older than the check. */
static int take_links(struct run_deps *d, const struct value *layer, struct err *e)
{
	d->links = value_copy(value_get(layer, "links"));
	if (!d->links)
		return 0;
	if (lock_check_links(d->links, e) < 0)
		return -EINVAL;
	d->link = calloc(value_len(d->links) + 1, sizeof(*d->link));
	if (!d->link)
		return err_sys(e, "deps");
	for (size_t i = 0; i < value_len(d->links); i++)
		d->link[i] = value_str(value_at(d->links, i));
	return 0;
}

/* A layer that is held is one of the run's; `set` has what was written down of it. */
static int take_set(struct run_deps *d, enum deps_lang lang, const struct depset *set,
		    const char *key, struct err *e)
{
	auto_value *layer = NULL;

	d->number[d->n++] = set->number;
	d->has_node = d->has_node || lang == DEPS_NODE;
	if (value_parse(set->lock, strlen(set->lock), &layer, e) < 0)
		return -EINVAL;
	if (lang == DEPS_APT && take_links(d, layer, e) < 0)
		return -EINVAL;
	int r = deps_watch(d, layer, e);
	if (r >= 0)
		deps_list(d, lang, layer, key);
	return r;
}

static int refuse_built(const struct value *part, struct err *e)
{
	const struct value *list = value_get(part, "packages");

	for (size_t i = 0; i < value_len(list); i++) {
		if (!value_get(value_at(list, i), "source"))
			continue;
		(void)err_set(e, ERR_DENIED,
			      "%s %s was built from source, or by scripts of its own",
			      lock_at(part, i).name, lock_at(part, i).version);
		(void)err_detail(e, "source");
		return err_remedy(
			e, "lock a version that need not be built, or leave --only-binary out");
	}
	return 0;
}

static int install(struct run_deps *d, const struct deps_ask *ask, const struct value *part,
		   struct err *e)
{
	auto_depset set = {.lock = NULL};
	char key[HASH_TEXT_SIZE];

	if (lock_count(part) == 0)
		return 0;
	if (ask->only_binary && refuse_built(part, e) < 0)
		return -EACCES;
	/* Where the layer is there, files need not be. */
	int r = deps_key(ask->lang, part, key, e);
	if (r >= 0)
		r = depset_hold(d->store, key, &set, &d->lock[d->n], e);
	if (r == 0)
		r = deps_fetch(d->store, ask->lang, part, ask->offline, e);
	if (r == 0)
		r = deps_install(d->store, ask->lang, part, &set, &d->lock[d->n], e);
	return r < 0 ? r : take_set(d, ask->lang, &set, key, e);
}

/* What the same question came to before; *ret is NULL where it never was asked. */
static int recall(const struct deps_ask *ask, const char *print, bool *ret_known,
		  struct value **ret, struct err *e)
{
	auto_free char *text = NULL;
	int r = depset_recall(ask->store, print, &text, e);

	*ret_known = r > 0;
	if (r <= 0 || strcmp(text, "null") == 0)
		return r;
	if (value_parse(text, strlen(text), ret, e) < 0)
		return -EINVAL;
	return lock_check_part(ask->lang, *ret, e);
}

/* A workspace is ours to write: the next command needs no index, and others see what there is. */
static void keep_lock(const struct deps_ask *ask, const struct value *lock)
{
	struct deps_place place = {.store = ask->store, .workspace = ask->workspace};
	struct err none = ERR_INIT; /* somebody is at work there: then the next one writes it */

	if (lock && deps_root(ask->store, ask->workspace, &place.root, &none) >= 0)
		(void)deps_write_lock(&place, lock, &none);
}

int deps_have(struct run_deps *d, const struct deps_ask *ask, struct err *e)
{
	char print[HASH_TEXT_SIZE];
	auto_value *part = NULL, *lock = NULL;
	bool known = false;
	int r = print_ask(ask, print, e);

	if (r >= 0)
		r = recall(ask, print, &known, &part, e);
	if (r >= 0 && !known)
		r = deps_find(ask, &part, &lock, e);
	if (r >= 0 && part)
		r = install(d, ask, part, e);
	if (r >= 0 && ask->workspace)
		keep_lock(ask, lock);
	if (r < 0 || known)
		return r;
	auto_free char *text = part ? value_text(part, NULL) : strdup("null");
	return text ? depset_remember(ask->store, print, text, e) : err_sys(e, "deps");
}

char *deps_again(const struct run_deps *had)
{
	char *text = NULL;

	for (size_t i = 0; i < value_len(had->layers); i++) {
		const struct value *layer = value_at(had->layers, i);
		char *more = NULL;

		if (asprintf(&more, "%s%c%s:%s", text ? text : "", text ? ',' : DEPS_AGAIN,
			     value_str(value_get(layer, "language")),
			     value_str(value_get(layer, "key"))) < 0)
			more = NULL;
		free(text);
		text = more;
		if (!text)
			break;
	}
	return text;
}

static int is_gone(const char *name, const char *key, struct err *e)
{
	(void)err_set(e, ERR_MISSING, "its packages of %s are gone (layer %.12s)", name, key);
	(void)err_detail(e, "deps");
	return err_remedy(
		e, "run it anew with --deps; packages that nobody uses are kept for 30 days");
}

/* LANGUAGE:KEY */
static int take_layer(struct run_deps *d, char *text, struct err *e)
{
	auto_depset set = {.lock = NULL};
	enum deps_lang lang;
	char *key = strchr(text, ':');

	if (key)
		*key++ = '\0';
	if (!key || deps_lang_of(text, &lang) < 0 || d->n == DEPS_LAYERS_MAX)
		return err_set(e, ERR_INVALID, "no layer of packages has this name");
	int r = depset_hold(d->store, key, &set, &d->lock[d->n], e);
	if (r <= 0)
		return r < 0 ? r : is_gone(text, key, e);
	return take_set(d, lang, &set, key, e);
}

static int take_layers(struct run_deps *d, const char *list, struct err *e)
{
	auto_free char *copy = strdup(list);
	int r = copy ? 0 : err_sys(e, "deps");
	char *rest = copy, *one;

	while (r >= 0 && (one = strsep(&rest, ",")))
		r = take_layer(d, one, e);
	return r;
}

static int open_store(struct run_deps *d, struct store *given, struct err *e)
{
	d->borrowed = given != NULL;
	d->store = given;
	return given ? 0 : deps_open_store(&d->store, e);
}

/* What the programs need; or what they had before. */
static int prepare_programs(const struct pinfold_run_options *o, const char *workspace,
			    struct run_deps *d, struct err *e)
{
	auto_free char *dir = o->dir && !workspace ? realpath(o->dir, NULL) : NULL;
	struct deps_ask ask = {
		.mode = o->deps,
		.dir = dir,
		.store = d->store,
		.workspace = workspace,
		.age_hours = deps_age_hours(),
		.only_binary = o->flags & PINFOLD_ONLY_BINARY,
	};
	__attribute__((cleanup(deps_shell_done))) struct deps_shell shell = {.text = NULL};
	struct deps_named named = {.n = {0}};
	char file[PATH_MAX];

	if (o->dir && !workspace && !dir)
		return err_sys(e, "--dir %s", o->dir);
	if (ask.mode && ask.mode[0] == DEPS_AGAIN)
		return take_layers(d, o->deps + 1, e);
	find_program(o, &ask, &shell, file);
	int r = deps_take_named(o->packages, ask.lang, &named, e);
	if (r >= 0 && is_mode(ask.mode)) {
		ask.packages = named.n[ask.lang] ? named.list[ask.lang] : NULL;
		named.n[ask.lang] = 0;
		r = deps_have(d, &ask, e);
	}
	for (enum deps_lang lang = DEPS_PYTHON; r >= 0 && lang <= DEPS_R; lang++)
		r = deps_have_named(d, lang, &named, e);
	if (r >= 0 && o->lang && ask.lang == DEPS_PYTHON && ask.text && d->watched)
		imports_of(ask.text, ask.text_len, d->watched, d->watched_len, d->modules);
	return r;
}

/* Could one that waits be given to it (warden/layered.h)? */
static bool is_usual(const struct pinfold_run_options *o)
{
	return !o->dir && !o->user && !o->policy && !o->workdir && !(o->allow && o->allow[0]) &&
	       !(o->env && o->env[0]) && !(o->flags & PINFOLD_PTY) && !o->cpu_time_ms &&
	       !o->cpus_milli && !o->memory_bytes && !o->pids && !o->disk_bytes && !o->nofile;
}

int deps_prepare(struct pinfold_run_options *o, struct store *store, const char *workspace,
		 struct run_deps *ret, struct err *e)
{
	bool apt = o->apt && o->apt[0], asked = is_asked(o), any = asked || names_packages(o);
	const char *option = asked ? "--deps" : any ? "--package" : "--apt";

	*ret = (struct run_deps){.store = NULL};
	if (check_standard(o, e) < 0)
		return -EINVAL;
	if (!any && !apt)
		return 0;
	int r = refuse(o, e);
	if (r < 0)
		return err_wrap(e, "%s", option);
	r = open_store(ret, store, e);
	ret->packages = value_array();
	ret->layers = value_array();
	if (r >= 0 && any && (r = prepare_programs(o, workspace, ret, e)) < 0)
		(void)err_wrap(e, "%s", option);
	if (r >= 0 && apt)
		r = deps_have_apt(ret, o->apt, e);
	o->deps = NULL;
	o->packages = NULL;
	o->apt = NULL;
	o->flags &= ~PINFOLD_ONLY_BINARY;
	/* The daemon does nothing for it that we could not, unless an interpreter waits there. */
	if (ret->n && !(ret->modules[0] && is_usual(o)) && !(o->flags & PINFOLD_DAEMON))
		o->flags |= PINFOLD_LOCAL;
	return r;
}

static void fill_spec(struct sandbox_spec *spec, const struct run_deps *d)
{
	if (!spec->layers.path)
		spec->layers = store_layers(d->store);
	spec->deps.n = d->n;
	spec->deps.has_node = d->has_node;
	spec->deps.links = d->link;
	spec->deps.watched = d->watched;
	spec->deps.watched_len = d->watched_len;
	spec->deps.modules = d->modules;
	memcpy(spec->deps.number, d->number, sizeof(spec->deps.number));
}

void deps_attach(struct request *r, struct run_deps *taken)
{
	r->deps = *taken;
	*taken = (struct run_deps){.store = NULL};
	if (r->deps.n)
		fill_spec(&r->spec, &r->deps);
}

int deps_bundle(const struct request *r, int *ret_fd, struct err *e)
{
	if (r->spec.deps.passed) {
		*ret_fd = fcntl(r->layers_fd, F_DUPFD_CLOEXEC, 3);
		return *ret_fd < 0 ? err_sys(e, "packages") : 0;
	}
	if (spec_on_image(&r->spec))
		return bundle_make(&r->spec, &r->image_lock, ret_fd, e);
	return spec_has_deps(&r->spec) ? bundle_make(&r->spec, r->deps.lock, ret_fd, e) : 0;
}

/* The image of a sandbox, for who makes it in another process, and where its programs are. */
static int hold_image(const struct pinfold_run_options *o, int *ret_fd, char **ret_json,
		      struct err *e)
{
	struct request *r = calloc(1, sizeof(*r));
	int k = r ? 0 : err_sys(e, "--image");

	if (r) {
		r->spec.dir_fd = FD_NONE; /* 0 is somebody's */
		k = request_image(r, o, e);
	}
	if (k >= 0)
		k = bundle_make(&r->spec, &r->image_lock, ret_fd, e);
	if (k >= 0) {
		auto_value *v = value_object();

		if (r->path[0])
			value_set(v, "path", value_of_str(r->path));
		*ret_json = value_text(v, NULL);
		k = *ret_json ? 0 : err_sys(e, "--image");
	}
	if (r)
		request_done(r);
	free(r);
	return k;
}

/* What a sandbox would have, for who makes it in another process. */
static int hold(const struct pinfold_run_options *options, int *ret_fd, char **ret_json,
		struct err *e)
{
	auto_deps deps = {.store = NULL};
	struct pinfold_run_options o;
	struct sandbox_spec spec = {.peek = PEEK_NONE};

	options_take(&o, options);
	*ret_fd = FD_NONE;
	if (names_image(&o) && !is_asked(&o) && !names_packages(&o))
		return hold_image(&o, ret_fd, ret_json, e);
	int r = deps_prepare(&o, NULL, NULL, &deps, e);
	if (r >= 0 && deps.n) {
		fill_spec(&spec, &deps);
		r = bundle_make(&spec, deps.lock, ret_fd, e);
	}
	if (r < 0)
		return r;
	auto_value *none = value_array();
	*ret_json = value_text(deps.packages ? deps.packages : none, NULL);
	return *ret_json ? 0 : err_sys(e, "deps");
}

int pinfold_deps_hold(const struct pinfold_run_options *options, int *ret_fd, char **ret_json,
		      struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(options && ret_fd && ret_json && ret_error);
	int r = hold(options, ret_fd, ret_json, &e);
	if (r < 0)
		error_public(&e, ret_error);
	return r < 0 ? -1 : 0;
}
