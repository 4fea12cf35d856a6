/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts in words. A hint is read by a language model that was refused something: it says what is
 * allowed instead, or what a person would have to do, and never how to get around it.
 */
#include <stdio.h>
#include <string.h>

#include "egress/policy_int.h"

static const char *where(const struct egress_request *q, char *text, size_t size)
{
	bool ip6 = q->host->kind == NAME_IP6;

	if (q->port)
		(void)snprintf(text, size, ip6 ? "[%s]:%u" : "%s:%u", q->host->text, q->port);
	else
		(void)snprintf(text, size, "%s", q->host->text);
	return text;
}

static const char *rule_words(const struct policy *p, const struct rule *r)
{
	return policy_str(p, r->name ? r->name : r->text);
}

static void say_denied(const struct policy *p, const struct opinion *o, struct egress_verdict *ret)
{
	char line[24] = "";

	ret->why = "a rule denies it";
	if (o->rule->line)
		(void)snprintf(line, sizeof(line), " line %u", o->rule->line);
	(void)snprintf(
		ret->hint, sizeof(ret->hint),
		"the policy denies this on purpose (%.100s%s%.100s%s); do not look for another way",
		rule_words(p, o->rule), o->rule->source ? ", " : "", policy_str(p, o->rule->source),
		line);
}

static void say_near(const struct policy *p, const struct opinion *o,
		     const struct egress_request *q, enum egress_protocol protocol,
		     struct egress_verdict *ret)
{
	const char *rule = o->rule ? rule_words(p, o->rule) : "";
	const char *methods = o->rule ? policy_str(p, o->rule->methods) : "";

	switch (o->miss) {
	case MISS_METHOD:
		ret->why = "the method is not allowed";
		(void)snprintf(ret->hint, sizeof(ret->hint),
			       "rule \"%.100s\" allows %.100s here, not %.*s; ask the person to "
			       "change the policy if that is not enough",
			       rule, *methods ? methods : "all but TRACE and CONNECT",
			       (int)(q->method_len < 32 ? q->method_len : 32), q->method);
		return;
	case MISS_PATH:
		ret->why = o->why ? "the path has no safe reading" : "the path is not allowed";
		(void)snprintf(
			ret->hint, sizeof(ret->hint),
			o->why ? "rule \"%.120s\" looks at paths, and this one has %s; write it "
				 "plainly"
			       : "rule \"%.120s\" does not have this path%s; ask the person to "
				 "change the policy if it is needed",
			rule, o->why ? o->why : "");
		return;
	case MISS_PROTOCOL:
		ret->why = "the protocol is not the one that is allowed";
		(void)snprintf(
			ret->hint, sizeof(ret->hint),
			"on port %u of this host the policy allows %s and nothing else; use it, "
			"or ask the person to change the policy",
			q->port, egress_protocol_name(protocol));
		return;
	case MISS_HOST:
	case MISS_PORT:
	case MISS_MATCH: break;
	}
}

/* A question for the name of an address. */
static bool is_reverse(const struct name *n)
{
	static const char *const zones[] = {".in-addr.arpa", ".ip6.arpa"};

	for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
		size_t len = strlen(zones[i]);

		if (n->len > len && memcmp(n->text + n->len - len, zones[i], len) == 0)
			return true;
	}
	return false;
}

static void say_unknown(const struct opinion *o, const struct egress_request *q,
			struct egress_verdict *ret)
{
	char text[NAME_SIZE + 16];

	ret->why = o->miss == MISS_PORT ? "no rule names this port of it" : "no rule names it";
	if (q->stage == EGRESS_LOOKUP && is_reverse(q->host)) {
		(void)snprintf(ret->hint, sizeof(ret->hint),
			       "addresses have no names here; go on without, nothing needs it");
		return;
	}
	(void)snprintf(ret->hint, sizeof(ret->hint),
		       "ask the person to run again with --allow %s, if it is needed",
		       where(q, text, sizeof(text)));
}

static void say_ceiling(const struct egress_request *q, struct egress_verdict *ret)
{
	char text[NAME_SIZE + 16];

	if (ret->rule == -1)
		ret->why = "the operator's ceiling does not have it";
	bool is_request = q->stage == EGRESS_REQUEST && q->method;
	(void)snprintf(
		ret->hint, sizeof(ret->hint),
		"the operator of this machine does not allow %.*s%s%s; no option of a run can change that",
		is_request ? (int)(q->method_len < 32 ? q->method_len : 32) : 0,
		is_request ? q->method : "", is_request ? " at this path of " : "",
		where(q, text, sizeof(text)));
}

void hint_make(const struct policy *p, const struct opinion *o, const struct egress_request *q,
	       enum egress_protocol protocol, struct egress_verdict *ret)
{
	ret->hint[0] = '\0';
	if (o->action == EGRESS_ALLOW) {
		ret->why = "a rule allows it";
	} else if (o->action == EGRESS_ASK) {
		ret->why = "a rule asks a person";
		(void)snprintf(ret->hint, sizeof(ret->hint),
			       "a person has to approve this (pinfold approvals); wait, or go on "
			       "without it");
	} else if (o->miss == MISS_MATCH) {
		say_denied(p, o, ret);
	} else if (o->miss > MISS_PORT) {
		say_near(p, o, q, protocol, ret);
	} else if (o->why && o->miss == MISS_HOST && name_is_local(q->host)) {
		ret->why = o->why;
		(void)snprintf(
			ret->hint, sizeof(ret->hint),
			"connect to 127.0.0.1 for a server inside the sandbox; a server of the "
			"host has to be named by its address with --allow");
	} else {
		say_unknown(o, q, ret);
	}
	if (ret->is_ceiling && o->action == EGRESS_DENY)
		say_ceiling(q, ret);
}

