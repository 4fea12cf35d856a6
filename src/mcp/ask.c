/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/ask.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/fd.h"
#include "base/hash.h"
#include "mcp/mcp_int.h"

/*
 * A question on its way: made by a handler, sent and answered in the loop's thread. Each of the two
 * holds a reference, because either may lose interest first.
 */
struct question {
	struct task task, drop_task;
	struct request *request; /* the loop's; NULL: it is over */
	struct peer *peer;	 /* the loop's, a reference, while it is in its list */
	struct question *next;
	const char *method;
	struct value *params;
	char id[24];
	int ready; /* eventfd; FD_NONE: */
	void (*answered)(void *arg, const struct value *answer);
	void *arg;
	unsigned refs;
	pthread_mutex_t lock;
	/* under lock */
	struct value *answer;
	bool refused;
};

static void question_unref(struct question *q)
{
	if (__atomic_sub_fetch(&q->refs, 1, __ATOMIC_ACQ_REL))
		return;
	value_free(q->params);
	value_free(q->answer);
	fd_close(&q->ready);
	(void)pthread_mutex_destroy(&q->lock);
	free(q);
}

/* The loop's part in it is over. */
static void settle(struct question *q, struct value *answer)
{
	struct peer *c = q->peer;
	uint64_t one = 1;

	for (struct question **at = c ? &c->questions : NULL; at && *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	q->peer = NULL;
	q->request = NULL;
	if (q->answered)
		q->answered(q->arg, answer);
	(void)pthread_mutex_lock(&q->lock);
	q->answer = answer;
	q->refused = !answer;
	(void)pthread_mutex_unlock(&q->lock);
	if (q->ready >= 0)
		(void)!write(q->ready, &one, sizeof(one)); /* cannot be full */
	peer_unref(c);
	question_unref(q);
}

static void drop_question(struct task *t)
{
	struct question *q = (struct question *)((char *)t - offsetof(struct question, drop_task));

	if (q->peer)
		settle(q, NULL);
	question_unref(q);
}

static void send_question(struct task *t)
{
	struct question *q = (struct question *)((char *)t - offsetof(struct question, task));
	struct request *r = q->request;
	struct value *v = value_object();

	if (!r->sink || r->cancelled) {
		value_free(v);
		settle(q, NULL);
		return;
	}
	q->peer = r->peer;
	q->peer->refs++;
	q->next = q->peer->questions;
	q->peer->questions = q;
	(void)snprintf(q->id, sizeof(q->id), "q%llu", (unsigned long long)++q->peer->last_question);
	value_set(v, "jsonrpc", value_of_str("2.0"));
	value_set(v, "id", value_of_str(q->id));
	value_set(v, "method", value_of_str(q->method));
	value_set(v, "params", take_ptr(&q->params));
	request_send(r, v);
}

void ask_answered(struct peer *c, const struct value *message)
{
	const char *id = value_str(value_get(message, "id"));

	for (struct question *q = c->questions; q && id; q = q->next)
		if (strcmp(q->id, id) == 0) {
			struct value *result = value_get(message, "result");

			settle(q, value_kind(result) == VALUE_OBJECT ? value_copy(result) : NULL);
			return;
		}
}

void ask_gone(struct request *r)
{
	for (struct question *q = r->peer->questions, *next; q; q = next) {
		next = q->next;
		if (q->request == r)
			settle(q, NULL);
	}
}

void ask_drop(struct peer *c)
{
	c->refs++;
	while (c->questions)
		settle(c->questions, NULL);
	peer_unref(c);
}

static int cannot_ask(struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "this client cannot be asked");
	return err_detail(e, "client");
}

static struct question *question_new(struct request *r, const char *method, struct value *params)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q) {
		value_free(params);
		return NULL;
	}
	*q = (struct question){.task.run = send_question,
			       .drop_task.run = drop_question,
			       .request = r,
			       .method = method,
			       .params = params,
			       .refs = 2};
	(void)pthread_mutex_init(&q->lock, NULL);
	q->ready = eventfd(0, EFD_CLOEXEC);
	if (q->ready >= 0)
		return q;
	q->refs = 1;
	question_unref(q);
	return NULL;
}

/* Where we are: the handler's thread. */
static int ask_and_wait(struct call *c, const char *method, struct value *params,
			struct value **ret_answer, struct err *e)
{
	struct question *q = question_new(c->transport, method, params);
	struct pollfd p[2] = {{.events = POLLIN}, {.fd = call_cancelled_fd(c), .events = POLLIN}};
	int r;

