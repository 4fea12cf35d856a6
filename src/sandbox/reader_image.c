/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's program as bytes of ours. READER_IMAGE is its path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl reader_image, reader_image_end\n"
	".hidden reader_image, reader_image_end\n"
	"reader_image:\n"
	".incbin \"" READER_IMAGE "\"\n"
	"reader_image_end:\n"
	".byte 0\n"
	".previous\n");
