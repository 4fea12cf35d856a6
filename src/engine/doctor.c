/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `pinfold doctor`: what this host can enforce for this user, level by level, what is missing and
 * what would give it. Levels are judged by trying them on /bin/true, not by version numbers; the
 * single probes say why one does not hold.
 */
#include <fcntl.h>
#include <sys/xattr.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "warden/place.h"
#include "egress/vault.h"
#include "engine/run_int.h"
#include "kernel/landlock.h"
#include "kernel/quota.h"
#include "sandbox/scope.h"
#include "sandbox/volume.h"

#define ROWS_MAX 24

struct row {
	const char *name;
	bool good;
	bool level; /* a level of isolation; else a probe or a limit */
	char what[256];
	char remedy[384];
};

struct doctor {
	struct row rows[ROWS_MAX];
	unsigned n;
};

static struct row *add(struct doctor *d, const char *name, bool good)
{
	static struct row spill;
	struct row *r = d->n < ROWS_MAX ? &d->rows[d->n++] : &spill;

	*r = (struct row){.name = name, .good = good};
	return r;
}

static long read_number(const char *path, long absent)
{
	char text[32] = "";
	size_t len = 0;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd_read_max(fd, text, sizeof(text) - 1, &len) < 0 || len == 0)
		return absent;
	long value = absent;
	(void)sscanf(text, "%ld", &value); /* what is no number counts as absent */
	return value;
}

static void probe_kernel(struct doctor *d)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	(void)uname(&u); /* cannot fail with a good pointer */
	(void)sscanf(u.release, "%u.%u", &major, &minor);
	struct row *r = add(d, "kernel", major > 5 || (major == 5 && minor >= 19));
	(void)snprintf(r->what, sizeof(r->what), "Linux %.64s %.32s", u.release, u.machine);
	if (!r->good)
		(void)snprintf(r->remedy, sizeof(r->remedy), "use Linux 5.19 or newer");
}

static void probe_userns(struct doctor *d)
{
	const char *why = NULL, *remedy = "";

	if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0) {
		why = "switched off by user.max_user_namespaces";
		remedy = "sysctl -w user.max_user_namespaces=15000";
	} else if (geteuid() != 0 &&
		   read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0) {
		why = "switched off for ordinary users by kernel.unprivileged_userns_clone";
		remedy = "sysctl -w kernel.unprivileged_userns_clone=1";
	} else if (geteuid() != 0 &&
		   read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1) {
		why = "restricted to named programs by AppArmor";
		remedy =
			"install with `make install`, which adds a profile for pinfold alone; the strict "
			"row below tells whether it is in force";
	}
	struct row *r = add(d, "user namespaces", !why);
	(void)snprintf(r->what, sizeof(r->what), "%s", why ? why : "allowed");
	(void)snprintf(r->remedy, sizeof(r->remedy), "%s", remedy);
}

static void probe_landlock(struct doctor *d)
{
	int abi = landlock_abi();
	struct row *r = add(d, "landlock", abi >= LANDLOCK_ABI_MIN);

	(void)snprintf(r->what, sizeof(r->what), "ABI %d%s", abi,
		       abi >= LANDLOCK_ABI_SIGNALS ? "" : ", without signal scoping (ABI 6)");
	if (!r->good)
		(void)snprintf(r->remedy, sizeof(r->remedy),
			       "add landlock to the lsm= list of the kernel command line");
}

static void probe_cgroup(struct doctor *d)
{
	struct cgroup_host host;

	cgroup_detect(&host);
	struct row *r = add(d, "control groups", host.ops || scope_available());
	if (!host.ops && r->good) {
		(void)snprintf(r->what, sizeof(r->what), "v2, in a scope of this user's systemd");
		return;
	}
	if (host.ops) {
		(void)snprintf(r->what, sizeof(r->what), "%s%s", host.ops->name,
			       host.ops == &cgroup_v1_ops && host.part[CG_UNIFIED][0]
				       ? " for limits, v2 for killing"
				       : "");
		return;
	}
	(void)snprintf(r->what, sizeof(r->what), "%s: memory is polled, cpus not limited",
		       host.why);
	(void)snprintf(r->remedy, sizeof(r->remedy), "%s", host.remedy);
}

static void probe_layers(struct doctor *d)
{
	bool good = volume_unneeded();
	struct row *r = add(d, "layers", good);

	(void)snprintf(
		r->what, sizeof(r->what), "%s",
		good ? "all of them in memory"
		     : "in memory they lack attributes: a directory of --dir cannot be removed");
	if (!good)
		(void)snprintf(r->remedy, sizeof(r->remedy),
			       "use Linux 6.6 or newer, or run as root, whose files are on disk");
}

