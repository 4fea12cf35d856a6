/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/settle.h"
#include "ledger/tombstone.h"

#define LIST "sinks"
#define STATES "sinks.d"
#define LIST_BYTES (SINKS_MAX * (SINK_TARGET_SIZE + ID_SIZE + 2))
#define BATCH_BYTES (256u << 10)

int sink_list(int dir, struct sink list[SINKS_MAX], struct err *e)
{
	auto_close int fd = openat(dir, LIST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = calloc(1, LIST_BYTES + 1);
	size_t len = 0;
	int n = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, LIST);
	if (!text || fd_read_max(fd, text, LIST_BYTES, &len) < 0)
		return err_sys(e, LIST);
	for (char *p = text, *stop; (stop = strchr(p, '\n')) && n < (int)SINKS_MAX; p = stop + 1) {
		*stop = '\0';
		if (stop - p <= ID_SIZE || p[ID_SIZE - 1] != ' ' ||
		    stop - p - ID_SIZE >= SINK_TARGET_SIZE)
			return err_set(e, ERR_INVALID, LIST ": line %d is damaged", n + 1);
		memcpy(list[n].id, p, ID_SIZE - 1);
		list[n].id[ID_SIZE - 1] = '\0';
		(void)snprintf(list[n++].target, SINK_TARGET_SIZE, "%s", p + ID_SIZE);
	}
	return n;
}

static int write_whole(int dir, const char *name, const char *text, struct err *e)
{
	char next[96];

	(void)snprintf(next, sizeof(next), "%s.next", name);
	auto_close int fd =
		openat(dir, next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 || fsync(fd) < 0 ||
	    renameat(dir, next, dir, name) < 0)
		return err_sys(e, "write %s", name);
	return 0;
}

static int write_list(int dir, const struct sink *list, int n, struct err *e)
{
	auto_free char *text = calloc(1, LIST_BYTES + 1);
	size_t used = 0;

	if (!text)
		return err_sys(e, LIST);
	for (int i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s %s\n", list[i].id,
					 list[i].target);
	return write_whole(dir, LIST, text, e);
}

/* A slip of the keyboard is noticed now, not on the day on which the copy is wanted. */
static int check_there(const char *target, struct err *e)
{
	auto_close int fd =
		target[0] == '/' ? open(target, O_PATH | O_DIRECTORY | O_CLOEXEC) : FD_NONE;

	if (target[0] != '/' || (fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) == 0))
		return 0;
	(void)err_sys(e, "%s", target);
	return err_remedy(e, "name a directory that is there and can be written, or make it first");
}

int sink_add(int dir, const char *target, struct sink *ret, struct err *e)
{
	auto_free struct sink *list = calloc(SINKS_MAX, sizeof(*list));
	int n = list ? sink_list(dir, list, e) : err_sys(e, LIST);
	int r = n < 0 ? n : sink_check(target, e);

	if (r >= 0)
		r = check_there(target, e);
	for (int i = 0; r >= 0 && i < n; i++)
		if (strcmp(list[i].target, target) == 0)
			return err_set(e, ERR_CONFLICT, "%s is there already", target);
	if (r >= 0 && n == (int)SINKS_MAX)
		r = err_set(e, ERR_LIMIT, "more than %u sinks", SINKS_MAX);
	if (r >= 0)
		r = id_make("snk", list[n].id, e);
	if (r < 0)
		return r;
	(void)snprintf(list[n].target, SINK_TARGET_SIZE, "%s", target);
	*ret = list[n];
	return write_list(dir, list, n + 1, e);
}

int sink_remove(int dir, const char *id, struct err *e)
{
	auto_free struct sink *list = calloc(SINKS_MAX, sizeof(*list));
	int n = list ? sink_list(dir, list, e) : err_sys(e, LIST);

	for (int i = 0; i < n; i++) {
		if (strcmp(list[i].id, id) != 0 && strcmp(list[i].target, id) != 0)
			continue;
		memmove(list + i, list + i + 1, sizeof(*list) * (size_t)(n - i - 1));
		return write_list(dir, list, n - 1, e);
	}
	if (n < 0)
		return n;
	(void)err_set(e, ERR_MISSING, "there is no sink %.60s", id);
	return err_remedy(e, "pinfold audit sink ls lists them");
}

static void state_name(const struct sink *s, const char *chain, char ret[96])
{
	(void)snprintf(ret, 96, STATES "/%s.%s", s->id, chain);
}

int sink_state(int dir, const struct sink *s, const char *chain, struct sink_state *ret,
	       struct err *e)
{
	char name[96], text[300] = "";
	unsigned long long shipped = 0, failed = 0;
	size_t len = 0;
	int at = 0;

	*ret = (struct sink_state){.shipped = 0};
	state_name(s, chain, name);
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%s", name);
	if (fd_read_max(fd, text, sizeof(text) - 1, &len) < 0)
		return err_sys(e, "%s", name);
	if (sscanf(text, "%15llu %15llu%n", &shipped, &failed, &at) != 2)
		return err_set(e, ERR_INVALID, "%s is damaged", name);
	ret->shipped = shipped;
	ret->failed_ms = failed;
	(void)snprintf(ret->error, sizeof(ret->error), "%.190s", text + at + (text[at] == ' '));
	ret->error[strcspn(ret->error, "\n")] = '\0';
	return 0;
}

