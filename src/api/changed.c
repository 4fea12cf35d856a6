/* SPDX-License-Identifier: Apache-2.0 */
#include "api/changed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "pinfold/pinfold.h"

#define HOME "/home/user"
#define FILES_MAX 100u
#define NAMES_MAX 4096u	 /* that are remembered of one execution; more are looked for instead */
#define LONG_MS 5u	 /* a look at all of them that is worth a watch */
#define TICK_NS 50000000 /* ticks have 10 ms at most, and may be late */
#define TICK_PAUSES 200u
#define SYNC_MS 2000 /* for the sandbox to tell what it has seen */

/* Files are stamped by the coarse clock or, by newer kernels, by the fine one: nothing that was
 * changed is younger than this, and nothing that will be is older than that. */
static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t); /* cannot fail for these */
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void changed_now(struct box *b)
{
	atomic_store(&b->changed_ns, clock_ns(CLOCK_REALTIME));
}

int64_t changed_begin(const struct box *b)
{
	const struct timespec pause = {.tv_nsec = 250000};
	int64_t last = atomic_load(&b->changed_ns), now = clock_ns(CLOCK_REALTIME_COARSE);

	/* Later by more: somebody has set the clock. */
	for (unsigned i = 0; now <= last && last - now < TICK_NS && i < TICK_PAUSES; i++) {
		(void)nanosleep(&pause, NULL);
		now = clock_ns(CLOCK_REALTIME_COARSE);
	}
	return now - 1;
}

static void add(struct value *list, const char *path, const struct pinfold_file_info *info)
{
	struct value *o = value_object();

	value_set(o, "path", value_of_str(path));
	value_set(o, "type", value_of_str(info->type));
	value_set(o, "size", value_of_u64(info->size));
	value_add(list, o);
}

static int add_file(const char *path, const struct pinfold_file_info *info, void *arg)
{
	struct value *list = arg;

	if (strcmp(info->type, "file") != 0)
		return 0;
	if (value_len(list) == FILES_MAX)
		return 1;
	add(list, path, info);
	return 0;
}

struct value *changed_files(struct box *b, int64_t since_ns)
{
	struct value *list = value_array();
	struct pinfold_error failure;
	struct err ignored = ERR_INIT;
	struct pinfold_files *files = box_files(b, &ignored);

	if (!files)
		return list;
	int r = pinfold_file_list(files, HOME, 0, since_ns, add_file, list, &failure);
	box_files_put(b, r < 0);
	return list;
}

/* Paths that something was told of. */
struct names {
	char **all;
	size_t n;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->all[i]);
	free(names->all);
}

static bool add_name(struct names *names, const char *path)
{
	if (!names->all)
		names->all = calloc(NAMES_MAX, sizeof(*names->all));
	/* Who writes a file says so with every write. */
	if (names->n && strcmp(names->all[names->n - 1], path) == 0)
		return true;
	if (!names->all || names->n == NAMES_MAX || !(names->all[names->n] = strdup(path)))
		return false;
	names->n++;
	return true;
}

/* All that was told until now. false: the watch is over, or has lost some. */
static bool hear_all(struct pinfold_watch *w, struct names *names)
{
	auto_free struct pinfold_watch_event *ev = malloc(sizeof(*ev));

	if (!ev || pinfold_watch_sync(w) < 0)
		return false;
	while (pinfold_watch_next(w, SYNC_MS, ev) > 0) {
		if (strcmp(ev->kind, "sync") == 0)
			return true;
		if (strcmp(ev->kind, "overflow") == 0 || strcmp(ev->path, HOME) == 0)
			return false;
		if (strcmp(ev->kind, "remove") != 0 && !add_name(names, ev->path))
			return false;
	}
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those that are files, and have changed since then: what happened before was told of, too. */
static bool look_at(struct box *b, struct names *names, int64_t since_ns, struct value *list)
{
	struct pinfold_file_info *info = malloc(sizeof(*info));
	struct pinfold_error failure;
	struct err ignored = ERR_INIT;
	struct pinfold_files *files = info ? box_files(b, &ignored) : NULL;

	if (names->n)
		qsort(names->all, names->n, sizeof(*names->all), by_text);
	for (size_t i = 0; files && i < names->n && value_len(list) < FILES_MAX; i++) {
		const char *path = names->all[i];

		if ((i && strcmp(path, names->all[i - 1]) == 0) ||
		    pinfold_file_stat(files, path, PINFOLD_FILE_NOFOLLOW, info, &failure) < 0)
			continue; /* it was told of already, or is gone */
		if (strcmp(info->type, "file") == 0 && info->ctime_ns > since_ns)
			add(list, path, info);
	}
	if (files)
		box_files_put(b, false);
	free(info);
	return files;
}

static void stop_watching(struct session *s)
{
	pinfold_watch_close(s->watch);
	s->watch = NULL;
}

struct value *session_changes(struct box *b, struct session *s, int64_t since_ns)
{
	struct names names = {0};
	struct pinfold_error ignored;
	struct value *list = value_array();
	bool known = s->watch && hear_all(s->watch, &names) && look_at(b, &names, since_ns, list);

	names_done(&names);
	if (known)
		return list;
	value_free(list);
	stop_watching(s);
	uint64_t before = loop_now_ms();
	list = changed_files(b, since_ns);
	if (loop_now_ms() - before >= LONG_MS && !s->unwatchable)
		s->unwatchable = pinfold_watch_open(b->id, HOME, 1, &s->watch, &ignored) < 0;
	return list;
}
