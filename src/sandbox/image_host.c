/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree that a command sees. Without an image of its own it is image `host`: the host's /usr. An
 * image takes the place of /usr and /etc (image_own.c); all around it is the same.
 *
 * One tmpfs, the stage, holds everything that the sandbox may fill, so its size is the disk limit:
 *
 *	r            what / looks like at first
 *	u.X w.X      upper and work directory of part X of the layer: root, usr, work
 *	tmp run dev  /tmp /run /dev of a layered root
 *	ro           what hides entries of /proc
 *	m            where a layered root is mounted
 *	z            on a volume: a tmpfs for /tmp, /run and /dev/shm, which are memory wherever the rest is
 *
 * A root is layered (r is the lower of an overlay) where a command may change all of it, as the
 * sandbox's root does, and in a workspace, where some command may have. The ordinary user of a
 * fresh sandbox can only write below his home and in /tmp, /run and /dev/shm, so r itself is the
 * root and his home the layer: no overlay, and no mounts for what are directories of the same
 * tmpfs.
 *
 * /usr is always an overlay over the host's, not a bind: file locks, leases and watches then belong
 * to the sandbox's own inodes and cannot be used against the host or to talk to another sandbox.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/environ.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"
#include "sandbox/synthetic.h"
#include "sandbox/attach.h"

/* Exists everywhere, and nobody shares a directory below it. */
#define STAGE_ON (HOLD_SYS ? "/sys" : "/mnt")
#define MASKED (HOLD_SYS ? "/sys/k:@" : "/mnt/k:@")
#define SKELETON (HOLD_SYS ? "/sys/r" : "/mnt/r")
#define MASKED_USR (HOLD_SYS ? "/sys/y:@" : "/mnt/y:@")
/* The same for views of layers on an image, which the reader looks at from the host's. */
#define IMAGE_SKELETON (HOLD_SYS ? "/sys/i" : "/mnt/i")

static const char *const usr_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct proc_mask {
	const char *path;
	bool is_dir;
} proc_masks[] = {
#define MASK(name, why) {"proc/" name, false},
#define MASK_DIR(name, why) {"proc/" name, true},
#include "sandbox/proc_masks.def"
#undef MASK
#undef MASK_DIR
};

int plan_owner(const struct sandbox_spec *spec)
{
	/* As it was for who made the layers; and commands of both may come into one that lives. */
	bool user = !spec->as_root || spec->peek || spec->live;

	return spec->ids.range && user && !spec->zygote ? (int)SANDBOX_UID : -1;
}

/* The home directory of a workspace stays the user's when a command of root's is the first to
 * write there. */
int plan_home_owner(const struct sandbox_spec *spec)
{
	bool kept = spec->ids.range && spec_in_workspace(spec);

	return kept ? (int)SANDBOX_UID : plan_owner(spec);
}

/* How much of a tmpfs the sandbox may fill. Of a workspace, and beside a volume, only /tmp, /run and
 * /dev/shm are there. */
static uint64_t tmpfs_room(const struct sandbox_spec *spec)
{
	uint64_t disk = spec->limits.disk_bytes, half = spec->limits.memory_bytes / 2;

	return (spec_in_workspace(spec) || spec->on_volume) && disk > half ? half : disk;
}

/* Its options. The skeleton is ours, not the sandbox's: room for it on top of the limit, until it is
 * there and ROOM knows how large it is. */
static const char *tmpfs_options(const struct sandbox_spec *spec, char text[96])
{
	uint64_t disk = tmpfs_room(spec);
	uint64_t size = disk + SANDBOX_TREE_BYTES + spec->code_len + spec->tool_len +
			plan_pinned_bytes(spec);
	uint64_t inodes = disk / 4096 + 256;

	(void)snprintf(text, 96, "size=%llu,nr_inodes=%llu,mode=0755", (unsigned long long)size,
		       (unsigned long long)inodes);
	return HOLD_DISK ? text : "mode=0755";
}

