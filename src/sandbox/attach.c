/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An idmapped mount of a host directory. Ids on disk are given a meaning inside the sandbox's
 * range: the directory's owner becomes the sandbox's user, every other id keeps its number. The
 * kernel takes such a map from a user namespace, so one is made for the moment.
 */
#include "sandbox/attach.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/sys.h"
#include "kernel/idmap.h"
#include "kernel/userns.h"
#include "sandbox/hold.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static void add(struct idmap_line *line, unsigned *n, uint32_t disk, uint32_t shown, uint32_t count)
{
	if (count > 0)
		line[(*n)++] = (struct idmap_line){disk, shown, count};
}

/* Numbers 0..65535 to the range, with `owner` and SANDBOX_UID changing places. An owner beyond
 * the range gets a line of its own and SANDBOX_UID's old place stays empty. */
static void swap_map(struct idmap_line *line, unsigned *n, uint32_t owner, uint32_t base)
{
	uint32_t low = owner < SANDBOX_UID ? owner : SANDBOX_UID;
	uint32_t high = owner < SANDBOX_UID ? SANDBOX_UID : owner;

	*n = 0;
	if (owner == SANDBOX_UID) {
		add(line, n, 0, base, SANDBOX_IDS);
		return;
	}
	add(line, n, 0, base, low);
	add(line, n, low, base + high % SANDBOX_IDS, owner < SANDBOX_IDS ? 1 : 0);
	if (owner >= SANDBOX_IDS) {
		add(line, n, SANDBOX_UID + 1, base + SANDBOX_UID + 1,
		    SANDBOX_IDS - SANDBOX_UID - 1);
		add(line, n, owner, base + SANDBOX_UID, 1);
		return;
	}
	add(line, n, low + 1, base + low + 1, high - low - 1);
	add(line, n, high, base + low, 1);
	add(line, n, high + 1, base + high + 1, SANDBOX_IDS - high - 1);
}

/* Only root has a range to map to and the right to map. */
static bool can_map(const struct sandbox_spec *spec)
{
	return spec->ids.range && !spec->ids.helper && spec->level == LEVEL_STRICT &&
	       spec->ids.uid_base != 0;
}

/* A clone of `dir` whose files have the owners that `map` says. */
static int clone_mapped(int dir, const struct idmap *map, bool writable, int *ret_fd, struct err *e)
{
	auto_close int userns = userns_make(map, e);

	if (userns < 0)
		return userns;
	auto_close int mount = (int)sys3(SYS_open_tree, dir, "",
					 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mount == -EINVAL) {
		/* Only what is in our own mount namespace can be cloned. */
		(void)err_set(e, ERR_UNSUPPORTED, "not in the mount namespace of the daemon");
		return err_remedy(e, "run it with --no-daemon");
	}
	if (mount < 0) {
		errno = -mount;
		return err_sys(e, "open");
	}
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (HOLD_DIR_OVERLAY && !writable ? MOUNT_ATTR_RDONLY : 0),
		.propagation = 1 << 18, /* MS_PRIVATE */
		.userns_fd = (uint64_t)userns,
	};
	long r = sys5(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attr, sizeof(attr));
	if (r < 0) {
		errno = (int)-r;
		/* What a filesystem that cannot do it says, FUSE and sysfs among them. */
		if (errno == EINVAL)
			(void)err_set(e, ERR_UNSUPPORTED,
				      "its filesystem cannot give its files another owner");
		else
			(void)err_sys(e, "its filesystem cannot give its files another owner");
		return err_remedy(e,
				  "run pinfold as the directory's owner, or copy the directory to "
				  "ext4, xfs, btrfs or tmpfs");
	}
	*ret_fd = take_fd(&mount);
	return 0;
}

/* For somebody who is not root: his own files, and of others what everybody may read. Were the
 * owner's shown, he could hand us a directory of root's. */
static struct idmap of_caller(const struct sandbox_spec *spec)
{
	return (struct idmap){
		.n_uid = 1,
		.n_gid = 1,
		.uid[0] = {spec->dir_uid, spec->ids.uid_base + SANDBOX_UID, 1},
		.gid[0] = {spec->dir_gid, spec->ids.gid_base + SANDBOX_UID, 1},
	};
}

