/* SPDX-License-Identifier: Apache-2.0 */
#include "api/attend.h"

#include <pinfold/policy.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/fd.h"

struct attendant {
	pthread_t thread;
	int stop; /* eventfd */
};

static void *work(void *arg)
{
	const struct attendant *a = arg;
	struct pinfold_error ignored; /* then rules that ask get no answer, and refuse in time */

	(void)pinfold_policy_stay(a->stop, &ignored);
	return NULL;
}

int attendant_new(struct attendant **ret, struct err *e)
{
	struct attendant *a = calloc(1, sizeof(*a));
	sigset_t all, before;

	if (!a)
		return err_sys(e, "thread");
	a->stop = eventfd(0, EFD_CLOEXEC);
	pinfold_policy_attend();
	/* Signals are for the thread that expects them. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int bad = a->stop < 0 ? EMFILE : pthread_create(&a->thread, NULL, work, a);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (bad) {
		errno = bad;
		(void)err_sys(e, "thread");
		fd_close(&a->stop);
		free(a);
		return -EAGAIN;
	}
	*ret = a;
	return 0;
}

void attendant_free(struct attendant *a)
{
	uint64_t one = 1;

	if (!a)
		return;
	(void)!write(a->stop, &one, sizeof(one)); /* cannot be full */
	(void)pthread_join(a->thread, NULL);
	fd_close(&a->stop);
	free(a);
}