static void plan_stage(struct plan *p, const struct sandbox_spec *spec)
{
	char options[96];

	plan_two(p, PLAN_STAGE, 0, STAGE_ON, tmpfs_options(spec, options));
	if (spec->on_volume)
		p->steps[p->n_steps - 1].a = ATTACH_VOLUME;
}

const char *plan_volatile_top(const struct sandbox_spec *spec, bool layered)
{
	return spec->on_volume ? "z" : layered ? "." : "r";
}

void plan_etc_file(struct plan *p, const char *dir, const char *name, const char *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/etc/%s", dir, name);
	plan_write(p, path, 0644, text, strlen(text));
}

void plan_etc_names(struct plan *p, const struct sandbox_spec *spec, const char *dir)
{
	char text[256];

	plan_etc_file(p, dir, "resolv.conf",
		      spec->egress.n_ports ? SYNTHETIC_RESOLV_GATE : SYNTHETIC_RESOLV);
	if (spec->egress.ca)
		plan_etc_file(p, dir, ENVIRON_CA, spec->egress.ca);
	if (spec->egress.certs)
		plan_etc_file(p, dir, ENVIRON_CERTS, spec->egress.certs);
	if (spec->egress.java) {
		(void)snprintf(text, sizeof(text), "%s/etc/" ENVIRON_JAVA, dir);
		plan_write(p, text, 0644, spec->egress.java, spec->egress.java_len);
	}
	(void)snprintf(text, sizeof(text), SYNTHETIC_HOSTS, spec_hostname(spec));
	plan_etc_file(p, dir, "hosts", text);
	(void)snprintf(text, sizeof(text), "%s\n", spec_hostname(spec));
	plan_etc_file(p, dir, "hostname", text);
}

static void plan_skeleton_etc(struct plan *p, const struct sandbox_spec *spec)
{
	plan_mkdir(p, "r/etc", 0755, -1);
	plan_etc_file(p, "r", "passwd", SYNTHETIC_PASSWD);
	plan_etc_file(p, "r", "group", SYNTHETIC_GROUP);
	plan_etc_file(p, "r", "nsswitch.conf", SYNTHETIC_NSSWITCH);
	plan_etc_names(p, spec, "r");
	plan_pinned_etc(p, spec);
}

