/* SPDX-License-Identifier: Apache-2.0 */
/* What a deterministic run has beside the usual tree (wire/pinned.h). PINNED_IMAGE is the path of
 * the object at build time. */
#include "sandbox/plan_int.h"
#include "wire/pinned.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SEED 1u /* the same for all: who wants other numbers asks for them inside */

extern const char pinned_image[], pinned_image_end[];

__asm__(".section .rodata\n"
	".balign 16\n"
	".globl pinned_image, pinned_image_end\n"
	".hidden pinned_image, pinned_image_end\n"
	"pinned_image:\n"
	".incbin \"" PINNED_IMAGE "\"\n"
	"pinned_image_end:\n"
	".previous\n");

void plan_pinned_etc(struct plan *p, const struct sandbox_spec *spec)
{
	static const char preload[] = PINNED_OBJECT "\n";
	const struct pinned_settings settings = {
		.magic = PINNED_MAGIC,
		.start_s = spec->pinned.start_s,
		.made_ns = spec->pinned.made_ns,
		.seed = SEED,
	};

	if (!spec_loads_pinned(spec))
		return;
	plan_write(p, "r" PINNED_OBJECT, 0644, pinned_image,
		   (size_t)(pinned_image_end - pinned_image));
	plan_write(p, "r" PINNED_SETTINGS, 0644, &settings, sizeof(settings));
	plan_write(p, "r/etc/ld.so.preload", 0644, preload, strlen(preload));
}

void plan_pinned_run(struct plan *p, const struct sandbox_spec *spec, bool layered)
{
	static const struct pinned_table none;
	char at[64];

	(void)snprintf(at, sizeof(at), "%s" PINNED_TABLE, plan_volatile_top(spec, layered));
	if (spec_loads_pinned(spec))
		plan_write(p, at, 0666, &none, sizeof(none));
}

size_t plan_pinned_bytes(const struct sandbox_spec *spec)
{
	return spec_loads_pinned(spec)
		       ? (size_t)(pinned_image_end - pinned_image) + sizeof(struct pinned_table)
		       : 0;
}
