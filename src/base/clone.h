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
			 "mov %[arg], %%rdi\n\t"
			 "mov %[fn], %%rax\n\t"
			 "xor %%ebp, %%ebp\n\t" /* last: either may be in it */
			 "call *%%rax\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone3), "D"(args),
			   "S"(sizeof(*args)), [fn] "r"(fn), [arg] "r"(arg)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

/* A thread, where clone3 is not allowed: flags of clone, and the upper end of its stack. */
static inline long sys_clone_thread(unsigned long flags, void *stack_end, clone_fn *fn)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov %[fn], %%rax\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "xor %%edi, %%edi\n\t"
			 "call *%%rax\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_end), "d"(0L), "r"(r10),
			   "r"(r8), [fn] "r"(fn)
			 : "rcx", "r11", "memory", "cc");
	return ret;
}

#elif defined(__aarch64__)

static inline long sys_clone_thread(unsigned long flags, void *stack_end, clone_fn *fn)
{
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = (long)flags;
	register long x1 __asm__("x1") = (long)stack_end;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, #0\n\t"
			 "blr %[fn]\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [fn] "r"(fn)
			 : "memory", "cc");
	return x0;
}

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
