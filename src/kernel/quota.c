/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By quotactl_fd() (Linux 5.14), which needs no name of a device. ext4, f2fs and xfs answer the
 * same calls.
 */
#include "kernel/quota.h"

#include <errno.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/quota.h>

#include "base/sys.h"

#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif
#define BLOCK 1024u /* of a limit; what there is is in bytes */

static long ask(int fd, int what, uint32_t project, void *about)
{
	return sys4(SYS_quotactl_fd, fd, QCMD(what, PRJQUOTA), project, about);
}

bool quota_enforced(int fd)
{
	struct fs_quota_statv state = {.qs_version = FS_QSTATV_VERSION1};

	return ask(fd, Q_XGETQSTATV, 0, &state) >= 0 && (state.qs_flags & FS_QUOTA_PDQ_ENFD);
}

int quota_get(int fd, uint32_t project, struct quota *ret)
{
	struct dqblk now = {0};
	long r = ask(fd, Q_GETQUOTA, project, &now);

	if (r < 0 && r != -ENOENT)
		return (int)r;
	*ret = (struct quota){now.dqb_curspace, now.dqb_curinodes, now.dqb_bhardlimit * BLOCK,
			      now.dqb_ihardlimit};
	return 0;
}

int quota_set(int fd, uint32_t project, uint64_t bytes_max, uint64_t inodes_max)
{
	struct dqblk most = {
		.dqb_bhardlimit = bytes_max / BLOCK + (bytes_max % BLOCK != 0),
		.dqb_ihardlimit = inodes_max,
		.dqb_valid = QIF_LIMITS,
	};

	return (int)ask(fd, Q_SETQUOTA, project, &most);
}

int quota_mark(int dir, uint32_t project)
{
	struct fsxattr attr;

	if (ioctl(dir, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	attr.fsx_projid = project;
	attr.fsx_xflags |= FS_XFLAG_PROJINHERIT;
	return ioctl(dir, FS_IOC_FSSETXATTR, &attr) < 0 ? -errno : 0;
}

bool quota_is_marked(int fd)
{
	struct fsxattr attr;

	return ioctl(fd, FS_IOC_FSGETXATTR, &attr) == 0 &&
	       (attr.fsx_projid != 0 || (attr.fsx_xflags & FS_XFLAG_PROJINHERIT));
}
