/* SPDX-License-Identifier: Apache-2.0 */
#include "store/image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/upper.h"

#define WORD_MAX 63u
#define COLUMNS                                                                                     \
	"SELECT id, name, source, digest, env, command, workdir, made, layers, files, bytes, stack" \
	" FROM image "

/* [a-z0-9][a-z0-9._-]{0,62} */
static size_t word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > WORD_MAX || (n > 0 && strchr("._-", s[0])) ? 0 : n;
}

int store_image_check_name(const char *name, struct err *e)
{
	size_t n = word(name), tag = n && name[n] == ':' ? word(name + n + 1) : 0;

	if (strcmp(name, "host") == 0) {
		(void)err_set(e, ERR_INVALID, "the image host is the host's own /usr");
		return err_remedy(e, "choose another name");
	}
	if (n && (name[n] ? tag && !name[n + 1 + tag] : true))
		return 0;
	(void)err_set(e, ERR_INVALID, "\"%.80s\" is not a name of an image", name);
	return err_remedy(e, "use NAME or NAME:TAG, each up to 63 of a-z, 0-9, ., _ and -, "
			     "beginning with a letter or digit");
}

static int fill(struct db_rows *rows, struct store_image *to, struct err *e)
{
	to->id = db_int(rows, 0);
	(void)snprintf(to->name, sizeof(to->name), "%s", db_text(rows, 1));
	(void)snprintf(to->source, sizeof(to->source), "%s", db_text(rows, 2));
	(void)snprintf(to->digest, sizeof(to->digest), "%s", db_text(rows, 3));
	(void)snprintf(to->env, sizeof(to->env), "%s", db_text(rows, 4));
	(void)snprintf(to->command, sizeof(to->command), "%s", db_text(rows, 5));
	(void)snprintf(to->workdir, sizeof(to->workdir), "%s", db_text(rows, 6));
	to->made_ms = db_int(rows, 7);
	to->layers = (uint64_t)db_int(rows, 8);
	to->files = (uint64_t)db_int(rows, 9);
	to->bytes = (uint64_t)db_int(rows, 10);
	int r = stack_parse(db_text(rows, 11), &to->stack, e);
	if (r >= 0 && (to->stack.n != 1 || !stack_image(&to->stack)))
		r = err_set(e, ERR_INTERNAL, "store.db: image %s is damaged", to->name);
	return r;
}

int store_image_find(struct store *s, const char *name, struct store_image *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct err none = ERR_INIT;
	int r = 0;

	if (store_image_check_name(name, &none) >= 0)
		r = db_query(s->db, &rows, e, COLUMNS "WHERE name = ?1", "t", name);
	if (rows && r >= 0)
		r = db_next(rows, e);
	if (r > 0)
		return fill(rows, ret, e);
	if (r < 0)
		return r;
	(void)err_set(e, ERR_MISSING, "there is no image \"%.80s\"", name);
	return err_remedy(e, "pinfold image ls lists them; "
			     "pinfold image import NAME SRC makes one");
}

int store_image_of(struct store *s, const struct stack *stack, struct store_image *ret,
		   struct err *e)
{
	struct stack lowest = {.n = 1, .layer[0] = {stack_image(stack), STACK_IMAGE_PARTS}};
	auto_rows struct db_rows *rows = NULL;
	char text[STACK_TEXT_SIZE];

	if (!stack_image(stack))
		return 0;
	stack_print(&lowest, text);
	int r = db_query(s->db, &rows, e, COLUMNS "WHERE stack = ?1", "t", text);
	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	r = fill(rows, ret, e);
	return r < 0 ? r : 1;
}

int store_image_each(struct store *s, int (*each)(const struct store_image *image, void *arg),
		     void *arg, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	auto_free struct store_image *image = malloc(sizeof(*image));
	int r = image ? 0 : err_sys(e, "store");

	if (r >= 0)
		r = db_query(s->db, &rows, e, COLUMNS "ORDER BY name", "");
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		r = fill(rows, image, e);
		if (r >= 0)
			r = each(image, arg);
	}
	return r;
}

static int lock_image(struct store *s, int64_t id, enum workspace_use use, int *ret_fd,
		      struct err *e)
{
	struct err why = ERR_INIT;
	int r = apart_lock(s, IMAGE_LOCK, id, use, ret_fd, &why);

	if (r != -EBUSY) {
		*e = r < 0 ? why : *e;
		return r;
	}
	(void)err_set(e, ERR_BUSY, "the image is in use");
	return err_remedy(e, "wait until what runs in it has ended");
}

int store_image_hold(struct store *s, const char *name, struct store_image *ret, int *ret_lock,
		     struct err *e)
{
	auto_close int lock = FD_NONE;
	int r = store_image_find(s, name, ret, e);

	if (r >= 0)
		r = lock_image(s, ret->id, USE_SHARED, &lock, e);
	/* It may have gone before we held it. */
	if (r >= 0)
		r = store_image_find(s, name, ret, e);
	if (r >= 0)
		*ret_lock = take_fd(&lock);
	return r;
}

