/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of every plan: the host side's part is awaited, then rights go, in an order where each
 * step can still be taken: cgroup namespace and keyring while there are capabilities, Landlock
 * rules while paths can be opened, ids, capabilities, and the filter last.
 */
#include <linux/capability.h>
#include <sys/resource.h>

#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "sandbox/hold.h"
#include "sandbox/plan_int.h"

#define CAP_BIT(cap) (1ULL << (cap))

/* What package managers need to unpack files for several users, and nothing beyond. */
#define ROOT_CAPS                                                                                  \
	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_FOWNER) |                    \
	 CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETUID))

uint64_t plan_caps(const struct sandbox_spec *spec)
{
	return spec->as_root ? ROOT_CAPS : 0;
}

void plan_rlimits(struct plan *p, const struct sandbox_spec *spec)
{
	const struct sandbox_limits *l = &spec->limits;

	if (!HOLD_RLIMITS)
		return;
	/* 1 and not 0: only at 1 does the kernel leave a core_pattern that is a pipe alone, which
	 * runs a program on the host. */
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_CORE, 1);
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_NOFILE, l->nofile);
	/* Counted per user namespace; the guest is one of them. Without one it would count all that
	 * the user runs. Where a control group holds the limit, and tells when it was hit, this is
	 * the second wall and a little wider. */
	if (spec->level == LEVEL_STRICT)
		plan_num(p, PLAN_RLIMIT, 0, RLIMIT_NPROC, l->pids + (spec->memory_unheld ? 1 : 64));
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_MEMLOCK, 64 << 10);
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_MSGQUEUE, 800 << 10);
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_SIGPENDING, 1024);
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_RTPRIO, 0);
	plan_num(p, PLAN_RLIMIT, 0, RLIMIT_NICE, 0);
	/* No RLIMIT_AS or RLIMIT_DATA where memory is only polled: sanitizers and runtimes reserve
	 * terabytes that they never touch. */
	if (l->cpu_time_ms)
		plan_num(p, PLAN_RLIMIT, 0, RLIMIT_CPU, l->cpu_time_ms / 1000 + 2);
}

void plan_allow(struct plan *p, const char *path, uint64_t access, unsigned flags)
{
	struct plan_step *step = plan_add(p, PLAN_LANDLOCK_PATH, flags);

	step->s = plan_string(p, path);
	step->b = access;
}

static void plan_landlock(struct plan *p, const struct sandbox_spec *spec)
{
	static const char *const filled[] = {"/home/user", "/tmp", "/run", "/dev/shm"};
	int abi = landlock_abi();

	if (!HOLD_LANDLOCK)
		return;
	plan_num(p, PLAN_LANDLOCK, 0, (int64_t)landlock_scopes(abi), landlock_all(abi));
	plan_allow(p, "/dev", landlock_files(abi), 0);
	plan_allow(p, "/proc", landlock_files(abi), 0);
	if (spec->peek == PEEK_MERGE)
		plan_allow(p, "/v/l", landlock_link(abi), 0);
	if (spec->peek == PEEK_COPY) /* and a whiteout is a device, of no use */
		plan_allow(p, "/v/out", landlock_write(abi) | landlock_link(abi), 0);
	if (spec->as_root && !spec->peek) {
		plan_allow(p, "/", landlock_write(abi), 0);
		return;
	}
	plan_allow(p, "/", landlock_read(abi), 0);
	for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++)
		plan_allow(p, filled[i], landlock_write(abi), 0);
	if (spec->dir_fd >= 0)
		plan_allow(p, "/work", landlock_write(abi), 0);
	if (spec->git.path && !spec_in_workspace(spec))
		plan_allow(p, spec->git.inside, landlock_write(abi), 0);
	if (spec_in_workspace(spec) && spec->state.path)
		plan_allow(p, "/v/state", landlock_write(abi), 0);
}

void plan_filter(struct plan *p, const struct sandbox_spec *spec)
{
	const struct seccomp_filter *f = spec->level == LEVEL_LANDLOCK ? seccomp_landlock()
					 : spec->guard && HOLD_COMMANDS
						 ? seccomp_guard(spec->guard == GUARD_DELETES)
					 : spec->egress.is_heard ? seccomp_gated(spec->moves)
					 : spec->moves		 ? seccomp_move()
								 : seccomp_strict();
	struct plan_step *step = plan_add(p, PLAN_SECCOMP, 0);

	step->len = (uint32_t)(f->len * sizeof(f->code[0]));
	while (!p->error && p->text_len % sizeof(uint64_t) != 0)
		(void)plan_text(p, "", 0);
	step->t = plan_text(p, f->code, step->len);
}

static void plan_await(struct plan *p)
{
	struct plan_step *step = plan_add(p, PLAN_AWAIT, 0);

	step->s = plan_string(p, "cgroup");
	step->a = AWAIT_CGROUP;
}

/* It stays who made the sandboxes, one level above them, which is all that its forks need to go
 * into one; every capability goes. No filter and no Landlock: both would stay with the forks, and
 * they take the sandbox's. */
void plan_zygote(struct plan *p, const struct sandbox_spec *spec)
{
	plan_await(p);
	plan_add(p, PLAN_KEYRING, 0);
	plan_num(p, PLAN_BOUNDING, 0, 0, 0);
	plan_rlimits(p, spec);
	plan_add(p, PLAN_NO_NEW_PRIVS, 0);
	plan_num(p, PLAN_CAPS, 0, 0, 0);
	plan_num(p, PLAN_NO_DUMP, 0, 0, 0);
}

void plan_confine(struct plan *p, const struct sandbox_spec *spec)
{
	plan_await(p);
	if (HOLD_CGROUPNS)
		plan_add(p, PLAN_CGROUPNS, 0);
	if (HOLD_KEYRING)
		plan_add(p, PLAN_KEYRING, 0);
	plan_num(p, PLAN_OOM_SCORE, 0, 500, 0);
	plan_landlock(p, spec);
	/* While CAP_SETPCAP is there: leaving uid 0 takes it. */
	if (HOLD_CAPS)
		plan_num(p, PLAN_BOUNDING, 0, 0, plan_caps(spec));
	if (spec->ids.range && !spec->as_root)
		plan_num(p, PLAN_BECOME, 0, SANDBOX_UID, SANDBOX_UID);
	plan_rlimits(p, spec);
	if (HOLD_NNP)
		plan_add(p, PLAN_NO_NEW_PRIVS, 0);
	if (!HOLD_PIDNS)
		plan_add(p, PLAN_SCOPE, 0);
	if (HOLD_CAPS)
		plan_num(p, PLAN_CAPS, 0, 0, plan_caps(spec));
	if (spec->pinned.on)
		plan_add(p, PLAN_PIN, 0);
	plan_num(p, PLAN_NO_DUMP, 0, !HOLD_DUMPABLE, 0);
	if (HOLD_SECCOMP)
		plan_filter(p, spec);
}
