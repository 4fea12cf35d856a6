/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw system calls, for code that must not touch libc: the guest (which has none) and the child
 * between clone and exec (which shares the parent's memory, so errno and locks are not its own).
 * They return the kernel's value: >= 0, or -errno.
 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#elif defined(__aarch64__)

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#else
#error "pinfold supports x86-64 and arm64"
#endif

#define SYS_ARG(x) ((long)(x))
#define sys0(nr) sys6(nr, 0, 0, 0, 0, 0, 0)
#define sys1(nr, a) sys6(nr, SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys2(nr, a, b) sys6(nr, SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c) sys6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys4(nr, a, b, c, d) sys6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define sys5(nr, a, b, c, d, e)                                                                    \
	sys6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)

/* Numbers that the oldest headers we build with may lack; the same on every architecture. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#endif
