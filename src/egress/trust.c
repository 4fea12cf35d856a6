/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/trust.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "egress/source.h"

#define RECORD "trusted"
#define RECORD_NEW "trusted.new"

void trust_done(struct trust *t)
{
	free(t->text);
	*t = (struct trust){.text = NULL};
}

/* The path is part of it: the same text elsewhere is another proposal. */
static void hash_of(const struct trust *t, char ret[HASH_TEXT_SIZE])
{
	uint8_t digest[HASH_BYTES];
	struct hash h;

	hash_init(&h);
	hash_add(&h, t->path, strlen(t->path) + 1);
	hash_add(&h, t->text, t->len);
	hash_done(&h, digest);
	hash_text(digest, ret);
}

/* The configuration directory; with `make` it is there afterwards. -ENOENT: it is not. */
static int open_config(bool make, struct err *e)
{
	char path[PATH_MAX];

	if (source_config_dir(path, e) < 0)
		return -EINVAL;
	for (char *slash = path; make && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, SOURCE_DIR_MODE) < 0 && errno != EEXIST && errno != EROFS)
			return err_sys(e, "make %s", path);
		if (slash)
			*slash = '/';
	}
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return -ENOENT;
	return dir < 0 ? err_sys(e, "open %s", path) : dir;
}

/* Nothing recorded is an empty text. */
static int read_record(int dir, char **ret, struct err *e)
{
	size_t len = 0;
	int r = dir == -ENOENT ? -ENOENT : source_read(dir, RECORD, SOURCE_SELF, ret, &len, e);

	if (r != -ENOENT)
		return r;
	*ret = strdup("");
	return *ret ? 0 : err_set(e, ERR_INTERNAL, "no memory");
}

/* The next line of a record; false at its end. A line that is none is passed over. */
static bool next_line(const char **at, char hash[HASH_TEXT_SIZE], char path[PATH_MAX])
{
	while (**at) {
		const char *line = *at;
		size_t n = strcspn(line, "\n");

		*at = line + n + (line[n] == '\n');
		if (n < HASH_TEXT_SIZE + 1 || n - HASH_TEXT_SIZE >= PATH_MAX ||
		    line[HASH_TEXT_SIZE - 1] != ' ')
			continue;
		memcpy(hash, line, HASH_TEXT_SIZE - 1);
		hash[HASH_TEXT_SIZE - 1] = '\0';
		memcpy(path, line + HASH_TEXT_SIZE, n - HASH_TEXT_SIZE);
		path[n - HASH_TEXT_SIZE] = '\0';
		return true;
	}
	return false;
}

static enum trust_state state_in(const char *record, const struct trust *t)
{
	enum trust_state state = TRUST_NO;
	char want[HASH_TEXT_SIZE], hash[HASH_TEXT_SIZE], path[PATH_MAX];

	hash_of(t, want);
	while (next_line(&record, hash, path)) {
		if (strcmp(path, t->path) != 0)
			continue;
		if (strcmp(hash, want) == 0)
			return TRUST_YES;
		state = TRUST_CHANGED;
	}
	return state;
}

/* Reads the proposal of a directory. The state is TRUST_NONE where there is none, else not set. */
static int read_proposal_at(int fd, const char *real, struct trust *ret, struct err *e)
{
	ret->state = TRUST_NONE;
	int r = source_read(fd, TRUST_FILE, SOURCE_ANYBODY, &ret->text, &ret->len, e);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_wrap(e, "%.200s", real);
	if (strlen(real) + sizeof(TRUST_FILE) >= PATH_MAX || strchr(real, '\n'))
		return err_set(e, ERR_INVALID, "a path that is too long, or has a line break");
	(void)snprintf(ret->path, sizeof(ret->path), "%.*s/%s", PATH_MAX - 16, real, TRUST_FILE);
	ret->state = TRUST_NO;
	return 0;
}

static int read_proposal(const char *dir, struct trust *ret, struct err *e)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char real[PATH_MAX];

	ret->state = TRUST_NONE;
	if (fd < 0) {
		(void)err_sys(e, "open %.200s", dir);
		return err_remedy(e, "name a project's directory, or the pinfold.yaml in it");
	}
	if (!realpath(dir, real))
		return err_sys(e, "find %.200s", dir);
	return read_proposal_at(fd, real, ret, e);
}

static int look_up(struct trust *ret, struct err *e)
{
	auto_free char *record = NULL;

	if (ret->state == TRUST_NONE)
		return 0;
	auto_close int config = open_config(false, e);
	if (config < 0 && config != -ENOENT)
		return config;
	if (read_record(config, &record, e) < 0)
		return -EINVAL;
	ret->state = state_in(record, ret);
	return 0;
}

int trust_check(const char *dir, struct trust *ret, struct err *e)
{
	assert(dir && ret && !ret->text);
	return read_proposal(dir, ret, e) < 0 ? -EINVAL : look_up(ret, e);
}

int trust_check_at(int dir, const char *real, struct trust *ret, struct err *e)
{
	assert(dir >= 0 && real && ret && !ret->text);
	return read_proposal_at(dir, real, ret, e) < 0 ? -EINVAL : look_up(ret, e);
}

