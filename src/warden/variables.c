/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/variables.h"

#include <stdlib.h>
#include <string.h>

#include "wire/environ.h"

/* The asker puts these before each command; who names one of them means another value. */
static bool is_standard(const char *entry)
{
	static const char *const all[] = {ENVIRON_COMMON, ENVIRON_USER, ENVIRON_ROOT};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(entry, all[i]) == 0)
			return true;
	return false;
}

/* A terminal is one command's. */
static bool is_kept(const char *entry)
{
	return !is_standard(entry) && strncmp(entry, "TERM=", 5) != 0;
}

int variables_keep(struct ward *ward, const struct ask *ask, struct err *e)
{
	const char *const *env = ask->vectors + ask->head->argc + 1;
	size_t len = 0, at = 0;

	for (const char *const *v = env; *v; v++)
		len += is_kept(*v) ? strlen(*v) + 1 : 0;
	if (len == 0)
		return 0;
	if (len > VARIABLES_BYTES_MAX) {
		(void)err_set(e, ERR_LIMIT, "--env: more than %u KiB for a sandbox that lives",
			      VARIABLES_BYTES_MAX >> 10);
		return err_remedy(e, "give them to the command that needs them, or in a file");
	}
	ward->variables = malloc(len);
	if (!ward->variables)
		return err_sys(e, "run");
	for (const char *const *v = env; *v; v++) {
		size_t n = is_kept(*v) ? strlen(*v) + 1 : 0;

		memcpy(ward->variables + at, *v, n);
		at += n;
	}
	ward->variables_len = (uint32_t)len;
	return 0;
}

/* Where the list has that name, or its end. */
static size_t find(const char *const *list, size_t n, const char *entry)
{
	size_t key = strcspn(entry, "=") + 1, i = 0;

	while (i < n && strncmp(list[i], entry, key) != 0)
		i++;
	return i;
}

void variables_give(const struct ward *ward, struct sandbox_spec *spec)
{
	static const char *all[2 * ASK_STRINGS_MAX + 1]; /* as many as both blocks may have */
	size_t n = 0;

	if (!ward->variables_len)
		return;
	for (; spec->envp[n] && n < ASK_STRINGS_MAX; n++)
		all[n] = spec->envp[n];
	for (uint32_t at = 0; at < ward->variables_len && n < 2 * ASK_STRINGS_MAX;) {
		const char *entry = ward->variables + at;
		size_t i = find(all, n, entry);

		if (i == n || is_standard(all[i]))
			all[i] = entry;
		n += i == n;
		at += (uint32_t)strlen(entry) + 1;
	}
	all[n] = NULL;
	size_t path = find(all, n, "PATH=");
	spec->path = path < n ? all[path] + strlen("PATH=") : spec->path;
	spec->envp = all;
}
