/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of level `landlock`: no namespaces, so no tree, no pids and no network of its own.
 * Landlock opens the host's /usr, the listed part of /etc and a few devices for reading and one
 * private directory for everything; the system call filter has no sockets at all. As root the
 * command runs as an id that is nobody's.
 */
#include <dirent.h>
#include <stdio.h>

#include "kernel/landlock.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

static void allow_etc(struct plan *p, int abi)
{
	static const char *const names[] = {"passwd", "group", "nsswitch.conf", "hosts"};
	char path[300];
	struct dirent *d;
	DIR *all = opendir("/etc");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "/etc/%s", names[i]);
		plan_allow(p, path, landlock_file_read(abi), STEP_OPTIONAL);
	}
	while (all && (d = readdir(all))) {
		if (!etc_is_listed(d->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "/etc/%s", d->d_name);
		plan_allow(p, path,
			   d->d_type == DT_DIR ? landlock_read(abi) : landlock_file_read(abi),
			   STEP_OPTIONAL);
	}
	if (all)
		closedir(all);
}

static void allow_paths(struct plan *p, const struct sandbox_spec *spec, int abi)
{
	static const char *const trees[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"};
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
					      "/dev/urandom"};

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		plan_allow(p, trees[i], landlock_read(abi), STEP_OPTIONAL);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		plan_allow(p, devices[i], landlock_device(abi), STEP_OPTIONAL);
	allow_etc(p, abi);
	plan_allow(p, spec->host_home ? spec->host_home : "/nonexistent", landlock_write(abi),
		   spec->host_home ? 0 : STEP_OPTIONAL);
}

void plan_host_level(struct plan *p, const struct sandbox_spec *spec)
{
	int abi = landlock_abi();
	struct plan_step *step = plan_add(p, PLAN_AWAIT, 0);

	step->s = plan_string(p, "cgroup");
	step->a = AWAIT_CGROUP;
	if (HOLD_KEYRING)
		plan_add(p, PLAN_KEYRING, 0);
	plan_num(p, PLAN_OOM_SCORE, 0, 500, 0);
	if (spec->host_home)
		plan_two(p, PLAN_KEEP, STEP_NO_LOWER, spec->host_home, spec->host_home);
	if (HOLD_LANDLOCK) {
		plan_num(p, PLAN_LANDLOCK, 0, (int64_t)landlock_scopes(abi), landlock_all(abi));
		allow_paths(p, spec, abi);
	}
	if (spec->ids.range) {
		plan_num(p, PLAN_BOUNDING, 0, 0, 0);
		plan_num(p, PLAN_BECOME, 0, (int64_t)spec->ids.uid_base + SANDBOX_UID,
			 spec->ids.gid_base + SANDBOX_UID);
	}
	plan_rlimits(p, spec);
	if (HOLD_NNP)
		plan_add(p, PLAN_NO_NEW_PRIVS, 0);
	plan_add(p, PLAN_SCOPE, 0);
	plan_num(p, PLAN_CAPS, 0, 0, 0);
	plan_num(p, PLAN_NO_DUMP, 0, !HOLD_DUMPABLE, 0);
	if (HOLD_SECCOMP)
		plan_filter(p, spec);
	plan_add(p, PLAN_READY, 0);
}
