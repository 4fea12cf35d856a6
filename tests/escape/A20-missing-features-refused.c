/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without FEATURE PROGRAM [ARG...]: runs a program on a kernel that lacks a feature, as far as the
 * program can tell: a seccomp filter answers for it. FEATURE: userns, seccomp, landlock.
 */
#include "attack.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(err) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (err))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define IF_NOT(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
/* The low half of a system call's first argument holds the flags that matter here. */
#define IF_NO_BIT(bit, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bit), 0, (skip))

static int load(struct sock_filter *filter, size_t n)
{
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = filter};

	/* Root needs no no_new_privs for this, and newuidmap would be useless with it. */
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int no_userns(void)
{
	/* clone3 hides its flags in memory: a kernel without it makes callers fall back to
	 * clone. */
	struct sock_filter f[] = {
		LOAD(nr),
		IF_NOT(SYS_clone3, 1),
		ANSWER(ENOSYS),
		IF_NOT(SYS_unshare, 3),
		LOAD(args[0]),
		IF_NO_BIT(CLONE_NEWUSER, 5),
		ANSWER(EPERM),
		IF_NOT(SYS_clone, 3),
		LOAD(args[0]),
		IF_NO_BIT(CLONE_NEWUSER, 1),
		ANSWER(EPERM),
		ALLOW,
	};

	return load(f, sizeof(f) / sizeof(f[0]));
}

static int no_seccomp(void)
{
	struct sock_filter f[] = {
		LOAD(nr),
		IF_NOT(SYS_seccomp, 1),
		ANSWER(ENOSYS),
		IF_NOT(SYS_prctl, 3),
		LOAD(args[0]),
		IF_NOT(PR_SET_SECCOMP, 1),
		ANSWER(EINVAL),
		ALLOW,
	};

	return load(f, sizeof(f) / sizeof(f[0]));
}

static int no_landlock(void)
{
	struct sock_filter f[] = {
		LOAD(nr),
		IF_NOT(SYS_landlock_create_ruleset, 1),
		ANSWER(ENOSYS),
		ALLOW,
	};

	return load(f, sizeof(f) / sizeof(f[0]));
}

int main(int argc, char **argv)
{
	int bad = -1;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "userns"))
		bad = no_userns();
	else if (!strcmp(argv[1], "seccomp"))
		bad = no_seccomp();
	else if (!strcmp(argv[1], "landlock"))
		bad = no_landlock();
	if (bad) {
		perror(argv[1]);
		return 2;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 2;
}
