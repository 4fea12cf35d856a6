/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's program and the texts of the interpreters' drivers, as bytes of ours. GUEST_IMAGE is the
 * program's path at build time. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl guest_image, guest_image_end, driver_python, driver_node, driver_r\n"
	".hidden guest_image, guest_image_end, driver_python, driver_node, driver_r\n"
	"guest_image:\n"
	".incbin \"" GUEST_IMAGE "\"\n"
	"guest_image_end:\n"
	".byte 0\n"
	"driver_python:\n"
	".incbin \"src/guest/driver.py\"\n"
	".byte 0\n"
	"driver_node:\n"
	".incbin \"src/guest/driver.js\"\n"
	".byte 0\n"
	"driver_r:\n"
	".incbin \"src/guest/driver.R\"\n"
	".byte 0\n"
	".previous\n");
