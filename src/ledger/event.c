/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/event.h"

#include <string.h>

#include "ledger/note.h"

/* The same bytes, and where they end. */
static const char *past(const char *p, const char *end, const char *text)
{
	size_t n = strlen(text);

	return p && (size_t)(end - p) >= n && memcmp(p, text, n) == 0 ? p + n : NULL;
}

bool event_head(const char *line, size_t len, struct event_head *ret)
{
	const char *end = line + len, *p = past(line, end, "{\"at\":"), *digits = p;

	if (!p || line[len - 1] != '}' || memchr(line, '\0', len))
		return false;
	for (ret->at = 0; p < end && *p >= '0' && *p <= '9' && p - digits < 15; p++)
		ret->at = ret->at * 10 + (uint64_t)(*p - '0');
	if (p == digits || (*digits == '0' && p - digits > 1) || ret->at >> TREE_LEVELS)
		return false;
	p = past(p, end, ",\"before\":\"");
	if (!p || end - p < 64 || !note_hex(p, &ret->before))
		return false;
	p = past(p + 64, end, "\",\"chain\":\"");
	if (!p || end - p < ID_SIZE)
		return false;
	memcpy(ret->chain, p, ID_SIZE - 1);
	ret->chain[ID_SIZE - 1] = '\0';
	return id_is("led", ret->chain) && past(p + ID_SIZE - 1, end, "\",\"");
}

const char *event_latest(const char *line, size_t len)
{
	static const char key[] = "\"clock_latest\":\"";
	const char *end = line + len, *p;
	struct event_head head;

	if (!event_head(line, len, &head))
		return NULL;
	/* Behind the chain's id, where no other key can be. */
	p = memmem(line, len, "\"chain\":\"", 9);
	p = p ? past(p + 9 + ID_SIZE - 1, end, "\",") : NULL;
	p = past(p, end, key);
	return p && (size_t)(end - p) > EVENT_INSTANT && p[EVENT_INSTANT] == '"' ? p : NULL;
}

bool event_is_ours(const char *line, size_t len)
{
	static const char kind[] = "\"kind\":\"ledger.";

	return memmem(line, len, kind, sizeof(kind) - 1) != NULL;
}
