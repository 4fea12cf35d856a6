/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a sandbox: whose it is, what it may have, and whether one waits that fits. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "sandbox/bundle.h"
#include "wire/environ.h"
#include "sandbox/hold.h"
#include "warden/guard.h"
#include "warden/job.h"
#include "warden/layered.h"
#include "warden/pool.h"
#include "warden/queue.h"
#include "warden/stock.h"
#include "warden/variables.h"
#include "warden/ward_int.h"

#define ID_POOL_FIRST 0x70000000u /* as engine/request.c has it */

/* Root's sandboxes each have ids of their own; an ordinary user's are all he. */
static void spec_ids(struct sandbox_spec *spec)
{
	struct sandbox_ids *ids = &spec->ids;

	ids->caller_uid = geteuid();
	ids->caller_gid = getegid();
	ids->range = ids->caller_uid == 0;
	ids->uid_base = ids->gid_base = HOLD_IDS && ids->range ? ID_POOL_FIRST : 0;
}

int ward_spec(const struct warden *w, struct sandbox_spec *spec, struct err *e)
{
	spec->level = LEVEL_STRICT;
	spec->leashed = true;
	spec->memory_unheld = !w->cgroups.ops;
	spec_ids(spec);
	return id_make("sbx", spec->id, e);
}

/* What an ordinary caller of root's daemon may not have: files that only root can read would show
 * through a mount that changes owners. Who serves HTTP brings no directory, and can have root inside
 * and a large disk by a workspace, too; he lets none but root have the disk here. */
static int check_caller(const struct warden *w, const struct ask *ask, const struct ucred *who,
			struct sandbox_spec *spec, struct err *e)
{
	const struct ask_head *h = ask->head;
	bool as_root =
		(h->flags & ASK_ROOT) && (who->uid != w->config->api_uid || (h->flags & ASK_DIR));
	bool on_volume =
		h->limits.disk_bytes > h->limits.memory_bytes / 2 && who->uid != w->config->api_uid;

	spec->dir_uid = who->uid; /* 0 is root, who may see all */
	spec->dir_gid = who->gid;
	if (who->uid == geteuid() || who->uid == 0)
		return 0;
	if (!as_root && !on_volume)
		return 0;
	(void)err_set(e, ERR_DENIED, "%s is for root alone in root's daemon",
		      as_root ? "--user root" : "--disk above half of --memory");
	return err_remedy(e, "run it with --no-daemon%s", as_root ? "" : ", or raise --memory");
}

static int check_limits(const struct warden *w, const struct ask *ask, struct sandbox_spec *spec,
			struct err *e)
{
	const struct ask_limits *l = &ask->head->limits;

	if (!w->cgroups.ops && !(ask->head->flags & ASK_BEST_EFFORT)) {
		(void)err_set(e, ERR_UNSUPPORTED, "memory and cpus cannot be limited: %s",
			      w->cgroups.why);
		(void)err_detail(e, "limits");
		return err_remedy(e, "give the daemon a delegated control group (Delegate=yes), or "
				     "accept weaker limits with --limits best-effort");
	}
	if (w->cgroups.ops && l->disk_bytes > l->memory_bytes / 2) {
		if (geteuid() != 0) {
			(void)err_set(e, ERR_UNSUPPORTED,
				      "--disk: more than half of --memory needs root");
			(void)err_detail(e, "limits");
			return err_remedy(e, "raise --memory");
		}
		spec->on_volume = true;
	}
	return 0;
}

/* What came with a request, all borrowed. */
struct asked {
	int stdio[3];
	int dir, gate, guard, layers; /* or FD_NONE */
};

static struct asked sort_out(const struct ask *ask, const int fds[LINK_FDS_MAX])
{
	int dir = link_fd_dir(ask->head->flags), gate_at = link_fd_gate(ask->head->flags);
	int guard = link_fd_guard(ask->head->flags), layers = link_fd_layers(ask->head->flags);

	return (struct asked){.stdio = {fds[1], fds[2], fds[3]},
			      .dir = dir < 0 ? FD_NONE : fds[dir],
			      .gate = gate_at < 0 ? FD_NONE : fds[gate_at],
			      .guard = guard < 0 ? FD_NONE : fds[guard],
			      .layers = layers < 0 ? FD_NONE : fds[layers]};
}

/* Packages that the caller has. */
struct packages {
	struct sandbox_spec spec; /* of it only what concerns them */
	struct bundle_held held;
};

static int take_layers(struct warden *w, int bundle, const struct ucred *who, struct packages *ret,
		       struct err *e)
{
	*ret = (struct packages){.held = {.said = NULL}};
	ret->spec.layers.fd = FD_NONE;
	if (bundle < 0)
		return 0;
	int r = bundle_take(bundle, &ret->spec, &ret->held, e);
	if (r == -EBADMSG)
		shunned_add(&w->shunned, who->uid);
	return r;
}

