#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: ref-naive
#
# CVE-2025-52881, CVE-2019-19921: something else than procfs was mounted where the runtime wrote id
# maps, labels and oom scores, so that the write landed elsewhere. Here pinfold starts where /proc is
# an ordinary directory full of bait: it must refuse, or not use it. (A sandbox cannot mount at all.)
. "$(dirname "$0")/../lib/escape.sh"

claim "A05 nothing is written to a /proc that is not procfs"

BAIT="uid_map gid_map setgroups oom_score_adj loginuid coredump_filter timerslack_ns comm"

bait()
{
	local name pid

	rm -rf "$W/proc"
	mkdir -p "$W/proc/sys/kernel" "$W/proc/bait/attr" "$W/proc/bait/fd" "$W/proc/bait/ns"
	for name in $BAIT attr/exec attr/current; do
		: >"$W/proc/bait/$name"
	done
	echo 65534 | tee "$W/proc/sys/kernel/overflowuid" >"$W/proc/sys/kernel/overflowgid"
	ln -s bait "$W/proc/self"
	ln -s bait "$W/proc/thread-self"
	pid=$BASHPID
	(cd "$W/proc" && for ((i = pid; i < pid + 400; i++)); do ln -s bait "$i"; done)
	chmod -R a+rwX "$W/proc"
}

# A mount namespace of its own, /proc replaced, then the launcher of the current mode.
attack()
{
	if [ "$EUID" != 0 ]; then
		skip_mode "only root can replace /proc for a process"
		return
	fi
	bait
	INSIDE_OUTER=(unshare -m --propagation private
		sh -c 'mount --bind "$0" /proc && exec "$@"' "$W/proc")
	inside -- echo RAN
	INSIDE_OUTER=()
	checked
	case $RC in
	125) [ -s "$ERR" ] || fell CRASH "refused without a reason" ;;
	0) same "it ran whole" "$(cat "$OUT")" RAN ;;
	*) fell CRASH "status $RC: $(head -c 300 "$ERR")" ;;
	esac
	KIND=WRITE same "bait that was written to" "$(find "$W/proc" -type f -size +0 ! -name 'overflow*' -printf '%P ')" ""
}

run_case
