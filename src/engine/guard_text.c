/* SPDX-License-Identifier: Apache-2.0 */
/* What is about to happen, in words for a person. The words are of hostile code: nothing in them
 * can look like more than one word, or like less than all of them. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "engine/guard_text.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-"

struct text {
	char *to;
	size_t size, len;
	bool full;
};

static void put(struct text *t, const char *s, size_t n)
{
	if (t->full || t->len + n >= t->size) {
		t->full = true;
		return;
	}
	memcpy(t->to + t->len, s, n);
	t->len += n;
	t->to[t->len] = '\0';
}

/* One character, or what stands for a byte that is none. */
static size_t put_one(struct text *t, const char *at, size_t left)
{
	size_t n = utf8_len((const unsigned char *)at, left);
	unsigned char c = (unsigned char)*at;
	char hex[8];

	if (n == 0 || c < ' ' || c == 0x7f) {
		(void)snprintf(hex, sizeof(hex), "\\x%02x", c);
		put(t, hex, 4);
		return 1;
	}
	if (c == '\'' || c == '\\')
		put(t, "\\", 1);
	put(t, at, n);
	return n;
}

static void put_word(struct text *t, const char *word)
{
	size_t len = strlen(word);

	if (len > 0 && strspn(word, PLAIN) == len) {
		put(t, word, len);
		return;
	}
	put(t, "'", 1);
	for (size_t i = 0; i < len;)
		i += put_one(t, word + i, len - i);
	put(t, "'", 1);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_command(struct text *t, const struct guard_ask *a)
{
	const char *program = a->text, *end = a->text + a->len;
	const char *word = program + strlen(program) + 1;

	bool is_other = word >= end || strcmp(base_of(word), base_of(program)) != 0;

	/* A word says what a program likes; by which file it is goes in front, so that it is not
	 * cut. */
	if (is_other) {
		put(t, "(", 1);
		put_word(t, program);
		put(t, ")", 1);
	}
	for (bool first = !is_other; word < end; word += strlen(word) + 1, first = false) {
		if (!first)
			put(t, " ", 1);
		put_word(t, word);
	}
}

void guard_text(const struct guard_ask *a, char *ret, size_t size)
{
	static const char more[] = " (and more)";
	struct text t = {ret, size - sizeof(more), 0, false};
	const char *second = a->text + strlen(a->text) + 1;

	ret[0] = '\0';
	if (a->kind == GUARD_EXEC) {
		put_command(&t, a);
	} else {
		const char *verb = a->kind == GUARD_DELETE ? "delete " : "move ";

		put(&t, verb, strlen(verb));
		put_word(&t, a->text);
		if (a->kind != GUARD_DELETE) {
			put(&t, " to ", 4);
			put_word(&t, second);
		}
	}
	if (t.full || a->is_cut)
		(void)snprintf(ret + t.len, size - t.len, "%s", more);
}