static int keep_state(int dir, const struct sink *s, const char *chain, const struct sink_state *st,
		      struct err *e)
{
	char name[96], text[300];

	if (mkdirat(dir, STATES, 0700) < 0 && errno != EEXIST)
		return err_sys(e, STATES);
	state_name(s, chain, name);
	(void)snprintf(text, sizeof(text), "%llu %llu %s\n", (unsigned long long)st->shipped,
		       (unsigned long long)st->failed_ms, st->error);
	return write_whole(dir, name, text, e);
}

/* Has the other side what it could have of this chain? */
static int compare(int from, const struct sink_to *to, uint64_t shipped, const struct note *now,
		   struct err *e)
{
	struct tree_hash proof[TREE_PROOF_MAX + 1];
	const struct tree_head *there = &to->last.point.head;
	unsigned n = 0;

	if (shipped > now->point.head.size || (to->any && there->size > now->point.head.size)) {
		(void)err_set(e, ERR_CONFLICT, "there are %llu events, here %llu",
			      (unsigned long long)(to->any && there->size > shipped ? there->size
										    : shipped),
			      (unsigned long long)now->point.head.size);
		return err_remedy(e, "the ledger was exchanged for an older copy");
	}
	if (!to->any || there->size == 0)
		return 0;
	auto_close int tree = settle_open_tree(from, e);
	int r = tree < 0 ? tree
			 : tree_consistency(there->size, now->point.head.size, settle_read, &tree,
					    proof, &n, e);
	if (r < 0 || tree_check_consistency(there, &now->point.head, proof, n))
		return r;
	(void)err_set(e, ERR_CONFLICT, "the events that are there are others");
	return err_remedy(e, "the ledger tells another story than before");
}

/* Lines from state->shipped on, up to `size`. */
static int put_events(int dir, const struct sink *s, struct sink_to *to, struct scan *scan,
		      struct sink_state *st, uint64_t size, struct err *e)
{
	auto_free char *batch = malloc(BATCH_BYTES + EVENT_BYTES_MAX);
	struct scan_line line = {.len = 0};
	int r = batch ? 0 : err_sys(e, "sink");

	while (r >= 0 && st->shipped < size) {
		uint64_t at = st->shipped;
		size_t used = 0;

		while (at < size && used < BATCH_BYTES && (r = scan_next(scan, &line, e)) > 0) {
			memcpy(batch + used, line.text, line.len);
			batch[used + line.len] = '\n';
			used += line.len + 1;
			at++;
		}
		if (r >= 0 && at == st->shipped)
			r = err_set(e, ERR_INTERNAL, "events are missing");
		if (r >= 0)
			r = sink_put(to, st->shipped, batch, used, e);
		if (r >= 0) {
			st->shipped = at;
			r = keep_state(dir, s, to->chain, st, e);
		}
	}
	return r;
}

static int ship(int dir, const struct sink *s, int from, const struct note *now,
		struct sink_state *st, struct sink_to *to, struct err *e)
{
	auto_scan *scan = NULL;
	char text[NOTE_SIZE];
	uint64_t gone = tombstone_size(from);
	int r = sink_open(to, s->target, now->point.name + strlen("pinfold/"), from, e);

	if (r >= 0 && to->knows)
		st->shipped = to->shipped;
	if (r >= 0)
		r = compare(from, to, st->shipped, now, e);
	/* Not before: those of a ledger that was exchanged are no others' keys. */
	if (r >= 0)
		r = sink_put_keys(to, from, e);
	st->shipped = st->shipped < gone ? gone : st->shipped;
	if (r >= 0)
		r = scan_open(from, &scan, e);
	if (r >= 0 && st->shipped < now->point.head.size)
		r = settle_seek(from, scan, st->shipped, e);
	if (r >= 0)
		r = put_events(dir, s, to, scan, st, now->point.head.size, e);
	if (r >= 0 && !(to->any && to->last.point.head.size == now->point.head.size))
		r = sink_put_note(to, text, note_again(now, text), e);
	return r;
}

int sink_ship(int dir, const struct sink *s, int from, bool look, struct err *e)
{
	struct sink_to to = {.fd = FD_NONE};
	struct err none = ERR_INIT;
	struct sink_state st;
	struct timespec ts;
	struct note now;
	int r = settle_last(from, &now, e);

	if (r <= 0)
		return r;
	const char *chain = now.point.name + strlen("pinfold/");
	r = sink_state(dir, s, chain, &st, e);
	/* How far it is, is kept beside the ledger, and was exchanged with it. */
	bool looks = look && s->target[0] == '/';
	if (r < 0 || (st.shipped == now.point.head.size && !st.failed_ms && !looks))
		return r;
	uint64_t before = st.shipped;
	st.failed_ms = 0;
	st.error[0] = '\0';
	r = ship(dir, s, from, &now, &st, &to, e);
	int closed = sink_close(&to, r < 0 ? &none : e);
	r = r < 0 ? r : closed;
	if (r < 0) {
		(void)clock_gettime(CLOCK_REALTIME, &ts);
		st.failed_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
		(void)snprintf(st.error, sizeof(st.error), "%.190s", e->text);
		/* What had no answer goes there again. */
		if (closed < 0)
			st.shipped = before;
	}
	int kept = keep_state(dir, s, chain, &st, r < 0 ? &none : e);
	return r < 0 ? r : kept;
}
