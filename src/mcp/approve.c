/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals: what may be done because a person said so, for once or for as long as the sandbox
 * lives; and the seal on what travels through a client's hands meanwhile (HMAC-SHA-256 with a key
 * that is never written anywhere, so a restart makes all of it worthless).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/hold.h"
#include "mcp/ask.h"
#include "mcp/mcp_int.h"
#include "mcp/pending.h"
#include "mcp/text.h"

#define GRANTS_MAX 256u
#define GRANTS_EACH 64u /* of a tenant: then his oldest makes room */
#define USED_MAX 256u

struct grant {
	/* Zeroed before it is filled: it is compared and hashed whole. */
	char tenant[TENANT_SIZE], sandbox[64], kind[24];
	uint8_t target[HASH_BYTES];
};

struct granted {
	struct grant what;
	uint64_t until_ms; /* 0: as long as the sandbox lives */
	uint64_t number;   /* they are counted; 0: this place is free */
};

struct approvals {
	uint8_t key[HASH_BYTES];
	pthread_mutex_t lock;
	/* under lock */
	struct granted grants[GRANTS_MAX];
	uint64_t n_grants;	 /* ever */
	char used[USED_MAX][64]; /* a ring of states that were good for one time */
	unsigned n_used;
};

int approvals_new(struct approvals **ret, struct err *e)
{
	struct approvals *a = calloc(1, sizeof(*a));

	if (!a || getrandom(a->key, sizeof(a->key), 0) != (ssize_t)sizeof(a->key)) {
		free(a);
		return err_sys(e, "approvals");
	}
	(void)pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void approvals_free(struct approvals *a)
{
	if (!a)
		return;
	(void)pthread_mutex_destroy(&a->lock);
	explicit_bzero(a->key, sizeof(a->key));
	free(a);
}

static void mac_of(const struct approvals *a, const char *data, size_t len, uint8_t ret[HASH_BYTES])
{
	uint8_t pad[64], inner[HASH_BYTES];
	struct hash h;

	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] = (i < sizeof(a->key) ? a->key[i] : 0) ^ 0x36;
	hash_init(&h);
	hash_add(&h, pad, sizeof(pad));
	hash_add(&h, data, len);
	hash_done(&h, inner);
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	hash_init(&h);
	hash_add(&h, pad, sizeof(pad));
	hash_add(&h, inner, sizeof(inner));
	hash_done(&h, ret);
}

/* Base64 for URLs, without padding. */
static void put_url64(struct text *t, const void *data, size_t len)
{
	auto_value *v = value_of_base64(data, len);
	const char *s = value_str(v);

	for (; s && *s && *s != '='; s++)
		text_add(t, *s == '+' ? "-" : *s == '/' ? "_" : s, 1);
}

static int from_url64(const char *s, size_t len, void **ret, size_t *ret_len)
{
	auto_text t = TEXT_INIT;

	for (size_t i = 0; i < len; i++)
		text_add(&t, s[i] == '-' ? "+" : s[i] == '_' ? "/" : s + i, 1);
	while (t.len % 4 && !t.short_of)
		text_put(&t, "=");
	return t.data ? value_from_base64(t.data, t.len, ret, ret_len) : -1;
}

char *state_seal(const struct approvals *a, const struct value *payload)
{
	auto_free char *plain = value_text(payload, NULL);
	auto_text t = TEXT_INIT;
	uint8_t mac[HASH_BYTES];

	if (!plain)
		return NULL;
	mac_of(a, plain, strlen(plain), mac);
	text_put(&t, "v1.");
	put_url64(&t, plain, strlen(plain));
	text_put(&t, ".");
	put_url64(&t, mac, sizeof(mac));
	return t.short_of ? NULL : take_ptr(&t.data);
}

