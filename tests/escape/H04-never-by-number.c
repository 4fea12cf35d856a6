/* SPDX-License-Identifier: Apache-2.0 */
/*
 * H04-never-by-number PROGRAM [ARG...]: runs a program that dies of SIGSYS when it, or a child of
 * it, sends a signal to a process by its number. What goes to a descriptor of a process, to a group
 * of processes or, inside, to all of a pid namespace is none of this.
 */
#include "attack.h"

#include <err.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ON(number, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, skip, 0)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		LOAD(nr),
		ON(SYS_kill, 6),
		ON(SYS_tkill, 5),
		ON(SYS_tgkill, 4),
		ON(SYS_rt_sigqueueinfo, 3),
		ON(SYS_rt_tgsigqueueinfo, 2),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_ALLOW),
		/* Little-endian: the low half, which is what the kernel takes. */
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000u, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (argc < 2)
		errx(125, "no program");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		err(125, "seccomp");
	execv(argv[1], argv + 1);
	err(125, "%s", argv[1]);
}
