/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"

#define DIGITS_MAX 18u

/* The part that `p` points to; its length, with the dot behind it, or 0: it is none. */
static size_t part(const char *p, char chain[ID_SIZE], uint64_t *ret)
{
	size_t digits = 0;

	(void)snprintf(chain, ID_SIZE, "%.*s", (int)ID_SIZE - 1, p);
	if (!id_is("led", chain) || p[ID_SIZE - 1] != ':')
		return 0;
	const char *number = p + ID_SIZE;
	for (*ret = 0; number[digits] >= '0' && number[digits] <= '9'; digits++)
		*ret = *ret * 10 + (uint64_t)(number[digits] - '0');
	if (digits == 0 || digits > DIGITS_MAX || (number[digits] && number[digits] != '.'))
		return 0;
	return ID_SIZE + digits + (number[digits] == '.');
}

int cursor_check(const char *text, struct err *e)
{
	char chain[ID_SIZE];
	uint64_t at;
	size_t n = 0;

	for (const char *p = text; p && *p; p += n) {
		n = part(p, chain, &at);
		if (n && (p[n] || p[n - 1] != '.'))
			continue;
		(void)err_set(e, ERR_INVALID, "\"%.40s\" is no place that we gave", text);
		return err_remedy(e, "give back what came with an event, or begin without it");
	}
	return 0;
}

uint64_t cursor_place(const char *text, const char *chain)
{
	char own[ID_SIZE];
	uint64_t at;
	size_t n = 0;

	for (const char *p = text; p && *p && (n = part(p, own, &at)); p += n)
		if (strcmp(own, chain) == 0)
			return at;
	return 0;
}

void cursor_add(char *text, size_t size, const char *chain, uint64_t place)
{
	size_t n = strlen(text);
	int more = snprintf(text + n, size - n, "%s%s:%" PRIu64, n ? "." : "", chain, place);

	if (more < 0 || (size_t)more >= size - n)
		text[n] = '\0';
}
