/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tenants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/listfile.h"
#include "api/tokens.h"
#include "base/fd.h"

struct tenants {
	struct listfile file;
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
	{"egress-bytes", offsetof(struct tenant, egress[PINFOLD_PURSE_BYTES].n),
	 offsetof(struct tenant, egress[PINFOLD_PURSE_BYTES].period_s)},
	{"egress-connections", offsetof(struct tenant, egress[PINFOLD_PURSE_CONNECTIONS].n),
	 offsetof(struct tenant, egress[PINFOLD_PURSE_CONNECTIONS].period_s)},
	{"egress-requests", offsetof(struct tenant, egress[PINFOLD_PURSE_REQUESTS].n),
	 offsetof(struct tenant, egress[PINFOLD_PURSE_REQUESTS].period_s)},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

static uint64_t *at(struct tenant *t, size_t offset)
{
	return (uint64_t *)((char *)t + offset);
}

static uint64_t get(const struct tenant *t, size_t offset)
{
	return *(const uint64_t *)((const char *)t + offset);
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

static bool read_line(char *line, void *item)
{
	struct tenant *ret = item;
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

static bool is_empty(const struct tenant *t)
{
	for (size_t i = 0; i < KEYS; i++)
		if (get(t, keys[i].value))
			return false;
	return true;
}

static int write_line(int fd, const void *item)
{
	const struct tenant *t = item;
	char line[512];
	int n = snprintf(line, sizeof(line), "%s", t->name);

	if (is_empty(t))
		return 0;
	for (size_t i = 0; i < KEYS; i++) {
		uint64_t value = get(t, keys[i].value);

		if (!value)
			continue;
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s=%" PRIu64, keys[i].name,
			      value);
		if (keys[i].period)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "/%" PRIu64,
				      get(t, keys[i].period));
	}
	line[n++] = '\n';
	return fd_write_all(fd, line, (size_t)n);
}

static const struct listfile_kind kind = {
	.name = "tenants",
	.what = "the quotas",
	.remedy = "who runs the daemon sets them anew: pinfold tenant",
	.size = sizeof(struct tenant),
	.most = TENANTS_MAX,
	.read = read_line,
	.write = write_line,
};

int tenants_new(int dir, struct tenants **ret, struct err *e)
{
	struct tenants *t = calloc(1, sizeof(*t));

	if (!t)
		return err_sys(e, "quotas");
	t->file = (struct listfile){.kind = &kind, .dir = dir};
	*ret = t;
	return 0;
}

void tenants_free(struct tenants *t)
{
	if (t)
		listfile_clear(&t->file);
	free(t);
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
	int r = listfile_refresh(&t->file, e);

	if (r < 0)
		return r;
	found = look_up(t->file.list, t->file.n, name);
	if (!found)
		found = look_up(t->file.list, t->file.n, TENANT_ANY);
	*ret = found ? *found : (struct tenant){0};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	return 0;
}

bool tenants_any(const struct tenants *t)
{
	return t->file.n > 0;
}

int tenant_list(int dir, struct tenant **ret, size_t *ret_n, struct err *e)
{
	void *list = NULL;
	int r = listfile_load(&kind, dir, &list, ret_n, e);

	*ret = list;
	return r;
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
	if (listfile_lock(&kind, dir, &held, e) < 0 || tenant_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].name, name) != 0)
		i++;
	if (i == TENANTS_MAX)
		return err_set(e, ERR_LIMIT, "there are %u lines already", TENANTS_MAX);
	if (i == n) {
		list[n] = (struct tenant){0};
		memcpy(list[n++].name, name, strlen(name) + 1);
	}
	int r = change(&list[i], arg, e);
	return r < 0 ? r : listfile_save(&kind, dir, list, n, e);
}

int tenant_remove(int dir, const char *name, struct err *e)
{
	auto_close int held = FD_NONE;
	auto_free struct tenant *list = NULL;
	size_t n = 0, i = 0;

	if (listfile_lock(&kind, dir, &held, e) < 0 || tenant_list(dir, &list, &n, e) < 0)
		return -EIO;
	while (i < n && strcmp(list[i].name, name) != 0)
		i++;
	if (i == n)
		return err_set(e, ERR_MISSING, "tenant %.80s has no quotas", name);
	return listfile_save_without(&kind, dir, list, n, i, e);
}
