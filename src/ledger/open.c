/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"

int ledger_open(int dir, const char *name, struct err *e)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%s", name);
	if (!S_ISREG(st.st_mode)) {
		(void)err_set(e, ERR_INVALID, "%s: this is no file", name);
		e->num = EINVAL;
		return -EINVAL;
	}
	return take_fd(&fd);
}
