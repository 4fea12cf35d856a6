/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller who sends the daemon a file of a file system that he made himself and that never answers
 * a close: stuck UID DIR SOCKET. Says "sent" when he has, and stays.
 *
 * The file system is the least that lets one file be opened, spoken by hand: no library is needed.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NODE 2
#define FDS 4

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void answer(int dev, uint64_t unique, const void *data, size_t len)
{
	char buf[512];
	struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + len), .unique = unique};

	memcpy(buf, &head, sizeof(head));
	memcpy(buf + sizeof(head), data, len);
	if (write(dev, buf, sizeof(head) + len) < 0)
		err(1, "answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .mode = node == FILE_NODE ? S_IFREG | 0644 : S_IFDIR | 0755,
				  .nlink = 1};
}

static void serve(int dev)
{
	static char buf[1 << 17];

	while (read(dev, buf, sizeof(buf)) > 0) {
		const struct fuse_in_header *in = (const void *)buf;

		if (in->opcode == FUSE_INIT) {
			struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
						    .minor = FUSE_KERNEL_MINOR_VERSION,
						    .max_write = 4096};
			answer(dev, in->unique, &out, sizeof(out));
		} else if (in->opcode == FUSE_LOOKUP) {
			struct fuse_entry_out out = {.nodeid = FILE_NODE,
						     .attr = attributes(FILE_NODE)};
			answer(dev, in->unique, &out, sizeof(out));
		} else if (in->opcode == FUSE_GETATTR) {
			struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
			answer(dev, in->unique, &out, sizeof(out));
		} else if (in->opcode == FUSE_OPEN) {
			struct fuse_open_out out = {.fh = 1};
			answer(dev, in->unique, &out, sizeof(out));
		} else if (in->opcode == FUSE_FLUSH) {
			puts("flush"); /* and that is all */
			fflush(stdout);
		}
	}
	exit(0);
}

static void become(uid_t uid)
{
	char text[64];

	/* Who changes his id loses what is his below /proc, but for this. */
	if (setgid(uid) < 0 || setuid(uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		err(1, "unshare");
	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)uid);
	write_file("/proc/self/uid_map", text);
	write_file("/proc/self/gid_map", text);
}

static int open_stuck(const char *dir)
{
	char options[128], path[256];
	int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		err(1, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (mount("stuck", dir, "fuse", 0, options) < 0)
		err(1, "mount fuse");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(dev);
	}
	close(dev);
	snprintf(path, sizeof(path), "%s/file", dir);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

/* A message of the length of a request, with files where a program of ours has pipes. */
static void send_it(const char *path, int file)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0), fds[FDS] = {file, file, file, file};
	char data[72] = "";
	struct iovec iov = {data, sizeof(data)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} room = {.head = {CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &room,
			     .msg_controllen = sizeof(room)};

	memcpy(CMSG_DATA(&room.head), fds, sizeof(fds));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0 || sendmsg(sock, &msg, 0) < 0)
		err(1, "%s", path);
	/* Until it was taken, and refused. */
	(void)!recv(sock, data, sizeof(data), 0);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "stuck UID DIR SOCKET");
	become((uid_t)strtoul(argv[1], NULL, 10));
	int file = open_stuck(argv[2]);
	send_it(argv[3], file);
	puts("sent");
	fflush(stdout);
	pause();
}