/* The same time whatever differs. */
static bool same(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint8_t diff = 0;

	for (size_t i = 0; i < n; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

struct value *state_open(const struct approvals *a, const char *text)
{
	const char *dot = strncmp(text, "v1.", 3) == 0 ? strchr(text + 3, '.') : NULL;
	auto_free void *plain = NULL, *mac = NULL;
	uint8_t want[HASH_BYTES];
	struct value *v = NULL;
	struct err ignored = ERR_INIT;
	size_t len = 0, mac_len = 0;

	if (!dot || from_url64(text + 3, (size_t)(dot - text) - 3, &plain, &len) < 0 ||
	    from_url64(dot + 1, strlen(dot + 1), &mac, &mac_len) < 0 || mac_len != sizeof(want))
		return NULL;
	mac_of(a, plain, len, want);
	if ((HOLD_MCP_STATE && !same(mac, want, sizeof(want))) ||
	    value_parse(plain, len, &v, &ignored) < 0)
		return NULL;
	return v;
}

static struct grant grant_of(const struct call *c, const char *sandbox, const char *kind,
			     const char *target)
{
	struct grant g = {0};

	(void)snprintf(g.tenant, sizeof(g.tenant), "%s", c->who.tenant);
	(void)snprintf(g.sandbox, sizeof(g.sandbox), "%s", sandbox);
	(void)snprintf(g.kind, sizeof(g.kind), "%s", kind);
	hash_bytes(target, strlen(target), g.target);
	return g;
}

static bool is_granted(struct approvals *a, const struct grant *g)
{
	uint64_t now_ms = loop_now_ms();
	bool found = false;

	(void)pthread_mutex_lock(&a->lock);
	for (unsigned i = 0; i < GRANTS_MAX; i++)
		found |= a->grants[i].number && memcmp(&a->grants[i].what, g, sizeof(*g)) == 0 &&
			 (!a->grants[i].until_ms || a->grants[i].until_ms > now_ms);
	(void)pthread_mutex_unlock(&a->lock);
	return found;
}

/* With the lock: a free place, or that of the oldest: the tenant's own when he has his share. */
static struct granted *place_for(struct approvals *a, const char *tenant)
{
	struct granted *oldest = &a->grants[0], *own = NULL;
	unsigned n_own = 0;

	for (unsigned i = 0; i < GRANTS_MAX; i++) {
		struct granted *one = &a->grants[i];
		bool his = one->number && strcmp(one->what.tenant, tenant) == 0;

		n_own += his;
		own = his && (!own || one->number < own->number) ? one : own;
		oldest = one->number < oldest->number ? one : oldest;
	}
	return own && (n_own >= GRANTS_EACH || oldest->number) ? own : oldest;
}

static void add_grant(struct approvals *a, const struct grant *g, uint64_t until_ms)
{
	(void)pthread_mutex_lock(&a->lock);
	*place_for(a, g->tenant) = (struct granted){*g, until_ms, ++a->n_grants};
	(void)pthread_mutex_unlock(&a->lock);
}

/* A yes is for one call: who brings its state a second time is asked again. */
bool state_use(struct approvals *a, const char *nonce)
{
	bool again = false;

	(void)pthread_mutex_lock(&a->lock);
	for (unsigned i = 0; i < USED_MAX && i < a->n_used; i++)
		again |= strcmp(a->used[i], nonce) == 0;
	if (!again)
		(void)snprintf(a->used[a->n_used++ % USED_MAX], sizeof(a->used[0]), "%s", nonce);
	(void)pthread_mutex_unlock(&a->lock);
	return !again;
}

static void add_choice(struct value *list, const char *word, const char *title)
{
	struct value *v = value_object();

	value_set(v, "const", value_of_str(word));
	value_set(v, "title", value_of_str(title));
	value_add(list, v);
}

struct value *approval_form(const char *message)
{
	struct value *params = value_object(), *schema = value_object(), *all = value_object();
	struct value *one = value_object(), *choices = value_array(), *required = value_array();

	add_choice(choices, "once", "Allow this time");
	add_choice(choices, "session", "Allow for this sandbox");
	add_choice(choices, "no", "Refuse");
	value_set(one, "type", value_of_str("string"));
	value_set(one, "title", value_of_str("Decision"));
	value_set(one, "oneOf", choices);
	value_set(all, "decision", one);
	value_add(required, value_of_str("decision"));
	value_set(schema, "type", value_of_str("object"));
	value_set(schema, "properties", all);
	value_set(schema, "required", required);
	value_set(params, "mode", value_of_str("form"));
	value_set(params, "message", value_of_str(message));
	value_set(params, "requestedSchema", schema);
	return params;
}

static struct value *form(const struct wish *w)
{
	auto_text words = TEXT_INIT;

	text_fmt(&words, "Allow %s for sandbox %s?", w->what, w->sandbox);
	if (w->why)
		text_fmt(&words, " The agent says why: %s", w->why);
	return approval_form(words.data ? words.data : "Allow it?");
}

/* What is being asked, for the words about it. */
struct matter {
	struct call *call;
	struct grant grant;
	const struct wish *wish;
};

/* The client brought no answer: the question stays open elsewhere, and the call may come again. */
static int unanswered(const struct matter *m, const char *detail, const char *why, struct err *e)
{
	struct request *req = m->call->transport;
	const struct pinfold_question q = {.size = sizeof(q),
					   .kind = m->wish->kind,
					   .what = m->wish->what,
					   .sandbox = m->wish->sandbox,
					   .tenant = m->call->who.tenant,
					   .who = "MCP",
					   .why = m->wish->why,
					   .timeout_ms = PENDING_MS};
	uint8_t key[HASH_BYTES];
	char id[32];

	hash_bytes(&m->grant, sizeof(m->grant), key);
	if (pending_ask(req->mcp->pendings, key, &q, id, e) < 0)
		return -EIO;
	(void)err_set(e, ERR_DENIED,
		      "This needs a person's approval (id %s, expires in 10 min): %s", id, why);
	(void)err_detail(e, detail);
	return err_remedy(e,
			  "Ask the user to run: pinfold approve %s . Then repeat the same call; do "
			  "not repeat it before that",
			  id);
}

static int refused(const struct matter *m, struct err *e)
{
	(void)err_set(e, ERR_DENIED, "the user refused: %.300s", m->wish->what);
	(void)err_detail(e, "approval_refused");
	return err_remedy(
		e, "Do not ask again for the same thing; continue without it or ask the user "
		   "what to do");
}

/* What lasts needs no second yes; the next sandbox of that name does. */
static void remember(struct approvals *a, const struct matter *m)
{
	if (!m->wish->lasts)
		add_grant(a, &m->grant, 0);
}

static int judge(struct approvals *a, const struct matter *m, const struct value *answer,
		 uint64_t took_ms, struct err *e)
{
	const char *action = value_str(value_get(answer, "action"));
	const char *decision = value_str(value_get(value_get(answer, "content"), "decision"));

	action = action ? action : "cancel";
	decision = decision ? decision : "no";
	if (!strcmp(action, "accept") && !strcmp(decision, "session"))
		remember(a, m);
	if (!strcmp(action, "accept") &&
	    (!strcmp(decision, "once") || !strcmp(decision, "session")))
		return 0;
	if (!strcmp(action, "cancel") || (!strcmp(action, "decline") && took_ms < ASK_QUICK_MS))
		return unanswered(m, "approval_unanswered",
				  "the question was closed without an answer", e);
	return refused(m, e);
}

/* A yes with an end is good for what is over at once; what goes on would outlast it. */
static int only_for(const struct matter *m, uint64_t seconds, struct err *e)
{
	struct request *req = m->call->transport;

	if (!m->wish->lasts) {
		add_grant(req->mcp->approvals, &m->grant, loop_now_ms() + seconds * 1000);
		return 1;
	}
	(void)err_set(e, ERR_DENIED, "the user allowed %.200s for a time, which cannot be kept",
		      m->wish->what);
	(void)err_detail(e, "approval_unanswered");
	return err_remedy(e, "Repeat the call, and ask the user to approve it without --for: it "
			     "holds as long as the sandbox lives");
}

/* Did a person answer elsewhere, since this was last asked for? 1: yes, and it may be done. */
static int answered_elsewhere(const struct matter *m, struct err *e)
{
	struct request *req = m->call->transport;
	uint64_t seconds = 0;
	uint8_t key[HASH_BYTES];

	hash_bytes(&m->grant, sizeof(m->grant), key);
	switch (pending_take(req->mcp->pendings, key, &seconds)) {
	case PINFOLD_ANSWER_NO: return refused(m, e);
	case PINFOLD_ANSWER_SANDBOX: remember(req->mcp->approvals, m); return 1;
	case PINFOLD_ANSWER_FOR: return only_for(m, seconds, e);
	case PINFOLD_ANSWER_ONCE: return 1;
	case PINFOLD_ANSWER_NONE:
	case PINFOLD_ANSWER_LATE: break;
	}
	return 0;
}

static int ask_client(struct approvals *a, const struct matter *m, struct err *e)
{
	struct call *c = m->call;
	struct request *req = c->transport;
	auto_value *answer = NULL;
	char nonce[64];

	if (ask_remembered(c, nonce, sizeof(nonce)) < 0)
		return err_set(e, ERR_INVALID, "requestState");
	uint64_t began = loop_now_ms();
	/* An answer without the question it belongs to is nobody's word. */
	if (req->modern && !*nonce && value_get(req->params, "inputResponses"))
		return unanswered(m, "approval_unanswered",
				  "an answer came without its requestState", e);
	int r = ask_input(c, "approval", "elicitation/create", form(m->wish), &answer, e);
	if (r == ASK_AGAIN) {
		ask_remember(c, c->request_id);
		return r;
	}
	if (r < 0)
		return unanswered(m, "approval_needed", "this client cannot show the question", e);
	if (req->modern && !state_use(a, nonce))
		return unanswered(m, "approval_unanswered", "this approval was used already", e);
	return judge(a, m, answer, req->modern ? ASK_MS : loop_now_ms() - began, e);
}

int approve(struct call *c, const struct wish *w, struct err *e)
{
	struct request *req = c->transport;
	struct approvals *a = req->mcp->approvals;
	const struct matter m = {c, grant_of(c, w->id ? w->id : w->sandbox, w->kind, w->what), w};

	if (is_granted(a, &m.grant))
		return 0;
	int r = answered_elsewhere(&m, e);
	if (r != 0)
		return r < 0 ? r : 0;
	return ask_client(a, &m, e);
}
