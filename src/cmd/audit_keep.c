/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold audit key, rotate, prune and proof: who signs the ledger, how long it is kept, and what
 * is given away. */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/audit.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"

enum what { KEY, ROTATE, PRUNE };

struct shown {
	enum what what;
	bool json, any;
	struct json j;
};

static void put_chain(struct shown *s, const struct pinfold_chain_info *c)
{
	json_open(&s->j, NULL, '{');
	json_str(&s->j, "chain", c->chain[0] ? c->chain : NULL);
	json_str(&s->j, "directory", c->name);
	if (s->what == PRUNE) {
		json_u64(&s->j, "events", c->events);
		json_u64(&s->j, "files", c->files);
		json_u64(&s->j, "bytes", c->bytes);
		json_u64(&s->j, "gone", c->gone);
	} else {
		json_str(&s->j, "pem", c->pem);
		json_str(&s->j, "verifier", c->verifier);
	}
	json_close(&s->j, '}');
}

static void show_chain(const struct pinfold_chain_info *c, void *arg)
{
	struct shown *s = arg;
	char size[24];

	if (s->json && !s->any)
		show_list_begin(&s->j);
	if (s->json)
		put_chain(s, c);
	else if (s->what == PRUNE && c->events)
		printf("%s: %llu events in %llu files are gone, %s\n", c->name,
		       (unsigned long long)c->events, (unsigned long long)c->files,
		       show_size(c->bytes, size, sizeof(size)));
	else if (s->what == PRUNE)
		printf("%s: no file is that old\n", c->name);
	else if (c->pem[0])
		printf("%s\n", c->pem);
	s->any = true;
}

static int finish(struct shown *s, int r, const struct pinfold_error *error)
{
	if (r < 0)
		return say_library_failure(error, s->json && !s->any);
	if (s->json && !s->any)
		show_list_begin(&s->j);
	if (s->json)
		return show_list_end(&s->j) < 0 ? EXIT_PINFOLD : 0;
	if (!s->any)
		printf("there is no ledger yet\n");
	return help_flush();
}

int audit_key(const struct request *r)
{
	struct shown s = {.what = KEY, .json = r->json};
	struct pinfold_error error;

	return finish(&s, pinfold_ledger_keys(show_chain, &s, &error), &error);
}

int audit_rotate(const struct request *r)
{
	struct shown s = {.what = ROTATE, .json = r->json};
	struct pinfold_error error;

	return finish(&s, pinfold_ledger_rotate(show_chain, &s, &error), &error);
}

int audit_prune(const struct request *r)
{
	struct shown s = {.what = PRUNE, .json = r->json};
	struct pinfold_error error;
	struct err e = ERR_INIT;
	char before[AUDIT_INSTANT_SIZE];

	if (!r->before) {
		(void)err_set(&e, ERR_INVALID, "--before: is missing");
		(void)err_remedy(&e, "pinfold audit prune --before 90d removes what is older");
		return say_failure(&e, r->json);
	}
	return finish(
		&s, pinfold_ledger_prune(audit_instant(r->before, before), show_chain, &s, &error),
		&error);
}

int audit_proof(const struct request *r, const char *event)
{
	struct pinfold_error error;

	if (pinfold_proof_write(event, STDOUT_FILENO, &error) < 0)
		return say_library_failure(&error, r->json);
	return 0;
}
