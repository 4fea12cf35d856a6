/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/bundle.h"

#include <errno.h>
#include <string.h>

/* etc/NAME, var/lib/NAME, opt/NAME: nothing that leads elsewhere. */
static int is_link(const char *text)
{
	static const char *const tops[] = {"etc/", "var/lib/", "opt/"};
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

	for (unsigned i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		size_t n = strlen(tops[i]);

		if (strncmp(text, tops[i], n) != 0)
			continue;
		return text[n] && text[n] != '.' && !text[n + strspn(text + n, plain)];
	}
	return 0;
}

/* Dotted names with commas between them: they become a word of an interpreter's. */
static int are_modules(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,";

	return !text[strspn(text, plain)];
}

/* Strings, the last one with its NUL, too, and each a path of /usr, or empty. */
static int are_watched(const struct bundle *b)
{
	const char *p = b->watched, *end = p + b->watched_len;

	if (b->watched_len > BUNDLE_WATCHED_MAX || (b->watched_len && end[-1]))
		return 0;
	for (; p < end; p += strlen(p) + 1)
		if (*p && strncmp(p, "/usr/", 5) != 0)
			return 0;
	return 1;
}

int bundle_check(const struct bundle *b, int n_fds)
{
	if (b->magic != BUNDLE_MAGIC || b->version != BUNDLE_VERSION ||
	    (b->flags & ~(BUNDLE_NODE | BUNDLE_IMAGE)) || b->n == 0 || b->n > BUNDLE_LAYERS_MAX ||
	    n_fds != (int)b->n)
		return -EINVAL;
	if ((b->flags & BUNDLE_IMAGE) && (b->flags != BUNDLE_IMAGE || b->n != 1 || b->n_links))
		return -EINVAL;
	for (unsigned i = 0; i < BUNDLE_LAYERS_MAX; i++)
		if (!b->number[i] != (i >= b->n))
			return -EINVAL;
	if (b->path[0] != '/' || !memchr(b->path, 0, sizeof(b->path)) || !b->ino ||
	    b->n_links > BUNDLE_LINKS_MAX || !memchr(b->modules, 0, sizeof(b->modules)) ||
	    !are_modules(b->modules) || !are_watched(b))
		return -EINVAL;
	for (unsigned i = 0; i < b->n_links; i++)
		if (!memchr(b->links[i], 0, BUNDLE_LINK_SIZE) || !is_link(b->links[i]))
			return -EINVAL;
	return 0;
}
