#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: proc-ro, ref-bwrap
#
# /proc/sys checks the global user id, not capabilities: sandbox root mapped to host root writes
# core_pattern with no capability at all. So there are two walls, ids and a read-only mount, and
# neither may be counted on. Every value is written back as it is: no harm where the write succeeds.
. "$(dirname "$0")/../lib/escape.sh"

claim "A10 nothing under /proc/sys can be written"

WRITE_ALL='n=0
	while IFS= read -r f; do
		v=$(timeout 1 cat "$f" 2>/dev/null) || continue
		n=$((n + 1))
		case $f in */drop_caches | */compact_memory | */flush | */ns_last_pid) v= ;; esac
		{ printf "%s\n" "$v" >"$f"; } 2>/dev/null && echo "open $f"
	done <<END
$(find /proc/sys -type f 2>/dev/null)
END
	[ "$n" -gt 100 ] && echo "shut all $n"
	for f in /proc/sysrq-trigger /proc/self/oom_adj; do
		[ -e $f ] && [ "$f" != /proc/self/oom_adj ] && { : >>$f; } 2>/dev/null && echo "open $f"
	done
	awk "\$5 == \"/proc/sys\" {print \$6}" /proc/self/mountinfo'

attack()
{
	inside -- bash -c "$WRITE_ALL"
	ran
	KIND=WRITE shut all
	KIND=WRITE same "the mount of /proc/sys is read-only" \
		"$(tail -1 "$OUT" | cut -d, -f1)" ro

	inside --user root -- bash -c "$WRITE_ALL"
	if [ "$RC" = 125 ]; then
		refused "sandbox root without a range of ids"
	else
		ran
		KIND=WRITE shut all
	fi
}

run_case
