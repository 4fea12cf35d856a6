/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/settle.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pinfold/ledger.h>
#include <pinfold/pinfold.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool store_waits, done;

void settle_store(void)
{
	store_waits = true;
}

static void settle(bool store)
{
	struct pinfold_store *s = NULL;
	struct pinfold_error error;

	(void)setsid();
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd); /* a pipeline must not wait for us */
	(void)syscall(SYS_close_range, 3, ~0u, 0);
	if (chdir("/") < 0)
		_exit(0);
	(void)pinfold_ledger_settle(&error); /* else the next command does */
	if (store && pinfold_store_open(NULL, &s, &error) == 0)
		(void)pinfold_store_settle(s, &error); /* the same */
	pinfold_store_close(s);
	_exit(0);
}

void settle_leave(void)
{
	bool ledger = !done && pinfold_ledger_unsettled();

	(void)fflush(NULL);
	if (!ledger && !store_waits)
		return;
	(void)prctl(PR_SET_NAME, "pinfold-settle", 0, 0, 0); /* who goes on is never seen without */
	if (fork() == 0)
		settle(store_waits);
}

void settle_here(void)
{
	struct pinfold_error error;

	done = true;
	if (pinfold_ledger_unsettled())
		(void)pinfold_ledger_settle(&error); /* else the next one does */
}
