/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants to know or to change what a sandbox may reach: the policy is made here, with the
 * ceiling of this host, and sent to who holds the sandbox's way out (egress_live.c). */
#include <assert.h>
#include <fcntl.h>
#include <pinfold/policy.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/passfd.h"
#include "base/value.h"
#include "engine/egress_live.h"

#define ANSWER_MS 10000
#define DOCUMENT_MAX (16u << 20)

struct shown {
	int policy;
	char *text;
};

static void shown_done(struct shown *s)
{
	fd_close(&s->policy);
	free(s->text);
}
#define auto_shown __attribute__((cleanup(shown_done))) struct shown

static int ask(const char *id, enum live_op op, int policy, struct gate_taken *ret, int fds[2],
	       struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "policy");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	int r = hold_ask(id, op, policy, theirs, e);
	if (r == 0)
		r = egress_live_ask(id, op, policy, theirs, e);
	fd_close(&theirs); /* who does not answer is noticed */
	struct pollfd pfd = {.fd = ours, .events = POLLIN};
	if (r >= 0 && (poll(&pfd, 1, ANSWER_MS) != 1 ||
		       passfd_receive(ours, ret, sizeof(*ret), fds, 2, MSG_DONTWAIT) < 0))
		r = err_set(e, ERR_INTERNAL, "the gate of %s does not answer", id);
	if (r >= 0 && ret->result < 0) {
		*e = ret->e;
		r = ret->result;
	}
	return r < 0 ? r : 0;
}

static int show(const char *id, struct shown *ret, struct err *e)
{
	struct gate_taken said;
	int fds[2] = {FD_NONE, FD_NONE};
	size_t len = 0;

	if (sandbox_check_id(id, e) < 0)
		return -EINVAL;
	int r = ask(id, LIVE_SHOW, FD_NONE, &said, fds, e);
	ret->policy = fds[0];
	auto_close int doc = fds[1];
	ret->text = r < 0 ? NULL : malloc(DOCUMENT_MAX + 1); /* only what is used becomes memory */
	if (r < 0)
		return r;
	if (!ret->text || doc < 0 || lseek(doc, 0, SEEK_SET) < 0 ||
	    fd_read_max(doc, ret->text, DOCUMENT_MAX, &len) < 0)
		return err_sys(e, "policy of %s", id);
	ret->text[len] = '\0';
	return 0;
}

/* Who asks for the same again makes nothing grow. */
static bool has_item(const struct policy *p, const char *item)
{
	auto_policy *alone = policy_new();
	struct err ignored = ERR_INIT; /* the next one says what is wrong with it */
	struct policy_line want, has;

	if (!alone || policy_allow(alone, item, &ignored) < 0 || !policy_line(alone, 0, &want))
		return false;
	for (unsigned i = 0; policy_line(p, i, &has); i++)
		if (!has.is_ceiling && strcmp(has.text, want.text) == 0)
			return true;
	return false;
}

static int make(const struct pinfold_policy *o, const struct shown *now, struct policy **ret,
		struct err *e)
{
	const struct policy_sources s = {.allow = o->allow,
					 .text = o->text,
					 .text_name = o->name ? o->name : "policy",
					 .with_own = o->own};
	char note[SOURCE_NOTE_SIZE];

	if (o->adds && o->text)
		return err_set(e, ERR_INVALID, "policy: a text takes the place of what there is");
	if (!o->adds)
		return policy_gather(&s, ret, note, e);
	int r = policy_of_file(now->policy, ret, e);
	for (unsigned i = 0; r >= 0 && o->allow && o->allow[i]; i++)
		if (!has_item(*ret, o->allow[i]))
			r = policy_allow(*ret, o->allow[i], e);
	return r;
}

static bool has_port(const struct value *list, uint16_t port)
{
	for (size_t i = 0; i < value_len(list); i++)
		if (value_int(value_at(list, i)) == port)
			return true;
	return false;
}

/* Ports that nobody listens on inside. */
static char *note_of(const struct policy *p, const struct shown *now)
{
	uint16_t ports[POLICY_PORTS_MAX];
	unsigned n = policy_ports(p, ports);
	struct err ignored = ERR_INIT;
	auto_value *doc = NULL;
	char list[POLICY_PORTS_MAX * 8] = "";
	char *text = NULL;

	if (value_parse(now->text, strlen(now->text), &doc, &ignored) < 0)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		if (!has_port(value_get(doc, "ports"), ports[i]))
			(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u",
				       list[0] ? ", " : "", ports[i]);
	if (list[0] && asprintf(&text,
				"port %s: no rule named it when the sandbox was made, so only the "
				"proxy (HTTP_PROXY, ALL_PROXY inside) reaches it",
				list) < 0)
		text = NULL;
	return text;
}

