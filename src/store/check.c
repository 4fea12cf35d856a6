/* SPDX-License-Identifier: Apache-2.0 */
#include "store/check.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "kernel/remove.h"
#include "store/db.h"
#include "store/stack.h"
#include "store/store.h"
#include "store/upper.h"
#include "store/used.h"

#define DISTRUST "changed:" /* and the number of a layer: a key in meta */
#define TROUBLES_MAX 1000u  /* database problems that are told one by one */

struct row {
	int64_t id, state;
	uint32_t parts;
	char digest[CHECK_DIGEST_SIZE];
	bool lost; /* nothing can be made of it */
};

struct job {
	const struct check *c;
	struct store *s;
	struct check_stats *stats;
	struct used used; /* layers that snapshots have */
	struct row *rows;
	size_t n, room;
};

static const struct {
	const char *name;
	uint32_t bit;
} parts[] = {{"root", LAYER_ROOT}, {"usr", LAYER_USR}, {"work", LAYER_WORK}};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

__attribute__((format(printf, 4, 5))) static struct check_problem
problem(struct job *j, enum check_kind kind, int64_t layer, const char *fmt, ...)
{
	struct check_problem p = {.kind = kind, .layer = layer};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(p.text, sizeof(p.text), fmt, ap); /* cut text still says what it is */
	va_end(ap);
	j->stats->problems++;
	return p;
}

static void tell(struct job *j, struct check_problem *p, bool repaired)
{
	p->repaired = repaired;
	j->stats->repaired += repaired;
	j->c->tell(j->c->context, p);
}

/* The image, or the packages, that it is. */
static int find_image(struct job *j, struct check_problem *p, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	int r = db_query(j->s->db, &rows, e,
			 "SELECT 'image ' || name, stack FROM image UNION ALL"
			 " SELECT 'packages ' || substr(key, 1, 12), stack FROM depset",
			 "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct err none = ERR_INIT;

		if (stack_parse(db_text(rows, 1), &stack, &none) >= 0 &&
		    stack_has(&stack, (uint32_t)p->layer))
			(void)snprintf(p->used_by, sizeof(p->used_by), "%s", db_text(rows, 0));
	}
	return r;
}

/* Which snapshots have it, for people. */
static int find_users(struct job *j, struct check_problem *p, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	char last[STORE_NAME_MAX + 1] = "";
	int r = find_image(j, p, e);
	size_t n = strlen(p->used_by);

	if (r >= 0)
		r = db_query(j->s->db, &rows, e,
			     "SELECT w.name, s.seq, s.stack FROM snap s JOIN workspace w ON"
			     " w.id = s.workspace ORDER BY w.name, s.seq",
			     "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct err none = ERR_INIT;
		const char *name = db_text(rows, 0);

		if (stack_parse(db_text(rows, 2), &stack, &none) < 0 ||
		    !stack_has(&stack, (uint32_t)p->layer))
			continue;
		bool same = strcmp(name, last) == 0;
		int more = snprintf(p->used_by + n, sizeof(p->used_by) - n, "%s%s %lld",
				    same || !n ? "" : ", ", same ? "" : name,
				    (long long)db_int(rows, 1));
		if (more < 0 || n + (size_t)more >= sizeof(p->used_by) - 4) {
			memcpy(p->used_by + n, "...", 4);
			break;
		}
		n += (size_t)more;
		(void)snprintf(last, sizeof(last), "%s", name);
	}
	return r < 0 ? r : 0;
}

static int check_database(struct job *j, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(j->s->db, &rows, e, "PRAGMA integrity_check", "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		if (strcmp(db_text(rows, 0), "ok") == 0 || j->stats->problems >= TROUBLES_MAX)
			continue;
		struct check_problem p =
			problem(j, CHECK_DATABASE, 0, "store.db: %.200s", db_text(rows, 0));
		tell(j, &p, false);
	}
	return r;
}

static int count(struct job *j, const char *sql, uint64_t *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(j->s->db, &rows, e, sql, "");

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		*ret = (uint64_t)db_int(rows, 0);
	return r < 0 ? r : 0;
}

