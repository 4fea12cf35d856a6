/* SPDX-License-Identifier: Apache-2.0 */
#include "store/project.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statfs.h>

#include "kernel/quota.h"
#include "store/db.h"

/* Numbers of projects are the host's. People count from 1 upwards, and tools begin at round numbers
 * of tens: these are far from both. */
#define FIRST 0x50000000u
#define COUNT 0x10000000u
#define TRIES 32
#define KEY_SIZE 96
/* What overlayfs makes beside a layer, so that a workspace that is almost full can be mounted. */
#define KERNEL_BYTES (128u << 10)
#define KERNEL_FILES 24u

static void make_key(const struct store *s, int64_t workspace, char key[KEY_SIZE])
{
	struct statfs fs = {0};

	(void)fstatfs(s->layers_fd, &fs); /* then it is all zeros, as it was the last time */
	(void)snprintf(key, KEY_SIZE, "project:%lld:%x.%x.%llu", (long long)workspace,
		       (unsigned)fs.f_fsid.__val[0], (unsigned)fs.f_fsid.__val[1],
		       (unsigned long long)s->layers_ino);
}

/* Where the directory of layers has a project itself somebody else holds it, and files with a
 * number of ours could not be linked in it. */
bool project_possible(const struct store *s)
{
	return s->owned && quota_enforced(s->layers_fd) && !quota_is_marked(s->layers_fd);
}

/* One that nothing has and nobody has limited. 0: there is none, or we may not ask. */
static uint32_t choose(const struct store *s)
{
	for (int i = 0; i < TRIES; i++) {
		struct quota q;
		uint32_t random = 0;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return 0;
		random = FIRST + random % COUNT;
		if (quota_get(s->layers_fd, random, &q) < 0)
			return 0;
		if (!q.bytes && !q.inodes && !q.bytes_max && !q.inodes_max)
			return random;
	}
	return 0;
}

static int look_up(struct store *s, const char *key, uint32_t *ret, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	int r = db_query(s->db, &rows, e, "SELECT value FROM meta WHERE key = ?1", "t", key);

	if (r >= 0)
		r = db_next(rows, e);
	*ret = r > 0 ? (uint32_t)db_int(rows, 0) : 0;
	return r;
}

int project_find(struct store *s, int64_t workspace, uint32_t *ret, struct err *e)
{
	char key[KEY_SIZE];

	*ret = 0;
	if (!project_possible(s))
		return 0;
	make_key(s, workspace, key);
	int r = look_up(s, key, ret, e);
	if (r != 0)
		return r;
	uint32_t chosen = choose(s);
	if (!chosen)
		return 0;
	/* Who shares the workspace may have been faster. */
	r = db_run(s->db, e, "INSERT OR IGNORE INTO meta(key, value) VALUES(?1, ?2)", "ti", key,
		   (int64_t)chosen);
	return r < 0 ? r : look_up(s, key, ret, e);
}

static bool is_shared(const struct upper *u)
{
	auto_rows struct db_rows *rows = NULL;
	struct err ignored = ERR_INIT;
	int r = db_query(u->store->db, &rows, &ignored,
			 "SELECT 1 FROM layer WHERE workspace = ?1 AND state = 0 AND id <> ?2",
			 "ii", u->w.id, (int64_t)u->number);

	return r < 0 || db_next(rows, &ignored) != 0;
}

static uint64_t at_least(uint64_t least, uint64_t value)
{
	return value < least ? least : value;
}

static uint64_t lower(uint64_t limit, uint64_t than)
{
	return limit && limit < than ? limit : than;
}

void project_lift(const struct upper *u)
{
	/* Else there is less room than there should be. */
	if (u->project && !is_shared(u))
		(void)quota_set(u->store->layers_fd, u->project, 0, 0);
}

bool project_limit(const struct upper *u, const struct space *room)
{
	int fd = u->store->layers_fd;
	struct quota q;

	if (!u->project || quota_get(fd, u->project, &q) < 0)
		return false;
	uint64_t bytes = q.bytes + at_least(KERNEL_BYTES, room->bytes);
	uint64_t inodes = q.inodes + at_least(KERNEL_FILES, room->files);
	if (is_shared(u)) {
		bytes = lower(q.bytes_max, bytes);
		inodes = lower(q.inodes_max, inodes);
	}
	return quota_set(fd, u->project, bytes, inodes) >= 0;
}

static uint64_t left(uint64_t most, uint64_t used)
{
	return !most ? UINT64_MAX : used < most ? most - used : 0;
}

bool project_left(const struct upper *u, struct space *ret)
{
	struct quota q;

	if (!u->project || quota_get(u->store->layers_fd, u->project, &q) < 0)
		return false;
	*ret = (struct space){left(q.bytes_max, q.bytes), left(q.inodes_max, q.inodes)};
	return true;
}

int project_collect(struct store *s, struct err *e)
{
	auto_rows struct db_rows *rows = NULL;
	char here[KEY_SIZE];

	if (!project_possible(s))
		return 0;
	make_key(s, 0, here);
	int r = db_query(s->db, &rows, e,
			 "SELECT key, value FROM meta WHERE key > 'project:' AND key < 'project;'"
			 " AND CAST(substr(key, 9) AS INTEGER) NOT IN (SELECT id FROM workspace)",
			 "");
	while (r >= 0 && (r = db_next(rows, e)) > 0) {
		const char *key = db_text(rows, 0), *place = strrchr(key, ':');

		/* What is still being removed counts for nobody; the number is not chosen again
		 * before it is gone. */
		if (!place || strcmp(place, strrchr(here, ':')) != 0 ||
		    quota_set(s->layers_fd, (uint32_t)db_int(rows, 1), 0, 0) < 0)
			continue;
		r = db_run(s->db, e, "DELETE FROM meta WHERE key = ?1", "t", key);
	}
	return r;
}
