/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

struct apply_item *apply_set_add(struct apply_set *set, const char *path, struct err *e)
{
	char *copy = strdup(path);

	if (copy && set->n == set->room) {
		size_t room = set->room ? set->room * 2 : 32;
		void *more = reallocarray(set->items, room, sizeof(*set->items));

		if (!more)
			free_ptr(&copy);
		else
			set->items = more;
		set->room = more ? room : set->room;
	}
	if (!copy) {
		(void)err_sys(e, "list changes");
		return NULL;
	}
	struct apply_item *item = &set->items[set->n++];
	*item = (struct apply_item){.path = copy};
	return item;
}

void apply_set_done(struct apply_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		free(set->items[i].path);
	free_ptr(&set->items);
	set->n = set->room = 0;
	fd_close(&set->dir);
	fd_close(&set->stage);
}

enum apply_type apply_type_of(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case 0: return APPLY_NONE;
	case S_IFREG: return APPLY_FILE;
	case S_IFLNK: return APPLY_LINK;
	case S_IFDIR: return APPLY_DIR;
	default: return APPLY_OTHER;
	}
}
