/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which packages a sandbox has in which a command ran. The daemon knows the layers alone, as numbers in
 * a directory: whoever made the sandbox has written down what is in them.
 */
#include <string.h>

#include "engine/deps_int.h"
#include "engine/deps_run.h"
#include "store/depset.h"
#include "store/upper.h"
#include "wire/link.h"

struct wanted {
	struct run_deps *d;
	uint32_t number;
	bool found;
};

static int take_one(const struct depset *set, void *arg)
{
	struct wanted *w = arg;
	auto_value *layer = NULL;
	enum deps_lang lang;
	struct err none = ERR_INIT;

	if (w->found || set->number != w->number || deps_lang_of(set->lang, &lang) < 0 ||
	    value_parse(set->lock, strlen(set->lock), &layer, &none) < 0)
		return 0;
	deps_list(w->d, lang, layer, set->key);
	w->found = true;
	return 0;
}

/* All of them, or nothing is said. */
static bool take_all(struct store *s, const struct link_layers *l, struct run_deps *d)
{
	struct sandbox_layers here = store_layers(s);
	struct err none = ERR_INIT;

	if (here.dev != l->dev || here.ino != l->ino || l->n > LINK_LAYERS_MAX)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		struct wanted w = {.d = d, .number = l->number[i]};

		if (depset_each(s, take_one, &w, &none) < 0 || !w.found)
			return false;
	}
	return true;
}

void deps_of_live(struct run_deps *d, const struct link_layers *l)
{
	auto_store *s = NULL;
	struct err none = ERR_INIT;

	if (!l->n || d->packages || deps_open_store(&s, &none) < 0)
		return;
	d->packages = value_array();
	d->layers = value_array();
	if (take_all(s, l, d))
		return;
	value_free_ptr(&d->packages);
	value_free_ptr(&d->layers);
}
