/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a map, loads a program, and reaches for the call itself. */
#include "B-doors.h"
#include <linux/bpf.h>

int main(void)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	union bpf_attr prog = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
			       .insn_cnt = 2,
			       .insns = (unsigned long)code,
			       .license = (unsigned long)"GPL"};
	union bpf_attr id = {.start_id = 0};

	filtered("map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)));
	filtered("program", syscall(SYS_bpf, BPF_PROG_LOAD, &prog, sizeof(prog)));
	filtered("next-id", syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &id, sizeof(id)));
	/* The size is looked at before anybody's rights. */
	filtered("reached", syscall(SYS_bpf, BPF_MAP_CREATE, BAD_POINTER, 16));
	filtered("reached-size", syscall(SYS_bpf, BPF_MAP_CREATE, &map, 1 << 20));
	return 0;
}
