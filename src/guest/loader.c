/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What node and R cannot do by themselves: take descriptors from a socket. A shared object that
 * they load by their own means; it does its work while it is being loaded, and they unload it
 * again.
 *
 * Where we are: the main thread of an interpreter that waits, under all rules of its sandbox.
 * DRIVER_FD is the guest's socket. We say that we are ready, wait for a program, put its standard
 * input, output and error into their places and leave its plan at DRIVER_FD. Loaded once more, when
 * the driver finds that the program needs a start of its own, we execute it in our place.
 *
 * In an interpreter that stays (session.js, session.R) there is SESSION_FD instead, which no
 * program started from there may have. R cannot read or write a descriptor: it calls us.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "guest/forked.h"
#include "wire/fds.h"
#include "wire/msg.h"
#include "wire/plan.h"

#define NAME_MAX_ENV 1024
#define PATH_ROOM 4096
#define R_ARGS_OWN 6
#define R_FDS_MAX 64 /* its few descriptors are below */

/* The interpreter's own. */
int setenv(const char *name, const char *value, int overwrite);
__attribute__((weak)) void Py_Initialize(void);
__attribute__((weak)) void R_set_command_line_arguments(int argc, char **argv);

void loader_main(void);
LOADER_API void session_read(unsigned char *buf, int *n);
LOADER_API void session_write(const unsigned char *buf, int *n);

static char *vector[PLAN_ARGS_MAX + R_ARGS_OWN + 1];
static char *environment[PLAN_ARGS_MAX + 1];

static __attribute__((noreturn)) void give_up(void)
{
	for (;;)
		(void)sys1(SYS_exit_group, 1); /* the guest notices */
}

static long length(const char *s)
{
	long n = 0;

	while (s[n])
		n++;
	return n;
}

static void put(char *to, const char *s)
{
	while ((*to++ = *s++))
		;
}

static const struct plan_head *map_plan(void)
{
	struct stat st;

	if (sys2(SYS_fstat, DRIVER_FD, &st) < 0)
		give_up();
	long p = sys6(SYS_mmap, 0, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, DRIVER_FD, 0);
	if (p < 0 && p > -4096)
		give_up();
	return (const struct plan_head *)p; /* checked by the guest */
}

static unsigned fill(char **to, const struct plan_head *plan, uint32_t off, uint32_t count)
{
	const uint32_t *v = (const uint32_t *)(const void *)((const char *)plan + off);

	for (uint32_t i = 0; i < count; i++)
		to[i] = (char *)(uintptr_t)plan_str(plan, v[i]);
	to[count] = NULL;
	return count;
}

static void execute(const struct plan_head *plan)
{
	fill(vector, plan, plan->argv, plan->argc);
	fill(environment, plan, plan->envp, plan->envc);
	(void)sys3(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)sys3(SYS_execve, vector[0], vector, environment);
	give_up();
}

static void receive(int fds[MSG_CLAIM_FDS])
{
	char byte;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MSG_CLAIM_FDS * sizeof(int))];
	} control;
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	long r;

	do
		r = sys3(SYS_recvmsg, DRIVER_FD, &hdr, MSG_CMSG_CLOEXEC);
	while (r == -EINTR);
	if (r != 1 || !hdr.msg_controllen ||
	    control.head.cmsg_len != CMSG_LEN(MSG_CLAIM_FDS * sizeof(int)))
		give_up();
	for (unsigned i = 0; i < MSG_CLAIM_FDS; i++)
		fds[i] = ((int *)(void *)CMSG_DATA(&control.head))[i];
}

static void place(const int fds[MSG_CLAIM_FDS])
{
	long r = 0;

	for (int i = 0; i < 3 && r >= 0; i++)
		r = sys3(SYS_dup3, fds[1 + i], i, 0);
	if (r >= 0)
		r = sys3(SYS_dup3, fds[0], DRIVER_FD, O_CLOEXEC);
	if (r < 0)
		give_up();
	for (unsigned i = 0; i < MSG_CLAIM_FDS; i++)
		(void)sys1(SYS_close, fds[i]);
}

/* Only added to: it has what every command has, and the interpreter's own. */
static int take_environment(const struct plan_head *plan)
{
	char name[NAME_MAX_ENV];
	unsigned n = fill(environment, plan, plan->envp, plan->envc);

	for (unsigned i = 0; i < n; i++) {
		long len = 0;

		while (environment[i][len] && environment[i][len] != '=' && len < NAME_MAX_ENV - 1)
			name[len] = environment[i][len], len++;
		name[len] = '\0';
		if (environment[i][len] != '=' || setenv(name, environment[i] + len + 1, 1) < 0)
			return -EINVAL;
	}
	return 0;
}