/* Below these anybody can have a name. Not the whole list of public suffixes, which is long and
 * changes: those that people allow by mistake. */
static const char *const shared_hosts[] = {
	"github.io",
	"gitlab.io",
	"githubusercontent.com",
	"amazonaws.com",
	"on.aws",
	"cloudfront.net",
	"elasticbeanstalk.com",
	"awsapprunner.com",
	"herokuapp.com",
	"vercel.app",
	"now.sh",
	"netlify.app",
	"netlify.com",
	"pages.dev",
	"workers.dev",
	"web.app",
	"firebaseapp.com",
	"firebaseio.com",
	"cloudfunctions.net",
	"appspot.com",
	"run.app",
	"azurewebsites.net",
	"core.windows.net",
	"blob.core.windows.net",
	"azureedge.net",
	"azurefd.net",
	"azurestaticapps.net",
	"cloudapp.net",
	"cloudapp.azure.com",
	"trafficmanager.net",
	"fly.dev",
	"onrender.com",
	"ngrok.io",
	"ngrok.app",
	"ngrok.dev",
	"ngrok-free.app",
	"ngrok-free.dev",
	"loca.lt",
	"serveo.net",
	"trycloudflare.com",
	"storage.googleapis.com",
	"googleapis.com",
	"r2.dev",
	"deno.dev",
	"glitch.me",
	"repl.co",
	"replit.app",
	"replit.dev",
	"surge.sh",
	"blogspot.com",
	"wordpress.com",
	"readthedocs.io",
	"fastly.net",
	"akamaized.net",
	"b-cdn.net",
	"nip.io",
	"sslip.io",
	"xip.io",
	"duckdns.org",
	"hf.space",
	"streamlit.app",
	"supabase.co",
	"myshopify.com",
	"digitaloceanspaces.com",
	"ondigitalocean.app",
	"backblazeb2.com",
	"wasabisys.com",
	"up.railway.app",
	"codesandbox.io",
	"csb.app",
	"stackblitz.io",
	"webcontainer.io",
	"oastify.com",
	"oast.fun",
	"oast.pro",
	"oast.site",
	"interact.sh",
	"webhook.site",
	"pipedream.net",
};

/* co.uk, com.br, or.at: below a country, what registries sell names below. */
static bool is_sold_below(const struct name *host)
{
	static const char *const words[] = {"ac",  "co",   "com", "edu", "go",	"gob", "gouv",
					    "gov", "govt", "gv",  "id",	 "ltd", "mil", "ne",
					    "net", "nom",  "or",  "org", "plc", "sch", "web"};
	const char *dot = memchr(host->text, '.', host->len);
	size_t n = dot ? (size_t)(dot - host->text) : 0;

	if (!dot || host->len != n + 3 || memchr(dot + 1, '.', 2))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && memcmp(host->text, words[i], n) == 0)
			return true;
	return false;
}

/* s3.eu-west-1.amazonaws.com, execute-api.us-east-1.amazonaws.com: what Amazon gives out names
 * below, in each of its regions. */
static bool is_of_amazon(const struct name *host)
{
	static const char *const suffixes[] = {".amazonaws.com", ".amazonaws.com.cn", ".on.aws"};
	static const char *const services[] = {"s3",  "execute-api", "lambda-url",
					       "elb", "compute",     "compute-1"};
	size_t n = strcspn(host->text, ".");

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t tail = strlen(suffixes[i]);

		if (host->len <= tail || strcmp(host->text + host->len - tail, suffixes[i]) != 0)
			continue;
		/* s3-website-us-east-1, s3-eu-west-1, s3-accesspoint */
		if (memcmp(host->text, "s3-", 3) == 0)
			return true;
		for (size_t k = 0; k < sizeof(services) / sizeof(services[0]); k++)
			if (strlen(services[k]) == n && memcmp(host->text, services[k], n) == 0)
				return true;
	}
	return false;
}

static bool is_shared(const struct name *host)
{
	for (size_t i = 0; i < sizeof(shared_hosts) / sizeof(shared_hosts[0]); i++)
		if (strcmp(host->text, shared_hosts[i]) == 0)
			return true;
	return is_sold_below(host) || is_of_amazon(host);
}

const char *rule_oddity(const struct rule_draft *d, const struct name *host, enum host_kind kind)
{
	if (d->action == EGRESS_DENY)
		return NULL;
	if (host->kind != NAME_DNS && address_class(&host->address) == ADDRESS_METADATA)
		return "a cloud tells secrets of the machine at this address";
	if (kind != HOST_BELOW)
		return NULL;
	if (!memchr(host->text, '.', host->len))
		return "this is a whole top-level domain";
	return is_shared(host) ? "anybody can have a name below it, and receive what is sent there"
			       : NULL;
}
