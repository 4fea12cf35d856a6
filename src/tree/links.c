/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/links.h"

#include <stdlib.h>
#include <string.h>

struct tree_link {
	dev_t dev;
	ino_t ino;
	size_t path; /* offset in `paths`, plus 1; 0: the slot is free */
	uint64_t value;
};

void tree_links_init(struct tree_links *links, size_t n_max, size_t paths_max)
{
	*links = (struct tree_links){.n_max = n_max, .paths_max = paths_max};
}

void tree_links_done(struct tree_links *links)
{
	free(links->slots);
	free(links->paths);
	*links = (struct tree_links){0};
}

static struct tree_link *slot_of(const struct tree_links *links, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ ((uint64_t)dev << 32)) * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = (h >> 20) % links->n_slots;; i = (i + 1) % links->n_slots) {
		struct tree_link *slot = &links->slots[i];

		if (!slot->path || (slot->dev == dev && slot->ino == ino))
			return slot;
	}
}

const char *tree_links_find(const struct tree_links *links, dev_t dev, ino_t ino,
			    uint64_t *ret_value)
{
	if (links->n_slots == 0)
		return NULL;
	const struct tree_link *slot = slot_of(links, dev, ino);
	if (!slot->path)
		return NULL;
	if (ret_value)
		*ret_value = slot->value;
	return links->paths + slot->path - 1;
}

/* At most half full, so that a search ends soon. */
static int more_slots(struct tree_links *links, struct err *e)
{
	struct tree_links old = *links;

	if (links->n * 2 < links->n_slots)
		return 0;
	links->n_slots = old.n_slots ? old.n_slots * 2 : 64;
	links->slots = calloc(links->n_slots, sizeof(*links->slots));
	if (!links->slots) {
		*links = old;
		return err_sys(e, "remember files with more than one name");
	}
	for (size_t i = 0; i < old.n_slots; i++)
		if (old.slots[i].path)
			*slot_of(links, old.slots[i].dev, old.slots[i].ino) = old.slots[i];
	free(old.slots);
	return 0;
}

int tree_links_note(struct tree_links *links, dev_t dev, ino_t ino, const char *path,
		    uint64_t value, struct err *e)
{
	size_t len = strlen(path) + 1;

	if (links->n >= links->n_max || links->paths_len + len > links->paths_max)
		return 0;
	int r = more_slots(links, e);
	if (r < 0)
		return r;
	if (links->paths_len + len > links->paths_room) {
		size_t room = (links->paths_room + len) * 2;
		char *p = realloc(links->paths, room);
		if (!p)
			return err_sys(e, "remember files with more than one name");
		links->paths = p;
		links->paths_room = room;
	}
	struct tree_link *slot = slot_of(links, dev, ino);
	if (!slot->path)
		links->n++;
	*slot = (struct tree_link){dev, ino, links->paths_len + 1, value};
	memcpy(links->paths + links->paths_len, path, len);
	links->paths_len += len;
	return 1;
}