/* /bin and its like as the host has them: links into /usr, or directories to bind. */
static void plan_usr_link(struct plan *p, const char *name, bool binds)
{
	char from[16], to[64], at[32];
	struct stat st;

	(void)snprintf(from, sizeof(from), "/%s", name);
	(void)snprintf(at, sizeof(at), "r/%s", name);
	if (lstat(from, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		if (binds)
			plan_two(p, PLAN_BIND_HOST, STEP_RDONLY | STEP_RECURSIVE, from, name);
		else
			plan_mkdir(p, at, 0755, -1);
		return;
	}
	ssize_t n = readlink(from, to, sizeof(to) - 1);
	if (binds || n <= 0)
		return;
	to[n] = '\0';
	plan_two(p, PLAN_SYMLINK, 0, at, to);
}

static void plan_skeleton(struct plan *p, const struct sandbox_spec *spec, bool layered)
{
	static const char *const dirs[] = {"r/usr", "r/proc", "r/dev", "r/sys", "r/home", "r/var"};

	plan_mkdir(p, "r", 0755, -1);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		plan_mkdir(p, dirs[i], 0755, -1);
	/* Root's own repositories have to be reached. */
	bool below = spec->git.path && strncmp(spec->git.inside, "/root/", 6) == 0;
	plan_mkdir(p, "r/root", below ? 0711 : 0700, -1);
	plan_mkdir(p, "r/home/user", 0755, plan_home_owner(spec));
	plan_mkdir(p, "r/tmp", 01777, -1);
	plan_mkdir(p, "r/run", 0755, plan_owner(spec));
	plan_two(p, PLAN_SYMLINK, 0, "r/var/tmp", "/tmp");
	if (spec->dir_fd >= 0)
		plan_mkdir(p, "r/work", 0755, -1);
	if (spec_has_deps(spec) && spec->deps.has_node)
		plan_two(p, PLAN_SYMLINK, 0, "r/node_modules", SANDBOX_NODE_MODULES);
	plan_tool_places(p, spec);
	plan_git_places(p, spec, layered, false);
	for (size_t i = 0; i < sizeof(usr_links) / sizeof(usr_links[0]); i++)
		plan_usr_link(p, usr_links[i], false);
	plan_skeleton_etc(p, spec);
	plan_host_places(p, spec);
	plan_links(p, spec);
}

/* One overlay of the layer: part `name`, shown at `target`, whose top belongs to `owner`. */
static void plan_part(struct plan *p, const struct sandbox_spec *spec, const char *name,
		      const char *lower, const char *target)
{
	int owner = strcmp(name, "work") == 0 ? plan_owner(spec) : -1;
	char text[160];

	bool on_deps = spec_has_deps(spec) && strcmp(name, "usr") == 0;
	if (spec_in_workspace(spec) || on_deps || strcmp(lower, SKELETON) == 0) {
		plan_layer_part(p, spec, name, lower, target);
		return;
	}
	(void)snprintf(text, sizeof(text), "u.%s", name);
	plan_mkdir(p, text, 0755, owner);
	(void)snprintf(text, sizeof(text), "w.%s", name);
	plan_mkdir(p, text, 0755, -1);
	(void)snprintf(text, sizeof(text), "lowerdir=%s,upperdir=u.%s,workdir=w.%s,userxattr",
		       lower, name, name);
	plan_two(p, PLAN_OVERLAY, STEP_OWN, target, text);
}

static void plan_root(struct plan *p, const struct sandbox_spec *spec, bool layered)
{
	if (!layered) {
		/* A mount of its own, or the stage around it would be in reach. */
		plan_one(p, PLAN_SEAL, STEP_STAGE, "r");
		plan_one(p, PLAN_ENTER, 0, "r");
		plan_two(p, PLAN_KEEP, STEP_NO_LOWER, "r/home/user", "/home/user");
		return;
	}
	bool layers = spec_in_workspace(spec) || spec_on_image(spec);

	plan_mkdir(p, "m", 0755, -1);
	plan_part(p, spec, "root", layers ? SKELETON : "r", "m");
	plan_one(p, PLAN_ENTER, 0, "m");
	if (layers)
		plan_layer_keep(p, spec, "root", SKELETON, "");
	else
		plan_two(p, PLAN_KEEP, 0, "u.root", "");
}

/* What is no part of a layered root or of a volume: private directories that are gone with the
 * run. */
static void plan_volatile(struct plan *p, const struct sandbox_spec *spec, bool layered)
{
	char options[96];

	if (spec->on_volume) {
		plan_mkdir(p, "z", 0755, -1);
		plan_two(p, PLAN_TMPFS, 0, "z", tmpfs_options(spec, options));
		plan_mkdir(p, "z/tmp", 01777, -1);
		plan_mkdir(p, "z/run", 0755, plan_owner(spec));
		plan_mkdir(p, "z/shm", 01777, -1);
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN, "z/tmp", "tmp");
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN, "z/run", "run");
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN | (layered ? STEP_NOEXEC : 0), "z/shm",
			 "dev/shm");
	} else if (layered) {
		plan_mkdir(p, "tmp", 01777, -1);
		plan_mkdir(p, "run", 0755, plan_owner(spec));
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN, "tmp", "tmp");
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN, "run", "run");
	}
}

