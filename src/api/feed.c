/* SPDX-License-Identifier: Apache-2.0 */
#include "api/feed.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct item {
	const char *name;
	size_t len, size; /* of the data; with a NUL, the id and its NUL */
	char data[];
};

struct feed {
	struct task task; /* first: tell followers */
	struct loop *loop;
	struct follower *followers; /* the loop's thread alone */
	pthread_mutex_t lock;
	/* under lock */
	unsigned refs, n_followers;
	bool told, closed;
	uint64_t last;
	uint64_t taken; /* the newest that somebody has */
	size_t bytes;
	/* A ring: the newest `n` events, the last of them number `last`. */
	struct item **ring;
	size_t size, n;
};

static void tell(struct task *t);

struct feed *feed_new(struct loop *l)
{
	struct feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->task.run = tell;
	f->loop = l;
	f->refs = 1;
	(void)pthread_mutex_init(&f->lock, NULL);
	return f;
}

struct feed *feed_ref(struct feed *f)
{
	(void)pthread_mutex_lock(&f->lock);
	f->refs++;
	(void)pthread_mutex_unlock(&f->lock);
	return f;
}

static struct item **place_of(struct feed *f, uint64_t number)
{
	return &f->ring[number & (f->size - 1)];
}

static void drop_first(struct feed *f)
{
	struct item *i = *place_of(f, f->last - f->n + 1);

	f->n--;
	f->bytes -= sizeof(*i) + i->size;
	free(i);
}

void feed_unref(struct feed *f)
{
	if (!f)
		return;
	(void)pthread_mutex_lock(&f->lock);
	bool last = --f->refs == 0;
	(void)pthread_mutex_unlock(&f->lock);
	if (!last)
		return;
	while (f->n)
		drop_first(f);
	free(f->ring);
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
}

/* With the lock. The task holds a reference until it ran. Most runs are followed by nobody: the
 * loop's thread would be woken at each step of theirs, to find that out. */
static void wake(struct feed *f)
{
	if (f->told || !f->n_followers)
		return;
	f->told = true;
	f->refs++;
	loop_post(f->loop, &f->task);
}

static void tell(struct task *t)
{
	struct feed *f = (struct feed *)t;

	(void)pthread_mutex_lock(&f->lock);
	f->told = false;
	(void)pthread_mutex_unlock(&f->lock);
	for (struct follower *who = f->followers, *next; who; who = next) {
		next = who->next; /* he may leave */
		who->more(who);
	}
	feed_unref(f);
}

static bool grow(struct feed *f)
{
	size_t size = f->size ? 2 * f->size : 8;
	struct item **ring = calloc(size, sizeof(*ring));

	if (!ring)
		return false;
	for (uint64_t k = f->last - f->n + 1; k <= f->last; k++)
		ring[k & (size - 1)] = *place_of(f, k);
	free(f->ring);
	f->ring = ring;
	f->size = size;
	return true;
}

void feed_add(struct feed *f, const char *name, const char *data, size_t len)
{
	feed_add_id(f, name, data, len, "");
}

uint64_t feed_ahead(struct feed *f)
{
	(void)pthread_mutex_lock(&f->lock);
	uint64_t n = f->last - f->taken;
	(void)pthread_mutex_unlock(&f->lock);
	return n;
}

void feed_add_id(struct feed *f, const char *name, const char *data, size_t len, const char *id)
{
	size_t id_size = strlen(id) + 1, size = len + 1 + id_size;
	struct item *i = malloc(sizeof(*i) + size);

	if (i) {
		*i = (struct item){.name = name, .len = len, .size = size};
		memcpy(i->data, data, len);
		i->data[len] = '\0';
		memcpy(i->data + len + 1, id, id_size);
	}
	(void)pthread_mutex_lock(&f->lock);
	if (!i || (f->n == f->size && !grow(f))) {
		/* Without memory it is one that everybody missed, and so are those before. */
		while (f->n)
			drop_first(f);
		f->last++;
		free(i);
	} else {
		*place_of(f, ++f->last) = i;
		f->n++;
		f->bytes += sizeof(*i) + size;
	}
	while (f->bytes > FEED_BYTES_MAX && f->n > 1)
		drop_first(f);
	wake(f);
	(void)pthread_mutex_unlock(&f->lock);
}

void feed_close(struct feed *f)
{
	(void)pthread_mutex_lock(&f->lock);
	f->closed = true;
	wake(f);
	(void)pthread_mutex_unlock(&f->lock);
}

void feed_follow(struct feed *f, struct follower *who)
{
	who->next = f->followers;
	f->followers = who;
	(void)pthread_mutex_lock(&f->lock);
	f->refs++;
	f->n_followers++;
	(void)pthread_mutex_unlock(&f->lock);
}

void feed_leave(struct feed *f, struct follower *who)
{
	for (struct follower **at = &f->followers; *at; at = &(*at)->next)
		if (*at == who) {
			*at = who->next;
			(void)pthread_mutex_lock(&f->lock);
			f->n_followers--;
			(void)pthread_mutex_unlock(&f->lock);
			feed_unref(f);
			return;
		}
}

int feed_take(struct feed *f, struct follower *who, struct feed_event *ret, char **ret_data)
{
	int r = 0;

	(void)pthread_mutex_lock(&f->lock);
	uint64_t first = f->last - f->n + 1;
	uint64_t number = who->seen + 1 > first ? who->seen + 1 : first;
	struct item *i = f->n && number <= f->last ? *place_of(f, number) : NULL;
	char *copy = i ? malloc(i->size) : NULL;
	if (copy) {
		memcpy(copy, i->data, i->size);
		*ret = (struct feed_event){.number = number,
					   .id = copy + i->len + 1,
					   .missed = number - who->seen - 1,
					   .name = i->name,
					   .data = copy,
					   .len = i->len};
		who->seen = number;
		f->taken = number > f->taken ? number : f->taken;
		*ret_data = copy;
		r = 1;
	} else if (!i && f->closed) {
		r = -1;
	}
	(void)pthread_mutex_unlock(&f->lock);
	return r;
}
