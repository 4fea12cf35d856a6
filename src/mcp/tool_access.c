/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox may have beside what every one has, by the word of an agent: hosts of the network,
 * a port. The operator's ceiling decides first, and no argument goes beyond it; where there is none
 * a person is asked. Each sandbox of ours has a way out that leads nowhere, so that a host can be
 * allowed while it lives.
 */
#include <pinfold/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "mcp/ask.h"
#include "mcp/mcp_int.h"
#include "mcp/tools.h"

#define DOMAINS_MAX 64u
#define ITEM_SIZE 300

/* Who wrote a URL means its host. */
static void item_of(const char *given, char ret[ITEM_SIZE])
{
	const char *at = strstr(given, "://");

	at = at ? at + 3 : given;
	(void)snprintf(ret, ITEM_SIZE, "%.*s", (int)strcspn(at, "/?#"), at);
}

static int no_host(const char *argument, const char *given, const struct pinfold_error *why,
		   struct err *e)
{
	const char *words = strstr(why->message, "\": ");

	(void)api_error(e, why);
	if (strcmp(why->code, "invalid_argument") != 0)
		return -EIO;
	(void)err_set(e, ERR_INVALID, "%s: \"%.80s\" %s%s", argument, given,
		      words ? "cannot be used: " : "is no host", words ? words + 3 : "");
	(void)err_detail(e, argument);
	return err_remedy(e, "give HOST or HOST:PORT, such as example.org or example.org:8443");
}

static int beyond(const char *item, struct err *e)
{
	(void)err_set(e, ERR_DENIED, "the operator of this machine does not allow %.200s", item);
	(void)err_detail(e, "network");
	return err_remedy(e, "Do not retry. Only the operator can change the ceiling of what "
			     "sandboxes reach; continue without it, or tell the user");
}

/* Has a person to be asked for it? 1: yes. */
static int look_up(const char *argument, const char *given, const char *item, struct err *e)
{
	enum pinfold_ceiling says = PINFOLD_CEILING_NONE;
	struct pinfold_error failure;

	if (pinfold_policy_ceiling(item, &says, &failure) < 0)
		return no_host(argument, given, &failure, e);
	if (says == PINFOLD_CEILING_DENIES)
		return beyond(item, e);
	return says == PINFOLD_CEILING_NONE;
}

/* For whom and why is in `wish`. */
static int ask(struct call *c, struct wish wish, const char *hosts, struct err *e)
{
	auto_text what = TEXT_INIT;

	text_fmt(&what, "network access to %s", hosts);
	wish.kind = "network";
	wish.what = what.data;
	wish.lasts = true;
	return what.short_of ? err_set(e, ERR_INTERNAL, "no memory") : approve(c, &wish, e);
}

/* A person is not asked for what cannot be made. */
static bool is_taken(struct call *c, const char *sandbox)
{
	struct err missing = ERR_INIT;
	struct box *b = box_find(c->api, &c->who, sandbox, &missing);

	box_put(c->api, b);
	return b;
}

static int take_domains(struct call *c, const char *sandbox, const struct value *given,
			const char **list, char (*items)[ITEM_SIZE], struct err *e)
{
	auto_text hosts = TEXT_INIT;
	int r = 0;

	for (size_t i = 0; i < value_len(given) && r >= 0; i++) {
		const char *one = value_str(value_at(given, i));

		item_of(one, items[i]);
		list[i] = items[i];
		r = look_up("allow_domains", one, items[i], e);
		if (r > 0)
			text_fmt(&hosts, "%s%s", hosts.len ? ", " : "", items[i]);
	}
	if (r < 0 || !hosts.len || is_taken(c, sandbox))
		return r < 0 ? r : 0;
	return ask(c, (struct wish){.sandbox = sandbox}, hosts.data, e);
}

