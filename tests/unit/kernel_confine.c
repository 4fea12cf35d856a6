/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of ours can still do once it has given up its rights: in children, since it
 * stays. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernel/confine.h"
#include "kernel/landlock.h"
#include "tap.h"

static const int few[] = {SYS_write,	    SYS_read,	SYS_close, SYS_exit_group, SYS_munmap,
			  SYS_rt_sigreturn, SYS_getpid, SYS_prctl, SYS_newfstatat};
/* As many as it takes to see that Landlock holds where the filter does not. */
static const int wide[] = {SYS_write,  SYS_read,   SYS_close,	SYS_exit_group,
			   SYS_munmap, SYS_openat, SYS_socket,	SYS_connect,
			   SYS_bind,   SYS_listen, SYS_unlinkat};

/* The answer of a call in a child that confined itself; 255: it could not. */
static int in_child(const struct confine *c, long (*call)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct err e = ERR_INIT;

		if (confine_self(c, &e) < 0) {
			diag("%s", e.text);
			_exit(255);
		}
		long r = call();
		/* Raw: what sanitizers do at an end is not on the list. */
		(void)syscall(SYS_exit_group, r < 0 ? errno : 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static long opens(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long makes(void)
{
	return open("/tmp/kernel_confine.made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long executes(void)
{
	char *argv[] = {(char[]){"true"}, NULL};

	return execve("/bin/true", argv, argv + 1);
}

static long forks(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long traces(void)
{
	return syscall(SYS_ptrace, 16, getppid(), 0, 0);
}

static long signals(void)
{
	return syscall(SYS_kill, getppid(), 0);
}

static long makes_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED ? -1 : 0;
}

static long makes_data(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : 0;
}

static long turns_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? 0 : mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static long connects(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(9),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? fd : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static long binds(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? fd : bind(fd, (struct sockaddr *)&at, sizeof(at));
}

static long is_kept(void)
{
	errno = ENOTSUP;
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
			       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
		       ? 0
		       : -1;
}

static void calls(void)
{
	const struct confine c = {.id = CONFINE_TLS_ID, .calls = few, .n_calls = 9};

	is_int(in_child(&c, makes_data), 0, "memory can be had");
	is_int(in_child(&c, makes_code), EPERM, "not to be executed");
	is_int(in_child(&c, turns_code), EPERM, "nor turned into code");
	is_int(in_child(&c, opens), EPERM, "no file is opened");
	is_int(in_child(&c, executes), EPERM, "no program started");
	is_int(in_child(&c, forks), EPERM, "no process made");
	is_int(in_child(&c, traces), EPERM, "none traced");
	is_int(in_child(&c, signals), EPERM, "none signalled");
	is_int(in_child(&c, connects), EPERM, "no socket made");
	is_int(in_child(&c, is_kept), 0, "no new privileges, no core dump");
}

static void files(void)
{
	struct confine c = {.id = CONFINE_TLS_ID, .calls = wide, .n_calls = 11};
	int abi = landlock_abi();

	if (abi == 0) {
		skip("files and connections", "this kernel has no Landlock");
		return;
	}
	is_int(in_child(&c, opens), EACCES, "a file that the filter would let through");
	is_int(in_child(&c, makes), EACCES, "one to be made");
	if (abi < 4) {
		skip("connections", "this kernel has no Landlock of networks");
		return;
	}
	is_int(in_child(&c, connects), EACCES, "a connection");
	is_int(in_child(&c, binds), EACCES, "an address");
	c.connects = true;
	is_int(in_child(&c, connects), ECONNREFUSED, "connections where they are its work");
	is_int(in_child(&c, binds), EACCES, "but no address");
}

int main(void)
{
	TAP_RUN(calls);
	TAP_RUN(files);
	return tap_done();
}
