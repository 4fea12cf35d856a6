/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/boxes.h"
#include "api/words.h"
#include "pinfold/pinfold.h"

int api_error(struct err *e, const struct pinfold_error *from)
{
	enum err_kind kind = ERR_INTERNAL;
	const char *dot = strchr(from->code, '.');
	size_t n = dot ? (size_t)(dot - from->code) : strlen(from->code);

	for (enum err_kind k = ERR_INTERNAL; k < ERR_KINDS; k++)
		if (strlen(err_code(k)) == n && strncmp(err_code(k), from->code, n) == 0)
			kind = k;
	if (dot && strcmp(dot, ".daemon") == 0) {
		/* It ends, or begins again. Where it is, is no caller's business. */
		e->retry_ms = 1000;
		(void)err_set(e, ERR_BUSY, "the daemon does not answer");
		return err_remedy(e, "try again in a second");
	}
	int r = err_set(e, kind, "%s", from->message);
	if (dot)
		(void)snprintf(e->detail, sizeof(e->detail), "%s", dot + 1);
	(void)snprintf(e->remedy, sizeof(e->remedy), "%s", from->remedy);
	words_of_fields(e->text);
	words_of_fields(e->remedy);
	e->retry_ms = from->retry_after_ms;
	return r;
}
