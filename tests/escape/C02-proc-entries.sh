#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: masks, timens, ref-bwrap
#
# /proc tells of the whole host: kernel addresses, other users' keys, when keys are pressed. Hiding
# all of it (subset=pid) breaks ps, free, node and R. So each entry was decided upon, and the list
# is frozen in C02-proc-entries.expected: a kernel that brings a new one turns this red until
# somebody has looked.
. "$(dirname "$0")/../lib/escape.sh"

claim "C02 of /proc only what is on the list can be read"

# What the program found that is not as decided.
differences()
{
	awk '
	FNR == NR { if (!/^#/ && NF >= 2) want[$1] = $2; next }
	!($1 in want) { print $1 " is " $2 " and not on the list"; next }
	{ seen++ }
	# A masked directory is empty: nothing below it is on the list.
	want[$1] == "masked" && $2 !~ /^(refused|empty|dir)$/ { print $1 " is " $2 ", not masked" }
	want[$1] != "masked" && $2 == "refused" { print $1 " is refused, not " want[$1] }
	END { if (seen < 30) print "only " seen + 0 " entries" }
	' "$CASE_STEM.expected" "$OUT"
}

attack()
{
	local user

	attack_build
	for user in user root; do
		inside --user "$user" --dir "$BIN" -- "$ATTACK"
		if [ "$user$MODE" = rootU ] && [ "$RC" = 125 ]; then
			refused "sandbox root without a range of ids"
			continue
		fi
		ran
		KIND=READ same "differences for $user" "$(differences)" ""
	done
	# What the list calls the sandbox's own.
	inside --memory 64M --cpus 1 -- sh -c 'cut -d. -f1 /proc/uptime
		grep MemTotal /proc/meminfo; grep -c ^processor /proc/cpuinfo
		grep -c ^cpu[0-9] /proc/stat; grep -E "^(intr|ctxt|softirq)" /proc/stat | tr -d " 0"
		tail -n +2 /proc/swaps; tail -n +2 -q /proc/sysvipc/*; tail -n +3 /proc/net/dev | cut -d: -f1'
	ran
	holds "the time since boot is the sandbox's" test "$(sed -n 1p "$OUT")" -lt 30
	KIND=READ same "memory, processors, counters, swap, shared memory, interfaces" \
		"$(sed 1d "$OUT" | paste -sd ' ' | tr -s ' ')" "MemTotal: 65536 kB 1 1 intr ctxt softirq lo"
}

run_case
