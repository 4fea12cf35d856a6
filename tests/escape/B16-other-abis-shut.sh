#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# A filter written for one ABI is no filter for another: int 0x80 and x32 number their calls anew,
# and were the hole in several. Here the other ABIs do not exist.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B16 system calls of other ABIs do not exist"

attack()
{
	local name doors=(wide-keyctl wide-bpf wide-unshare negative program)

	attack_build "" -no-pie
	inside --dir "$BIN" -- "$ATTACK"
	if grep -q '^only x86-64' "$OUT"; then
		ran
		return
	fi
	for name in getpid keyctl ptrace mount unshare own-number; do
		doors+=("x32-$name")
	done
	if ! grep -q '^shut int80 signal' "$OUT"; then
		for name in getpid keyctl add_key socketcall mount bpf vm86 modify_ldt clone \
			unshare; do
			doors+=("int80-$name")
		done
	fi
	all_shut "${doors[@]}"
	denied bpf keyctl unshare
}

run_case