/* The text of `-e` as a file, as R itself makes one. */
static long text_file(const char *text)
{
	long fd = sys2(SYS_memfd_create, "R", MFD_CLOEXEC), len = length(text), done = 0;

	while (fd >= 0 && done < len) {
		long n = sys3(SYS_write, fd, text + done, len - done);

		if (n <= 0)
			return n ? n : -EIO;
		done += n;
	}
	if (fd >= 0 && (sys3(SYS_write, fd, "\n", 1) != 1 || sys3(SYS_lseek, fd, 0, 0) < 0))
		return -EIO;
	return fd;
}

/* R's main loop reads the driver's text from a file that has been removed: it goes on with the
 * program's, expression by expression, as it does with any. */
static int r_program(long text)
{
	struct stat st;

	if (text < 0)
		return (int)text;
	for (int fd = 3; fd < R_FDS_MAX; fd++) {
		if (fd == text || sys2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_nlink > 0)
			continue;
		long r = sys3(SYS_dup3, text, fd, 0);
		(void)sys1(SYS_close, text);
		return r < 0 ? (int)r : 0;
	}
	return -ENOENT;
}

/* What Rscript makes of its arguments: a space would end one on its way. */
static char *r_expression(char *text)
{
	static const char space[] = "~+~";
	long n = 0, at = 0;

	for (const char *p = text; *p; p++)
		n += *p == ' ' ? 3 : 1;
	long room = sys6(SYS_mmap, 0, n + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (room < 0 && room > -4096)
		give_up();
	for (char *to = (char *)room; *text; text++)
		for (int i = 0; i < (*text == ' ' ? 3 : 1); i++)
			to[at++] = *text == ' ' ? space[i] : *text;
	return (char *)room;
}

/* As Rscript calls it, which execute() would start: FILE ARG... or -e CODE ARG... */
static int r_take(const struct plan_head *plan)
{
	static char program[PATH_ROOM], file[PATH_ROOM] = "--file=";
	static char *own[] = {program, "--no-echo", "--no-restore"};
	char **args = vector + R_ARGS_OWN, **to = vector;
	unsigned argc = fill(args, plan, plan->argv, plan->argc);
	int inlined = argc > 2 && args[1][0] == '-';

	if (argc < 2 || length(args[1]) > PATH_ROOM - 8 ||
	    sys3(SYS_readlink, "/proc/self/exe", program, PATH_ROOM - 1) < 0 ||
	    r_program(inlined ? text_file(args[2])
			      : sys3(SYS_openat, AT_FDCWD, args[1], O_RDONLY)) < 0)
		return -EINVAL;
	char **rest = args + (inlined ? 3 : 2);
	char *expression = inlined ? r_expression(args[2]) : NULL;
	put(file + 7, args[1]);
	for (unsigned i = 0; i < 3; i++)
		*to++ = own[i];
	*to++ = inlined ? "-e" : file;
	if (inlined)
		*to++ = expression;
	if (*rest)
		*to++ = "--args";
	while (*rest)
		*to++ = *rest++;
	R_set_command_line_arguments((int)(to - vector), vector);
	return 0;
}

/* For R's .C(): as many bytes as there are, at most *n; then *n is how many, or -errno. */
void session_read(unsigned char *buf, int *n)
{
	*n = (int)sys3(SYS_read, SESSION_FD, buf, *n);
}

void session_write(const unsigned char *buf, int *n)
{
	*n = (int)sys3(SYS_write, SESSION_FD, buf, *n);
}

static int begin_session(void)
{
	struct stat st;

	if (sys2(SYS_fstat, SESSION_FD, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	(void)sys3(SYS_fcntl, SESSION_FD, F_SETFD, FD_CLOEXEC);
	(void)sys1(SYS_close, LOADER_FD);
	return 1;
}

void loader_main(void)
{
	struct stat st;
	int fds[MSG_CLAIM_FDS];

	if (Py_Initialize) {
		zygote_begin();
		return; /* it calls what it needs */
	}
	if (begin_session())
		return;
	if (sys2(SYS_fstat, DRIVER_FD, &st) < 0)
		give_up();
	if (!S_ISSOCK(st.st_mode))
		execute(map_plan());
	if (sys3(SYS_write, DRIVER_FD, "r", 1) != 1)
		give_up();
	receive(fds);
	place(fds);
	const struct plan_head *plan = map_plan();
	int r = (int)sys1(SYS_chdir, plan_str(plan, plan->workdir));
	if (r >= 0)
		r = take_environment(plan);
	if (r >= 0 && R_set_command_line_arguments)
		r = r_take(plan);
	if (r < 0)
		execute(plan);
	(void)sys2(SYS_munmap, plan, plan->size);
	if (R_set_command_line_arguments)
		(void)sys3(SYS_close_range, DRIVER_FD, LOADER_FD, 0); /* R cannot */
}