static int load(struct job *j, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(j->s->db, &rows, e,
			 "SELECT id, state, parts, digest FROM layer ORDER BY id", "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		if (j->n == j->room) {
			size_t room = j->room ? j->room * 2 : 64;
			void *more = reallocarray(j->rows, room, sizeof(*j->rows));

			if (!more)
				return err_sys(e, "fsck");
			j->rows = more;
			j->room = room;
		}
		struct row *to = &j->rows[j->n++];
		*to = (struct row){db_int(rows, 0), db_int(rows, 1), (uint32_t)db_int(rows, 2), "",
				   false};
		(void)snprintf(to->digest, sizeof(to->digest), "%s", db_text(rows, 3));
	}
	return r;
}

/* NULL: every part is there. */
static const char *lacks(const struct store *s, int64_t layer, uint32_t bits)
{
	char path[64];
	struct stat st;

	for (size_t i = 0; i < PARTS; i++) {
		(void)snprintf(path, sizeof(path), "%lld/%s", (long long)layer, parts[i].name);
		if ((bits & parts[i].bit) &&
		    (fstatat(s->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     !S_ISDIR(st.st_mode)))
			return parts[i].name;
	}
	return NULL;
}

/* Take it out of the chain: who would be undone to it is undone to what was before. */
static int drop_snap(struct job *j, int64_t id, struct err *e)
{
	int r = db_run(j->s->db, e,
		       "UPDATE snap SET before = (SELECT before FROM snap WHERE id = ?1)"
		       " WHERE before = ?1",
		       "i", id);

	return r < 0 ? r : db_run(j->s->db, e, "DELETE FROM snap WHERE id = ?1", "i", id);
}

static int drop_image(struct job *j, int64_t layer, struct err *e)
{
	struct stack stack = {.n = 1, .layer[0] = {(uint32_t)layer, STACK_IMAGE_PARTS}};
	char text[STACK_TEXT_SIZE];

	stack_print(&stack, text);
	int r = db_run(j->s->db, e, "DELETE FROM image WHERE stack = ?1", "t", text);
	if (r < 0)
		return r;
	/* Packages are installed again when somebody wants them. */
	stack.layer[0].parts = LAYER_USR;
	stack_print(&stack, text);
	return db_run(j->s->db, e, "DELETE FROM depset WHERE stack = ?1", "t", text);
}

/* Snapshots and images that need it, and then its row. */
static int drop_layer(struct job *j, int64_t layer, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	int r = drop_image(j, layer, e);

	if (r >= 0)
		r = db_query(j->s->db, &rows, e, "SELECT id, stack FROM snap ORDER BY id DESC", "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		struct err none = ERR_INIT;

		if (stack_parse(db_text(rows, 1), &stack, &none) >= 0 &&
		    stack_has(&stack, (uint32_t)layer))
			r = drop_snap(j, db_int(rows, 0), e);
	}
	db_done(&rows);
	return r < 0 ? r : db_run(j->s->db, e, "DELETE FROM layer WHERE id = ?1", "i", layer);
}

static int lost(struct job *j, struct row *row, const char *part, struct err *e)
{
	struct check_problem p = problem(j, CHECK_MISSING, row->id, "layer %lld: %s is not there",
					 (long long)row->id, part);
	int r = find_users(j, &p, e);

	row->lost = true;
	if (r >= 0 && j->c->repair)
		r = drop_layer(j, row->id, e);
	if (r >= 0)
		tell(j, &p, j->c->repair);
	return r;
}

static int record(struct store *s, int64_t layer, const char *digest, struct err *e)
{
	/* One that is dead by now was being removed while it was read. */
	return db_run(s->db, e,
		      "UPDATE layer SET digest = ?2 WHERE id = ?1 AND state = 1 AND digest IS NULL",
		      "it", layer, digest);
}

static int distrust(struct store *s, int64_t layer, struct err *e)
{
	return db_run(s->db, e, "REPLACE INTO meta(key, value) VALUES('" DISTRUST "' || ?1, 1)",
		      "i", layer);
}

int check_trust(struct store *s, const char *workspace, const struct stack *stack, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	long long layer = 0;
	int r = db_query(s->db, &rows, e,
			 "SELECT key FROM meta WHERE key > '" DISTRUST "' AND key < 'changed;'",
			 "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		if (sscanf(db_text(rows, 0), DISTRUST "%18lld", &layer) != 1 ||
		    !stack_has(stack, (uint32_t)layer))
			continue;
		(void)err_set(
			e, ERR_CONFLICT,
			"workspace %s: pinfold fsck found layer %lld changed since it was made",
			workspace, layer);
		(void)err_detail(e, "changed");
		return err_remedy(e,
				  "put it right and run pinfold fsck; or go before it with pinfold "
				  "rollback; or take it as it is with pinfold fsck --accept");
	}
	return r;
}

