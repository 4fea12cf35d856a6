/* SPDX-License-Identifier: Apache-2.0 */
#include "api/settler.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "pinfold/ledger.h"
#include "pinfold/pinfold.h"

struct settler {
	pthread_t thread;
	int stop; /* eventfd */
};

static void settle(void)
{
	static bool said;
	struct pinfold_error error;

	if (pinfold_ledger_settle(&error) == 0 || said)
		return;
	said = true;
	(void)fprintf(stderr, "pinfold: the ledger is not signed: %s\n", error.message);
}

static void *work(void *arg)
{
	const struct settler *s = arg;
	struct pollfd p[2] = {{.fd = pinfold_ledger_fd(), .events = POLLIN},
			      {.fd = s->stop, .events = POLLIN}};
	uint64_t n;

	for (;;) {
		(void)poll(p, 2, -1); /* whatever it says, we look */
		if (p[0].revents) {
			(void)!read(p[0].fd, &n, sizeof(n)); /* only to make it quiet */
			settle();
		} else if (p[1].revents) {
			return NULL;
		}
	}
}

int settler_new(struct settler **ret, struct err *e)
{
	struct settler *s = calloc(1, sizeof(*s));

	if (!s)
		return err_sys(e, "ledger");
	s->stop = eventfd(0, EFD_CLOEXEC);
	if (s->stop < 0 || pinfold_ledger_fd() < 0) {
		(void)err_sys(e, "ledger");
		fd_close(&s->stop);
		free(s);
		return -EMFILE;
	}
	/* Signals are for the thread that expects them. */
	sigset_t all, before;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int bad = pthread_create(&s->thread, NULL, work, s);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (bad) {
		errno = bad;
		(void)err_sys(e, "thread");
		fd_close(&s->stop);
		free(s);
		return -EAGAIN;
	}
	*ret = s;
	return 0;
}

void settler_free(struct settler *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	(void)!write(s->stop, &one, sizeof(one)); /* cannot be full */
	(void)pthread_join(s->thread, NULL);
	fd_close(&s->stop);
	free(s);
}
