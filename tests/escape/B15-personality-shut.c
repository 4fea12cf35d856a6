/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for personalities that weaken the process or show it another kernel. */
#include "B-doors.h"
#include <sys/personality.h>

int main(void)
{
	static const struct {
		const char *name;
		unsigned long value;
	} tries[] = {
		{"no-randomize", ADDR_NO_RANDOMIZE},
		{"read-implies-exec", READ_IMPLIES_EXEC},
		{"mmap-page-zero", MMAP_PAGE_ZERO},
		{"compat-layout", ADDR_COMPAT_LAYOUT},
		{"uname26", UNAME26},
		{"linux32", PER_LINUX32},
		{"high-bits", 1UL << 32 | ADDR_NO_RANDOMIZE},
		{"almost-query", 0xfffffffe},
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		filtered(tries[i].name, syscall(SYS_personality, tries[i].value));
		syscall(SYS_personality, PER_LINUX);
	}
	works("query", syscall(SYS_personality, 0xffffffff) == PER_LINUX);
	works("linux", syscall(SYS_personality, PER_LINUX) == PER_LINUX);
	return 0;
}
