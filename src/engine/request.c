/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the public options to a request: defaults filled in, everything checked. Whatever is wrong
 * with an option is found here, before anything is made on the host.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "engine/run_int.h"
#include "kernel/landlock.h"
#include "wire/environ.h"
#include "sandbox/hold.h"

#define ENV_MAX 512u
#define ID_POOL_FIRST 0x70000000u /* between systemd's container range and the 31-bit end */

const char *request_keep(struct request *r, char *s)
{
	if (s && r->n_pool < sizeof(r->pool) / sizeof(r->pool[0]))
		r->pool[r->n_pool++] = s;
	return s;
}

static int refuse_missing_part(const struct pinfold_run_options *o, struct err *e)
{
	if (o->name) {
		(void)err_set(e, ERR_UNSUPPORTED, "--name: not here");
		return err_remedy(
			e, "a run that is kept is pinfold_workspace_exec(), or pinfold run or "
			   "exec");
	}
	/* Who can have packages has them by now (deps_run.h). */
	const char *what = o->deps && strcmp(o->deps, "off") != 0 ? "--deps"
			   : o->packages && o->packages[0]	  ? "--package"
			   : o->apt && o->apt[0]		  ? "--apt"
								  : NULL;
	if (!what)
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "%s: not in a sandbox that lives already", what);
	return err_remedy(e, "name packages when it is made: pinfold run --detach --package NAME, "
			     "or packages of the request by which it is made over HTTP");
}

/* What needs a mount or a pid namespace cannot be had without one. */
static int check_landlock(const struct pinfold_run_options *o, struct err *e)
{
	const char *what = o->dir				? "--dir"
			   : o->allow && o->allow[0]		? "--allow"
			   : o->policy				? "--policy"
			   : names_image(o)			? "--image"
			   : o->flags & PINFOLD_PTY		? "--pty"
			   : o->user && strcmp(o->user, "user") ? "--user"
			   : o->lang && o->code_name		? "a program file"
								: NULL;

	if (what) {
		(void)err_set(e, ERR_UNSUPPORTED, "%s needs --isolation strict", what);
		return err_remedy(e, "level landlock has no namespaces and so no view of its own");
	}
	if (landlock_abi() < LANDLOCK_ABI_SIGNALS) {
		(void)err_set(
			e, ERR_UNSUPPORTED,
			"--isolation landlock needs Landlock ABI %d (Linux 6.12); this kernel has %d",
			LANDLOCK_ABI_SIGNALS, landlock_abi());
		return err_remedy(
			e, "use a newer kernel, or allow user namespaces for --isolation strict");
	}
	return 0;
}

static int refuse_level(const char *level, struct err *e)
{
	bool later = strcmp(level, "gvisor") == 0 || strcmp(level, "vm") == 0;

	(void)err_set(e, later ? ERR_UNSUPPORTED : ERR_INVALID,
		      "--isolation: \"%s\" is not a level of this version", level);
	return err_remedy(e, "use strict, or landlock where user namespaces are forbidden");
}

/* For a person to read: whoever shows it escapes it. */
static int take_reason(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	size_t len = o->reason ? strlen(o->reason) : 0;

	if (len >= sizeof(r->reason) || !utf8_valid(o->reason, len)) {
		(void)err_set(e, ERR_INVALID, "--reason: not a text of up to %zu bytes",
			      sizeof(r->reason) - 1);
		return err_remedy(e, "say it in one sentence");
	}
	(void)snprintf(r->reason, sizeof(r->reason), "%s", len ? o->reason : "");
	return 0;
}

static int check_words(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	if (o->isolation && strcmp(o->isolation, "landlock") == 0)
		r->spec.level = LEVEL_LANDLOCK;
	else if (o->isolation && strcmp(o->isolation, "strict") != 0)
		return refuse_level(o->isolation, e);
	if (r->spec.level == LEVEL_LANDLOCK && check_landlock(o, e) < 0)
		return -EOPNOTSUPP;
	if (o->user && strcmp(o->user, "root") == 0)
		r->spec.as_root = true;
	else if (o->user && strcmp(o->user, "user") != 0)
		return err_set(e, ERR_INVALID, "--user: \"%s\" is neither user nor root", o->user),
		       err_remedy(e, "use --user user or --user root");
	if (o->deps && strcmp(o->deps, "off") != 0 && strcmp(o->deps, "auto") != 0 &&
	    strcmp(o->deps, "manifest") != 0 && strcmp(o->deps, "retry") != 0)
		return err_set(e, ERR_INVALID, "--deps: \"%s\" is not auto, manifest, retry or off",
			       o->deps),
		       err_remedy(e, "use --deps off");
	if (alert_action_of(o->on_alert, &r->on_alert, e) < 0 || take_reason(r, o, e) < 0)
		return -EINVAL;
	r->spec.alert_kills = r->on_alert == ALERT_KILL;
	r->spec.alert_pauses = r->on_alert == ALERT_PAUSE;
	if (!o->limits)
		r->best_effort = geteuid() != 0 && !r->remote;
	else if (strcmp(o->limits, "best-effort") == 0)
		r->best_effort = true;
	else if (strcmp(o->limits, "strict") != 0)
		return err_set(e, ERR_INVALID, "--limits: \"%s\" is neither strict nor best-effort",
			       o->limits),
		       err_remedy(e, "use --limits strict or --limits best-effort");
	return 0;
}

