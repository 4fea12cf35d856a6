/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that read imports, as texts of ours. They run inside a sandbox. */
__asm__(".section .rodata\n"
	".globl scan_python, scan_node, scan_r\n"
	".hidden scan_python, scan_node, scan_r\n"
	"scan_python:\n"
	".incbin \"src/deps/scan.py\"\n" /* one program in two files */
	".incbin \"src/deps/scan_uses.py\"\n"
	".byte 0\n"
	"scan_node:\n"
	".incbin \"src/deps/scan.js\"\n"
	".byte 0\n"
	"scan_r:\n"
	".incbin \"src/deps/scan.R\"\n"
	".byte 0\n"
	".previous\n");
