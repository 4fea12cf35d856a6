/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/imports.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PLACE "/dist-packages/"
#define CACHE "__pycache__/"

/* A program with one of these may change what an import does. */
static bool prepares(const char *text, size_t len)
{
	static const char *const words[] = {"environ",	 "putenv",	"sys.path", "sys.modules",
					    "meta_path", "importlib",	"builtins", "chdir",
					    "setlocale", "simplefilter"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(text, len, words[i], strlen(words[i])))
			return true;
	return false;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static size_t name_len(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && is_name(*q))
		q++;
	return (size_t)(q - p);
}

static size_t dotted_len(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && (is_name(*q) || (*q == '.' && q + 1 < end && is_name(q[1]))))
		q++;
	return (size_t)(q - p);
}

/* .../dist-packages/NAME/__init__.py, NAME.so, __pycache__/NAME.cpython-311.pyc */
static bool is_file_of(const char *path, const char *name, size_t len)
{
	const char *at = strstr(path, PLACE);

	if (!at)
		return false;
	at += strlen(PLACE);
	if (strncmp(at, CACHE, strlen(CACHE)) == 0)
		at += strlen(CACHE);
	return strncmp(at, name, len) == 0 && (at[len] == '/' || at[len] == '.');
}

static bool is_mounted(const char *name, size_t len, const char *watched, size_t watched_len)
{
	for (const char *p = watched; p < watched + watched_len; p += strlen(p) + 1)
		if (is_file_of(p, name, len))
			return true;
	return false;
}

static bool is_there(const char *list, const char *name, size_t len)
{
	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == len && strncmp(p, name, len) == 0)
			return true;
	return false;
}

struct finding {
	const char *watched;
	size_t watched_len;
	char *list;
	size_t used;
};

static void add(struct finding *f, const char *name, size_t len)
{
	size_t top = name_len(name, name + len);

	if (!top || f->used + len + 2 > IMPORTS_SIZE || is_there(f->list, name, len) ||
	    !is_mounted(name, top, f->watched, f->watched_len))
		return;
	f->used += (size_t)snprintf(f->list + f->used, IMPORTS_SIZE - f->used, "%s%.*s",
				    f->used ? "," : "", (int)len, name);
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* a.b as c, d: up to whatever else stands there. */
static void add_names(struct finding *f, const char *p, const char *end)
{
	for (;;) {
		p = skip_blanks(p, end);
		size_t n = dotted_len(p, end);
		if (n == 0)
			return;
		add(f, p, n);
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const char *stop = memchr(p, ';', (size_t)(end - p));
		if (!comma || (stop && stop < comma))
			return;
		p = comma + 1;
	}
}

static void add_line(struct finding *f, const char *p, const char *end)
{
	static const char import[] = "import ", from[] = "from ";

	if ((size_t)(end - p) > sizeof(import) && memcmp(p, import, sizeof(import) - 1) == 0) {
		const char *note = memchr(p, '#', (size_t)(end - p));

		add_names(f, p + sizeof(import) - 1, note ? note : end);
	} else if ((size_t)(end - p) > sizeof(from) && memcmp(p, from, sizeof(from) - 1) == 0) {
		p = skip_blanks(p + sizeof(from) - 1, end);
		add(f, p, dotted_len(p, end));
	}
}

void imports_of(const char *text, size_t len, const char *watched, size_t watched_len,
		char ret[IMPORTS_SIZE])
{
	struct finding f = {.watched = watched, .watched_len = watched_len, .list = ret};

	ret[0] = '\0';
	if (prepares(text, len))
		return;
	for (const char *p = text, *end = text + len; p < end;) {
		const char *line = memchr(p, '\n', (size_t)(end - p));

		line = line ? line : end;
		add_line(&f, p, line);
		p = line + 1;
	}
}
