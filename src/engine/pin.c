/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deterministic runs: what is the same every time. The engine decides what the clock shows at first
 * and sets variables; the plan does the rest (sandbox/pinned_image.c, PLAN_PIN), and inside
 * src/pinned/.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/run_int.h"
#include "wire/ask.h"

#define PIN_START_S INT64_C(1767225600) /* 2026-01-01T00:00:00Z */

int pin_refuse(const struct pinfold_run_options *o, const char *what, struct err *e)
{
	if (!(o->flags & PINFOLD_DETERMINISTIC))
		return 0;
	(void)err_set(e, ERR_UNSUPPORTED, "--deterministic: not with %s", what);
	return err_remedy(e, "use pinfold run, or pinfold exec in a workspace");
}

/* The kernel stamps files by a clock that stands still for some milliseconds. Once it has gone on,
 * whatever was there before is older than whatever the run will make. */
static uint64_t next_tick_ns(void)
{
	const struct timespec little = {.tv_nsec = 200000};
	struct timespec first, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &first); /* cannot fail for this clock */
	do {
		(void)nanosleep(&little, NULL); /* woken early it looks once more */
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (now.tv_sec == first.tv_sec && now.tv_nsec == first.tv_nsec);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int request_pin(struct request *r, const struct pinfold_run_options *o, struct err *e)
{
	struct sandbox_pinned *p = &r->spec.pinned;

	if (!(o->flags & PINFOLD_DETERMINISTIC))
		return 0;
	if (r->spec.level != LEVEL_STRICT) {
		(void)err_set(e, ERR_UNSUPPORTED, "--deterministic needs --isolation strict");
		return err_remedy(e, "level landlock has no view of its own to pin things in");
	}
	if (o->clock_start_s < 0 || o->clock_start_s > ASK_START_MAX_S)
		return err_set(e, ERR_INVALID, "clock_start_s: not between 1970 and 2100");
	p->on = true;
	p->made_ns = next_tick_ns();
	/* Certificates that servers have today are not valid yet on a fixed day. */
	p->start_s = o->clock_start_s	      ? o->clock_start_s
		     : r->spec.egress.n_ports ? (int64_t)(p->made_ns / 1000000000u)
					      : PIN_START_S;
	return 0;
}

int pin_environment(const struct request *r, char *ret[PIN_VARIABLES], struct err *e)
{
	/* ia32cap: without the processor's cycle counter, which OpenSSL mixes into its random
	 * numbers. */
	static const char *const fixed[] = {
		"TZ=UTC",
		"PYTHONHASHSEED=0",
		"PERL_HASH_SEED=0",
		"PERL_PERTURB_KEYS=0",
		"ASAN_OPTIONS=verify_asan_link_order=0", /* what is preloaded comes before it */
#ifdef __x86_64__
		"OPENSSL_ia32cap=~0x10",
#endif
	};
	const size_t n = sizeof(fixed) / sizeof(fixed[0]);

	ret[0] = NULL;
	if (!r->spec.pinned.on)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ret[i] = strdup(fixed[i]);
		ret[i + 1] = NULL;
		if (!ret[i])
			return err_set(e, ERR_INTERNAL, "out of memory");
	}
	if (asprintf(&ret[n], "SOURCE_DATE_EPOCH=%lld", (long long)r->spec.pinned.start_s) < 0) {
		ret[n] = NULL;
		return err_set(e, ERR_INTERNAL, "out of memory");
	}
	ret[n + 1] = NULL;
	return 0;
}
