/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SANDBOXES_MAX 256u
#define RUNS_KEPT 256u
#define PROCESSES_KEPT 128u

struct process_name {
	unsigned number;
	uint32_t pid;
	uint64_t offset;
};

struct sandbox_names {
	char id[32];
	uint64_t used; /* the one that was used longest ago makes room */
	unsigned n_runs, n_processes;
	char runs[RUNS_KEPT][32]; /* a ring; number n is at n % RUNS_KEPT */
	struct process_name processes[PROCESSES_KEPT];
};

struct names {
	pthread_mutex_t lock;
	uint64_t clock;
	struct sandbox_names *all[SANDBOXES_MAX]; /* owned; NULL: free */
};

int names_new(struct names **ret, struct err *e)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return err_sys(e, "names");
	(void)pthread_mutex_init(&n->lock, NULL);
	*ret = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < SANDBOXES_MAX; i++)
		free(n->all[i]);
	(void)pthread_mutex_destroy(&n->lock);
	free(n);
}

/* With the lock. NULL: not known, or no memory. */
static struct sandbox_names *find(struct names *n, const char *id, bool make)
{
	struct sandbox_names **place = &n->all[0];

	for (unsigned i = 0; i < SANDBOXES_MAX; i++) {
		struct sandbox_names **s = &n->all[i];

		if (*s && strcmp((*s)->id, id) == 0) {
			(*s)->used = ++n->clock;
			return *s;
		}
		if (*place && (!*s || (*s)->used < (*place)->used))
			place = s;
	}
	if (!make)
		return NULL;
	free(*place);
	*place = calloc(1, sizeof(**place));
	if (*place) {
		(void)snprintf((*place)->id, sizeof((*place)->id), "%s", id);
		(*place)->used = ++n->clock;
	}
	return *place;
}

static unsigned number_of(const char *name, char letter)
{
	unsigned number = 0;

	if (*name++ != letter || !*name || strlen(name) > 8)
		return 0;
	for (; *name >= '0' && *name <= '9'; name++)
		number = 10 * number + (unsigned)(*name - '0');
	return *name ? 0 : number;
}

unsigned names_of_run(struct names *n, const char *sandbox, const char *run)
{
	unsigned number = 0;

	(void)pthread_mutex_lock(&n->lock);
	struct sandbox_names *s = find(n, sandbox, true);
	for (unsigned i = s ? s->n_runs : 0; i && i + RUNS_KEPT > s->n_runs && !number; i--)
		if (strcmp(s->runs[i % RUNS_KEPT], run) == 0)
			number = i;
	if (s && !number) {
		number = ++s->n_runs;
		(void)snprintf(s->runs[number % RUNS_KEPT], sizeof(s->runs[0]), "%s", run);
	}
	(void)pthread_mutex_unlock(&n->lock);
	return number;
}

bool names_run(struct names *n, const char *sandbox, const char *name, char ret[32])
{
	unsigned number = number_of(name, 'r');

	(void)pthread_mutex_lock(&n->lock);
	const struct sandbox_names *s = find(n, sandbox, false);
	bool known = s && number && number <= s->n_runs && number + RUNS_KEPT > s->n_runs;
	if (known)
		(void)snprintf(ret, 32, "%s", s->runs[number % RUNS_KEPT]);
	(void)pthread_mutex_unlock(&n->lock);
	return known;
}

static struct process_name *process_at(struct sandbox_names *s, unsigned number)
{
	struct process_name *p = s && number ? &s->processes[number % PROCESSES_KEPT] : NULL;

	return p && p->number == number ? p : NULL;
}

/* The newest of that pid: numbers of processes come again. */
static struct process_name *process_of(struct sandbox_names *s, uint32_t pid)
{
	for (unsigned i = s ? s->n_processes : 0; i && i + PROCESSES_KEPT > s->n_processes; i--) {
		struct process_name *p = process_at(s, i);

		if (p && p->pid == pid)
			return p;
	}
	return NULL;
}

static unsigned add_process(struct sandbox_names *s, uint32_t pid)
{
	unsigned number = ++s->n_processes;

	s->processes[number % PROCESSES_KEPT] = (struct process_name){number, pid, 0};
	return number;
}

unsigned names_add_process(struct names *n, const char *sandbox, uint32_t pid)
{
	(void)pthread_mutex_lock(&n->lock);
	struct sandbox_names *s = find(n, sandbox, true);
	unsigned number = s ? add_process(s, pid) : 0;
	(void)pthread_mutex_unlock(&n->lock);
	return number;
}

unsigned names_of_process(struct names *n, const char *sandbox, uint32_t pid)
{
	(void)pthread_mutex_lock(&n->lock);
	struct sandbox_names *s = find(n, sandbox, true);
	const struct process_name *p = process_of(s, pid);
	unsigned number = p ? p->number : s ? add_process(s, pid) : 0;
	(void)pthread_mutex_unlock(&n->lock);
	return number;
}

bool names_process(struct names *n, const char *sandbox, const char *name, uint32_t *ret_pid)
{
	(void)pthread_mutex_lock(&n->lock);
	const struct process_name *p = process_at(find(n, sandbox, false), number_of(name, 'p'));
	if (p)
		*ret_pid = p->pid;
	(void)pthread_mutex_unlock(&n->lock);
	return p;
}

uint64_t names_offset(struct names *n, const char *sandbox, uint32_t pid)
{
	(void)pthread_mutex_lock(&n->lock);
	const struct process_name *p = process_of(find(n, sandbox, false), pid);
	uint64_t offset = p ? p->offset : 0;
	(void)pthread_mutex_unlock(&n->lock);
	return offset;
}

void names_set_offset(struct names *n, const char *sandbox, uint32_t pid, uint64_t offset)
{
	(void)pthread_mutex_lock(&n->lock);
	struct process_name *p = process_of(find(n, sandbox, false), pid);
	if (p)
		p->offset = offset;
	(void)pthread_mutex_unlock(&n->lock);
}

void names_forget(struct names *n, const char *sandbox)
{
	(void)pthread_mutex_lock(&n->lock);
	for (unsigned i = 0; i < SANDBOXES_MAX; i++)
		if (n->all[i] && strcmp(n->all[i]->id, sandbox) == 0) {
			free(n->all[i]);
			n->all[i] = NULL;
		}
	(void)pthread_mutex_unlock(&n->lock);
}
