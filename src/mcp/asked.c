/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/asked.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "api/worker.h"
#include "base/fd.h"
#include "mcp/ask.h"
#include "mcp/mcp_int.h"
#include "mcp/names.h"
#include "mcp/text.h"
#include "mcp/tools.h"
#include "pinfold/approval.h"

#define LOOK_MS 200u /* between looks at the box, while something runs */
#define SEEN_MAX 256u
#define RUN_LOOK_MS 20

struct asked {
	struct mcp *mcp;
	pthread_mutex_t lock;
	struct running *first; /* under lock */
	bool posted;	       /* under lock: `wake` is on its way, or the timer runs */
	struct task wake;
	/* The loop's thread. */
	struct timer timer;
	int box;
	bool own;
	struct timespec changed; /* the box, when we last looked into it */
	char seen[SEEN_MAX][32]; /* a ring: what was put before somebody */
	unsigned n_seen;
};

/* An answer on its way to who asked: he may be slow, so on a thread. Or a form that is shown. */
struct word {
	struct task task;
	struct asked *asked;
	struct pinfold_approval_info info;
	char run[32];
	uint64_t began_ms;
	enum pinfold_answer answer;
};

static void wake(struct task *t);
static void tick(struct timer *t);

int asked_new(struct mcp *m, struct asked **ret, struct err *e)
{
	struct asked *a = calloc(1, sizeof(*a));

	if (!a)
		return err_sys(e, "questions");
	a->mcp = m;
	a->box = FD_NONE;
	a->wake.run = wake;
	a->timer.fire = tick;
	(void)pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void asked_free(struct asked *a)
{
	if (!a)
		return;
	if (a->own)
		fd_close(&a->box);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}

void asked_begin(struct call *c, struct running *w, const struct box *b, const char *run)
{
	struct asked *a = tool_mcp(c)->asked;

	*w = (struct running){.call = c};
	(void)snprintf(w->box, sizeof(w->box), "%s", b->id);
	(void)snprintf(w->run, sizeof(w->run), "%s", run);
	(void)pthread_mutex_lock(&a->lock);
	w->next = a->first;
	a->first = w;
	bool post = !a->posted;
	a->posted = true;
	(void)pthread_mutex_unlock(&a->lock);
	if (post)
		loop_post(c->api->loop, &a->wake);
}

void asked_end(struct call *c, struct running *w)
{
	struct asked *a = tool_mcp(c)->asked;

	(void)pthread_mutex_lock(&a->lock);
	for (struct running **at = &a->first; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	(void)pthread_mutex_unlock(&a->lock);
}

static void wake(struct task *t)
{
	struct asked *a = (struct asked *)((char *)t - offsetof(struct asked, wake));

	timer_set(a->mcp->api->loop, &a->timer, loop_now_ms() + LOOK_MS);
}

static bool is_seen(const struct asked *a, const char *id)
{
	for (unsigned i = 0; i < SEEN_MAX && i < a->n_seen; i++)
		if (strcmp(a->seen[i], id) == 0)
			return true;
	return false;
}

static const char *sentence(const struct pinfold_approval_info *q, struct text *t)
{
	text_fmt(t, "Allow %s %s?", strcmp(q->kind, "command") == 0 ? "the command" : "the request",
		 q->what);
	if (q->why[0])
		text_fmt(t, " Why: %s", q->why);
	return t->data ? t->data : "Allow it?";
}

static struct value *form_of(const struct pinfold_approval_info *q)
{
	auto_text t = TEXT_INIT;

	return approval_form(sentence(q, &t));
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Nobody was asked by the client; what runs goes on. */
static void pending_text(struct text *t, unsigned number, const struct pinfold_approval_info *q,
			 const char *why)
{
	uint64_t now = now_ms(), left = q->until_ms > now ? (q->until_ms - now) / 1000 : 0;

	text_fmt(
		t,
		"waits for a person  [run r%u]\n"
		"[denied.approval_needed] %s needs a person's approval (id %s, expires in %llu s): "
		"%s. Ask the user to run: pinfold approve %s . It waits meanwhile; read how it "
		"went on with %s process_id=\"r%u\" wait_ms=20000, and do not start it again.",
		number, q->what, q->id, (unsigned long long)left, why, q->id,
		tool_name(tool_process_read), number);
}

/* With the lock. */
static void tell_pending(struct asked *a, struct running *w, const struct pinfold_approval_info *q,
			 const char *why)
{
	struct request *r = w->call->transport;
	auto_text t = TEXT_INIT;

	pending_text(&t, names_of_run(a->mcp->names, w->box, w->run), q, why);
	w->parked = true;
	request_answer(r, tool_text(t.data ? t.data : "waits for a person", false));
}

/* With the lock. */
static void ask_modern(struct running *w, const struct pinfold_approval_info *q)
{
	struct request *r = w->call->transport;
	struct value *question = value_object();
	char words[64];

	value_set(question, "method", value_of_str("elicitation/create"));
	value_set(question, "params", form_of(q));
	value_free(r->inputs);
	r->inputs = value_object();
	value_set(r->inputs, "approval", question);
	(void)snprintf(words, sizeof(words), "%.30s %.30s", q->id, w->run);
	ask_remember(w->call, words);
	w->parked = true;
	request_answer(r, ask_result(r));
}

static void send_word(struct task *t)
{
	struct word *w = (struct word *)t;
	struct pinfold_error gone; /* nobody waits for it any more */

	(void)pinfold_approval_answer(w->asked->box, w->info.id, w->answer, 0, &gone);
	free(w);
}

/* What a person chose in the form; NONE: nobody did. */
static enum pinfold_answer answer_of(const struct value *answer, uint64_t took_ms)
{
	const char *action = value_str(value_get(answer, "action"));
	const char *decision = value_str(value_get(value_get(answer, "content"), "decision"));

	action = action ? action : "cancel";
	decision = decision ? decision : "no";
	if (!strcmp(action, "cancel") || (!strcmp(action, "decline") && took_ms < ASK_QUICK_MS))
		return PINFOLD_ANSWER_NONE;
	if (strcmp(action, "accept") != 0)
		return PINFOLD_ANSWER_NO;
	return !strcmp(decision, "once")      ? PINFOLD_ANSWER_ONCE
	       : !strcmp(decision, "session") ? PINFOLD_ANSWER_SANDBOX
					      : PINFOLD_ANSWER_NO;
}

/* The form was answered, or will not be. */
static void answered(void *arg, const struct value *answer)
{
	struct word *word = arg;
	struct asked *a = word->asked;

	if (!answer) { /* who called is gone; the lock may be held */
		free(word);
		return;
	}
	word->answer = answer_of(answer, loop_now_ms() - word->began_ms);
	if (word->answer != PINFOLD_ANSWER_NONE) {
		word->task.run = send_word;
		if (workers_run(a->mcp->api->workers, &word->task) == 0)
			return;
	}
	(void)pthread_mutex_lock(&a->lock);
	for (struct running *w = a->first; w; w = w->next)
		if (strcmp(w->run, word->run) == 0 && !w->parked) {
			tell_pending(a, w, &word->info,
				     "the question was closed without an answer");
			break;
		}
	(void)pthread_mutex_unlock(&a->lock);
	free(word);
}

/* With the lock. */
static void ask_legacy(struct asked *a, const struct running *w,
		       const struct pinfold_approval_info *q)
{
	struct word *word = calloc(1, sizeof(*word));

	if (!word)
		return; /* a terminal still shows it */
	word->asked = a;
	word->info = *q;
	word->began_ms = loop_now_ms();
	(void)snprintf(word->run, sizeof(word->run), "%s", w->run);
	ask_later(w->call->transport, "elicitation/create", form_of(q), answered, word);
}

static bool can_hear(const struct running *w)
{
	const struct request *r = w->call->transport;

	return !w->parked && r->sink && !r->cancelled;
}

/* With the lock: put it before who called, if somebody did. */
static void offer(struct asked *a, const struct pinfold_approval_info *q)
{
	struct running *w = a->first;

	while (w && (!can_hear(w) || strcmp(w->box, q->sandbox) != 0 ||
		     strcmp(w->call->who.tenant, q->tenant) != 0))
		w = w->next;
	if (!w || is_seen(a, q->id))
		return;
	(void)snprintf(a->seen[a->n_seen++ % SEEN_MAX], sizeof(a->seen[0]), "%s", q->id);
	const struct request *r = w->call->transport;
	if (!(r->client & CLIENT_FORM))
		tell_pending(a, w, q, "this client cannot show the question");
	else if (r->modern)
		ask_modern(w, q);
	else
		ask_legacy(a, w, q);
}

static bool open_box(struct asked *a)
{
	struct pinfold_error none;

	if (a->box < 0 && a->mcp->api->approvals >= 0)
		a->box = a->mcp->api->approvals;
	else if (a->box < 0) {
		a->box = pinfold_approvals_open(NULL, &none);
		a->own = a->box >= 0;
	}
	return a->box >= 0;
}

/* With the lock. A directory says when something was put there. */
static void look(struct asked *a)
{
	auto_free struct pinfold_approval_info *list = NULL;
	struct pinfold_error ignored;
	struct stat st;
	size_t n = 0;

	if (!open_box(a) || fstat(a->box, &st) < 0 ||
	    memcmp(&st.st_mtim, &a->changed, sizeof(a->changed)) == 0)
		return;
	a->changed = st.st_mtim;
	if (pinfold_approval_list(a->box, &list, &n, &ignored) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		offer(a, &list[i]);
}

static void tick(struct timer *t)
{
	struct asked *a = (struct asked *)((char *)t - offsetof(struct asked, timer));

	(void)pthread_mutex_lock(&a->lock);
	if (a->first)
		look(a);
	a->posted = a->first;
	if (a->first)
		timer_set(a->mcp->api->loop, t, loop_now_ms() + LOOK_MS);
	else
		a->changed = (struct timespec){0}; /* who comes next looks at once */
	(void)pthread_mutex_unlock(&a->lock);
}

/* The person's word, as the client brought it. 1: there is none, and the call has its reply. */
static int take_word(struct call *c, const struct box *b, const char *words, const char *id,
		     const char *run, struct err *e)
{
	const struct request *req = c->transport;
	struct asked *a = tool_mcp(c)->asked;
	const struct value *given = value_get(value_get(req->params, "inputResponses"), "approval");
	enum pinfold_answer said = answer_of(given, ASK_QUICK_MS);
	auto_free struct pinfold_approval_info *info = malloc(sizeof(*info));
	struct pinfold_error gone; /* it was answered elsewhere, or is over: the result says so */
	auto_text t = TEXT_INIT;

	if (!info)
		return err_sys(e, "question");
	if (!state_use(tool_mcp(c)->approvals, words) ||
	    pinfold_approval_get(a->box, id, info, &gone) < 0)
		return 0;
	if (said != PINFOLD_ANSWER_NONE) {
		(void)pinfold_approval_answer(a->box, id, said, 0, &gone);
		return 0;
	}
	pending_text(&t, names_of_run(tool_mcp(c)->names, b->id, run), info,
		     "the question was closed without an answer");
	return tool_reply(c, &t, e) < 0 ? -ENOMEM : 1;
}

void asked_note(struct call *c, const struct box *b, struct text *t)
{
	struct asked *a = tool_mcp(c)->asked;
	auto_free struct pinfold_approval_info *list = NULL;
	struct pinfold_error ignored;
	size_t n = 0;

	(void)pthread_mutex_lock(&a->lock);
	bool there = open_box(a);
	(void)pthread_mutex_unlock(&a->lock);
	if (!there || pinfold_approval_list(a->box, &list, &n, &ignored) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].sandbox, b->id) == 0 &&
		    strcmp(list[i].tenant, c->who.tenant) == 0)
			text_fmt(
				t,
				"\n[denied.approval_needed] %s waits for a person's approval. Ask the "
				"user to run: pinfold approve %s",
				list[i].what, list[i].id);
}

static bool has_ended(const struct record *rec)
{
	return __atomic_load_n(&rec->ended_at, __ATOMIC_ACQUIRE);
}

static void wait_for(struct call *c, const struct box *b, struct record *rec)
{
	struct pollfd p = {.fd = call_cancelled_fd(c), .events = POLLIN};
	struct running w;

	asked_begin(c, &w, b, rec->id);
	while (!has_ended(rec) && poll(&p, 1, RUN_LOOK_MS) == 0)
		;
	asked_end(c, &w);
	if (!has_ended(rec))
		record_cancel(c->api->runs, rec); /* nobody waits for it any more */
}

int asked_resume(struct call *c, struct box *b, struct record **ret_rec, struct err *e)
{
	char words[64], id[32] = "", run[32] = "";

	if (ask_remembered(c, words, sizeof(words)) < 0)
		return err_set(e, ERR_INVALID, "requestState");
	if (sscanf(words, "%31s %31s", id, run) != 2)
		return 0;
	struct record *rec = record_find(c->api->runs, c->who.tenant, run, e);
	if (!rec)
		return -ENOENT;
	(void)snprintf(c->run, sizeof(c->run), "%s", run);
	int r = take_word(c, b, words, id, run, e);
	if (r == 0)
		wait_for(c, b, rec);
	if (r == 0 && has_ended(rec)) {
		*ret_rec = rec;
		return 1;
	}
	record_unref(c->api->runs, rec);
	return r < 0 ? r : r > 0 ? 2 : err_set(e, ERR_TIMEOUT, "cancelled");
}