/* It is other than it was, or cannot be read. */
static int doubt(struct job *j, struct check_problem *p, const char *now, struct err *e)
{
	bool accepted = j->c->accept && p->kind == CHECK_CHANGED;
	int r = find_users(j, p, e);

	if (r >= 0 && accepted)
		r = db_run(j->s->db, e, "UPDATE layer SET digest = ?2 WHERE id = ?1", "it",
			   p->layer, now);
	else if (r >= 0)
		r = distrust(j->s, p->layer, e);
	if (r >= 0)
		tell(j, p, accepted);
	return r;
}

static int check_content(struct job *j, const struct row *row, struct err *e)
{
	char now[CHECK_DIGEST_SIZE] = "";
	struct err why = ERR_INIT;
	struct check_problem p;
	int r = j->c->digest(j->s, (uint32_t)row->id, row->parts, now, &why);

	if (r < 0) {
		*e = why;
		return r;
	}
	if (r > 0 && !row->digest[0]) {
		j->stats->recorded++;
		return record(j->s, row->id, now, e);
	}
	if (r > 0 && strcmp(now, row->digest) == 0)
		return 0;
	if (r == 0)
		p = problem(j, CHECK_UNREADABLE, row->id, "layer %lld cannot be read: %.200s",
			    (long long)row->id, why.text);
	else
		p = problem(j, CHECK_CHANGED, row->id, "layer %lld was changed since it was made",
			    (long long)row->id);
	return doubt(j, &p, now, e);
}

/* Its row says that it is rubbish, or being made, and a snapshot says otherwise. */
static int check_state(struct job *j, struct row *row, struct err *e)
{
	struct check_problem p =
		problem(j, CHECK_ROW, row->id, "layer %lld is not marked as one that is kept",
			(long long)row->id);
	int r = find_users(j, &p, e);

	if (r >= 0 && j->c->repair)
		r = db_run(j->s->db, e, "UPDATE layer SET state = 1 WHERE id = ?1", "i", row->id);
	if (r >= 0)
		tell(j, &p, j->c->repair);
	return r;
}

static int check_layers(struct job *j, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < j->n && r >= 0; i++) {
		struct row *row = &j->rows[i];

		/* What a dead process left has a row, and goes with the next collection. */
		if (row->state != LAYER_FROZEN && !used_has(&j->used, row->id))
			continue;
		j->stats->layers++;
		const char *part = lacks(j->s, row->id, row->parts);
		if (part)
			r = lost(j, row, part, e);
		else if (row->state != LAYER_FROZEN)
			r = check_state(j, row, e);
		else
			r = check_content(j, row, e);
	}
	return r;
}

static int by_id(const void *key, const void *row)
{
	int64_t id = *(const int64_t *)key, other = ((const struct row *)row)->id;

	return id < other ? -1 : id > other;
}

static struct row *find_row(const struct job *j, int64_t id)
{
	return j->n ? bsearch(&id, j->rows, j->n, sizeof(*j->rows), by_id) : NULL;
}

static int64_t number_of(const char *name)
{
	long long n = 0;
	int end = 0;

	if (sscanf(name, "%18lld%n", &n, &end) != 1 || name[end] || n <= 0)
		return 0;
	return n;
}

/* Files of a layer that nobody has a row of. */
static int orphan(struct job *j, const char *name, struct err *e)
{
	struct check_problem p =
		problem(j, CHECK_ORPHAN, number_of(name), "layers/%.80s belongs to nobody", name);

	if (j->c->repair) {
		int r = remove_tree_at(j->s->layers_fd, name);

		if (r < 0) {
			errno = -r;
			return err_sys(e, "remove %s/%.80s", j->s->layers_path, name);
		}
	}
	tell(j, &p, j->c->repair);
	return 0;
}

