/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/pinfold.h>

#include "measure/timed.h"

/* In a sandbox that lives, or with no id in one of its own. *ret_first is 0 when it printed
 * nothing. */
static bool run_once(struct contender *c, const char *id, const struct pinfold_run_options *o,
		     uint64_t *ret_first, uint64_t *ret_end)
{
	struct pinfold_run *run = NULL;
	struct pinfold_event ev = {0};
	struct pinfold_error error;

	uint64_t begin = now_ns(), first = begin;
	int r = id ? pinfold_sandbox_exec(id, o, &run, &error) : pinfold_run_start(o, &run, &error);
	if (r < 0)
		return contender_failed(c, "%.250s", error.message);
	while (pinfold_run_next(run, -1, &ev) > 0 && ev.kind != PINFOLD_EVENT_RESULT)
		if (ev.kind == PINFOLD_EVENT_STDOUT && first == begin)
			first = now_ns();
	int status = pinfold_run_exit_status(run);
	pinfold_run_free(run);
	*ret_end = now_ns() - begin;
	*ret_first = first - begin;
	return status == 0 || contender_failed(c, "exit status %d", status);
}

bool timed_run(struct contender *c, const struct pinfold_run_options *o, uint64_t *ret_ns)
{
	uint64_t first = 0;

	return run_once(c, NULL, o, &first, ret_ns);
}

bool timed_exec(struct contender *c, const char *id, const struct pinfold_run_options *o,
		uint64_t *ret_ns)
{
	uint64_t first = 0;

	return run_once(c, id, o, &first, ret_ns);
}

bool timed_run_byte(struct contender *c, const struct pinfold_run_options *o, uint64_t *ret_ns)
{
	uint64_t end = 0;

	return run_once(c, NULL, o, ret_ns, &end) && (*ret_ns || contender_failed(c, "no output"));
}