/* The data directory, or what it will be made in. */
static int open_near(char *path)
{
	for (;;) {
		int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		char *slash = strrchr(path, '/');

		if (fd >= 0 || errno != ENOENT || !slash || slash == path)
			return fd;
		*slash = '\0';
	}
}

static void probe_quota(struct doctor *d, int fd)
{
	bool enforced = quota_enforced(fd), marked = quota_is_marked(fd), root = geteuid() == 0;
	bool held = enforced && root && !marked;
	struct row *r = add(d, "disk quotas", true); /* a weaker limit, not one that is missing */

	if (held) {
		(void)snprintf(r->what, sizeof(r->what),
			       "project quotas hold the disk limits of workspaces");
		return;
	}
	(void)snprintf(r->what, sizeof(r->what), "the disk limits of workspaces are polled: %s",
		       !root	? "an ordinary user cannot set quotas"
		       : marked ? "the data directory belongs to a project already"
				: "its filesystem enforces no project quotas");
	(void)snprintf(
		r->remedy, sizeof(r->remedy), "%s%s",
		root ? "" : "run pinfold as root, for whom the kernel holds them, with ",
		marked && root
			? "clear it there with chattr -P and chattr -p 0, or name another with "
			  "PINFOLD_HOME"
			: "the data directory on ext4 (mkfs.ext4 or tune2fs -O project,quota) mounted "
			  "with prjquota, or on xfs mounted with pquota");
}

/* An upper needs attributes of the user's. */
static void probe_workspaces(struct doctor *d)
{
	char path[512];
	struct err e = ERR_INIT;
	auto_close int fd = place_data(path, sizeof(path), &e) < 0 ? FD_NONE : open_near(path);
	bool good = fd >= 0 && fsetxattr(fd, "user.overlay.probe", "", 0, 0) == 0;
	struct row *r = add(d, "workspaces", good);

	if (good) {
		(void)snprintf(
			r->what, sizeof(r->what),
			"kept; a directory of an earlier command is renamed by copying it, hard "
			"links between commands part when one is written to");
		probe_quota(d, fd);
		return;
	}
	(void)snprintf(r->what, sizeof(r->what), "cannot be kept in the data directory");
	(void)snprintf(r->remedy, sizeof(r->remedy),
		       "name a writable directory on ext4, xfs, btrfs or tmpfs with PINFOLD_HOME");
}

static void probe_subids(struct doctor *d)
{
	uint32_t first;
	uid_t uid = geteuid();
	const char *name = getenv("USER");
	bool good = uid == 0 ||
		    (idmap_subordinate("/etc/subuid", uid, name, SANDBOX_IDS, &first) == 0 &&
		     idmap_subordinate("/etc/subgid", uid, name, SANDBOX_IDS, &first) == 0 &&
		     access("/usr/bin/newuidmap", X_OK) == 0);
	struct row *r = add(d, "range of ids", good);

	(void)snprintf(r->what, sizeof(r->what), "%s",
		       uid == 0 ? "one for each sandbox"
		       : good	? "subordinate ids, used for --user root"
				: "none: --user root is not available");
	if (!good)
		(void)snprintf(r->remedy, sizeof(r->remedy),
			       "install uidmap; as root: usermod --add-subuids 100000-165535 "
			       "--add-subgids 100000-165535 USER");
}

/* Isolation, or limits, as a whole: by using it. */
static struct row *try_it(struct doctor *d, const char *name, const char *level, const char *limits,
			  const char *policy)
{
	struct pinfold_run_options o = PINFOLD_RUN_OPTIONS_INIT;
	const char *const argv[] = {"/bin/true", NULL};
	struct pinfold_error e;
	struct pinfold_run *run = NULL;
	bool good = false;

	memset(&e, 0, sizeof(e));
	o.argv = argv;
	o.isolation = level;
	o.limits = limits;
	o.policy = policy;
	o.flags = PINFOLD_LOCAL | PINFOLD_NO_STDIN;
	if (pinfold_run_start(&o, &run, &e) == 0) {
		pinfold_run_wait(run);
		good = pinfold_run_exit_status(run) == 0;
		if (pinfold_run_error(run))
			e = *pinfold_run_error(run);
	}
	pinfold_run_free(run);
	struct row *r = add(d, name, good);
	(void)snprintf(r->what, sizeof(r->what), "%.255s", e.message);
	(void)snprintf(r->remedy, sizeof(r->remedy), "%.380s", good ? "" : e.remedy);
	return r;
}

