/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/driver.h"

#include <string.h>

#include "warden/zygote.h"

extern const char driver_python[], driver_node[], driver_r[];

static void spec_r(struct ward *ward)
{
	ward->argv[0] = "/usr/bin/Rscript";
	ward->argv[1] = "/run/code/driver.R";
	ward->spec.code_name = "driver.R";
	ward->spec.code = driver_r;
	ward->spec.code_len = strlen(driver_r);
}

void driver_spec(struct warden *w, struct ward *ward)
{
	switch (ward->kind) {
	case KIND_PYTHON:
		ward->spec.driver = DRIVER_PYTHON;
		ward->spec.forked = zygote_ready(w);
		if (ward->spec.forked)
			zygote_pool(w, &ward->spec);
		ward->argv[0] = "/usr/bin/python3";
		ward->argv[1] = "-c";
		ward->argv[2] = driver_python;
		ward->argv[3] = ward->spec.forked ? w->config->preload : w->config->preload_alone;
		break;
	case KIND_NODE:
		ward->spec.driver = DRIVER_NODE;
		ward->argv[0] = "/usr/bin/node";
		ward->argv[1] = "-e";
		ward->argv[2] = driver_node;
		break;
	case KIND_R:
		ward->spec.driver = DRIVER_R;
		spec_r(ward);
		break;
	case KIND_PLAIN:
	case KINDS: return;
	}
	ward->spec.argv = ward->argv;
}

void driver_layered(struct ward *ward, const char *modules)
{
	ward->argv[0] = "/usr/bin/python3";
	ward->argv[1] = "-c";
	ward->argv[2] = driver_python;
	ward->argv[3] = modules;
	ward->argv[4] = "layer";
	ward->spec.argv = ward->argv;
}

enum ward_kind driver_kind(const struct ask *ask)
{
	uint32_t flags = ask->head->flags;

	if (flags & (ASK_PTY | ASK_LIVE))
		return KIND_PLAIN;
	/* A forked one has a filter of its own; who listens to it does not hear the guest's
	 * commands. */
	if (ask->held && (flags & ASK_PYTHON))
		return KIND_PLAIN;
	return flags & ASK_PYTHON ? KIND_PYTHON
	       : flags & ASK_NODE ? KIND_NODE
	       : flags & ASK_R	  ? KIND_R
				  : KIND_PLAIN;
}