struct below mounts_below(void)
{
	static const char etc[] = "/etc/", usr[] = "/usr/";
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct below found = {0};
	char line[4096], at[1024];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*d %*d %*s %*s %1023s", at) != 1)
			continue;
		found.etc = found.etc || strncmp(at, etc, sizeof(etc) - 1) == 0;
		found.usr = found.usr || strncmp(at, usr, sizeof(usr) - 1) == 0;
	}
	if (f)
		(void)fclose(f); /* only read */
	return found;
}

/* Of the host's /usr and /etc: what is shown, and how. */
struct host_parts {
	struct etc_binds etc;
	struct host_private hidden;
	struct below below;
};

static void plan_usr(struct plan *p, const struct sandbox_spec *spec, bool layered,
		     const struct host_parts *host)
{
	/* overlayfs does not look into mounts below its lower, and refuses them to a user. */
	if (!HOLD_USR_OVERLAY || host->below.usr) {
		plan_two(p, PLAN_BIND_HOST,
			 STEP_OWN | STEP_RECURSIVE | (HOLD_USR_OVERLAY ? STEP_RDONLY : 0), "/usr",
			 "usr");
		return;
	}
	if (spec->usr_attached) {
		plan_mkdir(p, "l.usr", 0755, -1);
		plan_one(p, PLAN_ATTACH, 0, "l.usr");
		p->steps[p->n_steps - 1].a = ATTACH_USR;
	}
	plan_one(p, PLAN_LOWER, 0, spec->usr_attached ? "l.usr" : "/usr");
	/* With an upper although an ordinary user writes nothing here: programs expect EACCES, and
	 * would get EROFS. */
	plan_peek_views(p, spec, "usr", "@");
	bool masked = private_mask(p, spec, "y", &host->hidden.usr, "/usr");
	plan_part(p, spec, "usr", masked ? MASKED_USR : "@", "usr");
	if (spec_in_workspace(spec) && spec->as_root)
		plan_layer_keep(p, spec, "usr", "@", "/usr");
	else if (layered && !spec_in_workspace(spec))
		plan_two(p, PLAN_KEEP, STEP_KEEP_FD, "u.usr", "/usr");
}

/* Counted for the user who started us, too: a sandbox must not use them up for him. */
static void plan_sysctls(struct plan *p, const struct sandbox_spec *spec)
{
	if (!HOLD_RLIMITS || spec->zygote)
		return; /* without a user namespace of its own they would be the host's */
	plan_two(p, PLAN_SYSCTL, 0, "proc/sys/user/max_inotify_instances", "32");
	plan_two(p, PLAN_SYSCTL, 0, "proc/sys/user/max_inotify_watches", "8192");
}

