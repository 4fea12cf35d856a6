/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/change.h"

#include <string.h>

#include "cmd/escape.h"

char change_letter(const struct pinfold_change *c)
{
	return c->change[0] == 'a' ? 'A' : c->change[0] == 'd' ? 'D' : 'M';
}

static void put_escaped(FILE *to, const char *data, size_t len, bool one_line)
{
	char buf[4096];
	struct escape esc = {.one_line = one_line};

	for (size_t used = 0, took = 0; used < len; used += took) {
		size_t n = escape_feed(&esc, data + used, len - used, &took, buf, sizeof(buf));

		(void)fwrite(buf, 1, n, to);
	}
	(void)fwrite(buf, 1, escape_end(&esc, buf, sizeof(buf)), to);
}

void change_name(const char *path, size_t len)
{
	put_escaped(stdout, path, len, true);
}

static const char *colour_of(char first)
{
	return first == '+'   ? "\033[32m"
	       : first == '-' ? "\033[31m"
	       : first == '@' ? "\033[36m"
			      : "";
}

/* Line by line: the end of a line is ours, so that no colour runs on and no comment is left. */
static void put_lines(FILE *to, const char *data, size_t len, bool terminal, const char *before,
		      bool coloured)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;
		const char *colour = coloured && n ? colour_of(data[0]) : "";

		fprintf(to, "%s%s", colour, before);
		if (terminal)
			put_escaped(to, data, n, false);
		else
			(void)fwrite(data, 1, n, to);
		fprintf(to, "%s%s", *colour ? "\033[m" : "", end ? "\n" : "");
		data += n + (end != NULL);
		len -= n + (end != NULL);
	}
}

void change_text(FILE *to, const char *data, size_t len, bool terminal, bool comment)
{
	if (comment)
		put_lines(to, data, len, terminal, "# ", false);
	else if (terminal)
		put_escaped(to, data, len, false);
	else
		(void)fwrite(data, 1, len, to);
}

void change_colour(FILE *to, const char *data, size_t len, bool comment)
{
	put_lines(to, data, len, true, comment ? "# " : "", true);
}

void change_json(struct json *j, const struct pinfold_change *c)
{
	json_bytes(j, "path", c->path, c->path_len);
	json_str(j, "change", c->change);
	json_str(j, "type", c->type_new ? c->type_new : c->type_old);
	if (c->type_new && c->type_old && strcmp(c->type_new, c->type_old) != 0)
		json_str(j, "type_before", c->type_old);
	json_u64(j, "size_before", c->size_old);
	json_u64(j, "size", c->size_new);
	json_u64(j, "mode_before", c->mode_old);
	json_u64(j, "mode", c->mode_new);
	json_str(j, "sha256_before", c->sha256_old[0] ? c->sha256_old : NULL);
	json_str(j, "sha256", c->sha256_new[0] ? c->sha256_new : NULL);
	json_bool(j, "binary", c->binary);
}

void change_patches(FILE *from)
{
	char buf[8192];
	size_t n;

	if (ftell(from) > 0)
		(void)putchar('\n');
	rewind(from);
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0)
		(void)fwrite(buf, 1, n, stdout);
}