static int refuse_twin(struct store *s, const char *name, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT 1 FROM image WHERE name = ?1", "t", name);

	if (r >= 0)
		r = db_next(rows, e);
	if (r <= 0)
		return r;
	(void)err_set(e, ERR_CONFLICT, "there is an image %s already", name);
	return err_remedy(e, "choose another name, or remove it with: pinfold image rm %s", name);
}

int store_image_begin(struct store *s, const char *name, struct making *ret, struct err *e)
{
	int r = store_image_check_name(name, e);

	*ret = (struct making){.store = s, .lock = FD_NONE};
	if (r >= 0)
		r = refuse_twin(s, name, e);
	return r < 0 ? r : making_begin(s, IMAGE_LOCK, LAYER_ROOT, ret, e);
}

static int write_down(struct making *m, struct store_image *image, const char *stack, struct err *e)
{
	struct db *db = m->store->db;
	int r = making_freeze(m, STACK_IMAGE_PARTS, image->files, image->bytes, e);

	if (r >= 0)
		r = db_run(db, e,
			   "INSERT INTO image(name, stack, source, digest, env, command, workdir,"
			   " made, layers, files, bytes)"
			   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
			   "tttttttiiii", image->name, stack, image->source, image->digest,
			   image->env, image->command, image->workdir, image->made_ms,
			   (int64_t)image->layers, (int64_t)image->files, (int64_t)image->bytes);
	image->id = db_last_id(db);
	return r;
}

int store_image_commit(struct making *m, struct store_image *image, struct err *e)
{
	char stack[STACK_TEXT_SIZE];

	image->made_ms = store_now_ms();
	image->stack = (struct stack){.n = 1, .layer[0] = {m->number, STACK_IMAGE_PARTS}};
	stack_print(&image->stack, stack);
	int r = making_sync(m, e);
	if (r >= 0)
		r = db_begin(m->store->db, true, e);
	if (r >= 0)
		r = refuse_twin(m->store, image->name, e);
	if (r >= 0)
		r = write_down(m, image, stack, e);
	if (r >= 0)
		r = db_commit(m->store->db, e);
	db_rollback(m->store->db);
	if (r >= 0)
		making_keep(m);
	return r;
}

const char *store_image_env(const struct store_image *image, const char *name, size_t *ret_len)
{
	size_t n = strlen(name);

	for (const char *line = image->env; *line;) {
		size_t len = strcspn(line, "\n");

		if (len > n && line[n] == '=' && strncmp(line, name, n) == 0) {
			*ret_len = len - n - 1;
			return line + n + 1;
		}
		line += len + (line[len] == '\n');
	}
	return NULL;
}

/* How many workspaces are on it; *ret_name is one of them. */
static int count_users(struct store *s, const struct store_image *image, uint64_t *ret,
		       char ret_name[STORE_NAME_MAX + 1], struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	struct stack stack;
	int64_t last = 0;
	int r = db_query(s->db, &rows, e,
			 "SELECT w.id, w.name, s.stack FROM snap s JOIN workspace w ON"
			 " w.id = s.workspace ORDER BY w.id",
			 "");

	*ret = 0;
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		if (db_int(rows, 0) == last)
			continue;
		r = stack_parse(db_text(rows, 2), &stack, e);
		if (r < 0 || !stack_has(&stack, image->stack.layer[0].number))
			continue;
		last = db_int(rows, 0);
		(void)snprintf(ret_name, STORE_NAME_MAX + 1, "%s", db_text(rows, 1));
		++*ret;
	}
	return r;
}

int store_image_users(struct store *s, const struct store_image *image, uint64_t *ret,
		      struct err *e)
{
	char name[STORE_NAME_MAX + 1];

	return count_users(s, image, ret, name, e);
}

static int refuse_used(struct store *s, const struct store_image *image, struct err *e)
{
	char name[STORE_NAME_MAX + 1] = "";
	uint64_t n = 0;
	int r = count_users(s, image, &n, name, e);

	if (r < 0 || n == 0)
		return r;
	(void)err_set(e, ERR_CONFLICT, "image %s: %llu workspaces stand on it, %s is one",
		      image->name, (unsigned long long)n, name);
	return err_remedy(e, "remove them first: pinfold rm %s", name);
}

int store_image_remove(struct store *s, const char *name, struct err *e)
{
	auto_free struct store_image *image = malloc(sizeof(*image));
	auto_close int lock = FD_NONE;
	int r = image ? store_image_find(s, name, image, e) : err_sys(e, "store");

	if (r >= 0)
		r = lock_image(s, image->id, USE_ALONE, &lock, e);
	if (r >= 0)
		r = db_begin(s->db, false, e);
	if (r >= 0)
		r = refuse_used(s, image, e);
	if (r >= 0)
		r = db_run(s->db, e, "DELETE FROM image WHERE id = ?1", "i", image->id);
	if (r >= 0)
		r = db_commit(s->db, e);
	db_rollback(s->db);
	if (r >= 0) {
		char path[40];

		(void)snprintf(path, sizeof(path), "locks/%lld",
			       (long long)(IMAGE_LOCK - image->id));
		(void)unlinkat(s->home_fd, path, 0); /* its number is never given again */
	}
	return r;
}
