/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps that give rights up: ids, capabilities, keyring, limits, the system call filter.
 * After the last of them the guest holds what the command will hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <time.h>

#include "base/sys.h"
#include "guest/guest.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define CPUS_MAX 4096u

static int do_become(const struct plan_step *step)
{
	uint32_t uid = (uint32_t)step->a, gid = (uint32_t)step->b;
	long r = sys2(SYS_setgroups, 0, NULL);

	/* A user's own single-id namespace forbids setgroups: his groups stay, unmapped. */
	if (r < 0 && !((step->flags & STEP_OPTIONAL) && r == -EPERM))
		return (int)r;
	r = sys3(SYS_setresgid, gid, gid, gid);
	if (r >= 0)
		r = sys3(SYS_setresuid, uid, uid, uid);
	return (int)r;
}

static int do_bounding(const struct plan_step *step)
{
	for (int cap = 0; cap < 64; cap++) {
		if (step->b >> cap & 1)
			continue;
		long r = sys5(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (r == -EINVAL)
			break; /* past the kernel's last capability */
		if (r < 0)
			return (int)r;
	}
	return 0;
}

static int do_caps(const struct plan_step *step)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	uint32_t low = (uint32_t)step->b, high = (uint32_t)(step->b >> 32);
	struct __user_cap_data_struct data[2] = {{low, low, 0}, {high, high, 0}};
	long r = sys5(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

	return r < 0 ? (int)r : (int)sys2(SYS_capset, &head, data);
}

/*
 * Never above what the caller himself has: raising a hard limit is not ours to do. How many files a command
 * may open is set when it is started: we keep the caller's own limit. Who is below the number of descriptors
 * that all sandboxes of an ordinary user have on their way through sockets may send none himself, and they
 * could have us be that.
 */
static int do_rlimit(struct guest *g, const struct plan_step *step)
{
	struct rlimit limit = {0};
	uint64_t most = step->b;
	long r = sys4(SYS_prlimit64, 0, step->a, NULL, &limit);

	if (r < 0)
		return (int)r;
	if (step->a == RLIMIT_NOFILE) {
		g->files = most < limit.rlim_max ? most : 0;
#ifndef DROP_GUEST_FILES
		most = limit.rlim_max;
#endif
	}
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return (int)sys4(SYS_prlimit64, 0, step->a, &limit, NULL);
}

static int do_oom_score(const struct plan_step *step)
{
	char text[24];
	size_t n = guest_decimal(text, (uint64_t)step->a);
	long fd = sys3(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	long r = sys3(SYS_write, fd, text, n);
	(void)sys1(SYS_close, fd);
	return r < 0 ? (int)r : 0;
}

static size_t put_text(char *to, const char *s)
{
	size_t n = str_len(s);

	for (size_t i = 0; i < n; i++)
		to[i] = s[i];
	return n;
}

/* One line of timens_offsets: minus the whole seconds that the clock shows now. */
static size_t put_offset(char *to, const char *name, int clock)
{
	struct timespec now = {0};
	size_t n = put_text(to, name);

	(void)sys2(SYS_clock_gettime, clock, &now); /* these clocks exist everywhere */
	n += put_text(to + n, " -");
	n += guest_decimal(to + n, (uint64_t)now.tv_sec);
	n += put_text(to + n, " 0\n");
	return n;
}

/* The guest itself stays in the old time namespace, its children start in the new one. */
static int do_timens(void)
{
	char text[128];
	long r = sys1(SYS_unshare, CLONE_NEWTIME);

	if (r < 0)
		return (int)r;
	long fd = sys3(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return (int)fd;
	size_t n = put_offset(text, "monotonic", CLOCK_MONOTONIC);
	n += put_offset(text + n, "boottime", CLOCK_BOOTTIME);
	r = sys3(SYS_write, fd, text, n);
	(void)sys1(SYS_close, fd);
	return r < 0 ? (int)r : 0;
}

/* Both stay with every program that is started from here on, and give no right to anybody. */
static int do_pin(void)
{
	uint64_t set[CPUS_MAX / 64] = {0};
	unsigned cpu = 0;
	long r = sys1(SYS_personality, ADDR_NO_RANDOMIZE);

	if (r >= 0)
		r = sys3(SYS_getcpu, &cpu, NULL, NULL);
	if (r < 0 || cpu >= CPUS_MAX)
		return r < 0 ? (int)r : -ERANGE;
	set[cpu / 64] = UINT64_C(1) << cpu % 64;
	r = sys3(SYS_sched_setaffinity, 0, sizeof(set), set);
	return r < 0 ? (int)r : 0;
}

static int do_seccomp(struct guest *g, const struct plan_step *step)
{
	struct sock_fprog prog = {
		.len = (unsigned short)(step->len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(uintptr_t)plan_str(g->plan, step->t),
	};
	unsigned long flags = 0;

#ifndef DROP_NOTIFY
	flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
#endif
	long fd = sys3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0 || !flags)
		return (int)fd;
	g->listener = (int)fd;
	return 0;
}

#define KEYRING_TRIES 9

/* Each sandbox has one, and all those of an ordinary user count as his: sysctl kernel.keys.maxkeys,
 * 200 of them. The kernel gives those of dead ones back late (after RCU, a second when it is busy),
 * so 200 runs in that time are enough to be refused: wait, 5 s in all. */
static int do_keyring(void)
{
	struct timespec pause = {.tv_nsec = 20000000};
	long r = sys2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);

	for (int i = 1; i < KEYRING_TRIES && r == -EDQUOT; i++) {
		(void)sys2(SYS_nanosleep, &pause, NULL);
		pause.tv_nsec *= 2;
		pause.tv_sec = pause.tv_sec * 2 + pause.tv_nsec / 1000000000;
		pause.tv_nsec %= 1000000000;
		r = sys2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	}
	return r < 0 && r != -ENOSYS ? (int)r : 0; /* no keyrings at all is as good */
}

int guest_identity_step(struct guest *g, const struct plan_step *step)
{
	switch ((enum plan_op)step->op) {
	case PLAN_BECOME:
		if (g->witness) /* one with other ids proves nothing */
			return -EINVAL;
		return do_become(step);
	case PLAN_TIMENS: return do_timens();
	case PLAN_CGROUPNS: return (int)sys1(SYS_unshare, CLONE_NEWCGROUP);
	case PLAN_KEYRING: return do_keyring();
	case PLAN_RLIMIT: return do_rlimit(g, step);
	case PLAN_OOM_SCORE: return do_oom_score(step);
	case PLAN_BOUNDING: return do_bounding(step);
	case PLAN_CAPS: return do_caps(step);
	case PLAN_NO_NEW_PRIVS: return (int)sys5(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	case PLAN_PIN: return do_pin();
	case PLAN_NO_DUMP: return (int)sys5(SYS_prctl, PR_SET_DUMPABLE, step->a, 0, 0, 0);
	case PLAN_SECCOMP: return do_seccomp(g, step);
	default: return -EINVAL;
	}
}
