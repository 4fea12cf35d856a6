/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/change.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "tree/patch.h"

static void hex(const uint8_t hash[HASH_BYTES], bool known, char to[HASH_TEXT_SIZE])
{
	to[0] = '\0';
	if (known)
		hash_text(hash, to);
}

static const char *type_name(enum tree_type type)
{
	static const char *const names[TREE_TYPES] = {
		[TREE_TYPE_FILE] = "file",	 [TREE_TYPE_DIR] = "directory",
		[TREE_TYPE_SYMLINK] = "symlink", [TREE_TYPE_FIFO] = "fifo",
		[TREE_TYPE_SOCKET] = "socket",	 [TREE_TYPE_DEVICE] = "device",
	};

	return type < TREE_TYPES ? names[type] : NULL;
}

void change_done(struct change_shown *s)
{
	free_ptr(&s->head);
	free_ptr(&s->path);
}

int change_show(const struct tree_change *c, const char *prefix, struct change_shown *ret,
		struct err *e)
{
	static const char *const kinds[] = {
		[TREE_ADDED] = "added", [TREE_MODIFIED] = "modified", [TREE_DELETED] = "deleted"};
	int r = tree_patch_head(c, &ret->head, e);
	int n = r < 0 ? 0 : asprintf(&ret->path, "%s%s", prefix, c->path);

	if (n < 0) {
		ret->path = NULL;
		return err_sys(e, "diff");
	}
	if (r < 0)
		return r;
	ret->change = (struct pinfold_change){
		.change = kinds[c->kind],
		.type_old = type_name(c->type_old),
		.type_new = type_name(c->type_new),
		.path = ret->path,
		.path_len = (size_t)n,
		.mode_old = c->mode_old,
		.mode_new = c->mode_new,
		.size_old = c->size_old,
		.size_new = c->size_new,
		.binary = (c->flags & TREE_DIFF_BINARY) != 0,
		.patch_head = ret->head,
		.patch = c->flags & TREE_DIFF_TEXT ? c->text : NULL,
		.patch_len = c->flags & TREE_DIFF_TEXT ? c->text_len : 0,
	};
	hex(c->hash_old, c->flags & TREE_DIFF_HASH_OLD, ret->change.sha256_old);
	hex(c->hash_new, c->flags & TREE_DIFF_HASH_NEW, ret->change.sha256_new);
	return 0;
}
