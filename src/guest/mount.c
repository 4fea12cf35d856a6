/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount steps. A target is opened first, below the new root and without following any link (an
 * image could hold links where we expect directories), and mounts move onto that descriptor: no
 * path is resolved twice. Only where the plan itself made the tree around it (STEP_OWN) is the
 * path good enough. Paths shown in /proc/self/mountinfo are relative to the stage, so no
 * place of the host shows inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/sys.h"
#include "guest/guest.h"

/* From <sys/mount.h>, which cannot be included together with <linux/mount.h> on older libcs. */
#define MNT_DETACH_FLAG 2
#define MS_BIND_FLAG 4096
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifdef DROP_PRIVATE
#define PROPAGATION 0
#else
#define PROPAGATION (1 << 18) /* MS_PRIVATE */
#endif

static void done(long fd)
{
	if (fd >= 0)
		(void)sys1(SYS_close, fd); /* O_PATH or mount descriptors: nothing to lose */
}

/* Open `path` below `dir` without following links. */
static long open_below(int dir, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	while (*path == '/')
		path++;
	return sys4(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
}

/* Move the detached mount `fd` onto `path` below the new root; `fd` is used up. */
static int put(struct guest *g, long fd, const char *path, unsigned flags)
{
	long r;

	if (fd < 0)
		return (int)fd;
	if (flags & STEP_OWN) {
		r = sys5(SYS_move_mount, fd, "", g->root, path, MOVE_MOUNT_F_EMPTY_PATH);
	} else {
		long to = open_below(g->root, path);

		r = to;
		if (to >= 0)
			r = sys5(SYS_move_mount, fd, "", to, "",
				 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
		done(to);
	}
	done(fd);
	return (int)r;
}

static int set_attr(long fd, unsigned flags, unsigned at)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID, .propagation = PROPAGATION};

#ifdef DROP_NOSUID
	attr.attr_set = 0;
#endif
	if (flags & STEP_RDONLY)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (flags & STEP_NOEXEC)
		attr.attr_set |= MOUNT_ATTR_NOEXEC;
#ifndef DROP_NODEV
	if (!(flags & STEP_DEVICE))
		attr.attr_set |= MOUNT_ATTR_NODEV;
#endif
	return (int)sys5(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | at, &attr, sizeof(attr));
}

/*
 * Show `from` in the stage at `path` below the new root, in one call, with the flags of the mount
 * it comes from. For targets that the plan itself made, and for our own proc, whose names lead
 * nowhere else. The new API would make and drop a mount namespace each time.
 */
static int bind_same(struct guest *g, const char *from, const char *path)
{
	char to[256];
	size_t n = str_len(g->root_name), len = str_len(path);

	if (n + 1 + len >= sizeof(to))
		return -ENAMETOOLONG;
	for (size_t i = 0; i < n; i++)
		to[i] = g->root_name[i];
	to[n++] = '/';
	for (size_t i = 0; i <= len; i++)
		to[n + i] = path[i];
	return (int)sys5(SYS_mount, from, to, NULL, MS_BIND_FLAG, NULL);
}

static int bind(struct guest *g, int from_dir, const char *from, const struct plan_step *step)
{
	unsigned at = step->flags & STEP_RECURSIVE ? AT_RECURSIVE : 0;
	long fd = sys3(SYS_open_tree, from_dir, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | at);

	if (fd == -ENOENT && (step->flags & STEP_OPTIONAL))
		return 0;
	if (fd < 0)
		return (int)fd;
	int r = set_attr(fd, step->flags, at);
	if (r < 0) {
		done(fd);
		return r;
	}
	return put(g, fd, plan_str(g->plan, step->t), step->flags);
}

