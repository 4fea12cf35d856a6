/* SPDX-License-Identifier: Apache-2.0 */
#include "api/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/fd.h"

static int take_words(const struct value *words, const char *const *before, const char ***ret,
		      struct err *e)
{
	size_t n = 0, k = 0;

	while (before && before[n])
		n++;
	const char **list = calloc(n + value_len(words) + 1, sizeof(*list));
	if (!list)
		return err_sys(e, "arguments");
	for (k = 0; k < n; k++)
		list[k] = before[k];
	for (size_t i = 0; i < value_len(words); i++)
		list[k++] = value_str(value_at(words, i));
	*ret = list;
	return 0;
}

/* A line is for the shell, as agents write them; words are a program and its arguments. */
static int take_command(struct wanted *w, const struct call *c, struct err *e)
{
	const struct value *command = arg(c, "command"), *args = arg(c, "args");
	const char *const shell[] = {"bash", "-c", value_str(command), args ? "bash" : NULL, NULL};
	auto_free const char **words = NULL;

	w->o.lang = arg_str(c, "lang");
	w->o.code = arg_str(c, "code");
	w->o.code_len = value_len(arg(c, "code"));
	if (w->o.lang && command)
		return err_set(e, ERR_INVALID, "command: either a command or a lang and its code");
	if (w->o.lang && !w->o.code)
		return err_set(e, ERR_INVALID, "code is missing: lang runs a program text");
	if (w->o.code && !w->o.lang)
		return err_set(e, ERR_INVALID, "lang is missing: which language is the code?");
	if (w->o.lang)
		return take_words(args, NULL, &w->argv, e);
	if (!command)
		return 0;
	if (value_str(command))
		return take_words(args, shell, &w->argv, e);
	if (take_words(command, NULL, &words, e) < 0)
		return -ENOMEM;
	return take_words(args, words, &w->argv, e);
}

static int take_env(struct wanted *w, const struct value *env, struct err *e)
{
	size_t n = 0;

	w->env = calloc(value_len(env) + 2, sizeof(*w->env)); /* and an image's PATH */
	if (!w->env)
		return err_sys(e, "environment");
	for (const char *key = NULL; (key = value_next_key(env, key));) {
		const char *value = value_str(value_get(env, key));
		char *pair = NULL;

		if (asprintf(&pair, "%s=%s", key, value) < 0)
			return err_sys(e, "environment");
		w->env[n++] = pair;
	}
	return 0;
}

static uint64_t amount(const struct call *c, const char *name)
{
	return (uint64_t)arg_int(c, name, 0);
}

static void take_limits(struct pinfold_run_options *o, const struct call *c)
{
	o->time_ms = amount(c, "time");
	o->grace_ms = amount(c, "grace");
	o->cpu_time_ms = amount(c, "cpu_time");
	o->cpus_milli = amount(c, "cpus");
	o->memory_bytes = amount(c, "memory");
	o->pids = amount(c, "pids");
	o->disk_bytes = amount(c, "disk");
	o->nofile = amount(c, "nofile");
	o->output_bytes = amount(c, "output");
	o->egress_bytes = amount(c, "egress_bytes");
	o->egress_connections = amount(c, "egress_connections");
	o->egress_requests = amount(c, "egress_requests");
}

static void name_command(struct wanted *w)
{
	size_t n = 0;

	if (w->o.lang)
		(void)snprintf(w->command, sizeof(w->command), "%s (%zu bytes)", w->o.lang,
			       w->o.code_len);
	for (unsigned i = 0; !w->o.lang && w->argv && w->argv[i] && n < sizeof(w->command); i++)
		n += (size_t)snprintf(w->command + n, sizeof(w->command) - n, "%s%s", i ? " " : "",
				      w->argv[i]);
}

int wanted_take(struct wanted *w, const struct call *c, bool needs_command, struct err *e)
{
	*w = (struct wanted){.o = PINFOLD_RUN_OPTIONS_INIT};
	if (take_command(w, c, e) < 0 || take_env(w, arg(c, "env"), e) < 0)
		return -EINVAL;
	if (needs_command && !w->argv && !w->o.lang) {
		(void)err_set(e, ERR_INVALID, "command is missing");
		return err_remedy(e, "give a command, or lang and code");
	}
	if (take_words(arg(c, "allow"), NULL, &w->allow, e) < 0 ||
	    take_words(arg(c, "packages"), NULL, &w->packages, e) < 0 ||
	    take_words(arg(c, "apt"), NULL, &w->apt, e) < 0)
		return -EINVAL;
	take_limits(&w->o, c);
	w->o.argv = w->argv;
	w->o.env = w->env;
	w->o.workdir = arg_str(c, "workdir");
	w->o.user = arg_str(c, "user");
	w->o.image = arg_str(c, "image");
	w->o.isolation = arg_str(c, "isolation");
	w->o.limits = arg_str(c, "limits");
	w->o.on_alert = arg_str(c, "on_alert");
	w->o.reason = arg_str(c, "reason");
	w->o.policy = arg_str(c, "policy");
	w->o.allow = w->allow;
	w->o.deps = arg_str(c, "deps");
	w->o.packages = w->packages;
	w->o.apt = w->apt;
	w->o.flags = c->api->run_flags | PINFOLD_CAPTURE |
		     (value_str(arg(c, "command")) && !arg(c, "args") ? PINFOLD_LINE : 0) |
		     (arg_true(c, "deterministic") ? PINFOLD_DETERMINISTIC : 0);
	w->o.cancel_fd = call_cancelled_fd(c);
	if (c->api->approvals >= 0)
		w->o.approvals = c->api->approvals;
	w->o.tenant = c->who.tenant;
	w->o.token = c->who.token;
	w->o.client = c->who.client;
	w->o.request = c->request_id;
	const struct value *input = arg(c, "stdin");
	w->input = (struct run_input){value_str(input), value_len(input)};
	if (!input)
		w->o.flags |= PINFOLD_NO_STDIN;
	name_command(w);
	return 0;
}

/* In root's daemon we could have any disk on the host's (warden/make.c): only for whom root is. */
int options_check_disk(const struct pinfold_run_options *o, const struct who *who, struct err *e)
{
	uint64_t memory = o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT;

	if (geteuid() != PINFOLD_API_ID || (!who->token[0] && !strcmp(who->tenant, "uid-0")) ||
	    o->disk_bytes <= memory / 2)
		return 0;
	(void)err_set(e, ERR_DENIED,
		      "disk: more than half of memory is for root on the Unix socket alone");
	return err_remedy(e, "raise memory, or use a workspace, which has a disk of its own");
}

void wanted_done(struct wanted *w)
{
	for (unsigned i = 0; w->env && w->env[i]; i++)
		free((void *)(uintptr_t)w->env[i]);
	if (w->o.egress_purse)
		(void)close(w->o.egress_purse); /* the gate has it */
	free(w->env);
	free(w->argv);
	free(w->allow);
	free(w->packages);
	free(w->apt);
}