static struct value *what_was_asked(const struct policy *p)
{
	struct value *data = value_object(), *rules = value_array();
	struct policy_line line;

	for (unsigned i = 0; i < 64 && policy_line(p, i, &line) && !line.is_ceiling; i++)
		value_add(rules, record_word(line.text));
	value_set(data, "rules", rules);
	value_set(data, "rules_count", value_of_u64(policy_rules(p)));
	return data;
}

static int set(const char *id, const struct pinfold_policy *o, unsigned *ret_closed,
	       char **ret_note, struct err *e)
{
	struct op op = {.sandbox = id};
	auto_shown now = {FD_NONE, NULL};
	auto_close int fd = FD_NONE;
	auto_policy *p = NULL;
	struct gate_taken said = {.closed = 0};
	int none[2];

	record_init(&op.record);
	int r = show(id, &now, e);
	if (r >= 0)
		r = make(o, &now, &p, e);
	if (r >= 0)
		r = policy_file(p, &fd, e);
	if (r >= 0)
		r = op_begin(&op, "sandbox.policy", NULL, what_was_asked(p), e);
	if (r >= 0)
		r = ask(id, LIVE_SET, fd, &said, none, e);
	r = op_end(&op, r, NULL, e);
	if (r >= 0) {
		*ret_closed = said.closed;
		*ret_note = note_of(p, &now);
	}
	return r;
}

int pinfold_policy_set(const char *id, const struct pinfold_policy *policy, unsigned *ret_closed,
		       char **ret_note, struct pinfold_error *ret_error)
{
	struct err e = ERR_INIT;

	assert(id && policy && policy->size >= sizeof(*policy) && ret_closed && ret_note);
	return sandbox_result(set(id, policy, ret_closed, ret_note, &e), &e, ret_error);
}

int pinfold_policy_show(const char *id, char **ret_json, struct pinfold_error *ret_error)
{
	auto_shown now = {FD_NONE, NULL};
	struct err e = ERR_INIT;

	assert(id && ret_json && ret_error);
	int r = show(id, &now, &e);
	if (r >= 0)
		*ret_json = take_ptr(&now.text);
	return sandbox_result(r, &e, ret_error);
}

/* Rules are held against names, never against each other: for "*.example.org" some name below
 * it. */
static void name_of(const char *item, struct name *ret)
{
	char text[NAME_SIZE + 16];
	const char *ignored;
	uint16_t port;

	(void)snprintf(text, sizeof(text), "%s%s", item[0] == '*' ? "any" : "",
		       item + (item[0] == '*'));
	if (name_parse_port(text, strlen(text), ret, &port, &ignored) < 0)
		*ret = (struct name){.kind = NAME_DNS}; /* which no rule names */
}

/* Of its ports the one that fares best: the others are refused when somebody connects. */
static enum pinfold_ceiling said_of(const struct policy *p, const char *item)
{
	static const enum pinfold_ceiling words[] = {[EGRESS_DENY] = PINFOLD_CEILING_DENIES,
						     [EGRESS_ASK] = PINFOLD_CEILING_ASKS,
						     [EGRESS_ALLOW] = PINFOLD_CEILING_ALLOWS};
	uint16_t ports[POLICY_PORTS_MAX];
	unsigned n = policy_ports(p, ports);
	enum egress_action best = EGRESS_DENY;
	struct name host;

	name_of(item, &host);
	for (unsigned i = 0; i < n; i++) {
		const struct egress_request q = {
			.host = &host, .port = ports[i], .stage = EGRESS_CONNECT};
		struct egress_verdict v;

		policy_decide(p, &q, &v);
		best = v.action > best ? v.action : best;
	}
	return words[best];
}

int pinfold_policy_ceiling(const char *item, enum pinfold_ceiling *ret_says,
			   struct pinfold_error *ret_error)
{
	auto_policy *p = policy_new();
	struct err e = ERR_INIT;

	assert(item && ret_says && ret_error);
	int r = p ? policy_allow(p, item, &e) : err_sys(&e, "policy");
	if (r >= 0)
		r = policy_gather_ceilings(p, &e);
	if (r >= 0)
		*ret_says = r ? said_of(p, item) : PINFOLD_CEILING_NONE;
	return sandbox_result(r, &e, ret_error);
}
