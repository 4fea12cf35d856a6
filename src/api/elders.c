/* SPDX-License-Identifier: Apache-2.0 */
#include "api/elders.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/conn_int.h"
#include "api/keeper.h"
#include "api/quota.h"
#include "api/runs.h"
#include "base/fd.h"
#include "base/passfd.h"

#define BUCKETS 4096u
#define SWEEP_EACH 256u /* entries between two looks for what is too old */

/* One thing that another has. */
struct known {
	struct known *next;
	struct link *link;
	struct link_key key;
	struct link_run *run; /* of a run, or NULL */
	uint64_t ended_at; /* loop_now_ms(), 0: it may be asked for as long as the link is there */
};

struct elders {
	struct api *api;
	struct link *links;
	uint64_t keep_ms; /* how long a run can be asked for after its end */
	unsigned unsynced;
	void (*synced)(void *arg);
	void *synced_arg;
	unsigned since_sweep;
	pthread_mutex_t lock;
	/* under lock; written by the loop's thread alone */
	struct known *bucket[BUCKETS];
	unsigned n;
	struct link *runner;
};

/* Of each link, in its `arg`. */
struct side {
	struct elders *el;
	bool synced;
};

static unsigned bucket_of(const char *tenant, const char *key)
{
	uint32_t h = 2166136261u;

	for (; *tenant; tenant++)
		h = (h ^ (unsigned char)*tenant) * 16777619u;
	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 16777619u;
	return h % BUCKETS;
}

int elders_new(struct api *api, uint64_t keep_ms, struct elders **ret, struct err *e)
{
	struct elders *el = calloc(1, sizeof(*el));

	if (!el)
		return err_sys(e, "table of what others have");
	el->api = api;
	el->keep_ms = keep_ms ? keep_ms : RUNS_KEEP_MS;
	(void)pthread_mutex_init(&el->lock, NULL);
	*ret = el;
	return 0;
}

static void free_known(struct known *k)
{
	free(k->run);
	free(k);
}

/* With the lock: those of a link, or (NULL) those that are too old. */
static void forget(struct elders *el, const struct link *l)
{
	uint64_t now = loop_now_ms();

	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct known **at = &el->bucket[i]; *at;) {
			struct known *k = *at;

			if (l ? k->link != l : !k->ended_at || k->ended_at + el->keep_ms > now) {
				at = &k->next;
				continue;
			}
			*at = k->next;
			el->n--;
			free_known(k);
		}
}

static void drop_link(struct link *l)
{
	struct side *side = l->arg;
	struct elders *el = side->el;

	(void)pthread_mutex_lock(&el->lock);
	if (el->runner == l)
		el->runner = NULL;
	forget(el, l);
	(void)pthread_mutex_unlock(&el->lock);
	for (struct link **at = &el->links; *at; at = &(*at)->next)
		if (*at == l) {
			*at = l->next;
			break;
		}
	bool told = side->synced;
	el->unsynced -= !told;
	free(side);
	link_free(l);
	if (!told && el->synced)
		el->synced(el->synced_arg);
}

void elders_free(struct elders *el)
{
	if (!el)
		return;
	el->synced = NULL;
	while (el->links)
		drop_link(el->links);
	(void)pthread_mutex_destroy(&el->lock);
	free(el);
}

/* With the lock. */
static struct known *look_up(struct elders *el, const char *tenant, const char *key)
{
	struct known *k = el->bucket[bucket_of(tenant, key)];

	while (k && (strcmp(k->key.key, key) != 0 || strcmp(k->key.tenant, tenant) != 0))
		k = k->next;
	return k;
}

/* With the lock. */
static struct known *find_or_add(struct link *l, const char *tenant, const char *key)
{
	struct elders *el = ((struct side *)l->arg)->el;
	struct known *k = look_up(el, tenant, key);

	if (k) {
		k->link = l;
		return k;
	}
	if (++el->since_sweep >= SWEEP_EACH) {
		el->since_sweep = 0;
		forget(el, NULL);
	}
	if (el->n >= ELDERS_KEYS_MAX || !(k = calloc(1, sizeof(*k))))
		return NULL; /* it will not be found, as if its process had died */
	struct known **bucket = &el->bucket[bucket_of(tenant, key)];
	k->link = l;
	(void)snprintf(k->key.tenant, sizeof(k->key.tenant), "%s", tenant);
	(void)snprintf(k->key.key, sizeof(k->key.key), "%s", key);
	k->next = *bucket;
	*bucket = k;
	el->n++;
	return k;
}

static void take_run(struct link *l, const struct link_run *from)
{
	struct elders *el = ((struct side *)l->arg)->el;
	struct link_run *run = malloc(sizeof(*run));

	if (!run)
		return;
	*run = *from;
	(void)pthread_mutex_lock(&el->lock);
	struct known *k = find_or_add(l, run->tenant, run->id);
	if (k) {
		free(k->run);
		k->run = run;
		k->ended_at = strcmp(run->status, "running") ? loop_now_ms() : 0;
	} else {
		free(run);
	}
	(void)pthread_mutex_unlock(&el->lock);
}

