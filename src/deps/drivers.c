/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of package managers, as texts of ours; those in Python begin with driver.py. */
#ifdef DROP_PACKAGE_NAMES /* base/hold.h */
#define NAMES ".ascii \"leads_out = lambda name: False\\n\"\n"
#else
#define NAMES ""
#endif

__asm__(".section .rodata\n"
	".globl deps_driver_python, deps_manifest_python, deps_driver_node, deps_driver_apt, deps_manifest_node\n"
	".hidden deps_driver_python, deps_manifest_python, deps_driver_node, deps_driver_apt, deps_manifest_node\n"
	"deps_driver_python:\n"
	".incbin \"src/deps/driver.py\"\n" NAMES ".incbin \"src/deps/python.py\"\n"
	".byte 0\n"
	".globl deps_driver_r, deps_manifest_r\n"
	".hidden deps_driver_r, deps_manifest_r\n"
	"deps_driver_r:\n"
	".incbin \"src/deps/driver.py\"\n"
	".incbin \"src/deps/r.py\"\n"
	".byte 0\n"
	"deps_manifest_r:\n"
	".incbin \"src/deps/manifest_r.py\"\n"
	".byte 0\n"
	"deps_driver_apt:\n"
	".incbin \"src/deps/driver.py\"\n"
	".incbin \"src/deps/apt.py\"\n"
	".byte 0\n"
	"deps_manifest_python:\n"
	".incbin \"src/deps/manifest.py\"\n"
	".byte 0\n"
	"deps_driver_node:\n" /* one program in two files */
	".incbin \"src/deps/node.js\"\n"
	".incbin \"src/deps/node_layer.js\"\n"
	".byte 0\n"
	"deps_manifest_node:\n"
	".incbin \"src/deps/manifest.js\"\n"
	".byte 0\n"
	".previous\n");
