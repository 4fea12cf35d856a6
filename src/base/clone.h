/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone3 with a stack of its own for the child: it begins in `fn` and never returns from there.
 * For code that must not touch libc, like base/sys.h.
 */
#ifndef BASE_CLONE_H
#define BASE_CLONE_H

#include <linux/sched.h>
#include <stddef.h>

#include "base/sys.h"

typedef void clone_fn(void *arg);

#if defined(__x86_64__)

static inline long sys_clone_call(const struct clone_args *args, clone_fn *fn, void *arg)
{
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %[arg], %%rdi\n\t"
			 "call *%[fn]\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone3), "D"(args),
			   "S"(sizeof(*args)), [fn] "r"(fn), [arg] "r"(arg)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

#elif defined(__aarch64__)

static inline long sys_clone_call(const struct clone_args *args, clone_fn *fn, void *arg)
{
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = sizeof(*args);

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, %[arg]\n\t"
			 "blr %[fn]\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), [fn] "r"(fn), [arg] "r"(arg)
			 : "memory", "cc");
	return x0;
}

#endif

#endif
