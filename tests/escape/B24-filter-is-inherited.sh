#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: seccomp, ref-bwrap
#
# A filter that one way of starting a program leaves behind is no filter. Every process and thread
# shows mode 2, one filter and no_new_privs, our init as well; none of them can be had back.
. "$(dirname "$0")/../lib/escape.sh"
. "$(dirname "$0")/B-doors.bash"

claim "B24 every process inside has the one filter, whatever started it"

WORKS="own-filter sync-threads "

attack()
{
	local who want=

	attack_build
	install -m 4755 "$ATTACK_HOST" "$BIN/setuid"
	for who in first init static setuid vfork sibling thread; do
		want+="$who 2 1 1"$'\n'
	done
	ARGS=(all)
	all_shut no-new-privs-off strict-off listener unshare-under-own-filter unshare-after-sync
	same "filters of all, as sandbox root" "$(sed -n 's/^state //p' "$OUT")" "${want%$'\n'}"
	denied unshare
	same "filters of all" "$(sed -n 's/^state //p' "$OUT")" "${want%$'\n'}"
	inside -- sh -c 'grep -hE "^(Seccomp|NoNewPrivs)" /proc/*/status /proc/*/task/*/status |
		tr -d "\t" | sort -u'
	ran
	same "filters of a shell and its children" "$(paste -sd ' ' "$OUT")" \
		"NoNewPrivs:1 Seccomp:2 Seccomp_filters:1"
}

run_case
