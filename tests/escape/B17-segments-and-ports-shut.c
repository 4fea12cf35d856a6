/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of one's own and the machine's I/O ports. */
#include "B-doors.h"

#ifdef __x86_64__
#include <asm/ldt.h>

int main(void)
{
	struct user_desc segment = {.entry_number = 0,
				    .base_addr = 0x10000,
				    .limit = 0xfff,
				    .seg_32bit = 1,
				    .useable = 1};
	char table[64];

	filtered("modify_ldt-read", syscall(SYS_modify_ldt, 0, table, sizeof(table)));
	filtered("modify_ldt-write", syscall(SYS_modify_ldt, 1, &segment, sizeof(segment)));
	filtered("modify_ldt-write-new", syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment)));
	filtered("iopl", syscall(SYS_iopl, 3));
	filtered("iopl-reached", syscall(SYS_iopl, 4));
	filtered("ioperm", syscall(SYS_ioperm, 0x80, 1, 1));
	filtered("ioperm-reached", syscall(SYS_ioperm, 0, 0, 0));
	door("port", open("/dev/port", O_RDWR));
	door("mem", open("/dev/mem", O_RDONLY));
	return 0;
}
#else
int main(void)
{
	static const char *const names[] = {"modify_ldt-read",	    "modify_ldt-write",
					    "modify_ldt-write-new", "iopl",
					    "iopl-reached",	    "ioperm",
					    "ioperm-reached"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		door_if(names[i], 0, "not on this machine");
	door("port", open("/dev/port", O_RDWR));
	door("mem", open("/dev/mem", O_RDONLY));
	return 0;
}
#endif