static void try_level(struct doctor *d, const char *level)
{
	struct row *r = try_it(d, level, level, "best-effort", NULL);

	r->level = true;
	if (r->good)
		(void)snprintf(r->what, sizeof(r->what), "holds: a sandbox was made and removed");
}

static void try_limits(struct doctor *d)
{
	struct row *r = try_it(d, "all limits", NULL, "strict", NULL);

	if (r->good)
		(void)snprintf(r->what, sizeof(r->what), "held (--limits strict)");
}

/* With a policy that reaches nothing: the gate is started, and the sandbox gives it its sockets. */
static void try_network(struct doctor *d)
{
	struct row *r = try_it(d, "network policy", NULL, "best-effort", "allow: []");

	if (r->good)
		(void)snprintf(r->what, sizeof(r->what), "held: a gate was started and removed");
	else if (!r->remedy[0])
		(void)snprintf(r->remedy, sizeof(r->remedy),
			       "runs with --allow or --policy will not start; others are not "
			       "concerned");
}

/* As the gate finds them (egress/gate_resolve.c); none of them is asked. */
static void probe_names(struct doctor *d)
{
	const char *own = getenv("PINFOLD_RESOLVER");
	FILE *f = own && *own ? NULL : fopen("/etc/resolv.conf", "re");
	char line[256], word[64], server[64] = "";
	unsigned n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " nameserver %63s", word) == 1 && n++ == 0)
			memcpy(server, word, sizeof(server));
	if (f)
		(void)fclose(f);
	struct row *r = add(d, "name servers", n > 0 || (own && *own));
	if (own && *own)
		(void)snprintf(r->what, sizeof(r->what), "%.60s, by PINFOLD_RESOLVER", own);
	else if (n > 0)
		(void)snprintf(r->what, sizeof(r->what), "%s%s", server,
			       n > 1 ? " and others" : "");
	else
		(void)snprintf(r->what, sizeof(r->what), "none in /etc/resolv.conf");
	if (!r->good)
		(void)snprintf(r->remedy, sizeof(r->remedy),
			       "hosts of a policy are not found by name: name a server there, or "
			       "set PINFOLD_RESOLVER=IP:PORT");
}

static void probe_secrets(struct doctor *d)
{
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	int k = vault_key(path, sizeof(path), &e);
	struct row *r = add(d, "key of secrets", k >= 0);

	(void)snprintf(r->what, sizeof(r->what), "%.200s%s", k < 0 ? e.text : path,
		       k == 0 ? ", made with the first secret" : "");
	if (k < 0)
		(void)snprintf(r->remedy, sizeof(r->remedy), "%.380s", e.remedy);
}

static int write_text(const struct doctor *d, int fd)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	for (unsigned i = 0; i < d->n; i++) {
		const struct row *r = &d->rows[i];

		fprintf(f, "%-4s %-16s %s\n", r->good ? "ok" : "no", r->name, r->what);
		if (r->remedy[0])
			fprintf(f, "     %-16s -> %s\n", "", r->remedy);
	}
	int k = fclose(f) == 0 ? fd_write_all(fd, text, len) : -ENOMEM;
	free(text);
	return k;
}

static int write_json(const struct doctor *d, int fd)
{
	struct json j;

	json_init(&j, fd);
	json_open(&j, NULL, '{');
	json_str(&j, "version", pinfold_version());
	json_open(&j, "checks", '[');
	for (unsigned i = 0; i < d->n; i++) {
		const struct row *r = &d->rows[i];

		json_open(&j, NULL, '{');
		json_str(&j, "name", r->name);
		json_str(&j, "kind", r->level ? "level" : "probe");
		json_bool(&j, "ok", r->good);
		json_str(&j, "message", r->what);
		json_str(&j, "remedy", r->remedy[0] ? r->remedy : NULL);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	int k = json_end(&j);
	return k < 0 ? k : fd_write_all(fd, "\n", 1);
}

int pinfold_doctor_write(int json, int fd)
{
	struct doctor *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	probe_kernel(d);
	probe_userns(d);
	probe_landlock(d);
	probe_cgroup(d);
	probe_subids(d);
	probe_layers(d);
	probe_workspaces(d);
	try_level(d, "strict");
	unsigned strict = d->n - 1;
	try_level(d, "landlock");
	try_network(d);
	probe_names(d);
	probe_secrets(d);
	try_limits(d);
	bool all = d->rows[strict].good && d->rows[d->n - 1].good;
	int k = json ? write_json(d, fd) : write_text(d, fd);
	free(d);
	return k < 0 ? -1 : all ? 0 : 1;
}
