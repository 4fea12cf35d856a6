/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's program as bytes of ours. GATE_IMAGE is its path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl gate_image, gate_image_end\n"
	".hidden gate_image, gate_image_end\n"
	"gate_image:\n"
	".incbin \"" GATE_IMAGE "\"\n"
	"gate_image_end:\n"
	".byte 0\n"
	".previous\n");