static int allowlist(struct call *c, const char *sandbox, const char ***ret_list, struct err *e)
{
	const struct value *given = arg(c, "allow_domains");
	size_t n = value_len(given);

	if (n == 0 || n > DOMAINS_MAX) {
		(void)err_set(
			e, ERR_INVALID,
			n ? "allow_domains: more than %u"
			  : "allow_domains is missing: network=\"allowlist\" reaches what it names",
			DOMAINS_MAX);
		return err_detail(e, "allow_domains");
	}
	/* One block: the list, and what it points to. */
	const char **list = calloc(1, (n + 1) * sizeof(*list) + n * ITEM_SIZE);
	if (!list)
		return err_sys(e, "allow_domains");
	*ret_list = list;
	return take_domains(c, sandbox, given, list, (char(*)[ITEM_SIZE])(void *)(list + n + 1), e);
}

const char *access_policy(const struct call *c)
{
	const char *policy = tool_mcp(c)->options.policy;

	return policy ? policy : ACCESS_NONE;
}

int access_of_new(struct call *c, const char *sandbox, struct pinfold_run_options *o,
		  const char ***ret_list, struct err *e)
{
	const char *network = arg_str(c, "network");
	bool names = arg(c, "allow_domains");
	int r = 0;

	network = network ? network : names ? "allowlist" : "none";
	if (names && strcmp(network, "allowlist") != 0) {
		(void)err_set(e, ERR_INVALID,
			      "allow_domains goes with network=\"allowlist\", not "
			      "with \"%s\"",
			      network);
		return err_detail(e, "allow_domains");
	}
	if (!strcmp(network, "allowlist"))
		r = allowlist(c, sandbox, ret_list, e);
	else if (!strcmp(network, "open"))
		o->flags |= PINFOLD_OPEN_POLICY;
	if (tool_mcp(c)->options.policy || !strcmp(network, "none"))
		o->policy = access_policy(c);
	o->allow = *ret_list;
	return r;
}

/* Rules of its own that allow something, as the engine writes them: "allow example.org:443 tls". */
static struct value *rules_of(const struct box *b)
{
	auto_free char *text = NULL;
	auto_value *doc = NULL;
	struct value *all = value_array();
	struct pinfold_error none; /* it has no way out, or not by us */
	struct err ignored = ERR_INIT;

	if (!pinfold_policy_holds(b->id) || pinfold_policy_show(b->id, &text, &none) < 0 ||
	    value_parse(text, strlen(text), &doc, &ignored) < 0)
		return all;
	const struct value *rules = value_get(doc, "rules");
	for (size_t i = 0; i < value_len(rules); i++) {
		const char *words = value_str(value_get(value_at(rules, i), "text"));

		if (words && strncmp(words, "allow ", 6) == 0 &&
		    !value_true(value_get(value_at(rules, i), "ceiling")))
			value_add(all, value_of_str(words + 6));
	}
	return all;
}

static const char *word_of(const struct box *b, const struct value *rules)
{
	return b->is_open ? "open" : value_len(rules) ? "allowlist" : "none";
}

const char *access_word(const struct box *b)
{
	auto_value *rules = rules_of(b);

	return word_of(b, rules);
}

void access_describe(const struct box *b, struct value *to)
{
	struct value *rules = rules_of(b);

	value_set(to, "network", value_of_str(word_of(b, rules)));
	value_set(to, "allowed", rules);
}

static bool has_item(const struct box *b, const char *item)
{
	auto_value *rules = rules_of(b);
	char want[ITEM_SIZE + 16];

	(void)snprintf(want, sizeof(want), strchr(item, ':') ? "%s " : "%s:80,443 ", item);
	for (size_t i = 0; i < value_len(rules); i++)
		if (strncmp(value_str(value_at(rules, i)), want, strlen(want)) == 0)
			return true;
	return false;
}

