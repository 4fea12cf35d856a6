/* SPDX-License-Identifier: Apache-2.0 */
/* pinfold audit sink: copies of the ledger elsewhere. */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>

#include "cmd/audit.h"
#include "cmd/help.h"
#include "cmd/say.h"
#include "cmd/show.h"

struct shown {
	bool json, any;
	struct json j;
};

static void put_sink(struct json *j, const struct pinfold_sink_info *s)
{
	json_open(j, NULL, '{');
	json_str(j, "id", s->id);
	json_str(j, "target", s->target);
	json_str(j, "directory", s->name);
	json_str(j, "chain", s->chain[0] ? s->chain : NULL);
	json_u64(j, "shipped", s->shipped);
	json_u64(j, "behind", s->behind);
	show_time(j, "failed", s->failed_ms);
	json_str(j, "error", s->failed_ms ? s->error : NULL);
	json_close(j, '}');
}

static void show_sink(const struct pinfold_sink_info *s, void *arg)
{
	struct shown *to = arg;

	if (to->json) {
		put_sink(&to->j, s);
		return;
	}
	if (!to->any)
		printf("%-29s  %-10s  %-10s  %-16s  %s\n", "ID", "EVENTS", "BEHIND", "CHAIN",
		       "TARGET");
	to->any = true;
	printf("%-29s  %-10llu  %-10llu  %-16s  ", s->id, (unsigned long long)s->shipped,
	       (unsigned long long)s->behind, s->name);
	show_text(s->target);
	if (s->failed_ms) {
		printf("%-29s  it failed: ", "");
		show_text(s->error);
	}
}

static int list(bool json)
{
	struct shown s = {.json = json};
	struct pinfold_error error;

	if (json)
		show_list_begin(&s.j);
	if (pinfold_sink_list(show_sink, &s, &error) < 0)
		return say_library_failure(&error, false);
	if (json)
		return show_list_end(&s.j) < 0 ? EXIT_PINFOLD : 0;
	if (!s.any)
		printf("there is no copy\n");
	return help_flush();
}

static int add(const char *target, bool json)
{
	struct pinfold_error error;
	char id[PINFOLD_ID_SIZE];

	if (pinfold_sink_add(target, id, &error) < 0)
		return say_library_failure(&error, json);
	printf("%s\n", id);
	return help_flush();
}

int audit_sink(const struct request *r, int argc, char **argv)
{
	struct pinfold_error error;
	struct err e = ERR_INIT;

	if (argc == 2 && strcmp(argv[0], "add") == 0)
		return add(argv[1], r->json);
	if (argc == 1 && strcmp(argv[0], "ls") == 0)
		return list(r->json);
	if (argc == 2 && strcmp(argv[0], "rm") == 0)
		return pinfold_sink_remove(argv[1], &error) < 0
			       ? say_library_failure(&error, r->json)
			       : 0;
	if (argc == 1 && strcmp(argv[0], "ship") == 0)
		return pinfold_ledger_ship(PINFOLD_SHIP_NOW, &error) < 0
			       ? say_library_failure(&error, r->json)
			       : 0;
	(void)err_set(&e, ERR_INVALID, "audit sink: what is to be done is not clear");
	(void)err_remedy(&e, "use pinfold audit sink add TARGET, ls, rm ID or ship");
	return say_failure(&e, r->json);
}
