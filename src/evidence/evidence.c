/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/evidence.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "evidence/evidence_int.h"

/* The first that is there is taken: a report of the whole guest says more than a TPM that its host
 * may have made. */
static const struct evidence_kind *const kinds[] = {&evidence_tsm, &evidence_tpm};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

bool evidence_bad(struct evidence_claim *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(to->why, sizeof(to->why), fmt, ap);
	va_end(ap);
	return false;
}

size_t evidence_bytes(const struct value *text, void *to, size_t most)
{
	auto_free void *got = NULL;
	size_t n = 0;

	if (!value_str(text) || value_from_base64(value_str(text), value_len(text), &got, &n) < 0 ||
	    n > most)
		return 0;
	memcpy(to, got, n);
	return n;
}

static struct value *new_object(const char *kind)
{
	struct value *v = value_object();

	value_set(v, "kind", value_of_str(kind));
	return v;
}

static int take(const struct evidence_kind *k, const char *path, const uint8_t nonce[HASH_BYTES],
		struct value **ret, struct err *e)
{
	auto_value *v = new_object(k->name);
	int r = k->take(path, nonce, v, e);

	if (r < 0) {
		(void)err_wrap(e, "%s", path);
		return err_remedy(
			e, "is it there, and may you open it? PINFOLD_EVIDENCE=none asks for none");
	}
	*ret = take_ptr(&v);
	return 0;
}

static struct value *what_there_is(const uint8_t nonce[HASH_BYTES])
{
	struct err e = ERR_INIT;
	struct value *v = NULL;

	for (size_t i = 0; i < KINDS && !e.text[0]; i++)
		if (access(kinds[i]->path, F_OK) == 0 &&
		    take(kinds[i], kinds[i]->path, nonce, &v, &e) == 0)
			return v;
	v = new_object("none");
	if (e.text[0])
		value_set(v, "why", value_of_str(e.text));
	return v;
}

int evidence_take(const char *how, const uint8_t nonce[HASH_BYTES], struct value **ret,
		  struct err *e)
{
	size_t n = strcspn(how, ":");

	assert(ret);
	if (strcmp(how, "none") == 0 || strcmp(how, "auto") == 0) {
		*ret = how[0] == 'n' ? new_object("none") : what_there_is(nonce);
		return 0;
	}
	for (size_t i = 0; i < KINDS; i++)
		if (strlen(kinds[i]->name) == n && strncmp(how, kinds[i]->name, n) == 0)
			return take(kinds[i], how[n] && how[n + 1] ? how + n + 1 : kinds[i]->path,
				    nonce, ret, e);
	(void)err_set(e, ERR_INVALID, "PINFOLD_EVIDENCE: \"%.40s\" is no kind of evidence", how);
	return err_remedy(e, "auto, none, tpm2, tsm; or tpm2:/dev/tpmrm0");
}

bool evidence_check(const struct value *evidence, const uint8_t nonce[HASH_BYTES],
		    struct evidence_claim *ret)
{
	const char *kind = evidence ? value_str(value_get(evidence, "kind")) : "none";

	*ret = (struct evidence_claim){.has_signature = false};
	if (!kind || strlen(kind) >= sizeof(ret->kind))
		return evidence_bad(ret, "it has no kind");
	memcpy(ret->kind, kind, strlen(kind) + 1);
	if (strcmp(kind, "none") == 0)
		return true;
	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(kind, kinds[i]->name) == 0)
			return kinds[i]->check(evidence, nonce, ret);
	return evidence_bad(ret, "\"%s\" is not known", kind);
}
