/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a guest, and talks to it. The caller's process may be large and threaded, so there is no
 * fork: the child shares our memory until it executes the guest. Unlike with vfork we go on
 * meanwhile, so the child has a stack of its own and makes raw system calls only.
 *
 *	sandbox_spawn()		control socket, descriptors, clone
 *	  start_here()		clone3 into new namespaces and the control group
 *	    child_main()	in the child: capabilities, descriptors, execveat of the guest
 *	sandbox_started()	waits until the child has left our memory; says why it could not
 *	sandbox_map_ids()	gives it its ids
 *	sandbox_give_plan()	gives it its plan, which it walks (guest/start.c)
 *
 * Where the child is: in new namespaces, with all capabilities in the new user namespace, and no id
 * mapped yet. Executing a program as an unmapped id would drop the capabilities, so those that the
 * plan needs are made ambient first; the plan's CAPS step takes them away again.
 */
#include "sandbox/spawn.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/clone.h"
#include "kernel/netns.h"
#include "kernel/userns.h"
#include "sandbox/hold.h"
#include "wire/msg.h"

#define HIGH_FD 100 /* descriptors are collected up there before they move to their places */

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

extern const unsigned char guest_image[], guest_image_end[];
extern const unsigned char gate_image[], gate_image_end[];

static const unsigned char plan_caps[] = {
	CAP_SYS_ADMIN,	CAP_SETUID,   CAP_SETGID,	   CAP_SETPCAP,
	CAP_NET_ADMIN,	CAP_CHOWN,    CAP_FOWNER,	   CAP_DAC_OVERRIDE,
	CAP_FSETID,	CAP_SYS_TIME, CAP_DAC_READ_SEARCH, CAP_SYS_RESOURCE,
#ifdef DROP_PIVOT
	CAP_SYS_CHROOT,
#endif
};

/* For a sandbox with a network policy: to listen on ports below 1024, and to hear datagrams that
 * nobody takes. Given up with the others, before the user's program is there. */
static const unsigned char policy_caps[] = {CAP_NET_BIND_SERVICE, CAP_NET_RAW};

struct child {
	int from[GUEST_GATE + 1]; /* what goes to descriptor i */
	int n_from;
	int has_ports;
	int image;
	int in_user_namespace;
	int error;
};

/* Lives until the child has left our memory: the kernel then clears `busy`. */
struct sandbox_birth {
	struct child child;
	uint32_t busy;
	_Alignas(16) char stack[16384];
};

/* No instrumentation: what a sanitizer records about this stack would outlive the child. */
#define IN_CHILD __attribute__((noinline, no_sanitize("address", "undefined", "thread")))

IN_CHILD static long child_caps(const struct child *c)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	long r = sys2(SYS_capget, &head, data);

	for (int i = 0; i < 2 && r >= 0; i++)
		data[i].inheritable = data[i].permitted;
	if (r >= 0)
		r = sys2(SYS_capset, &head, data);
	for (unsigned i = 0; i < sizeof(plan_caps) && r >= 0; i++)
		r = sys5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, plan_caps[i], 0, 0);
	for (unsigned i = 0; c->has_ports && i < sizeof(policy_caps) && r >= 0; i++)
		r = sys5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, policy_caps[i], 0, 0);
	return r;
}

/* First all up, out of the way; then each down to its place, without close-on-exec. */
IN_CHILD static long child_fds(struct child *c)
{
	long r = 0;

	for (int i = 0; i < c->n_from && r >= 0; i++) {
		if (c->from[i] < 0)
			continue;
		r = sys3(SYS_fcntl, c->from[i], F_DUPFD_CLOEXEC, HIGH_FD);
		c->from[i] = (int)r;
	}
	if (r >= 0) {
		r = sys3(SYS_fcntl, c->image, F_DUPFD_CLOEXEC, HIGH_FD);
		c->image = (int)r;
	}
	for (int i = 0; i < c->n_from && r >= 0; i++)
		r = c->from[i] < 0 ? sys1(SYS_close, i) & 0 : sys3(SYS_dup3, c->from[i], i, 0);
#ifndef DROP_CLOSE_FDS
	if (r >= 0)
		r = sys3(SYS_close_range, c->n_from, ~0u, CLOSE_RANGE_CLOEXEC);
#endif
	return r;
}

IN_CHILD static void child_main(void *arg)
{
	struct child *c = arg;
	static const char *const empty[] = {NULL};
#ifdef DROP_ENV
	char **env = environ;
#else
	const char *const *env = empty;
#endif
	long r = c->in_user_namespace ? child_caps(c) : 0;

	if (r >= 0)
		r = child_fds(c);
	if (r >= 0)
		r = sys5(SYS_execveat, c->image, "", empty, env, AT_EMPTY_PATH);
	c->error = (int)r;
	for (;;)
		(void)sys1(SYS_exit_group, 127);
}