/* Writes the record anew: without the lines of `path`, and with `line` where it is not NULL. */
static int rewrite(int dir, const char *record, const char *path, const char *line,
		   unsigned *ret_dropped, struct err *e)
{
	auto_close int fd = openat(dir, RECORD_NEW,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char hash[HASH_TEXT_SIZE], old[PATH_MAX], text[PATH_MAX + HASH_TEXT_SIZE + 2];
	unsigned kept = 0;

	*ret_dropped = 0;
	if (fd < 0)
		return err_sys(e, "write %s", RECORD_NEW);
	while (next_line(&record, hash, old)) {
		if (strcmp(old, path) == 0) {
			(*ret_dropped)++;
			continue;
		}
		int n = snprintf(text, sizeof(text), "%s %s\n", hash, old);
		if (++kept >= TRUST_MAX)
			return err_set(e, ERR_LIMIT, "more than %u trusted files", TRUST_MAX);
		if (fd_write_all(fd, text, (size_t)n) < 0)
			return err_sys(e, "write %s", RECORD_NEW);
	}
	if (line && fd_write_all(fd, line, strlen(line)) < 0)
		return err_sys(e, "write %s", RECORD_NEW);
	if (fsync(fd) < 0 || renameat(dir, RECORD_NEW, dir, RECORD) < 0)
		return err_sys(e, "write %s", RECORD);
	return 0;
}

static int change(const char *path, const char *line, unsigned *ret_dropped, struct err *e)
{
	auto_free char *record = NULL;
	auto_close int dir = open_config(true, e);

	if (dir < 0)
		return dir == -ENOENT ? err_set(e, ERR_MISSING, "no configuration directory") : dir;
	if (flock(dir, LOCK_EX) < 0)
		return err_sys(e, "lock the configuration directory");
	if (read_record(dir, &record, e) < 0)
		return -EINVAL;
	return rewrite(dir, record, path, line, ret_dropped, e);
}

/* The directory of `path`, which is that or the file in it. */
static int project_of(const char *path, char ret[PATH_MAX], struct err *e)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	int n;

	if (strcmp(last, TRUST_FILE) != 0)
		n = snprintf(ret, PATH_MAX, "%s", path);
	else if (!slash)
		n = snprintf(ret, PATH_MAX, ".");
	else
		n = snprintf(ret, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return n < PATH_MAX ? 0 : err_set(e, ERR_INVALID, "the path is too long");
}

int trust_add(const char *path, struct trust *ret, struct err *e)
{
	char dir[PATH_MAX], hash[HASH_TEXT_SIZE], line[PATH_MAX + HASH_TEXT_SIZE + 2];
	auto_policy *tried = policy_new();
	unsigned dropped = 0;

	if (project_of(path, dir, e) < 0 || read_proposal(dir, ret, e) < 0)
		return -EINVAL;
	if (ret->state == TRUST_NONE) {
		(void)err_set(e, ERR_MISSING, "%.200s: there is no %s", dir, TRUST_FILE);
		return err_remedy(e, "name the directory or the file");
	}
	if (!tried)
		return err_set(e, ERR_INTERNAL, "no memory for a policy");
	if (policy_load_yaml(tried, ret->text, ret->len, ret->path, &source_presets, e) < 0)
		return -EINVAL;
	hash_of(ret, hash);
	(void)snprintf(line, sizeof(line), "%s %s\n", hash, ret->path);
	if (change(ret->path, line, &dropped, e) < 0)
		return -EINVAL;
	ret->state = TRUST_YES;
	return 0;
}

int trust_forget(const char *path, struct err *e)
{
	char dir[PATH_MAX], real[PATH_MAX];
	unsigned dropped = 0;

	if (project_of(path, dir, e) < 0)
		return -EINVAL;
	/* A project that is gone is known by the path that the list shows. */
	const char *found = realpath(dir, real) ? real : dir;
	char file[PATH_MAX + 16];
	(void)snprintf(file, sizeof(file), "%s/%s", found, TRUST_FILE);
	if (change(file, NULL, &dropped, e) < 0)
		return -EINVAL;
	if (dropped)
		return 0;
	(void)err_set(e, ERR_MISSING, "%.200s is not trusted", file);
	return err_remedy(e, "pinfold trust --list prints what is");
}

int trust_list(int (*each)(const char *path, enum trust_state state, void *arg), void *arg,
	       struct err *e)
{
	auto_free char *record = NULL;
	char hash[HASH_TEXT_SIZE], path[PATH_MAX], dir[PATH_MAX];
	auto_close int config = open_config(false, e);

	if (config < 0 && config != -ENOENT)
		return config;
	if (read_record(config, &record, e) < 0)
		return -EINVAL;
	for (const char *at = record; next_line(&at, hash, path);) {
		auto_trust struct trust t = {.text = NULL};
		struct err ignored = ERR_INIT;

		/* One that cannot be read any more is as good as gone. */
		if (project_of(path, dir, &ignored) == 0 && read_proposal(dir, &t, &ignored) == 0 &&
		    t.state != TRUST_NONE)
			t.state = state_in(record, &t);
		if (each(path, t.state, arg) != 0)
			break;
	}
	return 0;
}