static void take_key(struct link *l, const struct link_key *key)
{
	struct elders *el = ((struct side *)l->arg)->el;

	(void)pthread_mutex_lock(&el->lock);
	(void)find_or_add(l, key->tenant, key->key);
	(void)pthread_mutex_unlock(&el->lock);
}

static void take_synced(struct link *l)
{
	struct side *side = l->arg;
	struct elders *el = side->el;

	if (side->synced)
		return;
	side->synced = true;
	el->unsynced--;
	if (el->synced)
		el->synced(el->synced_arg);
}

static void take(struct link *l, const union link_message *m, int fds[LINK_FDS_MAX])
{
	struct server *server = ((struct side *)l->arg)->el->api->server;

	switch ((enum link_kind)m->kind) {
	case LINK_RUN: take_run(l, &m->run); return;
	case LINK_KEY: take_key(l, &m->key); return;
	case LINK_SYNCED: take_synced(l); return;
	case LINK_CONN: server_adopt(server, &m->conn, take_fd(&fds[0])); return;
	case LINK_BYE: drop_link(l); return; /* he hears it, and ends */
	case LINK_START: return;	     /* not to us */
	}
}

static const struct link_calls calls = {take, drop_link};

void elders_add(struct elders *el, int fd, bool runner)
{
	struct side *side = calloc(1, sizeof(*side));
	struct link *l = side ? link_new(el->api->loop, fd, &calls, side) : NULL;

	if (!l) {
		free(side);
		return;
	}
	side->el = el;
	l->next = el->links;
	el->links = l;
	el->unsynced++;
	(void)pthread_mutex_lock(&el->lock);
	if (runner)
		el->runner = l;
	(void)pthread_mutex_unlock(&el->lock);
}

bool elders_synced(const struct elders *el)
{
	return !el->unsynced;
}

void elders_on_synced(struct elders *el, void (*fn)(void *arg), void *arg)
{
	el->synced = fn;
	el->synced_arg = arg;
}

void elders_each_live(struct elders *el, void (*fn)(const struct link_run *run, void *arg),
		      void *arg)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct known *k = el->bucket[i]; k; k = k->next)
			if (k->run && !k->ended_at && k->run->sandbox[0])
				fn(k->run, arg);
}

static struct link *who_has(struct elders *el, const struct exchange *x, const char *subject)
{
	char key[LINK_KEY_SIZE];
	const struct known *k = subject ? look_up(el, x->who.tenant, subject) : NULL;

	for (unsigned i = 0; !k && i < 2; i++) {
		const char *field = i ? "mcp-session-id" : "idempotency-key";
		size_t n = (size_t)snprintf(key, sizeof(key), "%s ", field);

		if (exchange_field(x, field, key + n, sizeof(key) - n))
			k = look_up(el, x->who.tenant, key);
	}
	return k ? k->link : NULL;
}

/* Who was told an id by another comes to us after what that one told us. But not while one is being
 * heard: what he hands over may be a request. */
static void hear(struct elders *el)
{
	for (const struct link *l = el->links; l; l = l->next)
		if (l->taking)
			return;
	for (struct link *l = el->links, *next; l; l = next) {
		next = l->next;
		link_take(l);
	}
}

bool elders_route(struct elders *el, struct exchange *x, const char *subject)
{
	if (!el || !el->links)
		return false;
	hear(el);
	struct link *l = el->n ? who_has(el, x, subject) : NULL;
	if (l)
		conn_hand(x->conn, l);
	return l;
}

static int newest_first(const void *a, const void *b)
{
	const struct link_run *x = a, *y = b;

	return x->made_ms < y->made_ms ? 1 : x->made_ms > y->made_ms ? -1 : strcmp(y->id, x->id);
}

struct link_run *elders_runs(struct elders *el, const char *tenant, size_t *ret_n)
{
	struct link_run *list = NULL;
	size_t n = 0;

	*ret_n = 0;
	if (!el)
		return NULL;
	(void)pthread_mutex_lock(&el->lock);
	list = el->n ? calloc(el->n, sizeof(*list)) : NULL;
	for (unsigned i = 0; list && i < BUCKETS; i++)
		for (const struct known *k = el->bucket[i]; k; k = k->next)
			if (k->run && strcmp(k->run->tenant, tenant) == 0)
				list[n++] = *k->run;
	(void)pthread_mutex_unlock(&el->lock);
	if (n)
		qsort(list, n, sizeof(*list), newest_first);
	*ret_n = n;
	return list;
}

