/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the user's command. The child shares our memory until it executes (vfork), or at least one
 * page of it, so what went wrong in it is simply a variable; it has its own descriptor table.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "guest/guest.h"
#include "kernel/seccomp.h"

#define PATH_TRY_MAX 4096

/* Where the child was, and what went wrong there. */
struct fate {
	volatile int error;
	volatile int step;
};

struct launch {
	struct guest *g;
	int terminal; /* slave side, -1: pipes */
	struct fate *fate;
	int shared;		       /* it is in a page of its own */
	long guest;		       /* who starts it */
	int nursed;		       /* who starts it has restricted himself */
	char *argv[PLAN_ARGS_MAX + 3]; /* room for "/bin/sh script" in front */
	char *envp[PLAN_ARGS_MAX + 1];
};

static struct launch launch;

static void fill(char **to, const struct plan_head *head, uint32_t off, uint32_t count)
{
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)head + off);

	for (uint32_t i = 0; i < count; i++)
		to[i] = (char *)(uintptr_t)plan_str(head, v[i]);
	to[count] = NULL;
}

/* The master goes out to the host side, the slave is for the command alone. */
static int open_terminal(struct launch *l)
{
	int unlock = 0;
	long master = sys3(SYS_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0)
		return (int)master;
	struct winsize size = {.ws_row = l->g->plan->rows, .ws_col = l->g->plan->cols};
	long r = sys3(SYS_ioctl, master, TIOCSPTLCK, &unlock);
	if (r >= 0)
		r = sys3(SYS_ioctl, master, TIOCSWINSZ, &size);
	if (r >= 0)
		r = sys3(SYS_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (r >= 0) {
		struct msg_guest msg = {.kind = MSG_TERMINAL};

		l->terminal = (int)r;
		r = guest_send_to(l->g->talk, &msg, NULL, (int)master);
	}
	(void)sys1(SYS_close, master);
	return (int)r;
}

static int child_stdio(struct launch *l)
{
	long r = 0;

#ifdef DROP_SESSION
	if (l->terminal < 0)
		return 0;
#endif
	r = sys0(SYS_setsid);
	if (l->terminal < 0)
		return (int)r;
	if (r >= 0)
		r = sys3(SYS_ioctl, l->terminal, TIOCSCTTY, 0);
	for (int fd = 0; fd <= 2 && r >= 0; fd++)
		r = sys3(SYS_dup3, l->terminal, fd, 0);
	return (int)r;
}

/* Never through a magic link: /proc/self/fd/7 may lead out of the sandbox. */
long guest_workdir(const struct guest *g)
{
	const char *path = plan_str(g->plan, g->plan->workdir);
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
#ifdef DROP_MAGICLINKS
	how.resolve = 0;
#endif
	return sys4(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Every capability goes with uid 0. */
static int child_user(const struct launch *l)
{
	const long user = PLAN_USER;

	if (!(l->g->plan->flags & PLAN_AS_USER))
		return 0;
	long r = sys2(SYS_setgroups, 0, NULL);
	if (r >= 0)
		r = sys3(SYS_setresgid, user, user, user);
	if (r >= 0)
		r = sys3(SYS_setresuid, user, user, user);
	return (int)r;
}

static int child_workdir(const struct launch *l)
{
	long fd = guest_workdir(l->g);

	return fd < 0 ? (int)fd : (int)sys1(SYS_fchdir, fd);
}

/* As shells tell: ELF, or NUL in the first line. What cannot be read no shell can run, either. */
static int is_text(const char *file)
{
	char head[80];
	long fd = sys3(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? fd : sys3(SYS_read, fd, head, sizeof(head));

	if (n < 0 ||
	    (n >= 4 && head[0] == 0x7f && head[1] == 'E' && head[2] == 'L' && head[3] == 'F'))
		return 0;
	for (long i = 0; i < n && head[i] != '\n'; i++)
		if (!head[i])
			return 0;
	return 1;
}

static long child_try(struct launch *l, const char *file)
{
	long r = sys3(SYS_execve, file, l->argv + 2, l->envp);

	if (r != -ENOEXEC || !is_text(file))
		return r;
	/* A script without an interpreter line belongs to the shell, as with execvp. */
	l->argv[0] = (char *)(uintptr_t) "/bin/sh";
	l->argv[1] = (char *)(uintptr_t)file;
	char *name = l->argv[2];
	l->argv[2] = l->argv[1];
	l->argv[1] = l->argv[0];
	(void)sys3(SYS_execve, "/bin/sh", l->argv + 1, l->envp);
	l->argv[2] = name;
	return r;
}

static int is_session(const struct guest *g)
{
	return (g->plan->flags & PLAN_SESSION) != 0;
}

static int has_slash(const char *s)
{
	for (; *s; s++)
		if (*s == '/')
			return 1;
	return 0;
}

/* As execvp: the first match that can be executed; EACCES is remembered over ENOENT. */
static long child_search(struct launch *l)
{
	const char *name = l->argv[2];
	const char *path = plan_str(l->g->plan, l->g->plan->path);
	char file[PATH_TRY_MAX];
	long error = -ENOENT;
	size_t name_len = str_len(name);

	if (has_slash(name) || !path || !name_len)
		return name_len ? child_try(l, name) : -ENOENT;
	for (const char *p = path;; p++) {
		size_t n = 0;

		while (p[n] && p[n] != ':')
			n++;
		if (n > 0 && n + name_len + 2 <= sizeof(file)) {
			for (size_t i = 0; i < n; i++)
				file[i] = p[i];
			file[n] = '/';
			for (size_t i = 0; i <= name_len; i++)
				file[n + 1 + i] = name[i];
			long r = child_try(l, file);
			if (r == -EPERM || r == -ENOEXEC)
				return r; /* somebody said no; it is there, and no program */
			if (r != -ENOENT && r != -ENOTDIR)
				error = r;
		}
		p += n;
		if (!*p)
			return error;
	}
}

/* An interpreter that stays hears from its host side there, not where its programs read. */
static int child_session(const struct launch *l)
{
	if (!is_session(l->g))
		return 0;
	long r = sys3(SYS_dup3, 0, SESSION_FD, 0);
	if (r >= 0)
		r = sys3(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);
	if (r >= 0)
		r = sys3(SYS_dup3, r, 0, 0);
	return (int)r;
}

/* All but three, and what an interpreter that waits or stays is given. */
static void child_close(const struct launch *l)
{
#ifndef DROP_CLOSE_FDS
	if (l->g->loader < 0) {
		(void)sys3(SYS_close_range, GUEST_CTL, ~0u, 0);
		return;
	}
	(void)sys3(SYS_dup3, l->g->loader, LOADER_FD, 0);
	if (l->g->driver_end >= 0)
		(void)sys3(SYS_dup3, l->g->driver_end, DRIVER_FD, 0);
	(void)sys3(SYS_close_range, GUEST_CTL, DRIVER_FD - (l->g->driver_end >= 0), 0);
	if (is_session(l->g))
		(void)sys3(SYS_close_range, LOADER_FD + 1, SESSION_FD - 1, 0);
	(void)sys3(SYS_close_range, (is_session(l->g) ? SESSION_FD : LOADER_FD) + 1, ~0u, 0);
#else
	(void)l;
#endif
}

static int is_guarded(const struct guest *g)
{
	return (g->plan->flags & PLAN_GUARDED) != 0;
}

/* Nobody waits for what became of it, so it says so itself, as a shell does. */
static void tell_failure(const struct launch *l, int error)
{
	const char *why = error == -ENOENT || error == -ENOTDIR
				  ? ": command not found in the sandbox\n"
			  : error == -EPERM ? ": not permitted\n"
					    : ": cannot be executed\n";

	(void)sys3(SYS_write, 2, "pinfold: ", 9);
	(void)sys3(SYS_write, 2, l->argv[2], str_len(l->argv[2]));
	(void)sys3(SYS_write, 2, why, str_len(why));
}

/* Nothing of ours opens a file after this but what an interpreter that stays needs. */
static int child_files(const struct launch *l)
{
	struct rlimit limit = {l->g->files, l->g->files};

	return l->g->files ? (int)sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL) : 0;
}

/* A zygote is in the host's pid namespace: from its first moment on it ends with its guest by this alone. */
static int child_leash(const struct launch *l)
{
	if (!(l->g->plan->flags & PLAN_ZYGOTE))
		return 0;
	long r = sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (r >= 0 && sys0(SYS_getppid) != l->guest)
		r = -ESRCH; /* it was gone before that */
	return (int)r;
}

static __attribute__((noinline, noreturn)) void child_main(struct launch *l)
{
	uint64_t none = 0;
	long r = child_stdio(l);

	l->fate->step = MSG_STEP_TERMINAL;
	if (r >= 0) {
		l->fate->step = MSG_STEP_USER;
		r = child_user(l);
	}
	if (r >= 0) {
		l->fate->step = MSG_STEP_WORKDIR;
		r = child_workdir(l);
	}
	if (r >= 0 && l->g->ruleset >= 0 && !l->nursed) {
		l->fate->step = MSG_STEP_LANDLOCK;
		r = guest_restrict(l->g->ruleset);
	}
	if (r >= 0) {
		l->fate->step = MSG_STEP_SESSION;
		r = child_files(l);
	}
	if (r >= 0)
		r = child_session(l);
	if (r >= 0)
		r = child_leash(l);
	if (r >= 0) {
		l->fate->step = MSG_STEP_EXEC;
		child_close(l);
		(void)sys1(SYS_umask, 022);
		(void)sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
		if (l->g->plan->flags & PLAN_LINE)
			guest_line(l->argv + 2, l->envp);
		r = child_search(l);
	}
	l->fate->error = (int)r;
	if (!is_guarded(l->g))
		guest_end(127);
	tell_failure(l, (int)r);
	guest_end(r == -ENOENT || r == -ENOTDIR ? 127 : 126);
}

/* For a child with a copy of our memory. */
static int share_fate(struct launch *l)
{
	long p = sys6(SYS_mmap, 0, sizeof(*l->fate), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p < 0 && p > -4096)
		return (int)p;
	l->fate = (struct fate *)p;
	l->shared = 1;
	return 0;
}

/* Linux 6.1 lets no child in another time namespace share our memory: there it is copied. */
static long clone_child(void *arg)
{
	struct launch *l = arg;

	/* While a person is asked, PID 1 has others to look after; what became of it is its exit
	 * status. */
	if (is_guarded(l->g)) {
		long child = sys2(SYS_clone, SIGCHLD, 0);

		if (child == 0)
			child_main(l);
		return child;
	}
	long pid = sys2(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);

	if (pid == -EINVAL) {
		int r = l->shared ? 0 : share_fate(l);

		if (r < 0)
			return r;
		pid = sys2(SYS_clone, CLONE_VFORK | SIGCHLD, 0);
	}
	if (pid == 0)
		child_main(l);
	return pid;
}

/* Where there is no room for a thread it is in a domain of its own. */
static long start_child(struct launch *l)
{
	l->nursed = (l->g->plan->flags & PLAN_SHARED) && l->g->ruleset >= 0 &&
		    guest_nursery_open(l->g) > 0;
	return l->nursed ? guest_nursery_start(clone_child, l) : clone_child(l);
}

int guest_command(struct guest *g, int *ret_step)
{
	struct launch *l = &launch;
	static struct fate fate;

	l->g = g;
	l->terminal = -1;
	l->guest = sys0(SYS_getpid);
	if (!l->fate)
		l->fate = &fate;
	l->fate->error = 0;
	fill(l->argv + 2, g->plan, g->plan->argv, g->plan->argc);
	fill(l->envp, g->plan, g->plan->envp, g->plan->envc);
	if (g->plan->flags & PLAN_PTY) {
		int r = open_terminal(l);
		if (r < 0) {
			*ret_step = MSG_STEP_TERMINAL;
			return r;
		}
	}
	/* SIGCHLD stays blocked for serve.c, which reads it from a descriptor. */
	uint64_t chld = 1u << (SIGCHLD - 1);
	(void)sys4(SYS_rt_sigprocmask, SIG_BLOCK, &chld, NULL, sizeof(chld));
	g->started_ns = guest_now_ns();
	/* What would be told of a child that is waited for. */
	if (is_guarded(g)) {
		long dir = guest_workdir(g);

		if (dir < 0) {
			*ret_step = MSG_STEP_WORKDIR;
			return (int)dir;
		}
		(void)sys1(SYS_close, dir);
	}
	long pid = is_session(g) ? guest_loader_make(g) : 0;
	if (pid >= 0)
		pid = start_child(l);
	if (is_session(g) && g->loader >= 0) {
		(void)sys1(SYS_close, g->loader);
		g->loader = -1;
	}
	if (pid < 0) {
		*ret_step = MSG_STEP_FORK;
		return (int)pid;
	}
	if (l->fate->error) {
		*ret_step = l->fate->step;
		return l->fate->error;
	}
	/* The command owns these now; output ends when its last process is gone. */
	if (l->terminal >= 0)
		(void)sys1(SYS_close, l->terminal);
	for (int fd = 0; fd <= 2; fd++)
		(void)sys1(SYS_close, fd);
	g->command = (int)pid;
	return 0;
}