static int check_workdir(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	const char *dir = o->workdir ? o->workdir : "/home/user";

	if (dir[0] != '/')
		return err_set(e, ERR_INVALID, "--workdir: \"%s\" is not an absolute path", dir),
		       err_remedy(e, "give a path inside the sandbox, such as /home/user or /work");
	if (strlen(dir) >= 4096)
		return err_set(e, ERR_INVALID, "--workdir: the path is too long"),
		       err_remedy(e, "give a path of less than 4096 bytes");
	r->spec.workdir = request_keep(r, strdup(dir));
	return r->spec.workdir ? 0 : err_set(e, ERR_INTERNAL, "out of memory");
}

static int find_ids(struct request *r, struct err *e)
{
	struct sandbox_ids *ids = &r->spec.ids;

	ids->caller_uid = geteuid();
	ids->caller_gid = getegid();
	if (r->remote)
		return 0; /* the daemon has its own */
	if (ids->caller_uid == 0) {
		/* The slot of the journal, taken later, makes it this sandbox's own. */
		ids->range = true;
		ids->uid_base = ids->gid_base = HOLD_IDS ? ID_POOL_FIRST : 0;
		return 0;
	}
	if (!r->spec.as_root)
		return 0;
	uint32_t uid = 0, gid = 0;
	const char *name = getenv("USER");
	if (idmap_subordinate("/etc/subuid", ids->caller_uid, name, SANDBOX_IDS, &uid) < 0 ||
	    idmap_subordinate("/etc/subgid", ids->caller_uid, name, SANDBOX_IDS, &gid) < 0) {
		(void)err_set(e, ERR_UNSUPPORTED, "--user root needs a range of %u subordinate ids",
			      SANDBOX_IDS);
		return err_remedy(e, "as root: usermod --add-subuids 100000-165535 "
				     "--add-subgids 100000-165535 USER");
	}
	ids->range = ids->helper = true;
	ids->uid_base = uid;
	ids->gid_base = gid;
	return 0;
}

static int open_dir(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	struct stat st;

	r->spec.dir_fd = FD_NONE;
	if (!o->dir) {
		const char *what = o->hide && o->hide[0]   ? "--hide"
				   : o->show && o->show[0] ? "--show"
							   : NULL;

		if (!what)
			return 0;
		(void)err_set(e, ERR_INVALID, "%s: there is no --dir whose files it could mean",
			      what);
		return err_remedy(e, "show a directory with --dir, or leave %s out", what);
	}
	r->dir_real = realpath(o->dir, NULL);
	if (r->dir_real)
		r->spec.dir_fd = open(r->dir_real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!r->dir_real || r->spec.dir_fd < 0 || fstat(r->spec.dir_fd, &st) < 0) {
		if (errno == ENOTDIR)
			(void)err_set(e, ERR_INVALID, "--dir %s: not a directory", o->dir);
		else
			(void)err_sys(e, "--dir %s", o->dir);
		return err_remedy(e, "name a directory that exists and that you may read");
	}
	r->spec.dir_path = r->dir_real;
	r->spec.dir_dev = st.st_dev;
	r->spec.dir_ino = st.st_ino;
	if (!HOLD_SECRETS)
		return 0;
	r->spec.hidden = (const char *const *)r->secrets.path;
	return secrets_find(r->spec.dir_fd, &(struct secrets_said){o->hide, o->show}, &r->secrets,
			    e);
}

/* Its git directory, where that is elsewhere. */
static void open_git(struct request *r, const struct pinfold_run_options *o)
{
	struct gitdir *g = &r->git;
	struct stat st;

	if (r->spec.dir_fd < 0 || r->spec.level != LEVEL_STRICT)
		return;
	gitdir_find(r->spec.dir_fd, r->dir_real, &(struct secrets_said){o->hide, o->show}, g);
	if (!g->found || fstat(g->fd, &st) < 0)
		return;
	if (r->remote) {
		g->note = "its git directory is elsewhere, which the daemon does not show; "
			  "--no-daemon does";
		return;
	}
	r->spec.git = (struct sandbox_git){
		.path = g->path,
		.fd = g->fd,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.inside = g->inside,
		.link = g->link[0] ? g->link : NULL,
		.hidden = (const char *const *)g->hidden,
	};
}

