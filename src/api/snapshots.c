/* SPDX-License-Identifier: Apache-2.0 */
#include "api/snapshots.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/spool.h"
#include "base/fd.h"
#include "pinfold/pinfold.h"

struct snapshot {
	char tenant[TENANT_SIZE];
	char name[SNAPSHOT_NAME_MAX + 1];
	int fd;
	uint64_t bytes, used_ms;
	struct snapshot *next;
};

struct snapshots {
	pthread_mutex_t lock;
	struct snapshot *first; /* under lock */
};

int snapshots_new(struct snapshots **ret, struct err *e)
{
	struct snapshots *s = calloc(1, sizeof(*s));

	if (!s)
		return err_sys(e, "table of snapshots");
	(void)pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

static void remove_at(struct snapshot **at)
{
	struct snapshot *one = *at;

	*at = one->next;
	fd_close(&one->fd);
	free(one);
}

void snapshots_free(struct snapshots *s)
{
	if (!s)
		return;
	while (s->first)
		remove_at(&s->first);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

/* With the lock. */
static void forget_old(struct snapshots *s)
{
	uint64_t now = loop_now_ms();

	for (struct snapshot **at = &s->first; *at;)
		if ((*at)->used_ms + SNAPSHOT_KEEP_MS < now)
			remove_at(at);
		else
			at = &(*at)->next;
}

/* With the lock. */
static struct snapshot **find(struct snapshots *s, const char *tenant, const char *name)
{
	struct snapshot **at = &s->first;

	while (*at && (strcmp((*at)->tenant, tenant) != 0 || strcmp((*at)->name, name) != 0))
		at = &(*at)->next;
	return at;
}

/* With the lock: those of the tenant, for a person or a model to choose from. */
static void list_names(const struct snapshots *s, const char *tenant, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (const struct snapshot *one = s->first; one && n < size; one = one->next)
		if (strcmp(one->tenant, tenant) == 0)
			n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", one->name);
}

/* With the lock: is there room for one more, where that of the same name goes? */
static int check_room(struct snapshots *s, const struct snapshot *new, struct err *e)
{
	char names[300];
	uint64_t bytes = new->bytes;
	unsigned n = 1;

	forget_old(s);
	for (const struct snapshot *one = s->first; one; one = one->next) {
		if (strcmp(one->tenant, new->tenant) != 0 || strcmp(one->name, new->name) == 0)
			continue;
		bytes += one->bytes;
		n++;
	}
	if (n <= SNAPSHOTS_MAX && bytes <= SNAPSHOT_BYTES_MAX)
		return 0;
	list_names(s, new->tenant, names, sizeof(names));
	(void)err_set(e, ERR_LIMIT, "at most %u snapshots and %llu MiB of them are kept",
		      SNAPSHOTS_MAX, SNAPSHOT_BYTES_MAX >> 20);
	(void)err_detail(e, "snapshots");
	return err_remedy(e, "use a name again, which replaces it (%s), or remove files first",
			  names);
}

static int check_name(const char *name, struct err *e)
{
	size_t n = strlen(name);

	if (n && n <= SNAPSHOT_NAME_MAX && name[0] != '-' &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n)
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.40s\" is no name of a snapshot", name);
	return err_remedy(e, "use up to %u of a-z, 0-9, -, _ and ., beginning with no -",
			  SNAPSHOT_NAME_MAX);
}

int snapshots_put(struct snapshots *s, const char *tenant, const char *name, int fd, uint64_t bytes,
		  struct err *e)
{
	struct snapshot *one = calloc(1, sizeof(*one));

	if (!one) {
		fd_close(&fd);
		return err_sys(e, "snapshot");
	}
	*one = (struct snapshot){.fd = fd, .bytes = bytes, .used_ms = loop_now_ms()};
	(void)snprintf(one->tenant, sizeof(one->tenant), "%s", tenant);
	(void)snprintf(one->name, sizeof(one->name), "%s", name);
	(void)pthread_mutex_lock(&s->lock);
	int r = check_room(s, one, e);
	if (r >= 0) {
		struct snapshot **old = find(s, tenant, name);

		if (*old)
			remove_at(old);
		one->next = s->first;
		s->first = one;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (r < 0) {
		fd_close(&one->fd);
		free(one);
	}
	return r;
}

int snapshots_open(struct snapshots *s, const char *tenant, const char *name, struct err *e)
{
	char names[300];
	int fd = -ENOENT;

	(void)pthread_mutex_lock(&s->lock);
	forget_old(s);
	struct snapshot *one = *find(s, tenant, name);
	if (one) {
		one->used_ms = loop_now_ms();
		fd = fcntl(one->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			fd = err_sys(e, "snapshot");
	} else {
		list_names(s, tenant, names, sizeof(names));
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (one)
		return fd;
	(void)err_set(e, ERR_MISSING, "there is no snapshot \"%.64s\"", name);
	(void)err_detail(e, "snapshot");
	return err_remedy(e, *names ? "there are: %s" : "keep one first%s", names);
}

int snapshot_check(const struct call *c, const char *name, struct err *e)
{
	auto_close int fd = snapshots_open(c->api->snapshots, c->who.tenant, name, e);

	return fd < 0 ? fd : 0;
}

/* Until the archive is whole; its writer is in the sandbox, so nothing of it is believed but its
 * end. */
static int write_archive(struct call *c, struct pinfold_run *run, int fd, uint64_t *ret_bytes,
			 struct err *e)
{
	struct pinfold_event ev = {0};
	uint64_t n = 0;

	while (ev.kind != PINFOLD_EVENT_RESULT) {
		struct pollfd p[2] = {{.fd = pinfold_run_fd(run), .events = POLLIN},
				      {.fd = call_cancelled_fd(c), .events = POLLIN}};

		if (pinfold_run_next(run, 0, &ev) <= 0) {
			(void)poll(p, 2, -1); /* it has a time limit, which wakes us */
			if (p[1].revents)
				return err_set(e, ERR_INTERNAL, "nobody waits for it any more");
			continue;
		}
		if (ev.kind != PINFOLD_EVENT_STDOUT)
			continue;
		n += ev.len;
		if (n > SNAPSHOT_BYTES_MAX) {
			(void)err_set(e, ERR_LIMIT, "/home/user has more than %llu MiB",
				      SNAPSHOT_BYTES_MAX >> 20);
			(void)err_detail(e, "snapshots");
			return err_remedy(e, "remove what need not be kept");
		}
		int r = fd_write_all(fd, ev.data, ev.len);
		if (r < 0)
			return errno = -r, err_sys(e, "snapshot");
	}
	if (pinfold_run_exit_status(run) != 0)
		return err_set(e, ERR_INTERNAL, "the files could not be read");
	*ret_bytes = n;
	return 0;
}

int snapshot_take(struct call *c, struct box *b, const char *name, uint64_t *ret_bytes,
		  struct err *e)
{
	struct pinfold_run *run = NULL;

	if (check_name(name, e) < 0)
		return -EINVAL;
	auto_close int fd = spool_open_file();
	if (fd < 0)
		return err_sys(e, "snapshot");
	int r = box_tar(c, b, false, &run, e);
	if (r >= 0)
		r = write_archive(c, run, fd, ret_bytes, e);
	if (run)
		pinfold_run_free(run);
	return r < 0 ? r
		     : snapshots_put(c->api->snapshots, c->who.tenant, name, take_fd(&fd),
				     *ret_bytes, e);
}

/* As much as the pipe takes. false: that was all. */
static bool feed_some(struct pinfold_run *run, int fd, off_t *at)
{
	int in = pinfold_run_stdin_fd(run);
	char data[64u << 10];

	while (in >= 0) {
		ssize_t n = pread(fd, data, sizeof(data), *at);
		ssize_t out = n > 0 ? write(in, data, (size_t)n) : 0;

		if (out < 0 && errno == EAGAIN)
			return true;
		if (out <= 0) {
			pinfold_run_stdin_close(run);
			return false;
		}
		*at += out;
	}
	return false;
}

int snapshot_give(struct call *c, struct box *b, const char *name, struct err *e)
{
	auto_close int fd = snapshots_open(c->api->snapshots, c->who.tenant, name, e);
	struct pinfold_run *run = NULL;
	struct pinfold_event ev = {0};
	off_t at = 0;

	if (fd < 0)
		return fd;
	int r = box_tar(c, b, true, &run, e);
	while (r >= 0 && ev.kind != PINFOLD_EVENT_RESULT) {
		bool more = feed_some(run, fd, &at);
		struct pollfd p[3] = {{.fd = pinfold_run_fd(run), .events = POLLIN},
				      {.fd = call_cancelled_fd(c), .events = POLLIN},
				      {.fd = more ? pinfold_run_stdin_fd(run) : -1,
				       .events = POLLOUT}};

		if (pinfold_run_next(run, 0, &ev) > 0)
			continue;
		(void)poll(p, 3, -1);
		if (p[1].revents)
			r = err_set(e, ERR_INTERNAL, "nobody waits for it any more");
	}
	if (r >= 0 && pinfold_run_exit_status(run) != 0) {
		r = err_set(e, ERR_LIMIT, "the files of snapshot \"%.64s\" could not be written",
			    name);
		(void)err_remedy(e, "they may need more disk or memory than this sandbox has");
	}
	if (run)
		pinfold_run_free(run);
	return r;
}