static int check_directories(struct job *j, struct err *e)
{
	auto_close int fd = openat(j->s->layers_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return err_sys(e, "%s", j->s->layers_path);
	(void)take_fd(&fd);
	while (r >= 0 && (errno = 0, entry = readdir(d))) {
		int64_t id = number_of(entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		/* What a snapshot has is no orphan: its row is what is missing. */
		if (!id || (!find_row(j, id) && !used_has(&j->used, id)))
			r = orphan(j, entry->d_name, e);
	}
	(void)closedir(d); /* only read */
	return r;
}

static int restore_row(struct job *j, int64_t snap, struct sandbox_layer layer, struct err *e)
{
	struct row row = {.id = layer.number, .parts = layer.parts};

	if (lacks(j->s, layer.number, layer.parts))
		return lost(j, &row, "its directory", e);
	struct check_problem p =
		problem(j, CHECK_ROW, layer.number, "layer %u has no row", layer.number);
	int r = find_users(j, &p, e);
	if (r >= 0 && j->c->repair)
		r = db_run(j->s->db, e,
			   snap ? "INSERT OR IGNORE INTO layer(id, workspace, state, parts, files,"
				  " bytes) SELECT ?1, workspace, 1, ?2, files, bytes FROM snap"
				  " WHERE id = ?3"
				: "INSERT OR IGNORE INTO layer(id, workspace, state, parts, files,"
				  " bytes) VALUES(?1, -1, 1, ?2, ?3, 0)",
			   "iii", (int64_t)layer.number, (int64_t)layer.parts, snap);
	if (r >= 0)
		tell(j, &p, j->c->repair);
	return r;
}

/* Layers of one snapshot, or of an image or packages (0), that have no row; each is told of
 * once. */
static int check_stack(struct job *j, int64_t snap, const struct stack *stack, struct used *told,
		       struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < stack->n && r >= 0; i++) {
		uint32_t number = stack->layer[i].number;

		if (find_row(j, number) || used_has(told, number) || number >= told->n)
			continue;
		told->bits[number / 8] |= (uint8_t)(1u << number % 8);
		r = restore_row(j, snap, stack->layer[i], e);
	}
	return r;
}

static int check_snapshot(struct job *j, struct db_rows *rows, struct used *told, struct err *e)
{
	struct err why = ERR_INIT;
	struct stack stack;
	int64_t id = db_int(rows, 0);

	if (stack_parse(db_text(rows, 2), &stack, &why) >= 0 && !db_is_null(rows, 3))
		return check_stack(j, id, &stack, told, e);
	struct check_problem p =
		problem(j, CHECK_SNAPSHOT, 0, "snapshot %lld of %s: %s", (long long)db_int(rows, 1),
			db_is_null(rows, 3) ? "no workspace" : db_text(rows, 3),
			db_is_null(rows, 3) ? "it belongs to nobody" : "its layers are unreadable");
	int r = j->c->repair ? drop_snap(j, id, e) : 0;
	if (r >= 0)
		tell(j, &p, j->c->repair);
	return r;
}

static int check_image(struct job *j, struct db_rows *rows, struct used *told, struct err *e)
{
	struct err why = ERR_INIT;
	struct stack stack;

	bool image = db_int(rows, 3);

	if (stack_parse(db_text(rows, 2), &stack, &why) >= 0 && stack.n == 1 &&
	    (image ? stack_image(&stack) != 0 : stack.layer[0].parts == LAYER_USR))
		return check_stack(j, 0, &stack, told, e);
	struct check_problem p = problem(j, CHECK_SNAPSHOT, 0, "%s %s: its layer is unreadable",
					 image ? "image" : "packages", db_text(rows, 1));
	int r = 0;
	if (j->c->repair)
		r = db_run(j->s->db, e,
			   image ? "DELETE FROM image WHERE id = ?1"
				 : "DELETE FROM depset WHERE id = ?1",
			   "i", db_int(rows, 0));
	if (r >= 0)
		tell(j, &p, j->c->repair);
	return r;
}

static int check_images(struct job *j, struct used *told, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(j->s->db, &rows, e,
			 "SELECT id, name, stack, 1 FROM image UNION ALL"
			 " SELECT id, substr(key, 1, 12), stack, 0 FROM depset",
			 "");

	while (r >= 0 && (r = db_next(rows, e)) > 0)
		r = check_image(j, rows, told, e);
	return r;
}

static int check_snapshots(struct job *j, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_used struct used told = {.n = j->used.n, .bits = calloc(j->used.n / 8 + 1, 1)};
	int r = told.bits ? check_images(j, &told, e) : err_sys(e, "fsck");

	if (r >= 0)
		r = db_query(j->s->db, &rows, e,
			     "SELECT s.id, s.seq, s.stack, w.name FROM snap s LEFT JOIN workspace w"
			     " ON w.id = s.workspace ORDER BY s.id",
			     "");
	while (r >= 0 && (r = db_next(rows, e)) > 0)
		r = check_snapshot(j, rows, &told, e);
	return r;
}

/* To the newest snapshot that counts; where there is none, to a beginning without files. */
static int move_head(struct job *j, int64_t workspace, struct err *e)
{
	int r = db_run(
		j->s->db, e,
		"INSERT INTO snap(workspace, seq, before, kind, stack, layer, made, wall_us,"
		" files, bytes) SELECT id, seq + 1, 0, 'new', '', 0, ?2, 0, 0, 0 FROM workspace"
		" WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM snap WHERE workspace = ?1 AND"
		" dropped = 0)",
		"ii", workspace, store_now_ms());

	return r < 0 ? r
		     : db_run(j->s->db, e,
			      "UPDATE workspace SET head = (SELECT id FROM snap WHERE workspace = ?1"
			      " AND dropped = 0 ORDER BY seq DESC LIMIT 1), seq = max(seq, (SELECT"
			      " max(seq) FROM snap WHERE workspace = ?1)) WHERE id = ?1",
			      "i", workspace);
}

/* Also those whose head has just been dropped, which has been told already. */
static int check_heads(struct job *j, bool quiet, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(j->s->db, &rows, e,
			 "SELECT id, name FROM workspace w WHERE NOT EXISTS (SELECT 1 FROM snap s"
			 " WHERE s.id = w.head AND s.workspace = w.id)",
			 "");

	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		int64_t id = db_int(rows, 0);
		struct check_problem p;

		if (!quiet)
			p = problem(j, CHECK_HEAD, 0, "workspace %s stands on no snapshot",
				    db_text(rows, 1));
		if (j->c->repair)
			r = move_head(j, id, e);
		if (r >= 0 && !quiet)
			tell(j, &p, j->c->repair);
	}
	return r;
}