static int make_image(const unsigned char *image, const unsigned char *end)
{
	size_t size = (size_t)(end - image);
	int fd = memfd_create("pinfold", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 every memfd is executable */
		fd = memfd_create("pinfold", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 &&
	    (fd_write_all(fd, image, size) < 0 || fchmod(fd, 0555) < 0 ||
	     (HOLD_SEAL && fcntl(fd, F_ADD_SEALS,
				 F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)))
		fd_close(&fd);
	return fd;
}

static int no_image(struct err *e)
{
	int bad = errno;

	(void)err_sys(e, "put a program of ours into a memfd");
	if (bad == EFBIG)
		return err_remedy(e, "raise ulimit -f, or lift it");
	if (bad == EMFILE)
		return err_remedy(e, "raise that limit: ulimit -n 256");
	if (bad != EACCES)
		return -bad;
	return err_remedy(e, "set the sysctl vm.memfd_noexec to 0 or 1");
}

/* The guest's program in a sealed memfd, made once per process. After a fork that closed descriptors
 * it did not know, the cached number may be something else, or nothing: so it is checked. */
static int image_fd(struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int cached = FD_NONE;
	static struct stat made;
	struct stat now;

	pthread_mutex_lock(&lock);
	bool ours = cached >= 0 && fstat(cached, &now) == 0 && now.st_dev == made.st_dev &&
		    now.st_ino == made.st_ino;
	if (!ours) {
		cached = make_image(guest_image, guest_image_end);
		if (cached >= 0 && fstat(cached, &made) < 0)
			fd_close(&cached);
	}
	int fd = cached;
	pthread_mutex_unlock(&lock);
	return fd < 0 ? no_image(e) : fd;
}

#define SEAL_TRIES 20 /* each waits for up to 0.15 s */

static int plan_fd(const struct plan_head *block, struct err *e)
{
	auto_close int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_sys(e, "plan");
	int r = fd_write_all(fd, block, block->size);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "plan");
	}
	/* EBUSY: the kernel itself holds a page for a moment, on another processor. */
	for (int i = 0; i < SEAL_TRIES; i++)
		if (fcntl(fd, F_ADD_SEALS,
			  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
			return take_fd(&fd);
		else if (errno != EBUSY)
			break;
	return err_sys(e, "seal the plan");
}

static uint64_t namespaces(const struct sandbox_spec *spec)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS;

	if (spec->level == LEVEL_LANDLOCK)
		return 0;
	/* Its forks go into user and pid namespaces that are below ours. */
	if (spec->zygote)
		return CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
	if (HOLD_PIDNS)
		flags |= CLONE_NEWPID;
	if (HOLD_UTSNS)
		flags |= CLONE_NEWUTS;
	return flags;
}

/* What the guest unshares by itself, in its own time. */
static int later_namespaces(const struct sandbox_spec *spec)
{
	if (spec->level == LEVEL_LANDLOCK || spec->zygote)
		return 0;
	return (HOLD_NETNS && !spec->net.given ? CLONE_NEWNET : 0) |
	       (HOLD_IPCNS ? CLONE_NEWIPC : 0);
}

static int explain_clone(long r, struct err *e)
{
	errno = (int)-r;
	(void)err_sys(e, "make namespaces");
	if (r == -EPERM)
		return err_remedy(e, "user namespaces are forbidden here, as they are in every "
				     "chroot: see `pinfold doctor`, or choose the weaker "
				     "--isolation landlock");
	if (r == -ENOSYS)
		return err_remedy(e,
				  "a system call filter around pinfold forbids clone3, as Docker's "
				  "does: run it outside, or there with --security-opt "
				  "seccomp=unconfined");
	if (r == -ENOSPC || r == -EUSERS)
		return err_remedy(e, "raise the limits under /proc/sys/user/max_*_namespaces");
	return -(int)-r;
}

struct start {
	uint64_t flags;
	int cgroup;
	struct sandbox *sb;
};

static int start_here(void *arg, struct err *e)
{
	const struct start *s = arg;
	struct sandbox *sb = s->sb;
	struct sandbox_birth *birth = sb->birth;
	struct clone_args args = {
		.flags = s->flags | CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID,
		.pidfd = (uint64_t)(uintptr_t)&sb->pidfd,
		.child_tid = (uint64_t)(uintptr_t)&birth->busy,
		.stack = (uint64_t)(uintptr_t)birth->stack,
		.stack_size = sizeof(birth->stack),
		.exit_signal = s->flags & CLONE_PARENT ? 0 : SIGCHLD, /* it has its sibling's */
	};
	sigset_t all, old;

	if (s->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)s->cgroup;
	}
	/* A handler must not run in the child: it would run on our memory. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	birth->busy = 1;
	long pid = sys_clone_call(&args, child_main, &birth->child);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0) {
		birth->busy = 0;
		return explain_clone(pid, e);
	}
	sb->pid = (pid_t)pid;
	return 0;
}

static int start(uint64_t flags, int cgroup, struct sandbox *sb, struct err *e)
{
	struct start s = {flags, cgroup, sb};

	return start_here(&s, e);
}

/* A sandbox below a pool's user namespace is cloned from within that namespace, and is our child all
 * the same. */
static int start_guest(const struct sandbox_spec *spec, int cgroup, struct sandbox *sb,
		       struct err *e)
{
	struct start s = {namespaces(spec), cgroup, sb};

	if (!spec->pool.given)
		return start_here(&s, e);
	s.flags |= CLONE_PARENT;
	return userns_inside(spec->pool.fd, start_here, &s, e);
}

/* Descriptors are moved up out of the way, which a low limit on open files does not allow. */
static int explain_files(struct err *e)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur >= HIGH_FD + GUEST_GATE + 2)
		return -EINVAL;
	(void)err_set(e, ERR_LIMIT, "pinfold itself may open %llu files only",
		      (unsigned long long)now.rlim_cur);
	return err_remedy(e, "raise that limit: ulimit -n 256");
}

