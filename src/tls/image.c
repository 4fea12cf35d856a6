/* SPDX-License-Identifier: Apache-2.0 */
/* The program as bytes of the one that starts it. TLS_IMAGE is its path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl tls_image, tls_image_end\n"
	".hidden tls_image, tls_image_end\n"
	"tls_image:\n"
	".incbin \"" TLS_IMAGE "\"\n"
	"tls_image_end:\n"
	".byte 0\n"
	".previous\n");