/* For commands in it, whose results say what it has. */
static void note_layers(struct ward *ward, const struct sandbox_spec *spec)
{
	struct link_layers *l = &ward->layered_on;

	_Static_assert(LINK_LAYERS_MAX >= DEPS_GIVEN_MAX, "there is room for all");
	*l = (struct link_layers){
		.dev = spec->layers.dev, .ino = spec->layers.ino, .n = spec->deps.n};
	memcpy(l->number, spec->deps.number, l->n * sizeof(l->number[0]));
}

/* As long as the sandbox is there. */
static int hold_layers(struct ward *ward, int bundle, struct err *e)
{
	if (bundle < 0)
		return 0;
	ward->layers = fcntl(bundle, F_DUPFD_CLOEXEC, 3);
	return ward->layers < 0 ? err_sys(e, "packages") : 0;
}

#define WATCHING_MAX 48u /* of 128 that the kernel lets root have, and others need, too */
void ward_watching(struct warden *w, struct ward *ward)
{
	if (ward->spec.deps.watched_len && w->n_watching >= WATCHING_MAX)
		ward->spec.deps.watched_len = 0;
	ward->watching = ward->spec.deps.watched_len > 0;
	w->n_watching += ward->watching;
}

static int make_cold(struct warden *w, const struct ask *ask, const struct ucred *who,
		     const struct asked *fds, const struct packages *packages, struct ward **ret,
		     struct err *e)
{
	struct ward *ward = ward_new(w);

	if (!ward)
		return err_sys(e, "run");
	ward->state = WARD_STARTING;
	ask_spec(ask, &ward->spec);
	ward->spec.shared = ask->held;
	ward->spec.dir_fd = fds->dir;	    /* borrowed until it is attached, */
	ward->spec.egress.gate = fds->gate; /* and until the guest has it */
	ward->spec.deps = packages->spec.deps;
	ward->spec.layers = packages->spec.layers;
	note_layers(ward, &packages->spec);
	ward_watching(w, ward);
	int r = hold_layers(ward, fds->layers, e);
	if (r >= 0)
		r = ward_spec(w, &ward->spec, e);
	if (r >= 0)
		r = check_caller(w, ask, who, &ward->spec, e);
	if (r >= 0)
		r = check_limits(w, ask, &ward->spec, e);
	if (r >= 0 && ward->spec.as_root && !ward->spec.ids.range)
		r = err_set(e, ERR_UNSUPPORTED, "--user root is not for an ordinary user's daemon"),
		(void)err_remedy(e, "run it with --no-daemon");
	if (r >= 0 && ward->spec.guard)
		r = ward_guard(w, ward, fds->guard, e);
	/* With a policy the guest needs rights over it, to route. */
	if (r >= 0 && !ward->spec.egress.n_ports)
		stock_give(w, ward);
	if (r >= 0)
		r = live_make(&ward->live, &ward->spec, &w->cgroups, fds->stdio, e);
	if (r >= 0)
		r = live_enter(&ward->live, &ward->spec, e);
	if (r >= 0)
		r = ward_watch(w, ward, e);
	ward->spec.dir_fd = ward->spec.egress.gate = FD_NONE;
	ward->spec.deps = (struct sandbox_deps){.n = 0};
	ward->spec.layers = (struct sandbox_layers){.fd = FD_NONE};
	if (r < 0) {
		ward_end(w, ward);
		return r;
	}
	*ret = ward;
	return 0;
}

/* Who asks does not know whether uid 0 was wanted when the sandbox was made. */
static void be_root(const struct ask *ask)
{
	static const char *const from[] = {ENVIRON_USER}, *const to[] = {ENVIRON_ROOT};
	const char **env = ask->vectors + ask->head->argc + 1;

	for (; *env; env++)
		for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
			if (strcmp(*env, from[i]) == 0)
				*env = to[i];
}

void ward_command(const struct ward *ward, const struct ask *ask, struct sandbox_spec *ret)
{
	*ret = ward->spec;
	ret->warm = ret->leashed = ret->forked = false;
	ret->driver = DRIVER_NONE;
	ret->code_name = NULL;
	if (ward->spec.as_root && !(ask->head->flags & ASK_USER))
		be_root(ask);
	ask_spec(ask, ret);
	variables_give(ward, ret);
	ret->shared = ward->held || ask->held;
	ret->guard = ward->spec.guard;
	ret->as_user = ret->as_user && ward->spec.as_root; /* elsewhere everybody is */
}

