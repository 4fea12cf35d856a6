/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same calls by other doors of the same kernel: int 0x80 with the numbers of 32-bit programs,
 * the numbers of the x32 ABI, upper halves of the number's register, a program in 32 bits. Linked
 * so that the data is below 4 GiB, where 32-bit calls can see it.
 */
#include "B-doors.h"
#include <signal.h>
#include <sys/stat.h>

#ifdef __x86_64__
#define X32_BIT 0x40000000L

static const char type_name[] = "user", key_name[] = "x";
static unsigned packet_socket[3] = {17 /* AF_PACKET */, 3, 0};

static long int80(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	ret = (int)ret;
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

static long wide(unsigned long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "memory", "rcx", "r11");
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

static long child_ends(long pid)
{
	if (pid == 0)
		_exit(0);
	return pid;
}

static void try_int80(long unused)
{
	(void)unused;
	missing("int80-getpid", int80(20, 0, 0, 0));
	missing("int80-keyctl", int80(288, 0, -3, 0));
	missing("int80-add_key", int80(286, (long)type_name, (long)key_name, (long)key_name));
	missing("int80-socketcall", int80(102, 1, (long)packet_socket, 0));
	missing("int80-mount", int80(21, -4096, -4096, -4096));
	missing("int80-bpf", int80(357, 0, -4096, 16));
	missing("int80-vm86", int80(166, 0, 0, 0));
	missing("int80-modify_ldt", int80(123, 0, (long)packet_socket, 8));
	missing("int80-clone", child_ends(int80(120, 0x10000000 | SIGCHLD, 0, 0)));
	missing("int80-unshare", int80(310, 0x10000000, 0, 0));
}

static void try_x32(long unused)
{
	(void)unused;
	missing("x32-getpid", syscall(X32_BIT | 39));
	missing("x32-keyctl", syscall(X32_BIT | 250, 0, -3, 0));
	missing("x32-ptrace", syscall(X32_BIT | 521, 0, 0, 0, 0));
	missing("x32-mount", syscall(X32_BIT | 165, BAD_POINTER, BAD_POINTER, BAD_POINTER));
	missing("x32-unshare", syscall(X32_BIT | 272, 0x10000000));
	missing("x32-own-number", syscall(X32_BIT | 520, BAD_POINTER, NULL, NULL));
}

/* The kernel uses 32 bits of the register, and so must the filter. */
static void try_wide(long unused)
{
	(void)unused;
	filtered("wide-keyctl", wide(1UL << 32 | SYS_keyctl, 0, -3, 0));
	filtered("wide-bpf", wide(0xdeadbeef00000000UL | SYS_bpf, 0, -4096, 16));
	filtered("wide-unshare", wide(~0UL << 32 | SYS_unshare, 0x10000000, 0, 0));
	missing("negative", wide(~0UL, 0, 0, 0));
}

/* 32-bit program: exit(42), or a crash when that call does not exist. */
static const unsigned char elf32[] = {
	0x7f, 'E', 'L',	 'F', 1,    1,	  1,	0,    0,    0,	  0,	0,    0,    0,
	0,    0,   2,	 0,   3,    0,	  1,	0,    0,    0,	  0x54, 0x80, 0x04, 0x08,
	0x34, 0,   0,	 0,   0,    0,	  0,	0,    0,    0,	  0,	0,    0x34, 0,
	0x20, 0,   1,	 0,   0,    0,	  0,	0,    0,    0,	  1,	0,    0,    0,
	0,    0,   0,	 0,   0x00, 0x80, 0x04, 0x08, 0x00, 0x80, 0x04, 0x08, 0x61, 0,
	0,    0,   0x61, 0,   0,    0,	  5,	0,    0,    0,	  0,	0x10, 0,    0,
	0xb8, 1,   0,	 0,   0,    0xbb, 42,	0,    0,    0,	  0xcd, 0x80, 0xf4};

static void try_program(void)
{
	const char path[] = "/tmp/elf32";
	int status = 0, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	pid_t pid;

	if (fd < 0 || write(fd, elf32, sizeof(elf32)) != sizeof(elf32))
		return;
	close(fd);
	pid = fork();
	if (pid == 0) {
		execl(path, path, NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	door_if("program", WIFEXITED(status) && WEXITSTATUS(status) == 42,
		WIFSIGNALED(status) ? "killed" : "exited");
}

/* int 0x80 is a fault on kernels without 32-bit programs: as good as shut. */
static void try_group(const char *name, void (*fn)(long))
{
	if (WIFSIGNALED(in_child(fn, 0)))
		printf("shut %s signal\n", name);
	else
		printf("tried %s\n", name);
	fflush(stdout);
}

int main(void)
{
	try_group("int80", try_int80);
	try_group("x32", try_x32);
	try_group("wide", try_wide);
	try_program();
	return 0;
}
#else
int main(void)
{
	puts("only x86-64 has these");
	return 0;
}
#endif