	if (!q)
		return err_sys(e, "question");
	p[0].fd = q->ready;
	loop_post(c->api->loop, &q->task);
	do
		r = poll(p, 2, ASK_MS);
	while (r < 0 && errno == EINTR);
	(void)pthread_mutex_lock(&q->lock);
	*ret_answer = take_ptr(&q->answer);
	(void)pthread_mutex_unlock(&q->lock);
	if (*ret_answer || p[0].revents) {
		question_unref(q);
		return *ret_answer ? 0 : cannot_ask(e);
	}
	loop_post(c->api->loop, &q->drop_task); /* our reference goes with it */
	return err_set(e, ERR_TIMEOUT, "nobody answered");
}

void ask_later(struct request *r, const char *method, struct value *params,
	       void (*answered)(void *arg, const struct value *answer), void *arg)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q) {
		value_free(params);
		answered(arg, NULL);
		return;
	}
	*q = (struct question){.request = r,
			       .method = method,
			       .params = params,
			       .ready = FD_NONE,
			       .answered = answered,
			       .arg = arg,
			       .refs = 1};
	(void)pthread_mutex_init(&q->lock, NULL);
	send_question(&q->task);
}

static unsigned needs(const char *method)
{
	return !strcmp(method, "elicitation/create")	   ? CLIENT_FORM
	       : !strcmp(method, "sampling/createMessage") ? CLIENT_SAMPLING
							   : CLIENT_ROOTS;
}

int ask_input(struct call *c, const char *key, const char *method, struct value *params,
	      struct value **ret_answer, struct err *e)
{
	struct request *r = c->transport;

	if (r->modern) {
		const struct value *given = value_get(value_get(r->params, "inputResponses"), key);

		if (value_kind(given) == VALUE_OBJECT) {
			value_free(params);
			*ret_answer = value_copy(given);
			return 0;
		}
	}
	if (!(r->client & needs(method))) {
		value_free(params);
		return cannot_ask(e);
	}
	if (!r->modern)
		return ask_and_wait(c, method, params, ret_answer, e);
	struct value *question = value_object();
	value_set(question, "method", value_of_str(method));
	value_set(question, "params", params);
	if (!r->inputs)
		r->inputs = value_object();
	value_set(r->inputs, key, question);
	return ASK_AGAIN;
}

struct value *ask_result(struct request *r)
{
	struct value *v = value_object();

	value_set(v, "resultType", value_of_str("input_required"));
	if (value_len(r->inputs))
		value_set(v, "inputRequests", take_ptr(&r->inputs));
	if (r->state)
		value_set(v, "requestState", value_of_str(r->state));
	return v;
}

static int64_t now_s(void)
{
	return (int64_t)time(NULL);
}

/* What a state is bound to: the same call, by the same caller. */
static void digest_of(const struct request *r, char ret[HASH_TEXT_SIZE])
{
	const struct value *name = value_get(r->params, "name");
	auto_free char *args = value_text(value_get(r->params, "arguments"), NULL);
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, r->peer->who.tenant, strlen(r->peer->who.tenant) + 1);
	hash_add(&h, r->method->name, strlen(r->method->name) + 1);
	if (value_str(name))
		hash_add(&h, value_str(name), value_len(name));
	hash_add(&h, "", 1);
	if (args)
		hash_add(&h, args, strlen(args));
	hash_done(&h, digest);
	hash_text(digest, ret);
}

void ask_remember(struct call *c, const char *words)
{
	struct request *r = c->transport;
	char digest[HASH_TEXT_SIZE];
	struct value *v = value_object();

	if (r->modern) {
		digest_of(r, digest);
		value_set(v, "d", value_of_str(digest));
		value_set(v, "x", value_of_int(now_s() + ASK_MS / 1000));
		value_set(v, "n", value_of_str(c->request_id));
		value_set(v, "w", value_of_str(words));
		free(r->state);
		r->state = state_seal(r->mcp->approvals, v);
		if (!r->inputs)
			r->inputs = value_object();
	}
	value_free(v);
}

int ask_remembered(struct call *c, char *ret, size_t size)
{
	struct request *r = c->transport;
	const struct value *given = value_get(r->params, "requestState");
	char digest[HASH_TEXT_SIZE];

	*ret = '\0';
	if (!r->modern || !given)
		return 0;
	auto_value *v = value_str(given) ? state_open(r->mcp->approvals, value_str(given)) : NULL;
	const char *bound = value_str(value_get(v, "d")), *words = value_str(value_get(v, "w"));
	digest_of(r, digest);
	if (!bound || !words || strcmp(bound, digest) != 0 ||
	    value_int(value_get(v, "x")) < now_s())
		return rpc_fail(
			&r->fault, RPC_PARAMS, 200,
			"requestState is not what this server sent for this call, or too old; "
			"repeat the call without it");
	(void)snprintf(ret, size, "%s", words);
	return 0;
}
