/* SPDX-License-Identifier: Apache-2.0 */
/* The loader (loader.c) as bytes. LOADER_IMAGE is its path at build time. */
#include "guest/loader_image.h"

__asm__(".section .rodata\n"
	".balign 16\n"
	".globl loader_image, loader_image_end\n"
	"loader_image:\n"
	".incbin \"" LOADER_IMAGE "\"\n"
	"loader_image_end:\n"
	".previous\n");