/* Give one "key=value,key=value" list to a filesystem context. The list is cut in place. */
static long configure(long fs, const char *options)
{
	char text[512];
	size_t n = options ? str_len(options) : 0;

	if (n >= sizeof(text))
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		text[i] = options[i];
	text[n] = '\0';
	for (char *p = text; *p;) {
		char *key = p, *value = NULL;

		for (; *p && *p != ','; p++)
			if (*p == '=' && !value) {
				*p = '\0';
				value = p + 1;
			}
		if (*p)
			*p++ = '\0';
		long r = value ? sys5(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0)
			       : sys5(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, key, NULL, 0);
		if (r < 0)
			return r;
	}
	return sys5(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

/* A new filesystem as a detached mount. */
static long make(const char *type, const char *options, unsigned attrs)
{
	long fs = sys2(SYS_fsopen, type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return fs;
	long r = configure(fs, options);
	if (r >= 0)
		r = sys3(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attrs);
	done(fs);
	return r;
}

static int do_stage(struct guest *g, const char *on, const char *options, long volume)
{
	long fd = volume ? volume : make("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);

	if (fd < 0)
		return (int)fd;
	long r = sys5(SYS_move_mount, fd, "", AT_FDCWD, on, MOVE_MOUNT_F_EMPTY_PATH);
	if (r >= 0)
		r = sys1(SYS_fchdir, fd);
	g->stage = (int)fd;
	return (int)r;
}

/* What we have put there is not the sandbox's to pay for, nor is there more for it than it may have. */
static int do_room(const struct guest *g, uint64_t bytes)
{
	struct statfs fs = {0};
	char size[24];
	long r = sys2(SYS_fstatfs, g->stage, &fs);

	if (r < 0)
		return (int)r;
	uint64_t used = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	size[guest_decimal(size, used + bytes)] = '\0';
	long fd = sys3(SYS_fspick, g->stage, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
	if (fd < 0)
		return (int)fd;
	r = sys5(SYS_fsconfig, fd, FSCONFIG_SET_STRING, "size", size, 0);
	if (r >= 0)
		r = sys5(SYS_fsconfig, fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
	done(fd);
	return (int)r;
}

/* The host side told us which directory it means; in our copy of the mount tree its path may by
 * now lead elsewhere. */
static int open_expected(const struct guest *g, const struct plan_step *step, int *ret_fd)
{
	struct stat st;
	long fd = sys3(SYS_openat, AT_FDCWD, plan_str(g->plan, step->s),
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	long r = sys2(SYS_fstat, fd, &st);
	if (r < 0)
		return (int)r;
#ifndef DROP_DIR_ONCE
	if (step->b && (st.st_ino != step->b || (int64_t)st.st_dev != step->a))
		return -ESTALE;
#endif
	done(*ret_fd);
	*ret_fd = (int)fd;
	return 0;
}

/* "lowerdir=@" stands for the directory that LOWER opened. */
static int overlay_options(const struct guest *g, const char *options, char *out, size_t size)
{
	static const char fd_dir[] = "/proc/self/fd/";
	size_t n = 0;

	for (; *options; options++) {
		if (n + sizeof(fd_dir) + 12 >= size)
			return -E2BIG;
		if (*options != '@') {
			out[n++] = *options;
			continue;
		}
		for (size_t i = 0; fd_dir[i]; i++)
			out[n++] = fd_dir[i];
		char digits[12];
		size_t k = 0;
		for (unsigned v = (unsigned)g->lower; v || !k; v /= 10)
			digits[k++] = (char)('0' + v % 10);
		while (k > 0)
			out[n++] = digits[--k];
	}
	out[n] = '\0';
	return 0;
}

static int do_overlay(struct guest *g, const char *on, const char *options, unsigned flags)
{
	char text[512];
	int r = overlay_options(g, options, text, sizeof(text));

	/* A value has room for 255 bytes: the names of 16 layers, if they are short. */
	if (r >= 0 && (flags & STEP_LAYERS))
		r = (int)sys1(SYS_fchdir, g->layers);
	if (r < 0)
		return r;
	unsigned attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	if (flags & STEP_RDONLY)
		attrs |= MOUNT_ATTR_RDONLY;
#ifdef DROP_NOSUID
	attrs &= ~(unsigned)MOUNT_ATTR_NOSUID;
#endif
#ifdef DROP_NODEV
	attrs &= ~(unsigned)MOUNT_ATTR_NODEV;
#endif
	long fd = make("overlay", text, attrs);
	if (flags & STEP_LAYERS)
		(void)sys1(SYS_fchdir, g->stage); /* where we came from */
	if (fd < 0)
		return (int)fd;
	if (g->root >= 0 && !(flags & STEP_STAGE))
		return put(g, fd, on, flags);
	long ret = sys5(SYS_move_mount, fd, "", g->stage, on, MOVE_MOUNT_F_EMPTY_PATH);
	done(fd);
	return (int)ret;
}

/* Hide an entry of the proc that we just mounted, or of a directory of the host's. "ro" is
 * read-only, so its clones are. */
static int do_mask(struct guest *g, const struct plan_step *step)
{
	int r = bind_same(g, step->flags & STEP_RECURSIVE ? "ro/mask.d" : "ro/mask",
			  plan_str(g->plan, step->s));

	/* This kernel, or this workspace, does not have it: nothing to hide. */
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Read-only from here on: a clone on top of itself. Below the new root, or the stage before it. */
static int do_seal(struct guest *g, const struct plan_step *step)
{
	const char *path = plan_str(g->plan, step->s);
	int dir = step->flags & STEP_STAGE ? g->stage : g->root;
	long fd = sys3(SYS_open_tree, dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	int r = set_attr(fd, step->flags, 0);
	if (r < 0) {
		done(fd);
		return r;
	}
	r = (int)sys5(SYS_move_mount, fd, "", dir, path, MOVE_MOUNT_F_EMPTY_PATH);
	done(fd);
	return r;
}

/* A clone that stands alone: from the directory itself, ".." would lead on through the host. */
static int keep_lower(const struct guest *g)
{
	return (int)sys3(SYS_open_tree, g->lower, "",
			 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static int do_keep(struct guest *g, const struct plan_step *step)
{
	if (g->n_keep == GUEST_KEEP_MAX)
		return -E2BIG;
	/* At level landlock the path is the host's, and absolute. */
	int dir = step->flags & STEP_LAYERS ? g->layers : g->stage >= 0 ? g->stage : AT_FDCWD;
	long fd = sys3(SYS_openat, dir, plan_str(g->plan, step->s),
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return (int)fd;
	g->keep[g->n_keep++] = (struct guest_keep){
		.upper = (int)fd,
		.lower = step->flags & STEP_NO_LOWER ? -1
			 : step->flags & STEP_KEEP_FD
				 ? keep_lower(g)
				 : (int)sys3(SYS_openat, g->stage, "r", O_PATH | O_CLOEXEC),
		.prefix = plan_str(g->plan, step->t),
	};
	return 0;
}

static int do_pivot(struct guest *g)
{
	long r = sys1(SYS_fchdir, g->root);

#ifdef DROP_PIVOT
	if (r >= 0) /* the host's tree is hidden, and still there */
		r = sys1(SYS_chroot, ".");
#else
	if (r >= 0)
		r = sys2(SYS_pivot_root, ".", ".");
	/* The old root is now stacked on the new one; "." is still the new one. */
	if (r >= 0)
		r = sys2(SYS_umount2, ".", MNT_DETACH_FLAG);
#endif
	if (r >= 0)
		r = sys1(SYS_chdir, "/");
	/* Nothing of the old tree stays open. */
	done(g->lower);
	done(g->root);
	done(g->stage);
	done(g->layers);
	g->lower = g->root = g->stage = g->layers = -1;
	return (int)r;
}

static int attach(const struct guest *g, long fd, const char *at)
{
	long r = sys5(SYS_move_mount, fd, "", g->stage, at, MOVE_MOUNT_F_EMPTY_PATH);

	done(fd);
	return (int)r;
}

int guest_mount_step(struct guest *g, const struct plan_step *step)
{
	const char *s = plan_str(g->plan, step->s);
	const char *t = step->len ? NULL : plan_str(g->plan, step->t);
	struct mount_attr attr = {.propagation = PROPAGATION};
	long fd;

	switch ((enum plan_op)step->op) {
	case PLAN_PRIVATE:
		return (int)sys5(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr,
				 sizeof(attr));
	case PLAN_STAGE: return do_stage(g, s, t, step->a);
	case PLAN_TMPFS:
		fd = make("tmpfs", t, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
		return fd < 0 ? (int)fd : attach(g, fd, s);
	case PLAN_ROOM: return do_room(g, step->b);
	case PLAN_LOWER: return open_expected(g, step, &g->lower);
	case PLAN_LAYERS: return open_expected(g, step, &g->layers);
	case PLAN_ATTACH: return attach(g, step->a, s);
	case PLAN_OVERLAY: return do_overlay(g, s, t, step->flags);
	case PLAN_ENTER:
		fd = sys3(SYS_openat, g->stage, s, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		g->root = (int)fd;
		g->root_name = s;
		return fd < 0 ? (int)fd : 0;
	case PLAN_BIND_HOST: return bind(g, AT_FDCWD, s, step);
	case PLAN_BIND_STAGE: return bind(g, g->stage, s, step);
	case PLAN_SHOW:
		fd = bind_same(g, s, t);
		return fd == -ENOENT && (step->flags & STEP_OPTIONAL) ? 0 : (int)fd;
	case PLAN_PROC:
		return put(g,
			   make("proc", NULL,
				MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC),
			   s, step->flags);
	case PLAN_DEVPTS:
		return put(g, make("devpts", t, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), s,
			   step->flags);
	case PLAN_MASK: return do_mask(g, step);
	case PLAN_SEAL: return do_seal(g, step);
	case PLAN_KEEP: return do_keep(g, step);
	case PLAN_PIVOT: return do_pivot(g);
	default: return -EINVAL;
	}
}
