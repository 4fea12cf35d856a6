/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tenants.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "api/tokens.h"
#include "base/fd.h"

#define FILE_NAME "tenants"
#define FILE_MAX (1u << 20)

struct tenants {
	int dir; /* borrowed */
	struct timespec changed;
	uint64_t inode;
	struct tenant *list;
	size_t n;
};

/* What a word of a line is about. */
static const struct key {
	const char *name;
	size_t value, period; /* offsets; period 0: it has none */
} keys[] = {
	{"live", offsetof(struct tenant, live), 0},
	{"runs", offsetof(struct tenant, runs), 0},
	{"memory", offsetof(struct tenant, memory), 0},
	{"disk", offsetof(struct tenant, disk), 0},
	{"cpu", offsetof(struct tenant, cpu_s), offsetof(struct tenant, cpu_period_s)},
	{"budget", offsetof(struct tenant, budget), offsetof(struct tenant, budget_period_s)},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

static uint64_t *at(struct tenant *t, size_t offset)
{
	return (uint64_t *)((char *)t + offset);
}

static bool name_is_valid(const char *name)
{
	return strcmp(name, TENANT_ANY) == 0 || tenant_is_valid(name);
}

static bool read_word(const char *word, struct tenant *t)
{
	const char *is = strchr(word, '=');
	char *end = NULL;

	if (!is || is[1] < '0' || is[1] > '9')
		return false;
	for (size_t i = 0; i < KEYS; i++) {
		if (strlen(keys[i].name) != (size_t)(is - word) ||
		    strncmp(keys[i].name, word, (size_t)(is - word)) != 0)
			continue;
		*at(t, keys[i].value) = strtoull(is + 1, &end, 10);
		if (!keys[i].period)
			return *end == '\0' && *at(t, keys[i].value);
		if (*end != '/')
			return false;
		*at(t, keys[i].period) = strtoull(end + 1, &end, 10);
		return *end == '\0' && *at(t, keys[i].value) && *at(t, keys[i].period);
	}
	return false;
}

static bool read_line(char *line, struct tenant *ret)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);

	*ret = (struct tenant){0};
	if (!word || strlen(word) >= sizeof(ret->name) || !name_is_valid(word))
		return false;
	memcpy(ret->name, word, strlen(word) + 1);
	while ((word = strtok_r(NULL, " ", &save)))
		if (!read_word(word, ret))
			return false;
	return true;
}

static int read_all(int fd, struct tenant **ret, size_t *ret_n, struct err *e)
{
	auto_free char *text = malloc(FILE_MAX + 1);
	auto_free struct tenant *list = calloc(TENANTS_MAX, sizeof(*list));
	size_t len = 0, n = 0;
	char *save = NULL;

	if (!text || !list || fd_read_max(fd, text, FILE_MAX, &len) < 0)
		return err_sys(e, "read the quotas");
	text[len] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (n == TENANTS_MAX || !read_line(line, &list[n])) {
			(void)err_set(e, ERR_INTERNAL, "the file of quotas is damaged, line %zu",
				      n + 1);
			return err_remedy(e, "who runs the daemon sets them anew: pinfold tenant");
		}
		n++;
	}
	*ret_n = n;
	*ret = take_ptr(&list);
	return 0;
}

int tenants_new(int dir, struct tenants **ret, struct err *e)
{
	struct tenants *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "quotas");
	t->dir = dir;
	*ret = t;
	return 0;
}

void tenants_free(struct tenants *t)
{
	if (t)
		free(t->list);
	free(t);
}

static int refresh(struct tenants *t, struct err *e)
{
	auto_close int fd = openat(t->dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == t->inode &&
	    st.st_mtim.tv_sec == t->changed.tv_sec && st.st_mtim.tv_nsec == t->changed.tv_nsec)
		return 0;
	free(t->list);
	t->list = NULL;
	t->n = 0;
	t->inode = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open the quotas");
	int r = read_all(fd, &t->list, &t->n, e);
	if (r == 0) {
		t->inode = st.st_ino;
		t->changed = st.st_mtim;
	}
	return r;
}

