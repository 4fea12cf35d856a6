/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/settle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pinfold/deps.h>
#include <pinfold/ledger.h>
#include <pinfold/pinfold.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 2000

static bool store_waits, done;
static int words;
static char **word;

void settle_store(void)
{
	store_waits = true;
}

/* Whoever looks at it must not take it for the command. */
static void rename_self(void)
{
	static const char name[] = "pinfold-settle";

	for (int i = 0; i < words; i++) {
		size_t len = strlen(word[i]);

		memset(word[i], 0, len);
		if (i == 0)
			memcpy(word[i], name, len < sizeof(name) ? len : sizeof(name) - 1);
	}
}

/* A pipeline must not wait for us, and locks of who goes on, or has ended, are not ours. */
static void let_go(void)
{
	(void)setsid();
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	(void)syscall(SYS_close_range, 3, ~0u, 0);
	if (chdir("/") < 0)
		_exit(0);
}

static void settle(bool store)
{
	struct pinfold_store *s = NULL;
	struct pinfold_error error;

	(void)pinfold_ledger_settle(&error);  /* else the next command does */
	(void)pinfold_ledger_ship(0, &error); /* the same */
	if (store && pinfold_store_open(NULL, &s, &error) == 0)
		(void)pinfold_store_settle(s, &error); /* the same */
	pinfold_store_close(s);
	_exit(0);
}

/* A child of ours would be waited for by nobody, or seen beside the sandbox: it is init's. Before
 * we go on it holds nothing of ours any more: a workspace would be busy behind its command. */
static void settle_meanwhile(void)
{
	if (!pinfold_ledger_unsettled())
		return;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "pinfold-settle", 0, 0,
			    0); /* who goes on is never seen without */
		rename_self();
		let_go();
		if (fork() != 0)
			_exit(0);
		settle(false);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void settle_begin(int argc, char **argv)
{
	words = argc;
	word = argv;
	pinfold_ledger_on_due(settle_meanwhile);
}

void settle_now(void)
{
	settle_meanwhile();
}

void settle_leave(void)
{
	bool ledger = !done && pinfold_ledger_unsettled();

	(void)fflush(NULL);
	store_waits = store_waits || pinfold_deps_unsettled();
	if (!ledger && !store_waits)
		return;
	(void)prctl(PR_SET_NAME, "pinfold-settle", 0, 0, 0); /* as above */
	if (fork() != 0)
		return;
	rename_self();
	let_go();
	settle(store_waits);
}

void settle_end(void)
{
	struct pinfold_error error;

	(void)pinfold_ledger_settle_within(END_MS, &error); /* else the next command does */
}

void settle_here(void)
{
	struct pinfold_error error;

	done = true;
	if (pinfold_ledger_unsettled())
		(void)pinfold_ledger_settle(&error); /* else the next one does */
}