int sandbox_started(struct sandbox *sb, struct err *e)
{
	struct sandbox_birth *birth = sb->birth;
	uint32_t busy;

	if (!birth)
		return 0;
	while ((busy = __atomic_load_n(&birth->busy, __ATOMIC_ACQUIRE)))
		(void)sys4(SYS_futex, &birth->busy, FUTEX_WAIT, busy, NULL);
	int error = birth->child.error;
	free(birth);
	sb->birth = NULL;
	if (!error)
		return 0;
	errno = -error;
	(void)err_sys(e, "start the guest");
	return error == -EINVAL || error == -EMFILE ? explain_files(e) : error;
}

/* `fds` ends with FD_NONE; NULL: no descriptors. */
static int send_guest(const struct sandbox *sb, uint32_t kind, int arg, const int *fds,
		      struct err *e)
{
	struct msg_host msg = {.kind = kind, .arg = arg};
	struct iovec iov = {.iov_base = &msg, .iov_len = sizeof(msg)};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MSG_FDS_MAX * sizeof(int))];
	} control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t n = 0;

	while (fds && n < MSG_FDS_MAX && fds[n] >= 0)
		n++;
	if (n > 0) {
		control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
		hdr.msg_control = &control;
		hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	/* A guest that has already ended has said why: the next receive reports that better. */
	if (sendmsg(sb->control, &hdr, MSG_NOSIGNAL) != (ssize_t)sizeof(msg) && errno != EPIPE)
		return err_sys(e, "talk to the guest");
	return 0;
}

/* Prepares a process that has only its end of the control socket, *ret_theirs, which our caller
 * closes. */
static int conceive(int image, struct sandbox *ret, int *ret_theirs, struct err *e)
{
	int pair[2];

	if (image < 0)
		return image;
	ret->birth = malloc(sizeof(*ret->birth));
	if (!ret->birth)
		return err_sys(e, "start the guest");
	ret->birth->busy = 0;
	struct child *c = &ret->birth->child;
	*c = (struct child){.image = image, .n_from = GUEST_EXTRA + GUEST_EXTRA_MAX};
	for (int i = 0; i < c->n_from; i++)
		c->from[i] = FD_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "control socket");
	ret->control = pair[0];
	*ret_theirs = c->from[GUEST_CTL] = pair[1];
	return 0;
}

int sandbox_spawn(const struct sandbox_spec *spec, const struct sandbox_fds *fds,
		  struct sandbox *ret, struct err *e)
{
	auto_close int theirs = FD_NONE;
	int r = conceive(image_fd(e), ret, &theirs, e);

	if (r >= 0)
		r = send_guest(ret, MSG_UNSHARE, later_namespaces(spec), NULL, e);
	if (r < 0)
		return r;
	struct child *c = &ret->birth->child;
	c->in_user_namespace = spec->level == LEVEL_STRICT && (!spec->zygote || spec->pool.given);
	for (int i = 0; i < 3; i++)
		c->from[i] = fds->stdio[i];
	for (int i = 0; i < GUEST_EXTRA_MAX; i++)
		c->from[GUEST_EXTRA + i] = fds->extra[i];
	if (spec->egress.n_ports) {
		c->from[c->n_from++] = spec->egress.gate; /* GUEST_GATE */
		c->has_ports = 1;
	}
	if (!spec->net.given)
		return start_guest(spec, fds->cgroup, ret, e);
	r = netns_enter(spec->net.fd, e);
	if (r >= 0) {
		r = start_guest(spec, fds->cgroup, ret, e);
		netns_return(spec->net.own);
	}
	return r;
}

