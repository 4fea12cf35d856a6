/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the plan: one pass over the steps, each a few raw system calls. The first that fails ends
 * the start; nothing is tried in another way.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "guest/guest.h"

static int do_await(const struct plan_step *step)
{
	struct msg_host msg;
	int fds[MSG_FDS_MAX];
	unsigned n = guest_receive(&msg, fds);
	long r = msg.kind == MSG_PROCEED && msg.arg == step->a ? 0 : -EPROTO;

	/* Groups of cgroup v1 to enter. "0" is ourselves: a single thread that moves itself takes
	 * no global lock, where being moved by another waits for an RCU grace period (5-10 ms). */
	for (unsigned i = 0; i < n; i++) {
		if (r >= 0)
			r = sys3(SYS_write, fds[i], "0", 1);
		(void)sys1(SYS_close, fds[i]);
	}
	return r < 0 ? (int)r : 0;
}

static int write_file(int dir, const char *path, const char *data, size_t len, unsigned mode)
{
	long fd = sys4(SYS_openat, dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		       mode);
	if (fd < 0)
		return (int)fd;
	while (len > 0) {
		long n = sys3(SYS_write, fd, data, len);
		if (n <= 0) {
			(void)sys1(SYS_close, fd);
			return n ? (int)n : -EIO;
		}
		data += n;
		len -= (size_t)n;
	}
	return (int)sys1(SYS_close, fd);
}

/* Another command may bring a program of the same name; the one before may still be read. */
static int is_job(const struct guest *g)
{
	return g->talk != GUEST_CTL;
}

static int do_mkdir(const struct guest *g, const struct plan_step *step, const char *path)
{
	uint32_t owner = (uint32_t)step->b - 1;
	long r = sys3(SYS_mkdirat, g->stage, path, step->a);

	if (r == -EEXIST && is_job(g))
		return 0;
	if (r >= 0 && step->b)
		r = sys5(SYS_fchownat, g->stage, path, owner, owner, AT_SYMLINK_NOFOLLOW);
	return (int)r;
}

/* Not in the host's /proc, which shows the right values, too, but keeps a name for every user
 * namespace in one chain: with a thousand sandboxes that is a long walk. */
static int do_sysctl(const struct guest *g, const struct plan_step *step)
{
	const char *value = plan_str(g->plan, step->t);
	long fd = sys3(SYS_openat, g->root, plan_str(g->plan, step->s), O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fd == -ENOENT ? 0 : (int)fd; /* a kernel without the thing to limit */
	long r = sys3(SYS_write, fd, value, str_len(value));
	(void)sys1(SYS_close, fd);
	return r < 0 ? (int)r : 0;
}

static int do_landlock(struct guest *g, const struct plan_step *step)
{
	/* The kernel takes as much of the record as it knows, if the rest is zero. */
	struct {
		uint64_t fs, net, scoped;
	} attr = {.fs = step->b, .scoped = (uint64_t)step->a};
	size_t size = attr.scoped ? sizeof(attr) : sizeof(attr.fs);
	long fd = sys3(SYS_landlock_create_ruleset, &attr, size, 0);

	if (fd < 0)
		return (int)fd;
	g->ruleset = (int)fd;
	return 0;
}

static int do_landlock_path(struct guest *g, const struct plan_step *step)
{
	const char *path = plan_str(g->plan, step->s);
	long fd = sys3(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);

	if (fd == -ENOENT && (step->flags & STEP_OPTIONAL))
		return 0;
	if (fd < 0)
		return (int)fd;
	struct landlock_path_beneath_attr attr = {.allowed_access = step->b, .parent_fd = (int)fd};
	long r = sys4(SYS_landlock_add_rule, g->ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
	(void)sys1(SYS_close, fd);
	return (int)r;
}

static int do_step(struct guest *g, const struct plan_step *step)
{
	const char *s = plan_str(g->plan, step->s);

	switch ((enum plan_op)step->op) {
	case PLAN_AWAIT: return do_await(step);
	case PLAN_HOSTNAME: return (int)sys2(SYS_sethostname, s, str_len(s));
	case PLAN_NETWORK: return guest_network_join(g);
	case PLAN_ROUTES:
	case PLAN_LISTEN: return guest_egress_step(step);
	case PLAN_MKDIR: return do_mkdir(g, step, s);
	case PLAN_WRITE:
		if (is_job(g))
			(void)sys3(SYS_unlinkat, g->stage, s, 0);
		if (!step->len) /* cheaper than open and close */
			return (int)sys4(SYS_mknodat, g->stage, s, S_IFREG | step->a, 0);
		return write_file(g->stage, s, step->len ? plan_str(g->plan, step->t) : "",
				  step->len, (unsigned)step->a);
	case PLAN_WHITEOUT: return (int)sys4(SYS_mknodat, g->stage, s, S_IFCHR, 0);
	case PLAN_SYMLINK: return (int)sys3(SYS_symlinkat, plan_str(g->plan, step->t), g->stage, s);
	case PLAN_SYSCTL: return do_sysctl(g, step);
	case PLAN_LANDLOCK: return do_landlock(g, step);
	case PLAN_LANDLOCK_PATH: return do_landlock_path(g, step);
	case PLAN_SEEN: return guest_seen_step(g, step);
	case PLAN_SCOPE: return guest_scope_step(g);
	case PLAN_READY: return 0;
	case PLAN_PRIVATE:
	case PLAN_STAGE:
	case PLAN_TMPFS:
	case PLAN_ROOM:
	case PLAN_LOWER:
	case PLAN_LAYERS:
	case PLAN_ATTACH:
	case PLAN_OVERLAY:
	case PLAN_ENTER:
	case PLAN_BIND_HOST:
	case PLAN_BIND_STAGE:
	case PLAN_SHOW:
	case PLAN_PROC:
	case PLAN_DEVPTS:
	case PLAN_MASK:
	case PLAN_SEAL:
	case PLAN_KEEP:
	case PLAN_PIVOT: return guest_mount_step(g, step);
	case PLAN_OOM_SCORE:
		if (g->plan->flags & PLAN_LEASH) /* a daemon's: it may be one that lives */
			guest_score_keep(g);
		return guest_identity_step(g, step);
	case PLAN_BECOME:
	case PLAN_TIMENS:
	case PLAN_CGROUPNS:
	case PLAN_KEYRING:
	case PLAN_RLIMIT:
	case PLAN_BOUNDING:
	case PLAN_CAPS:
	case PLAN_NO_NEW_PRIVS:
	case PLAN_PIN:
	case PLAN_NO_DUMP:
	case PLAN_SECCOMP: return guest_identity_step(g, step);
	case PLAN_OP_COUNT: break;
	}
	return -EINVAL;
}

int guest_walk(struct guest *g, int *ret_step)
{
	for (uint32_t i = 0; i < g->plan->n_steps; i++) {
		/* The thread's end takes as long as to leave the host's tree, and is no matter there. */
		if (g->plan->steps[i].op != PLAN_PIVOT)
			guest_network_alone();
		int r = do_step(g, &g->plan->steps[i]);

		if (i % 8 == 7)
			guest_network_step(0);
		if (r < 0) {
			*ret_step = (int)i;
			return r;
		}
	}
	return 0;
}
