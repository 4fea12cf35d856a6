/* SPDX-License-Identifier: Apache-2.0 */
/* The notary's program as bytes of ours. NOTARY_IMAGE is its path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl notary_image, notary_image_end\n"
	".hidden notary_image, notary_image_end\n"
	"notary_image:\n"
	".incbin \"" NOTARY_IMAGE "\"\n"
	"notary_image_end:\n"
	".byte 0\n"
	".previous\n");