int attach_dir(struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
	struct idmap map = {0};
	struct stat st;

	if (spec->dir_fd < 0 || !can_map(spec))
		return 0;
	/* Whose it is matters to root alone; of others' directories the daemon asks no file
	 * system. */
	if (spec->dir_uid) {
		map = of_caller(spec);
	} else {
		if (fstat(spec->dir_fd, &st) < 0)
			return err_sys(e, "--dir");
		swap_map(map.uid, &map.n_uid, st.st_uid, spec->ids.uid_base);
		swap_map(map.gid, &map.n_gid, st.st_gid, spec->ids.gid_base);
	}
	if (clone_mapped(spec->dir_fd, &map, false, ret_fd, e) < 0)
		return err_wrap(e, "--dir %s", spec->dir_path);
	spec->dir_attached = true;
	/* It is our own clone of what the caller opened: there is no path to check again. */
	spec->dir_dev = spec->dir_ino = 0;
	return 0;
}

int attach_git(struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
	struct idmap map = {0};
	struct stat st;

	if (!spec->git.path || !can_map(spec))
		return 0;
	if (fstat(spec->git.fd, &st) < 0)
		return err_sys(e, "%s", spec->git.path);
	swap_map(map.uid, &map.n_uid, st.st_uid, spec->ids.uid_base);
	swap_map(map.gid, &map.n_gid, st.st_gid, spec->ids.gid_base);
	if (clone_mapped(spec->git.fd, &map, false, ret_fd, e) < 0)
		return err_wrap(e, "%s", spec->git.path);
	spec->git.attached = true;
	spec->git.dev = spec->git.ino = 0;
	return 0;
}

/* Ids on disk are those seen inside. */
static struct idmap whole_range(const struct sandbox_spec *spec)
{
	return (struct idmap){
		.n_uid = 1,
		.n_gid = 1,
		.uid[0] = {0, spec->ids.uid_base, SANDBOX_IDS},
		.gid[0] = {0, spec->ids.gid_base, SANDBOX_IDS},
	};
}

int attach_usr(struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
	struct idmap map = whole_range(spec);

	if (!spec->as_root || (spec->peek && !spec_sees(spec, LAYER_USR)) || spec_on_image(spec) ||
	    !can_map(spec))
		return 0;
	auto_close int usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (usr < 0)
		return err_sys(e, "open /usr");
	if (clone_mapped(usr, &map, false, ret_fd, e) < 0)
		return err_wrap(e, "/usr");
	spec->usr_attached = true;
	return 0;
}

int attach_layers(struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
	struct idmap map = whole_range(spec);

	bool writable = spec->peek ? spec->peek != PEEK_LOOK : spec_in_workspace(spec);

	if (spec->deps.given)
		return 0;
	if ((!spec->layers.upper && !spec->peek && !spec_on_image(spec) && !spec_has_deps(spec)) ||
	    !can_map(spec))
		return 0;
	if (clone_mapped(spec->layers.fd, &map, writable, ret_fd, e) < 0)
		return err_wrap(e, "the data directory");
	spec->layers.attached = true;
	return 0;
}

int attach_deps(struct sandbox_spec *spec, int ret_fds[DEPS_GIVEN_MAX], struct err *e)
{
	struct idmap map = spec->dir_uid ? of_caller(spec) : whole_range(spec);

	if (!spec->deps.given || !can_map(spec))
		return 0;
	for (unsigned i = 0; i < spec_given(spec); i++)
		if (clone_mapped(spec->deps.fd[i], &map, false, &ret_fds[i], e) < 0)
			return err_wrap(e, spec->deps.n ? "packages" : "--image");
	spec->deps.attached = true;
	return 0;
}

int attach_state(struct sandbox_spec *spec, int *ret_fd, struct err *e)
{
	struct idmap map = whole_range(spec);

	if (!spec->state.path || !can_map(spec))
		return 0;
	if (clone_mapped(spec->state.fd, &map, true, ret_fd, e) < 0)
		return err_wrap(e, "the data directory");
	spec->state.attached = true;
	return 0;
}