static int give(const struct box *b, const char *item, char **ret_note, struct err *e)
{
	const char *const list[] = {item, NULL};
	const struct pinfold_policy p = {.size = sizeof(p), .allow = list, .adds = 1};
	struct pinfold_error failure;
	unsigned closed = 0;

	if (pinfold_policy_holds(b->id))
		return pinfold_policy_set(b->id, &p, &closed, ret_note, &failure) < 0
			       ? api_error(e, &failure)
			       : 0;
	(void)err_set(e, ERR_CONFLICT, "sandbox %s was made by another process, and has no way out",
		      box_label(b));
	(void)err_detail(e, "network");
	return err_remedy(e,
			  "Make another with %s network=\"allowlist\" allow_domains=[\"%.100s\"]",
			  tool_name(tool_create), item);
}

static int network(struct call *c, struct box *b, struct err *e)
{
	const char *given = arg_str(c, "target");
	auto_free char *note = NULL;
	auto_text t = TEXT_INIT;
	const struct wish wish = {
		.sandbox = box_label(b), .id = b->id, .why = arg_str(c, "reason")};
	char item[ITEM_SIZE];

	item_of(given, item);
	int r = look_up("target", given, item, e);
	if (r > 0)
		r = has_item(b, item) ? 0 : ask(c, wish, item, e);
	if (r == 0)
		r = give(b, item, &note, e);
	if (r != 0)
		return r < 0 ? r : 0; /* asked; the call comes again */
	text_fmt(&t, "granted: network access to %s for sandbox %s, as long as it lives", item,
		 box_label(b));
	if (note)
		text_fmt(&t, "\n%s", note);
	return tool_reply(c, &t, e);
}

/* A server inside is reached by who may run commands there anyway: nobody has to be asked. */
static int port(struct call *c, struct box *b, struct err *e)
{
	const char *given = arg_str(c, "target");
	auto_text t = TEXT_INIT;
	struct err bad = ERR_INIT;
	uint64_t n = 0;

	if (!c->api->server) {
		(void)err_set(e, ERR_DENIED,
			      "this server has no address of its own, at which port %.20s could be "
			      "reached",
			      given);
		(void)err_detail(e, "port");
		return err_remedy(e,
				  "Use it from inside (curl http://localhost:…). Only the user can "
				  "change that: with `pinfold serve --listen`, and its /mcp");
	}
	if (parse_count(given, &n, &bad) < 0 || n > 65535) {
		(void)err_set(e, ERR_INVALID, "target: \"%.20s\" is no port", given);
		return err_detail(e, "target");
	}
	int r = box_port_open(b, (unsigned)n, e);
	if (r < 0)
		return r;
	auto_value *where = port_describe(b, (unsigned)n);
	text_fmt(&t, "granted: port %u of sandbox %s is at %s of this server, with the same token",
		 (unsigned)n, box_label(b), value_str(value_get(where, "url")));
	return tool_reply(c, &t, e);
}

static int mount_refused(struct err *e)
{
	(void)err_set(e, ERR_DENIED,
		      "directories of the user's computer are not shown in a sandbox");
	(void)err_detail(e, "mount");
	return err_remedy(e,
			  "Copy single files with %s; which directory is open for that is the "
			  "user's choice (`pinfold mcp --transfer-dir DIR`)",
			  tool_name(tool_transfer));
}

static int limit_refused(struct err *e)
{
	(void)err_set(e, ERR_DENIED, "limits of a sandbox are chosen when it is made");
	(void)err_detail(e, "limit");
	return err_remedy(e,
			  "Make another with %s cpus=… memory_mb=… (up to 4096), and with "
			  "from_snapshot to keep its files; more than that only the user can give",
			  tool_name(tool_create));
}

int tool_request_access(struct call *c, struct err *e)
{
	const char *kind = arg_str(c, "kind");

	if (!strcmp(kind, "mount"))
		return mount_refused(e);
	if (!strcmp(kind, "limit"))
		return limit_refused(e);
	struct box *b = tool_box(c, e);
	if (!b)
		return -ENOENT;
	int r = !strcmp(kind, "port") ? port(c, b, e) : network(c, b, e);
	box_put(c->api, b);
	return r;
}
