/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/license.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define LICENSE(name, id) {name, id},
static const struct row {
	const char *name, *id;
} rows[] = {
#include "deps/license_names.def"
};

/* R's: the terms are those of the licence in front. */
static const char r_file[] = " + file LICEN";

static const char *find(const char *name, size_t len)
{
	while (len && name[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strlen(rows[i].name) == len && strncasecmp(rows[i].name, name, len) == 0)
			return rows[i].id;
	return NULL;
}

/* The next of what stands between two licences: R writes | where SPDX has OR. */
static const char *joint(const char *text, const char **ret_word, size_t *ret_len)
{
	static const char *const joints[][2] = {
		{" OR ", " OR "}, {" | ", " OR "}, {" AND ", " AND "}};
	const char *first = NULL;

	for (size_t i = 0; i < COUNT(joints); i++) {
		const char *at = strstr(text, joints[i][0]);

		if (at && (!first || at < first)) {
			first = at;
			*ret_word = joints[i][1];
			*ret_len = strlen(joints[i][0]);
		}
	}
	return first;
}

bool license_expression(const char *text, char ret[LICENSE_SIZE], bool *ret_is_one)
{
	const char *word = "";
	size_t skip = 0, n = 0, len = strlen(text);

	*ret_is_one = true;
	ret[0] = '\0';
	/* (MIT OR Apache-2.0), as npm has it; what is nested is not taken apart. */
	bool wrapped = len > 1 && text[0] == '(' && text[len - 1] == ')';
	char plain[LICENSE_SIZE];
	if (len >= sizeof(plain))
		return false;
	(void)snprintf(plain, sizeof(plain), "%.*s", (int)(len - 2u * wrapped), text + wrapped);
	char *file = strstr(plain, r_file);
	if (file)
		*file = '\0';
	for (const char *at = plain; at; at = at ? at + skip : NULL) {
		const char *end = joint(at, &word, &skip);
		const char *id = find(at, end ? (size_t)(end - at) : strlen(at));

		if (id)
			n += (size_t)snprintf(ret + n, LICENSE_SIZE - n, "%s%s", id,
					      end ? word : "");
		if (!id || n >= LICENSE_SIZE) {
			ret[0] = '\0';
			return false;
		}
		*ret_is_one = *ret_is_one && !end;
		at = end;
	}
	return true;
}