static const struct tenant *look_up(const struct tenant *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

int tenants_find(struct tenants *t, const char *name, struct tenant *ret, struct err *e)
{
	const struct tenant *found;
	int r = refresh(t, e);

	if (r < 0)
		return r;
	found = look_up(t->list, t->n, name);
	if (!found)
		found = look_up(t->list, t->n, TENANT_ANY);
	*ret = found ? *found : (struct tenant){0};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	return 0;
}

bool tenants_any(const struct tenants *t)
{
	return t->n > 0;
}

int tenant_list(int dir, struct tenant **ret, size_t *ret_n, struct err *e)
{
	auto_close int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*ret = NULL;
	*ret_n = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open the quotas");
	return read_all(fd, ret, ret_n, e);
}

static bool is_empty(struct tenant *t)
{
	for (size_t i = 0; i < KEYS; i++)
		if (*at(t, keys[i].value))
			return false;
	return true;
}

static int write_line(int fd, struct tenant *t)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s", t->name);

	for (size_t i = 0; i < KEYS; i++) {
		uint64_t value = *at(t, keys[i].value);

		if (!value)
			continue;
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s=%" PRIu64, keys[i].name,
			      value);
		if (keys[i].period)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "/%" PRIu64,
				      *at(t, keys[i].period));
	}
	line[n++] = '\n';
	return fd_write_all(fd, line, (size_t)n);
}

/* Who serves may read it and no more: it keeps the group of the directory. */
static int write_all(int dir, struct tenant *list, size_t n, struct err *e)
{
	auto_close int fd = openat(dir, FILE_NAME ".new",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	struct stat st;

	if (fd < 0 || fstat(dir, &st) < 0)
		return err_sys(e, "write the quotas");
	if (geteuid() == 0 && fchown(fd, 0, st.st_gid) < 0)
		return err_sys(e, "give the quotas to group %u", st.st_gid);
	for (size_t i = 0; i < n; i++)
		if (!is_empty(&list[i]) && write_line(fd, &list[i]) < 0)
			return err_sys(e, "write the quotas");
	if (fchmod(fd, 0640) < 0 || fsync(fd) < 0 ||
	    renameat(dir, FILE_NAME ".new", dir, FILE_NAME) < 0 || fsync(dir) < 0)
		return err_sys(e, "write the quotas");
	return 0;
}

static int lock(int dir, int *ret, struct err *e)
{
	*ret = openat(dir, FILE_NAME ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 || flock(*ret, LOCK_EX) < 0 ? err_sys(e, "lock the quotas") : 0;
}

int tenant_change(int dir, const char *name,
		  int (*change)(struct tenant *t, void *arg, struct err *e), void *arg,
		  struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct tenant *list = NULL;
	size_t n = 0, i = 0;

	if (!name_is_valid(name)) {
		(void)err_set(e, ERR_INVALID, "\"%.80s\" is no name of a tenant", name);
		return err_remedy(e, "use that of a token, uid-N, or '*' for all others");
	}
	if (lock(dir, &held, e) < 0 || tenant_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].name, name) != 0)
		i++;
	if (i == TENANTS_MAX)
		return err_set(e, ERR_LIMIT, "there are %u lines already", TENANTS_MAX);
	struct tenant *more = realloc(list, (n + 1) * sizeof(*list));
	if (!more)
		return err_sys(e, "quotas");
	list = more;
	if (i == n) {
		list[n] = (struct tenant){0};
		memcpy(list[n++].name, name, strlen(name) + 1);
	}
	int r = change(&list[i], arg, e);
	return r < 0 ? r : write_all(dir, list, n, e);
}

int tenant_remove(int dir, const char *name, struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct tenant *list = NULL;
	size_t n = 0, i = 0;

	if (lock(dir, &held, e) < 0 || tenant_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].name, name) != 0)
		i++;
	if (i == n)
		return err_set(e, ERR_MISSING, "tenant %.80s has no quotas", name);
	memmove(&list[i], &list[i + 1], (n - i - 1) * sizeof(*list));
	return write_all(dir, list, n - 1, e);
}
