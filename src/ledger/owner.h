/* SPDX-License-Identifier: Apache-2.0 */
/* Root also works on chains of others (of the process that serves HTTP): what it makes there is
 * theirs. */
#ifndef LEDGER_OWNER_H
#define LEDGER_OWNER_H

#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static inline int owner_match(int dir, int fd, struct err *e)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (fstat(dir, &st) < 0 || (st.st_uid != 0 && fchown(fd, st.st_uid, st.st_gid) < 0))
		return err_sys(e, "the owner of the ledger");
	return 0;
}

#endif
