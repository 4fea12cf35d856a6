/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's program, as bytes of ours. GUEST_IMAGE is its path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl guest_image, guest_image_end\n"
	".hidden guest_image, guest_image_end\n"
	"guest_image:\n"
	".incbin \"" GUEST_IMAGE "\"\n"
	"guest_image_end:\n"
	".byte 0\n"
	".previous\n");