static void plan_proc(struct plan *p, const struct sandbox_spec *spec)
{
	const struct sandbox_pinned *pinned = &spec->pinned;
	uint64_t cpus = pinned->on ? 1000 : spec->limits.cpus_milli;
	auto_free char *cpuinfo = synthetic_cpuinfo(cpus);
	auto_free char *meminfo = synthetic_meminfo(spec->limits.memory_bytes);
	auto_free char *stat = synthetic_stat(cpus, pinned->on ? pinned->start_s : time(NULL));

	if (!cpuinfo || !meminfo || !stat) {
		p->error = p->error ? p->error : -ENOMEM;
		return;
	}
	/* Only root can mount that of the host's process namespace, in which a zygote is. */
	if (HOLD_PIDNS && !(spec->zygote && spec->pool.given))
		plan_one(p, PLAN_PROC, STEP_OWN, "proc");
	else
		plan_two(p, PLAN_BIND_HOST, STEP_OWN | STEP_RECURSIVE, "/proc", "proc");
	plan_sysctls(p, spec);
	plan_mkdir(p, "ro", 0755, -1);
	plan_write(p, "ro/mask", 0, NULL, 0);
	plan_mkdir(p, "ro/mask.d", 0555, -1);
	plan_write(p, "ro/cpuinfo", 0444, cpuinfo, strlen(cpuinfo));
	plan_write(p, "ro/meminfo", 0444, meminfo, strlen(meminfo));
	plan_write(p, "ro/stat", 0444, stat, strlen(stat));
	if (pinned->on) {
		plan_write(p, "ro/loadavg", 0444, SYNTHETIC_LOADAVG, strlen(SYNTHETIC_LOADAVG));
		plan_write(p, "ro/uptime", 0444, SYNTHETIC_UPTIME, strlen(SYNTHETIC_UPTIME));
	}
	plan_write(p, "ro/swaps", 0444, SYNTHETIC_SWAPS, strlen(SYNTHETIC_SWAPS));
	plan_one(p, PLAN_SEAL, STEP_RDONLY | STEP_STAGE, "ro");
	for (size_t i = 0; HOLD_MASKS && i < sizeof(proc_masks) / sizeof(proc_masks[0]); i++)
		plan_one(p, PLAN_MASK, proc_masks[i].is_dir ? STEP_RECURSIVE : 0,
			 proc_masks[i].path);
	if (HOLD_PROC_RO)
		plan_one(p, PLAN_SEAL, STEP_RDONLY | STEP_NOEXEC, "proc/sys");
	plan_two(p, PLAN_SHOW, 0, "ro/cpuinfo", "proc/cpuinfo");
	plan_two(p, PLAN_SHOW, 0, "ro/meminfo", "proc/meminfo");
	plan_two(p, PLAN_SHOW, 0, "ro/stat", "proc/stat");
	if (pinned->on) {
		plan_two(p, PLAN_SHOW, 0, "ro/loadavg", "proc/loadavg");
		plan_two(p, PLAN_SHOW, 0, "ro/uptime", "proc/uptime");
	}
	plan_two(p, PLAN_SHOW, STEP_OPTIONAL, "ro/swaps", "proc/swaps"); /* a kernel without swap */
}

static void plan_dev(struct plan *p, bool layered)
{
	static const char *const links[][2] = {{"fd", "/proc/self/fd"},
					       {"stdin", "/proc/self/fd/0"},
					       {"stdout", "/proc/self/fd/1"},
					       {"stderr", "/proc/self/fd/2"},
					       {"ptmx", "pts/ptmx"}};
	const char *dev = layered ? "dev" : "r/dev";
	char from[32], to[32];

	if (layered)
		plan_mkdir(p, "dev", 0755, -1);
	(void)snprintf(to, sizeof(to), "%s/pts", dev);
	plan_mkdir(p, to, 0755, -1);
	(void)snprintf(to, sizeof(to), "%s/shm", dev);
	plan_mkdir(p, to, 01777, -1);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		(void)snprintf(to, sizeof(to), "%s/%s", dev, links[i][0]);
		plan_two(p, PLAN_SYMLINK, 0, to, links[i][1]);
	}
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		(void)snprintf(to, sizeof(to), "%s/%s", dev, devices[i]);
		plan_write(p, to, 0644, NULL, 0);
	}
	if (layered)
		plan_two(p, PLAN_BIND_STAGE, STEP_OWN | STEP_NOEXEC, "dev", "dev");
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		(void)snprintf(from, sizeof(from), "/dev/%s", devices[i]);
		plan_two(p, PLAN_BIND_HOST, STEP_OWN | STEP_RDONLY | STEP_DEVICE | STEP_NOEXEC,
			 from, from + 1);
	}
	if (HOLD_DEVPTS)
		plan_two(p, PLAN_DEVPTS, STEP_OWN, "dev/pts", "ptmxmode=0666,mode=0620");
	else
		plan_two(p, PLAN_BIND_HOST, STEP_OWN | STEP_DEVICE, "/dev/pts", "dev/pts");
}