bool elders_can_start(struct elders *el, const struct call *c)
{
	if (!el || !c->detach || c->stream || !(c->op->flags & OP_OUTLIVES) || arg(c, "name") ||
	    keeper_packages(c) || keeper_secrets(c) || keeper_image(c) || arg_true(c, "background"))
		return false;
	(void)pthread_mutex_lock(&el->lock);
	bool has = el->runner;
	(void)pthread_mutex_unlock(&el->lock);
	return has;
}

static int hold_args(const struct call *c, struct err *e)
{
	auto_close int fd = memfd_create("pinfold-args", MFD_CLOEXEC);
	size_t len = 0;
	auto_free char *text = value_text(c->args, &len);

	if (fd < 0 || !text || fd_write_all(fd, text, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "arguments");
	return take_fd(&fd);
}

static int gone(struct err *e)
{
	(void)err_set(e, ERR_BUSY, "the process that has detached runs is being started");
	e->retry_ms = 1000;
	return err_remedy(e, "try again in a second");
}

/* One message, whole, from any thread. */
static int send_start(struct elders *el, const struct call *c, int fds[LINK_FDS_MAX], struct err *e)
{
	struct link_start m = {.kind = LINK_START, .who = c->who};
	struct pollfd wait = {.fd = fds[1]};
	int r = -EPIPE;

	(void)snprintf(m.op, sizeof(m.op), "%s", c->op->name);
	(void)snprintf(m.request_id, sizeof(m.request_id), "%s", c->request_id);
	for (unsigned i = 0; i < 500; i++) {
		(void)pthread_mutex_lock(&el->lock);
		r = el->runner ? passfd_send(el->runner->watch.fd, &m, sizeof(m), fds, LINK_FDS_MAX)
			       : -EPIPE;
		(void)pthread_mutex_unlock(&el->lock);
		if (r != -EAGAIN)
			break;
		(void)poll(&wait, 0, 10); /* its socket is full: it is busy */
	}
	return r < 0 ? gone(e) : 0;
}

/* Its own word of the run comes by another way, and may come after the answer to who began it. */
static void expect_run(struct elders *el, const struct call *c)
{
	(void)pthread_mutex_lock(&el->lock);
	if (el->runner && c->run[0] && !look_up(el, c->who.tenant, c->run))
		(void)find_or_add(el->runner, c->who.tenant, c->run);
	(void)pthread_mutex_unlock(&el->lock);
}

static int await_start(struct elders *el, struct call *c, int sock, char sandbox[32], struct err *e)
{
	auto_free struct link_started *s = calloc(1, sizeof(*s));
	struct value *v = NULL;
	struct pollfd p = {.fd = sock, .events = POLLIN};

	if (!s)
		return err_sys(e, "answer");
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (passfd_receive(sock, s, sizeof(*s), NULL, 0, MSG_DONTWAIT) < 0)
		return gone(e);
	if (s->result < 0) {
		struct err *from = &s->error;

		from->detail[sizeof(from->detail) - 1] = from->text[sizeof(from->text) - 1] =
			from->remedy[sizeof(from->remedy) - 1] = '\0';
		*e = *from;
		e->kind = (unsigned)e->kind < ERR_KINDS ? e->kind : ERR_INTERNAL;
		return s->result;
	}
	if (s->len >= sizeof(s->text) || value_parse(s->text, s->len, &v, e) < 0)
		return err_set(e, ERR_INTERNAL, "a run began, and its summary is no JSON");
	(void)snprintf(sandbox, 32, "%.31s", s->sandbox);
	const char *id = value_str(value_get(v, "id"));
	(void)snprintf(c->run, sizeof(c->run), "%s", id ? id : "");
	expect_run(el, c);
	call_answer(c, v);
	return 0;
}

int elders_start(struct elders *el, struct call *c, struct err *e)
{
	struct quota_need need = {(uint64_t)arg_int(c, "memory", 0),
				  (uint64_t)arg_int(c, "disk", 0), FD_NONE};
	/* A command in a sandbox that lives has what that has. */
	bool own = c->op->flags & OP_HOLDS;
	auto_close int args = hold_args(c, e);
	struct lease *lease = NULL;
	char sandbox[32] = "";
	int pair[2];

	if (args < 0)
		return args;
	int r = own ? quota_take(c->api->quotas, c->who.tenant, &need, &lease, e) : 0;
	if (r >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = err_sys(e, "socketpair");
	else if (r >= 0) {
		r = send_start(el, c, (int[]){pair[1], args}, e);
		(void)close(pair[1]);
		if (r >= 0)
			r = await_start(el, c, pair[0], sandbox, e);
		(void)close(pair[0]);
	}
	if (r >= 0 && sandbox[0])
		lease_keep(c->api->quotas, lease, sandbox);
	else
		lease_end(c->api->quotas, lease, 0);
	return r;
}
