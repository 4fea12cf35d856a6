/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/confine.h"

#include <assert.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "kernel/landlock.h"

#if defined(__x86_64__)
#define ABI AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ABI AUDIT_ARCH_AARCH64
#endif
#define FIRST_FOREIGN 0x40000000u /* x32 has its numbers from here */
#define FIXED_INSNS 16u

/* As in linux/landlock.h of 6.12; the oldest headers that we build with have the first member. */
struct ruleset {
	uint64_t fs, net, scopes;
};
#define NET_BIND_CONNECT 3u
#define NET_BIND 1u

static int drop_ids(unsigned id, struct err *e)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)) {
		(void)err_sys(e, "become id %u", id);
		return err_remedy(e, "start it where that id is mapped, or as an ordinary user");
	}
	if (sys2(SYS_capset, &head, none) < 0)
		return err_set(e, ERR_INTERNAL, "give up capabilities");
	return 0;
}

static int drop_rest(struct err *e)
{
	struct rlimit none = {0, 0};

	/* Changing ids undoes the signal of the parent's death, so it comes after. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return err_sys(e, "give up rights");
	return 0;
}

static uint64_t rights_on(const struct confine_path *p, int abi)
{
	struct stat st;

	if (fstat(p->fd, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return p->write ? landlock_write(abi) : landlock_read(abi);
	return p->write ? landlock_device(abi) : landlock_file_read(abi);
}

static int allow_paths(int ruleset, const struct confine *c, int abi, struct err *e)
{
	assert(c->n_paths <= CONFINE_PATHS_MAX);
	for (unsigned i = 0; i < c->n_paths; i++) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = rights_on(&c->paths[i], abi) & landlock_all(abi),
			.parent_fd = c->paths[i].fd};
		long r = sys4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);

		errno = (int)-r;
		if (r < 0)
			return err_sys(e, "keep a directory (Landlock)");
	}
	return 0;
}

static int drop_files(const struct confine *c, struct err *e)
{
	bool connects = c->connects;
	int abi = landlock_abi();
	struct ruleset rules = {
		.fs = landlock_all(abi),
		.net = abi >= 4 ? connects ? NET_BIND : NET_BIND_CONNECT : 0,
		.scopes = landlock_scopes(abi),
	};
	size_t size = abi >= 6 ? sizeof(rules) : abi >= 4 ? offsetof(struct ruleset, scopes) : 8;

	if (abi == 0 && c->n_paths) {
		(void)err_set(e, ERR_UNSUPPORTED, "give up files: this kernel has no Landlock");
		return err_remedy(e, "add landlock to lsm= on the kernel's command line");
	}
	if (abi == 0)
		return 0;
	long fd = sys3(SYS_landlock_create_ruleset, &rules, size, 0);
	errno = (int)-fd;
	if (fd < 0)
		return err_sys(e, "give up all files (Landlock)");
	auto_close int ruleset = (int)fd;
	if (allow_paths(ruleset, c, abi, e) < 0)
		return -errno;
	long r = sys2(SYS_landlock_restrict_self, ruleset, 0);
	errno = (int)-r;
	return r < 0 ? err_sys(e, "give up all files (Landlock)") : 0;
}

static void add(struct sock_fprog *p, struct sock_filter insn)
{
	p->filter[p->len++] = insn;
}

#define LOAD(member)                                                                               \
	(struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                    \
				      (unsigned)offsetof(struct seccomp_data, member))
#define RETURN(verdict) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, verdict)
#define JUMP(test, k, yes, no)                                                                     \
	(struct sock_filter) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(k), yes, no)
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

/* A chain of tests is long, but the kernel looks once, at loading, which numbers always pass. */
static void write_filter(struct sock_fprog *p, const struct confine *c)
{
	add(p, LOAD(arch));
	add(p, JUMP(BPF_JEQ, ABI, 1, 0));
	add(p, RETURN(SECCOMP_RET_KILL_PROCESS));
	add(p, LOAD(nr));
	add(p, JUMP(BPF_JGE, FIRST_FOREIGN, 0, 1));
	add(p, RETURN(SECCOMP_RET_KILL_PROCESS));
	add(p, JUMP(BPF_JEQ, SYS_mmap, 1, 0));
	add(p, JUMP(BPF_JEQ, SYS_mprotect, 0, 4));
	add(p, LOAD(args[2])); /* the low half, on machines whose low half comes first */
	add(p, JUMP(BPF_JSET, PROT_EXEC, 0, 1));
	add(p, RETURN(REFUSED));
	add(p, RETURN(SECCOMP_RET_ALLOW));
	for (unsigned i = 0; i < c->n_calls; i++) {
		add(p, JUMP(BPF_JEQ, c->calls[i], 0, 1));
		add(p, RETURN(SECCOMP_RET_ALLOW));
	}
	add(p, RETURN(REFUSED));
}

static int drop_calls(const struct confine *c, struct err *e)
{
	struct sock_filter code[FIXED_INSNS + 2 * CONFINE_CALLS_MAX];
	struct sock_fprog p = {.filter = code};

	write_filter(&p, c);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0) < 0)
		return err_sys(e, "give up system calls (seccomp)");
	return 0;
}

int confine_self(const struct confine *c, struct err *e)
{
	int r = 0;

	assert(c->n_calls <= CONFINE_CALLS_MAX);
	r = drop_ids(c->id, e);
	if (r == 0)
		r = drop_rest(e);
	if (r == 0)
		r = drop_files(c, e);
	return r == 0 ? drop_calls(c, e) : r;
}
