/* SPDX-License-Identifier: Apache-2.0 */
#include "deps/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

struct table {
	struct table_row *rows;
	size_t n;
	char *text; /* what they point into */
};

static struct table mine;

/* Where a reader is in a file. */
struct reading {
	const char *file;
	unsigned line;
	const char *start; /* of the line */
};

static int wrong(const struct reading *at, const char *word, const char *what, struct err *e)
{
	(void)err_set(e, ERR_INVALID, "%s:%u:%zu: %s: \"%.60s\"", at->file, at->line,
		      (size_t)(word - at->start) + 1, what, word);
	(void)err_detail(e, "names");
	return err_remedy(e, "write MODULE PACKAGE, or node:MODULE PACKAGE, on each line");
}

static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t\r");
	size_t n = strcspn(word, " \t\r");

	*rest = word + n + (word[n] != '\0');
	word[n] = '\0';
	return word;
}

/* "node:" in front of a module. */
static int take_language(const struct reading *at, char **word, enum deps_lang *ret, struct err *e)
{
	char *colon = strchr(*word, ':');

	*ret = DEPS_PYTHON;
	if (!colon)
		return 0;
	*colon = '\0';
	if (deps_lang_of(*word, ret) < 0 || *ret > DEPS_R)
		return wrong(at, *word, "no language whose programs import", e);
	*word = colon + 1;
	return 0;
}

static int take_line(const struct reading *at, char *line, struct table *to, struct err *e)
{
	struct table_row *row = &to->rows[to->n];

	line[strcspn(line, "#")] = '\0';
	char *rest = line, *module = next_word(&rest);
	if (!*module)
		return 0;
	char *package = next_word(&rest), *more = next_word(&rest);
	if (take_language(at, &module, &row->lang, e) < 0)
		return -EINVAL;
	if (!deps_is_name(row->lang, module))
		return wrong(at, module, "no name of a module", e);
	if (!*package)
		return wrong(at, module, "the package is missing behind", e);
	if (strcmp(package, TABLE_NONE) != 0 && !deps_is_name(row->lang, package))
		return wrong(at, package, "no name of a package", e);
	if (*more)
		return wrong(at, more, "more than a module and a package", e);
	row->module = module;
	row->package = package;
	to->n++;
	return 0;
}

static int by_module(const void *a, const void *b)
{
	const struct table_row *x = a, *y = b;

	return x->lang != y->lang ? (x->lang > y->lang) - (x->lang < y->lang)
				  : strcmp(x->module, y->module);
}

/* Two that say different things of one module: nobody could tell which is meant. */
static int check_twice(const struct table *t, const char *file, struct err *e)
{
	for (size_t i = 1; i < t->n; i++)
		if (by_module(&t->rows[i - 1], &t->rows[i]) == 0) {
			(void)err_set(e, ERR_INVALID, "%s: %.60s is there twice", file,
				      t->rows[i].module);
			(void)err_detail(e, "names");
			return err_remedy(e, "take one of the lines out");
		}
	return 0;
}

static int parse(struct table *t, size_t len, const char *file, struct err *e)
{
	struct reading at = {.file = file};
	char *rest = t->text, *line;

	if (strlen(t->text) != len)
		return err_set(e, ERR_INVALID, "%s: no text: there is a NUL in it", file);
	while ((line = strsep(&rest, "\n"))) {
		at.line++;
		at.start = line;
		if (take_line(&at, line, t, e) < 0)
			return -EINVAL;
	}
	if (t->n)
		qsort(t->rows, t->n, sizeof(t->rows[0]), by_module);
	return check_twice(t, file, e);
}

static void drop(struct table *t)
{
	free(t->rows);
	free(t->text);
	*t = (struct table){.n = 0};
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

int table_set(const char *text, size_t len, const char *file, struct err *e)
{
	size_t lines = count_lines(text, len);
	struct table fresh = {.n = 0};
	int r = 0;

	assert(text && file);
	if (lines > TABLE_LINES_MAX)
		return err_set(e, ERR_LIMIT, "%s: more than %u lines", file, TABLE_LINES_MAX);
	fresh.text = calloc(1, len + 1);
	fresh.rows = calloc(lines, sizeof(struct table_row));
	if (!fresh.text || !fresh.rows)
		r = err_sys(e, "%s", file);
	if (r >= 0) {
		memcpy(fresh.text, text, len);
		r = parse(&fresh, len, file, e);
	}
	if (r >= 0) {
		drop(&mine);
		mine = fresh;
	} else {
		drop(&fresh);
	}
	return r;
}

const struct table_row *table_find(enum deps_lang lang, const char *module)
{
	struct table_row key = {.lang = lang, .module = module};

	return mine.n ? bsearch(&key, mine.rows, mine.n, sizeof(key), by_module) : NULL;
}