static int add_env(struct request *r, char *entry, struct err *e)
{
	if (!entry)
		return err_set(e, ERR_INTERNAL, "out of memory");
	size_t key = strcspn(entry, "=") + 1;
	for (unsigned i = 0; i < r->n_env; i++)
		if (strncmp(r->env[i], entry, key) == 0) {
			free(r->env[i]);
			r->env[i] = entry;
			return 0;
		}
	if (r->n_env >= ENV_MAX) {
		free(entry);
		(void)err_set(e, ERR_LIMIT, "--env: more than %u variables", ENV_MAX);
		return err_remedy(e, "give the others in a file, by --dir or --stdin");
	}
	r->env[r->n_env++] = entry;
	return 0;
}

static int add_list(struct request *r, const char *const *list, struct err *e)
{
	for (; *list; list++)
		if (add_env(r, strdup(*list), e) < 0)
			return -ENOMEM;
	return 0;
}

/* What every command has, by the contract. */
static int standard_env(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	static const char *const common[] = {ENVIRON_COMMON, NULL};
	static const char *const own[2][3] = {{ENVIRON_USER, NULL}, {ENVIRON_ROOT, NULL}};
	static const char *const proxies[] = {ENVIRON_PROXY, NULL};
	static const char *const certs[] = {ENVIRON_TLS, NULL};
	char *path = NULL, *term = NULL;

	if (add_list(r, common, e) < 0 || add_list(r, own[r->spec.as_root], e) < 0)
		return -ENOMEM;
	if (r->path[0]) {
		if (asprintf(&path, "PATH=%s", r->path) < 0)
			path = NULL;
		if (add_env(r, path, e) < 0)
			return -ENOMEM;
	}
	if (o->flags & PINFOLD_PTY) {
		if (asprintf(&term, "TERM=%s", o->term ? o->term : "xterm-256color") < 0)
			term = NULL;
		if (add_env(r, term, e) < 0)
			return -ENOMEM;
	}
	if (r->spec.egress.inspects && add_list(r, certs, e) < 0)
		return -ENOMEM;
	for (unsigned i = 0; r->injected && i < r->injected->n; i++) {
		char *entry = NULL;

		if (asprintf(&entry, "%s=%s", r->injected->list[i].name,
			     r->injected->list[i].placeholder) < 0)
			entry = NULL;
		if (add_env(r, entry, e) < 0)
			return -ENOMEM;
	}
	return r->spec.egress.n_ports ? add_list(r, proxies, e) : 0;
}

/* Takes all of them, whatever comes of it. */
static int pinned_env(struct request *r, struct err *e)
{
	char *list[PIN_VARIABLES];
	int bad = pin_environment(r, list, e);

	for (unsigned i = 0; list[i]; i++) {
		if (bad < 0)
			free(list[i]);
		else
			bad = add_env(r, list[i], e);
	}
	return bad;
}

static int make_env(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	r->env = calloc(ENV_MAX + 1, sizeof(*r->env));
	if (!r->env)
		return err_set(e, ERR_INTERNAL, "out of memory");
	for (char **ours = environ; !HOLD_CALLER_ENV && ours && *ours; ours++)
		if (add_env(r, strdup(*ours), e) < 0)
			return -ENOMEM;
	if (standard_env(r, o, e) < 0 || pinned_env(r, e) < 0)
		return -ENOMEM;
	for (unsigned i = 0; o->env && o->env[i]; i++) {
		if (o->env[i][0] == '=' || !strchr(o->env[i], '='))
			return err_set(e, ERR_INVALID, "--env: \"%s\" is not KEY=VALUE", o->env[i]),
			       err_remedy(e, "give a name, = and its value: --env KEY=VALUE");
		int k = add_env(r, strdup(o->env[i]), e);
		if (k < 0)
			return k;
	}
	for (unsigned i = 0; i < r->n_env; i++)
		if (strncmp(r->env[i], "PATH=", 5) == 0)
			r->spec.path = r->env[i] + 5;
	r->spec.envp = (const char *const *)r->env;
	return 0;
}

static int bad_metadata(const char *entry, const char *why, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "--metadata: \"%.80s\" %s", entry, why);
	return err_remedy(e, "give KEY=VALUE, up to %u of them, with up to %u and %u bytes",
			  ASK_METADATA_MAX, ASK_METADATA_KEY, ASK_METADATA_VALUE);
}

