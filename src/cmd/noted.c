/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/noted.h"

#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"

#define WORD_BYTES 256u

void noted_word(struct noted *n, const char *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!n->data) {
		value_init();
		n->data = value_object();
	}
	if (text)
		value_set(n->data, key, value_of_bytes(text, len < WORD_BYTES ? len : WORD_BYTES));
}

static int add(const struct noted *n, const char *phase, struct err *e)
{
	auto_free char *text = n->data ? value_text(n->data, NULL) : NULL;
	struct pinfold_error failure;
	struct pinfold_ledger_event ev = {.size = sizeof(ev),
					  .kind = n->kind,
					  .phase = phase,
					  .sandbox = n->sandbox,
					  .data = text};

	if (n->data && !text)
		return err_sys(e, "the ledger");
	if (pinfold_ledger_add(&ev, &failure) == 0)
		return 0;
	(void)err_set(e, ERR_INTERNAL, "%s", failure.message);
	(void)err_detail(e, "ledger");
	return err_remedy(e, "%s", failure.remedy);
}

int noted_begin(struct noted *n, struct err *e)
{
	int r = add(n, "begin", e);

	if (r < 0) {
		value_free(n->data);
		*n = (struct noted){.kind = NULL};
	}
	return r;
}

int noted_over(struct noted *n, int r, const char *code)
{
	struct err none = ERR_INIT;

	if (!n->kind)
		return r;
	noted_word(n, "status", r < 0 ? "failed" : "ok");
	if (r < 0) {
		/* The message may have what was typed; the code is enough. */
		struct value *error = value_object();

		value_set(error, "code", value_of_str(code));
		value_set(n->data, "error", error);
	}
	(void)add(n, "end", &none); /* it was done: that it began is on record */
	value_free(n->data);
	*n = (struct noted){.kind = NULL};
	return r;
}

int noted_end(struct noted *n, int r, const struct err *e)
{
	char code[80];

	(void)snprintf(code, sizeof(code), "%s%s%s", err_code(e->kind), e->detail[0] ? "." : "",
		       e->detail);
	return noted_over(n, r, code);
}
