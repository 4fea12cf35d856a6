/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/patch.h"

#include <stdio.h>
#include <stdlib.h>

/* Four names, each byte at most four, and the words between. */
#define HEAD_MAX ((size_t)4 * (4 * TREE_PATH_MAX + 8) + 512)

/* Fields of a patch end at blanks, and a quoted name shows where it ends. */
static bool is_plain(const struct tree_change *c)
{
	for (size_t i = 0; i < c->path_len; i++) {
		unsigned char ch = (unsigned char)c->path[i];

		if (ch < 0x20 || ch >= 0x7f || ch == '"' || ch == '\\')
			return false;
	}
	return true;
}

static void put_name(FILE *f, const struct tree_change *c, const char *side)
{
	static const char named[] = "abtnvfr";

	if (is_plain(c)) {
		fprintf(f, "%s%s", side, c->path);
		return;
	}
	fprintf(f, "\"%s", side);
	for (size_t i = 0; i < c->path_len; i++) {
		unsigned char ch = (unsigned char)c->path[i];

		if (ch >= '\a' && ch <= '\r')
			fprintf(f, "\\%c", named[ch - '\a']);
		else if (ch == '"' || ch == '\\')
			fprintf(f, "\\%c", ch);
		else if (ch < 0x20 || ch >= 0x7f)
			fprintf(f, "\\%03o", ch);
		else
			fputc(ch, f);
	}
	fputc('"', f);
}

/* Git knows whether a file can be executed, and no more. */
static unsigned git_mode(enum tree_type type, uint32_t mode)
{
	return type == TREE_TYPE_SYMLINK ? 0120000 : mode & 0100 ? 0100755 : 0100644;
}

static bool git_knows(enum tree_type type)
{
	return type == TREE_TYPE_FILE || type == TREE_TYPE_SYMLINK;
}

/* --- and +++; a name with a blank is ended by a tab, as patch wants it. */
static void put_side(FILE *f, const char *mark, const struct tree_change *c, const char *side,
		     bool there)
{
	fputs(mark, f);
	if (there)
		put_name(f, c, side);
	else
		fputs("/dev/null", f);
	fputs(there && is_plain(c) && strchr(c->path, ' ') ? "\t\n" : "\n", f);
}

static void put_head(FILE *f, const struct tree_change *c)
{
	unsigned before = git_mode(c->type_old, c->mode_old);
	unsigned after = git_mode(c->type_new, c->mode_new);

	fputs("diff --git ", f);
	put_name(f, c, "a/");
	fputc(' ', f);
	put_name(f, c, "b/");
	fputc('\n', f);
	if (c->kind == TREE_ADDED)
		fprintf(f, "new file mode %06o\n", after);
	else if (c->kind == TREE_DELETED)
		fprintf(f, "deleted file mode %06o\n", before);
	else if (before != after)
		fprintf(f, "old mode %06o\nnew mode %06o\n", before, after);
	if (c->text_len > 0) {
		put_side(f, "--- ", c, "a/", c->kind != TREE_ADDED);
		put_side(f, "+++ ", c, "b/", c->kind != TREE_DELETED);
	} else if (c->flags & TREE_DIFF_BINARY) {
		fputs("Binary files ", f);
		c->kind == TREE_ADDED ? (void)fputs("/dev/null", f) : put_name(f, c, "a/");
		fputs(" and ", f);
		c->kind == TREE_DELETED ? (void)fputs("/dev/null", f) : put_name(f, c, "b/");
		fputs(" differ\n", f);
	}
}

int tree_patch_head(const struct tree_change *c, char **ret, struct err *e)
{
	bool known = (git_knows(c->type_old) || c->type_old == TREE_TYPE_NONE) &&
		     (git_knows(c->type_new) || c->type_new == TREE_TYPE_NONE) &&
		     ((c->flags & TREE_DIFF_CONTENT) ||
		      git_mode(c->type_old, c->mode_old) != git_mode(c->type_new, c->mode_new));
	char *head = calloc(1, HEAD_MAX);
	FILE *f = head ? fmemopen(head, HEAD_MAX, "w") : NULL;

	if (!f) {
		free(head);
		return err_sys(e, "write a patch");
	}
	if (known)
		put_head(f, c);
	(void)fclose(f); /* it cannot be full */
	*ret = head;
	return 0;
}