/* The asker's block goes; what he wants to be remembered stays. */
static int keep_metadata(struct ward *ward, const struct ask *ask, struct err *e)
{
	size_t len = 0;

	for (const char **v = ask->metadata; *v; v++)
		len += strlen(*v) + 1;
	if (len == 0)
		return 0;
	ward->metadata = malloc(len);
	if (!ward->metadata)
		return err_sys(e, "run");
	for (const char **v = ask->metadata; *v; v++) {
		size_t n = strlen(*v) + 1;

		memcpy(ward->metadata + ward->metadata_len, *v, n);
		ward->metadata_len += (uint32_t)n;
	}
	return 0;
}

/* One that waits, or a new one. */
static int find_ward(struct warden *w, const struct ask *ask, const struct ucred *who,
		     const struct asked *fds, struct ward **ret, struct err *e)
{
	struct packages packages;
	struct ward *ward = NULL;
	int r = take_layers(w, fds->layers, who, &packages, e);

	if (r >= 0)
		ward = packages.held.said ? layered_choose(w, ask, who, packages.held.said,
							   packages.spec.deps.fd)
					  : pool_choose(w, ask);
	if (ward && !w->cgroups.ops && !(ask->head->flags & ASK_BEST_EFFORT))
		ward = NULL; /* will be refused, with words */
	if (r >= 0 && ward && hold_layers(ward, fds->layers, e) < 0)
		r = -EMFILE;
	else if (r >= 0 && ward)
		r = pool_claim(w, ward, ask, e);
	else if (r >= 0)
		r = make_cold(w, ask, who, fds, &packages, &ward, e);
	bundle_forget(&packages.held, &packages.spec);
	*ret = ward;
	return r;
}

/* Could a program inside send descriptors to somebody outside by one of these? */
static bool pass_descriptors(const int stdio[3])
{
	struct stat st;

	for (int i = 0; i < 3; i++)
		if (fstat(stdio[i], &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
			return true;
	return false;
}

static int get_ward(struct warden *w, const struct ask *ask, const struct ucred *who,
		    const struct asked *fds, struct ward **ret, struct err *e)
{
	struct ward *ward = NULL;
	int r = find_ward(w, ask, who, fds, &ward, e);

	if (r < 0)
		return r;
	/* A file of its /proc/net, passed out through a socket, would show the next one's network. */
	if (HOLD_NETNS_UNSEEN && pass_descriptors(fds->stdio))
		fd_close(&ward->net);
	/* The block is the asker's and goes with this call. */
	memcpy(&ward->spec.limits, &ask->head->limits, sizeof(ward->spec.limits));
	ward->spec.alert_kills = ask->head->flags & ASK_ALERT_KILL;
	ward->spec.alert_pauses = ask->head->flags & ASK_ALERT_PAUSE;
	ward->owner = who->uid;
	ward->keep = ask->keep;
	queue_began(w, ward, ask->whose);
	ward->made_ms = warden_now_ms();
	ask_command(ask, ward->command, sizeof(ward->command));
	ward_index(w, ward);
	r = keep_metadata(ward, ask, e);
	if (r >= 0 && ask->held)
		r = variables_keep(ward, ask, e);
	if (r < 0) {
		ward_end(w, ward);
		return r;
	}
	*ret = ward;
	return 0;
}

/* What was claimed begins last of all: it may have to wait for our processor. */
static int give_client(struct warden *w, struct ward *ward, int client, const int stdio[3],
		       struct err *e)
{
	ward->client = client;
	int r = warden_watch(w, client, &ward->sources[SOURCE_CLIENT], e);
	if (r >= 0)
		r = ward->claim && ward->listener >= 0 && !ward->held
			    ? ward_hand_over(w, ward, stdio, e)
			    : pool_begin(ward, stdio, e);
	if (r < 0) {
		warden_unwatch(w, client);
		ward->client = FD_NONE; /* still the asker's */
		ward_end(w, ward);
	}
	return r;
}

int ward_run(struct warden *w, const struct ask *ask, const struct ucred *who,
	     const int fds[LINK_FDS_MAX], int client, struct err *e)
{
	struct ward *ward = NULL;
	struct asked all = sort_out(ask, fds);
	int r = get_ward(w, ask, who, &all, &ward, e);

	return r < 0 ? r : give_client(w, ward, client, all.stdio, e);
}

int ward_create(struct warden *w, const struct ask *ask, const struct ucred *who,
		const int fds[LINK_FDS_MAX], int client, struct err *e)
{
	struct ward *ward = NULL;
	struct job *job = NULL;
	struct asked all = sort_out(ask, fds);
	struct ask held = *ask;
	int r = 0;

	held.held = true;
	if (!(ask->head->flags & ASK_LIVE))
		r = job_new(ask, &job, all.stdio, e);
	if (r >= 0)
		r = get_ward(w, &held, who, &all, &ward, e);
	if (r >= 0) {
		ward->held = true;
		if (job)
			job_give(ward, job);
		r = give_client(w, ward, client, all.stdio, e);
	} else {
		job_free(w, job);
	}
	if (job)
		job_close_theirs(all.stdio);
	return r;
}