void plan_code(struct plan *p, const struct sandbox_spec *spec, const char *run, int owner)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/code", run);
	plan_mkdir(p, path, 0755, owner);
	(void)snprintf(path, sizeof(path), "%s/code/%s", run, spec->code_name);
	plan_write(p, path, 0644, spec->code, spec->code_len);
}

struct mask {
	const char *top; /* of the stage */
	int dir;	 /* what it is over; FD_NONE: not known */
	int owner;
};

/* Directories on the way to a hidden path, but for those that it shares with the one before it. */
static void plan_mask_parents(struct plan *p, const struct mask *m, const char *path,
			      const char *before)
{
	char at[4200];
	struct stat st;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		int n = (int)(slash - path);

		if (before && strncmp(before, path, (size_t)n + 1) == 0)
			continue;
		(void)snprintf(at, sizeof(at), "%s/%.*s", m->top, n, path);
		bool known = m->dir >= 0 && fstatat(m->dir, at + strlen(m->top) + 1, &st,
						    AT_SYMLINK_NOFOLLOW) == 0;
		plan_mkdir(p, at, known ? st.st_mode & 0777 : 0755, m->owner);
	}
}

bool plan_mask(struct plan *p, const struct sandbox_spec *spec, const char *top,
	       const char *const *hidden, int dir)
{
	const struct mask m = {top, dir, plan_owner(spec)};
	const char *before = NULL;
	char at[4200];

	if (!hidden || !hidden[0])
		return false;
	plan_mkdir(p, top, 0755, m.owner);
	for (const char *const *path = hidden; *path; path++) {
		plan_mask_parents(p, &m, *path, before);
		(void)snprintf(at, sizeof(at), "%s/%s", top, *path);
		plan_one(p, PLAN_WHITEOUT, 0, at);
		before = *path;
	}
	return true;
}

static void plan_work(struct plan *p, const struct sandbox_spec *spec)
{
	if (spec->dir_fd < 0)
		return;
	if (spec->dir_attached) {
		plan_mkdir(p, "l.work", 0755, -1);
		plan_one(p, PLAN_ATTACH, 0, "l.work");
		p->steps[p->n_steps - 1].a = ATTACH_DIR;
	}
	if (!HOLD_DIR_OVERLAY) {
		plan_two(p, spec->dir_attached ? PLAN_BIND_STAGE : PLAN_BIND_HOST, STEP_OWN,
			 spec->dir_attached ? "l.work" : spec->dir_path, "work");
		return;
	}
	struct plan_step *step = plan_add(p, PLAN_LOWER, 0);
	step->s = plan_string(p, spec->dir_attached ? "l.work" : spec->dir_path);
	step->a = (int64_t)spec->dir_dev;
	step->b = spec->dir_ino;
	const char *base = plan_mask(p, spec, "k", spec->hidden, spec->dir_fd) ? MASKED : "@";
	plan_peek_views(p, spec, "work", base);
	plan_part(p, spec, "work", base, "work");
	if (spec_in_workspace(spec))
		plan_layer_keep(p, spec, "work", "@", "/work");
	else
		plan_two(p, PLAN_KEEP, STEP_KEEP_FD, "u.work", "/work");
}

/* Commands before us may have put links where we expect directories. */
static void plan_distrust(struct plan *p)
{
	for (unsigned i = 0; i < p->n_steps; i++)
		p->steps[i].flags &= (uint16_t)~STEP_OWN;
}

/* The host's /usr, and what programs there need of its /etc. */
static void plan_host_parts(struct plan *p, const struct sandbox_spec *spec,
			    struct host_parts *host, bool layered)
{
	int r = private_find(spec, &host->etc, &host->hidden);

