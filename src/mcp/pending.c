/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/pending.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "api/api.h"
#include "api/boxes.h"
#include "base/fd.h"

#define PENDING_MAX 32u
#define PENDING_EACH 8u /* of a tenant */

struct pending {
	uint8_t key[HASH_BYTES];
	char tenant[TENANT_SIZE];
	struct pinfold_approval *open; /* NULL: this place is free */
};

struct pendings {
	struct api *api; /* borrowed */
	int box;	 /* opened with the first question */
	bool own_box;
	int set; /* all of their descriptors, as one for the loop */
	struct watch watch;
	pthread_mutex_t lock;
	struct pending list[PENDING_MAX]; /* under lock */
};

/* Who answers waits until it is taken; so it is, at once. What was said stays until a call wants
 * it. */
static void look_at_all(struct watch *w, uint32_t events)
{
	struct pendings *p = (struct pendings *)((char *)w - offsetof(struct pendings, watch));
	uint64_t ignored;

	(void)events;
	(void)pthread_mutex_lock(&p->lock);
	for (unsigned i = 0; i < PENDING_MAX; i++)
		if (p->list[i].open)
			(void)pinfold_approval_look(p->list[i].open, &ignored);
	(void)pthread_mutex_unlock(&p->lock);
}

int pendings_new(struct api *api, struct pendings **ret, struct err *e)
{
	struct pendings *p = calloc(1, sizeof(*p));

	if (!p)
		return err_sys(e, "questions");
	p->api = api;
	p->box = FD_NONE;
	p->set = epoll_create1(EPOLL_CLOEXEC);
	(void)pthread_mutex_init(&p->lock, NULL);
	watch_init(&p->watch, api->loop, p->set, look_at_all);
	if (p->set < 0 || watch_set(&p->watch, EPOLLIN) < 0) {
		(void)err_sys(e, "questions");
		pendings_free(p);
		return -EIO;
	}
	*ret = p;
	return 0;
}

void pendings_free(struct pendings *p)
{
	if (!p)
		return;
	watch_done(&p->watch);
	for (unsigned i = 0; i < PENDING_MAX; i++)
		pinfold_approval_free(p->list[i].open);
	if (p->own_box)
		fd_close(&p->box);
	fd_close(&p->set);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct pending *find(struct pendings *p, const uint8_t key[HASH_BYTES])
{
	for (unsigned i = 0; i < PENDING_MAX; i++)
		if (p->list[i].open && memcmp(p->list[i].key, key, HASH_BYTES) == 0)
			return &p->list[i];
	return NULL;
}

static void drop(struct pending *q)
{
	pinfold_approval_free(q->open); /* its descriptor leaves the set when it is closed */
	q->open = NULL;
}

enum pinfold_answer pending_take(struct pendings *p, const uint8_t key[HASH_BYTES],
				 uint64_t *ret_seconds)
{
	enum pinfold_answer answer = PINFOLD_ANSWER_NONE;

	(void)pthread_mutex_lock(&p->lock);
	struct pending *q = find(p, key);
	if (q)
		answer = pinfold_approval_look(q->open, ret_seconds);
	if (answer != PINFOLD_ANSWER_NONE)
		drop(q);
	(void)pthread_mutex_unlock(&p->lock);
	return answer == PINFOLD_ANSWER_LATE ? PINFOLD_ANSWER_NONE : answer;
}

/* A free place, that of a question which is over included; NULL: there is none for that tenant. */
static struct pending *place(struct pendings *p, const char *tenant)
{
	struct pending *free_one = NULL;
	unsigned own = 0;
	uint64_t ignored;

	for (unsigned i = 0; i < PENDING_MAX; i++) {
		struct pending *q = &p->list[i];

		if (q->open && pinfold_approval_look(q->open, &ignored) == PINFOLD_ANSWER_LATE)
			drop(q);
		if (!q->open)
			free_one = q;
		else
			own += strcmp(q->tenant, tenant) == 0;
	}
	return own < PENDING_EACH ? free_one : NULL;
}

static int open_box(struct pendings *p, struct err *e)
{
	struct pinfold_error failure;

	if (p->box >= 0)
		return 0;
	p->own_box = p->api->approvals < 0;
	p->box = p->own_box ? pinfold_approvals_open(NULL, &failure) : p->api->approvals;
	return p->box < 0 ? api_error(e, &failure) : 0;
}

static int ask(struct pendings *p, const uint8_t key[HASH_BYTES],
	       const struct pinfold_question *question, struct pending **ret, struct err *e)
{
	struct pending *q = place(p, question->tenant);
	struct pinfold_error failure;

	if (!q)
		return err_set(e, ERR_BUSY, "too many questions are open already");
	if (open_box(p, e) < 0)
		return -EIO;
	if (pinfold_approval_ask(p->box, question, &q->open, &failure) < 0)
		return api_error(e, &failure);
	struct epoll_event ev = {.events = EPOLLIN};
	if (epoll_ctl(p->set, EPOLL_CTL_ADD, pinfold_approval_fd(q->open), &ev) < 0) {
		drop(q);
		return err_sys(e, "watch a question");
	}
	memcpy(q->key, key, HASH_BYTES);
	(void)snprintf(q->tenant, sizeof(q->tenant), "%s", question->tenant);
	*ret = q;
	return 0;
}

int pending_ask(struct pendings *p, const uint8_t key[HASH_BYTES],
		const struct pinfold_question *question, char ret_id[32], struct err *e)
{
	int r = 0;

	(void)pthread_mutex_lock(&p->lock);
	struct pending *q = find(p, key);
	if (!q)
		r = ask(p, key, question, &q, e);
	if (r >= 0)
		(void)snprintf(ret_id, 32, "%s", pinfold_approval_id(q->open));
	(void)pthread_mutex_unlock(&p->lock);
	return r;
}

int pendings_box(struct pendings *p)
{
	(void)pthread_mutex_lock(&p->lock);
	int box = p->api->approvals >= 0 ? p->api->approvals : p->box;
	(void)pthread_mutex_unlock(&p->lock);
	return box;
}
