/* SPDX-License-Identifier: Apache-2.0 */
/* The process that speaks HTTP, confined: what it can still do, and all that it cannot. */
#include "api/confined.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/fd.h"
#include "tap.h"

static char place[64];

static int refused(long r)
{
	return r < 0 && (errno == EPERM || errno == EACCES);
}

static void *nothing(void *arg)
{
	return arg;
}

static void tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ok(fd < 0 || refused(connect(fd, (struct sockaddr *)&at, sizeof(at))), "no TCP connection");
	ok(refused(bind(fd, (struct sockaddr *)&at, sizeof(at))), "no address of its own");
	if (fd >= 0)
		(void)close(fd);
}

static void files(const struct api_config *c)
{
	int fd = openat(c->state, "usage", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ok(fd >= 0 && write(fd, "x", 1) == 1, "what was used can be written");
	(void)close(fd);
	ok(renameat(c->state, "usage", c->state, "used") == 0 && unlinkat(c->state, "used", 0) == 0,
	   "replaced and removed");
	fd = openat(c->dir, "tokens", O_RDONLY | O_CLOEXEC);
	ok(fd >= 0, "tokens can be read");
	(void)close(fd);
	ok(refused(openat(c->dir, "tokens", O_WRONLY | O_CLOEXEC)), "and not written");
	ok(refused(openat(c->dir, "made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), "nor joined");
	fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ok(fd >= 0, "a file without a name");
	(void)close(fd);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	ok(fd >= 0, "nothing");
	(void)close(fd);
	ok(refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC)), "no file of the host");
	ok(refused(open("/proc/self/environ", O_RDONLY | O_CLOEXEC)), "not of /proc");
	ok(refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "no directory");
}

static void calls(void)
{
	char *const none[] = {NULL};
	pthread_t t;

	ok(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0, "threads");
	ok(refused(execve("/bin/true", none, none)), "no program");
	ok(refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)), "no tracing");
	ok(refused(unshare(CLONE_NEWUSER)), "no namespace");
	ok(refused(mount("x", "/tmp", "tmpfs", 0, NULL)), "no mount");
	ok(refused(syscall(SYS_bpf, 0, NULL, 0)), "no bpf");
	ok(refused(syscall(SYS_io_uring_setup, 1, NULL)), "no io_uring");
	ok(refused(kill(getppid(), 0)), "no signals to others");
	ok(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		   MAP_FAILED,
	   "no memory that is code");
	ok(refused(chmod("/tmp", 0777)), "no other mode for what it owns");
}

static void confined(void)
{
	struct api_config c = {.keeper = FD_NONE, .approvals = FD_NONE, .kept = FD_NONE};
	struct err e = ERR_INIT;

	(void)snprintf(place, sizeof(place), "/var/tmp/pinfold-confined.XXXXXX");
	ok(mkdtemp(place), "a directory");
	c.dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(c.dir, "state", 0700);
	c.state = openat(c.dir, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)close(openat(c.dir, "tokens", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0) {
			(void)!fchown(c.state, 12345, 12345);
			(void)!fchown(c.dir, 12345, 12345);
			(void)!fchmodat(c.dir, "tokens", 0644, 0);
			(void)!setresgid(12345, 12345, 12345);
			(void)!setresuid(12345, 12345, 12345);
		}
		ok(api_confine(&c, "", &e) >= 0, "it gives up what it does not need");
		files(&c);
		tcp();
		calls();
		_exit(0);
	}
	int status = -1;
	ok(waitpid(pid, &status, 0) == pid && status == 0, "and lives");
	(void)unlinkat(c.dir, "tokens", 0);
	(void)unlinkat(c.dir, "state", AT_REMOVEDIR);
	(void)close(c.state);
	(void)close(c.dir);
	(void)rmdir(place);
}

int main(void)
{
	TAP_RUN(confined);
	return tap_done();
}