int sandbox_spawn_idle(struct sandbox *ret, struct err *e)
{
	auto_close int theirs = FD_NONE;
	int r = conceive(image_fd(e), ret, &theirs, e);

	return r < 0 ? r : start(0, FD_NONE, ret, e);
}

int sandbox_spawn_gate(struct sandbox *ret, struct err *e)
{
	auto_close int theirs = FD_NONE, image = make_image(gate_image, gate_image_end);
	int r = image < 0 ? no_image(e) : conceive(image, ret, &theirs, e);

	if (r >= 0)
		r = start(0, FD_NONE, ret, e);
	return r < 0 ? r : sandbox_started(ret, e); /* the image is ours only until here */
}

static void idmap_of(const struct sandbox_spec *spec, struct idmap *ret)
{
	const struct sandbox_ids *ids = &spec->ids;

	memset(ret, 0, sizeof(*ret));
	ret->n_uid = ret->n_gid = 1;
	ret->helper = ids->helper;
	if (!ids->range) {
		uint32_t inside = spec->as_root ? 0 : SANDBOX_UID;

		bool below = spec->pool.given; /* where the caller is that number already */

		ret->uid[0] = (struct idmap_line){inside, below ? SANDBOX_UID : ids->caller_uid, 1};
		ret->gid[0] = (struct idmap_line){inside, below ? SANDBOX_UID : ids->caller_gid, 1};
		ret->deny_setgroups = true;
		return;
	}
	ret->uid[0] = (struct idmap_line){0, ids->uid_base, SANDBOX_IDS};
	ret->gid[0] = (struct idmap_line){0, ids->gid_base, SANDBOX_IDS};
}

struct map {
	pid_t pid;
	const struct idmap *map;
};

static int write_map(void *arg, struct err *e)
{
	const struct map *m = arg;

	return idmap_write(m->pid, m->map, e);
}

/* The kernel allows this only to a process in the user namespace one level above. */
int sandbox_map_ids(const struct sandbox *sb, const struct sandbox_spec *spec, struct err *e)
{
	struct idmap map;
	struct map m = {sb->pid, &map};

	idmap_of(spec, &map);
	return spec->pool.given ? userns_inside(spec->pool.fd, write_map, &m, e) : write_map(&m, e);
}

int sandbox_give_first(const struct sandbox *sb, const struct plan_head *first, struct err *e)
{
	auto_close int fd = plan_fd(first, e);
	const int fds[] = {fd, FD_NONE};

	return fd < 0 ? fd : send_guest(sb, MSG_PLAN, 0, fds, e);
}

int sandbox_give_plan(const struct sandbox *sb, const struct plan *plan, const int *stdio,
		      struct err *e)
{
	auto_close int fd = plan_fd(plan_block(plan), e);
	const int fds[] = {fd, stdio ? stdio[0] : FD_NONE, stdio ? stdio[1] : FD_NONE,
			   stdio ? stdio[2] : FD_NONE, FD_NONE};

	return fd < 0 ? fd : send_guest(sb, MSG_PLAN, 0, fds, e);
}

int sandbox_give_exec(const struct sandbox *sb, const struct plan *plan, const int stdio[3],
		      int about, struct err *e)
{
	auto_close int fd = plan_fd(plan_block(plan), e);
	const int fds[] = {fd, stdio[0], stdio[1], stdio[2], about, FD_NONE};

	return fd < 0 ? fd : send_guest(sb, MSG_EXEC, 0, fds, e);
}

int sandbox_ask_processes(const struct sandbox *sb, int file, int about, struct err *e)
{
	const int fds[] = {file, about, FD_NONE};

	return send_guest(sb, MSG_PROCESSES, 0, fds, e);
}

int sandbox_serve_files(const struct sandbox *sb, int about, struct err *e)
{
	const int fds[] = {about, FD_NONE};

	return send_guest(sb, MSG_FILES, 0, fds, e);
}

int sandbox_proceed(const struct sandbox *sb, enum plan_await part, const int *fds, struct err *e)
{
	return send_guest(sb, MSG_PROCEED, (int)part, fds, e);
}

void sandbox_kill(const struct sandbox *sb)
{
#ifdef DROP_PIDFD
	(void)sys2(SYS_kill, sb->pid, SIGKILL);
#else
	(void)sys4(SYS_pidfd_send_signal, sb->pidfd, SIGKILL, NULL, 0); /* ESRCH: it is gone */
#endif
}