static int check_metadata(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	const char *const *v = o->metadata;

	for (unsigned i = 0; v && v[i]; i++) {
		size_t key = strcspn(v[i], "="), len = strlen(v[i]);

		if (i >= ASK_METADATA_MAX)
			return bad_metadata(v[i], "is one too many", e);
		if (key == 0 || !v[i][key])
			return bad_metadata(v[i], "is not KEY=VALUE", e);
		if (key > ASK_METADATA_KEY || len - key - 1 > ASK_METADATA_VALUE)
			return bad_metadata(v[i], "is too long", e);
		if (!utf8_valid(v[i], len))
			return bad_metadata("", "is not UTF-8", e);
		for (unsigned k = 0; k < i; k++)
			if (strncmp(v[k], v[i], key + 1) == 0)
				return bad_metadata(v[i], "has a key that was there before", e);
	}
	r->spec.metadata = v;
	return 0;
}

/* The verdict looks at them again, and they are the caller's only until the start. */
static int copy_words(struct request *r, const char *const *argv, struct err *e)
{
	size_t n = 0, bytes = 0;

	for (; argv[n]; n++)
		bytes += strlen(argv[n]) + 1;
	r->words = malloc((n + 1) * sizeof(*r->words) + bytes);
	if (!r->words)
		return err_sys(e, "command");
	char *to = (char *)(r->words + n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(argv[i]) + 1;

		r->words[i] = memcpy(to, argv[i], len);
		to += len;
	}
	r->words[n] = NULL;
	r->spec.argv = (const char *const *)r->words;
	return 0;
}

static int take_command(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	if (o->lang)
		return request_lang(r, o, e);
	if (!o->argv || !o->argv[0]) {
		(void)err_set(e, ERR_INVALID, "no command was given");
		return err_remedy(e,
				  "pinfold run -- COMMAND, or pinfold run --lang python -c CODE");
	}
	return copy_words(r, o->argv, e);
}

/* What it lies on, if that is something of the store. */
static int find_layers(struct request *r, const struct pinfold_run_options *o,
		       const struct request_on *on, struct err *e)
{
	if (!on) /* one that somebody else holds comes as it is */
		return names_image(o) && !o->packages_fd ? request_image(r, o, e) : 0;
	r->spec.layers = on->layers;
	if (on->image)
		request_image_path(r, on->image);
	return 0;
}

int request_init(struct request *r, const struct pinfold_run_options *o,
		 const struct request_on *on, bool remote, struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->spec.dir_fd = FD_NONE;
	r->remote = remote;
	r->flags = o->flags;
	r->keep_ms = o->keep_ms ? o->keep_ms : 3600000;
	r->spec.pty = o->flags & PINFOLD_PTY;
	r->spec.open_stdin = o->flags & PINFOLD_SPAWN_STDIN;
	r->spec.line = o->flags & PINFOLD_LINE;
	r->spec.collect = on || (o->flags & PINFOLD_CAPTURE) || request_is_kept(o);
	r->spec.rows = o->rows ? o->rows : 24;
	r->spec.cols = o->cols ? o->cols : 80;
	if (o->size < sizeof(size_t) * 4)
		return err_set(e, ERR_INVALID, "options of another version of the library"),
		       err_remedy(e,
				  "begin with PINFOLD_RUN_OPTIONS_INIT of the header that belongs "
				  "to it");
	if (check_words(r, o, e) < 0 || refuse_missing_part(o, e) < 0 ||
	    find_layers(r, o, on, e) < 0 || take_command(r, o, e) < 0 ||
	    check_workdir(r, o, e) < 0 || open_dir(r, o, e) < 0 || request_policy(r, o, e) < 0 ||
	    request_pin(r, o, e) < 0 || make_env(r, o, e) < 0 || check_metadata(r, o, e) < 0 ||
	    find_ids(r, e) < 0 || request_limits(r, o, e) < 0 || id_make("sbx", r->spec.id, e) < 0)
		return -EINVAL;
	open_git(r, o);
	return 0;
}

void request_done(struct request *r)
{
	fd_close(&r->spec.dir_fd);
	if (r->store)
		fd_close(&r->image_lock);
	store_close(r->store);
	deps_release(&r->deps);
	policy_free(r->policy);
	free(r->injected);
	gitdir_done(&r->git);
	secrets_done(&r->secrets);
	for (unsigned i = 0; i < r->n_pool; i++)
		free(r->pool[i]);
	for (unsigned i = 0; r->env && i < r->n_env; i++)
		free(r->env[i]);
	free(r->env);
	free(r->words);
	free(r->dir_real);
	memset(r, 0, sizeof(*r));
	r->spec.dir_fd = FD_NONE;
}