static int check_all(struct job *j, struct err *e)
{
	int r = check_database(j, e);

	/* What a damaged database says of the rest is worth nothing. */
	if (r < 0 || j->stats->problems)
		return r;
	r = count(j, "SELECT count(*) FROM workspace", &j->stats->workspaces, e);
	if (r >= 0)
		r = count(j, "SELECT count(*) FROM snap", &j->stats->snapshots, e);
	if (r >= 0)
		r = used_init_all(&j->used, j->s, e);
	if (r >= 0)
		r = load(j, e);
	if (r >= 0)
		r = check_heads(j, false, e);
	if (r >= 0)
		r = check_directories(j, e);
	if (r >= 0)
		r = check_snapshots(j, e);
	if (r >= 0)
		r = check_layers(j, e);
	return r < 0 || !j->c->repair ? r : check_heads(j, true, e);
}

int store_check(const struct check *c, struct check_stats *ret, struct err *e)
{
	struct job j = {.c = c, .s = c->store, .stats = ret};
	uint64_t bytes = 0;

	assert(c->digest && c->tell);
	*ret = (struct check_stats){0};
	int r = db_begin(j.s->db, true, e);
	if (r >= 0)
		r = db_run(j.s->db, e,
			   "DELETE FROM meta WHERE key > '" DISTRUST "' AND key < 'changed;'", "");
	if (r >= 0)
		r = check_all(&j, e);
	if (r >= 0)
		r = db_commit(j.s->db, e);
	db_rollback(j.s->db);
	used_done(&j.used);
	free(j.rows);
	return r < 0 || !c->repair ? r : store_collect(j.s, &bytes, e);
}

static int next_blank(struct store *s, int64_t last, int64_t *ret_id, int64_t *ret_parts,
		      struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(
		s->db, &rows, e,
		"SELECT id, parts FROM layer WHERE state = 1 AND digest IS NULL AND id > ?1"
		" ORDER BY id LIMIT 1",
		"i", last);

	if (r >= 0)
		r = db_next(rows, e);
	if (r > 0) {
		*ret_id = db_int(rows, 0);
		*ret_parts = db_int(rows, 1);
	}
	return r;
}

int check_record_some(struct store *s, unsigned most, check_digest_fn *digest, struct err *e)
{
	char text[CHECK_DIGEST_SIZE];
	int64_t id = 0, bits = 0;
	int r = 0;

	while (most-- > 0 && (r = next_blank(s, id, &id, &bits, e)) > 0) {
		struct err why = ERR_INIT;

		/* One that cannot be read is told of by who asks. */
		if (digest(s, (uint32_t)id, (uint32_t)bits, text, &why) > 0)
			r = record(s, id, text, e);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}
