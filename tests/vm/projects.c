/* SPDX-License-Identifier: Apache-2.0 */
/* projects DIR: every project that the filesystem there knows, but 0: "ID BYTES MAX INODES MAX". */
#include <fcntl.h>
#include <linux/quota.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct if_nextdqblk q = {0};

	for (unsigned id = 1; fd >= 0; id = q.dqb_id + 1) {
		if (syscall(SYS_quotactl_fd, fd, QCMD(Q_GETNEXTQUOTA, PRJQUOTA), id, &q) < 0)
			return 0;
		printf("%u %llu %llu %llu %llu\n", q.dqb_id, (unsigned long long)q.dqb_curspace,
		       (unsigned long long)q.dqb_bhardlimit * 1024,
		       (unsigned long long)q.dqb_curinodes, (unsigned long long)q.dqb_ihardlimit);
	}
	return 1;
}
