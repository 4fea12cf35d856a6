/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/boxes.h"
#include "api/words.h"
#include "pinfold/pinfold.h"

int api_error(struct err *e, const struct pinfold_error *from)
{
	const char *dot = strchr(from->code, '.');

	if (dot && strcmp(dot, ".daemon") == 0) {
		/* It ends, or begins again. Where it is, is no caller's business. */
		e->retry_ms = 1000;
		(void)err_set(e, ERR_BUSY, "the daemon does not answer");
		return err_remedy(e, "try again in a second");
	}
	int r = err_set(e, err_kind_of(from->code), "%s", from->message);
	if (dot)
		(void)snprintf(e->detail, sizeof(e->detail), "%s", dot + 1);
	(void)snprintf(e->remedy, sizeof(e->remedy), "%s", from->remedy);
	words_of_fields(e->text);
	words_of_fields(e->remedy);
	e->retry_ms = from->retry_after_ms;
	return r;
}

void api_public(const struct err *e, struct pinfold_error *ret)
{
	(void)snprintf(ret->code, sizeof(ret->code), e->detail[0] ? "%s.%s" : "%s",
		       err_code(e->kind), e->detail);
	(void)snprintf(ret->message, sizeof(ret->message), "%s", e->text);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", e->remedy);
	ret->retry_after_ms = e->retry_ms;
}