	if (r < 0)
		p->error = p->error ? p->error : r;
	host->below = mounts_below();
	plan_usr(p, spec, layered, host);
	for (size_t i = 0; i < sizeof(usr_links) / sizeof(usr_links[0]); i++)
		plan_usr_link(p, usr_links[i], true);
	plan_etc_binds(p, spec, &host->etc, &host->hidden.etc, host->below.etc);
	plan_host(p, spec);
	/* For programs that look at no variable. */
	if (spec->egress.certs && !spec->host)
		plan_two(p, PLAN_BIND_STAGE, STEP_RDONLY | STEP_OPTIONAL, "r/etc/" ENVIRON_CERTS,
			 "etc/ssl/certs/ca-certificates.crt");
	if (spec->egress.java && !spec->host)
		plan_two(p, PLAN_BIND_STAGE, STEP_RDONLY | STEP_OPTIONAL, "r/etc/" ENVIRON_JAVA,
			 SPEC_JAVA_CERTS);
}

/* Where a directory of the host is bound as it is, no whiteout can be. */
static void plan_host_cover(struct plan *p, const struct sandbox_spec *spec,
			    const struct host_parts *host)
{
	if (host->below.usr || !HOLD_USR_OVERLAY)
		private_cover(p, "usr", &host->hidden.usr);
	if (host->below.etc || !HOLD_USR_OVERLAY)
		private_cover(p, spec->host ? "host/etc" : "etc", &host->hidden.etc);
}

/* What layers that are looked at lie on. */
static const char *plan_views_base(struct plan *p, const struct sandbox_spec *spec)
{
	if (!spec->peek || (!layers_have_image(&spec->layers) && !layers_have_image(&spec->before)))
		return SKELETON;
	plan_own_skeleton(p, spec, "i");
	return IMAGE_SKELETON;
}

void plan_image(struct plan *p, const struct sandbox_spec *spec)
{
	struct host_parts host = {0};
	bool on_image = spec_on_image(spec);
	bool layered = (spec->as_root && !spec->peek) || spec_in_workspace(spec) || on_image;
	char run[8], tool[16];

	plan_add(p, PLAN_PRIVATE, 0);
	plan_stage(p, spec);
	if (on_image) {
		plan_own_skeleton(p, spec, "r");
	} else {
		plan_skeleton(p, spec, layered);
		if (layered) { /* nothing changes below an overlay */
			plan_give(p);
			plan_etc(p, spec, &host.etc);
		}
	}
	const char *base = plan_views_base(p, spec);
	plan_layers(p, spec);
	plan_root(p, spec, layered);
	plan_peek_layers(p, spec);
	plan_peek_views(p, spec, "root", base);
	plan_tool_views(p, spec, base);
	if (!layered) {
		plan_proc(p, spec);
		plan_dev(p, layered);
		plan_give(p); /* the host was not looked at so far */
		plan_etc(p, spec, &host.etc);
	}
	if (!on_image)
		plan_host_parts(p, spec, &host, layered);
	if (layered)
		plan_proc(p, spec);
	plan_host_cover(p, spec, &host);
	if (layered)
		plan_dev(p, layered);
	if (!HOLD_SYS)
		plan_two(p, PLAN_BIND_HOST, STEP_OWN | STEP_RECURSIVE, "/sys", "sys");
	plan_volatile(p, spec, layered);
	plan_pinned_run(p, spec, layered);
	(void)snprintf(run, sizeof(run), "%s/run", plan_volatile_top(spec, layered));
	(void)snprintf(tool, sizeof(tool), "%s/tool", run);
	if (spec->tool)
		plan_write(p, tool, 0755, spec->tool, spec->tool_len);
	if (spec->code_name)
		plan_code(p, spec, run, plan_owner(spec));
	plan_work(p, spec);
	plan_git(p, spec, layered);
	if (HOLD_DISK && !spec->on_volume)
		plan_num(p, PLAN_ROOM, 0, 0, tmpfs_room(spec) + plan_pinned_bytes(spec));
	if (HOLD_TIMENS && !spec->zygote)
		plan_add(p, PLAN_TIMENS, 0);
	if (spec_in_workspace(spec) || on_image)
		plan_distrust(p);
}
