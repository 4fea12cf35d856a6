/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold audit checkpoint, witness and cosign: what goes to a witness, what he says, what is kept
 * of it. */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "cmd/audit.h"
#include "cmd/help.h"
#include "cmd/say.h"

int audit_checkpoint(const struct request *r)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	auto_free char *text = NULL;
	uint64_t old = UINT64_MAX;

	/* 0: he knows nothing yet. */
	if (r->old && strcmp(r->old, "0") == 0)
		old = 0;
	else if (r->old && parse_count(r->old, &old, &e) < 0)
		return say_failure((err_wrap(&e, "--old"), &e), r->json);
	if (pinfold_witness_request(old, &text, &error) < 0)
		return say_library_failure(&error, r->json);
	(void)fputs(text, stdout);
	return help_flush();
}

int audit_witness(const struct request *r, const char *dir)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	auto_free char *text = NULL, *request = NULL, *key = NULL;
	size_t len = 0;

	if (r->witness_name) {
		if (pinfold_witness_make(dir, r->witness_name, &text, &error) < 0)
			return say_library_failure(&error, r->json);
		printf("%s\n", text);
		return help_flush();
	}
	if ((r->key && !(key = audit_slurp(r->key, &len, &e))) ||
	    !(request = audit_slurp(NULL, &len, &e)))
		return say_failure(&e, r->json);
	if (pinfold_witness_answer(dir, request, key, &text, &error) < 0)
		return say_library_failure(&error, r->json);
	(void)fputs(text, stdout);
	return help_flush();
}

int audit_cosign(const struct request *r)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;
	size_t len = 0;
	auto_free char *line = audit_slurp(NULL, &len, &e);

	if (!line)
		return say_failure(&e, r->json);
	return pinfold_witness_keep(line, &error) < 0 ? say_library_failure(&error, r->json) : 0;
}
