/* SPDX-License-Identifier: Apache-2.0 */
#include <pinfold/ledger.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/value.h"
#include "cmd/escape.h"
#include "cmd/help.h"
#include "cmd/request.h"
#include "cmd/say.h"
#include "cmd/show.h"
#include "cmd/story.h"
#include "cmd/verb.h"

static const char *const paragraphs[] = {
	"Prints what the ledger has: one line for every operation that ended or was refused, the "
	"oldest first. With --run, the events of one run as a story. With --json, the events "
	"themselves, one line each, as they were written and signed.",
	"Values of variables, standard input, contents of files and output are not in the ledger: "
	"names, sizes and hashes are. Arguments are, but for what looks like a secret.",
	NULL,
};

const struct verb_doc audit_doc = {
	.usage = {"[options]"},
	.paragraphs = paragraphs,
	.examples =
		{
			{"The last hour:", "pinfold audit --since 1h"},
			{"What a run did:", "pinfold audit --run run23obm6odpiuefilepsinpumc3g"},
			{"What was refused, as it happens:",
			 "pinfold audit --follow --json | grep '\"phase\":\"refused\"'"},
		},
};

struct shown {
	const struct request *r;
	bool titled;
	int failed;
};

/* A duration before now, or an instant. */
static const char *instant(const char *text, char to[40])
{
	struct err none = ERR_INIT;
	uint64_t ago = 0;
	struct tm tm;

	if (!text || strchr(text, 'T') || parse_duration(text, &ago, &none) < 0)
		return text;
	uint64_t ms = show_now_ms();
	ms -= ago < ms ? ago : ms;
	time_t s = (time_t)(ms / 1000);
	if (!gmtime_r(&s, &tm))
		return text;
	size_t n = strftime(to, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to + n, 40 - n, ".%03uZ", (unsigned)(ms % 1000));
	return to;
}

static int show(const char *line, size_t len, const char *chain, void *arg)
{
	struct shown *s = arg;
	struct err none = ERR_INIT;
	auto_value *v = NULL;

	(void)chain;
	if (!line)
		return fflush(stdout) != 0;
	if (s->r->json) {
		(void)fwrite(line, 1, len, stdout);
		return putchar('\n') == EOF;
	}
	if (value_parse(line, len, &v, &none) < 0)
		return 0;
	if (s->r->audit.run) {
		story_tell(v);
		return 0;
	}
	if (!s->titled)
		printf("%-24s  %-18s  %-10s  %-9s  %s\n", "TIME", "KIND", "WHO", "STATUS", "WHAT");
	s->titled = true;
	story_row(v);
	return 0;
}

int cmd_audit(const struct verb *v, int argc, char **argv)
{
	auto_request struct request r = REQUEST_INIT;
	struct pinfold_error error;
	struct err e = ERR_INIT;
	char since[40], until[40];
	int used = 0, status = 0;

	if (!request_begin(&r, v, argc, argv, &used, &status))
		return status;
	if (request_end(argc - used, argv + used, &e) < 0)
		return say_failure(&e, false);
	value_init();
	struct shown s = {.r = &r};
	struct pinfold_audit_options o = r.audit;
	o.size = sizeof(o);
	o.tenant = r.tenant;
	o.since = instant(o.since, since);
	o.until = instant(o.until, until);
	o.flags =
		(r.follow ? PINFOLD_AUDIT_FOLLOW : 0) | (r.all || o.run ? PINFOLD_AUDIT_BEGINS : 0);
	if (pinfold_audit(&o, show, &s, &error) < 0)
		return say_library_failure(&error, false);
	return help_flush();
}
