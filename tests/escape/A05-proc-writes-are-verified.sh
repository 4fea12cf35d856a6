#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: procfs, ref-bwrap
#
# CVE-2025-52881, CVE-2019-19921: something else than procfs was mounted where the runtime wrote id
# maps, labels and oom scores, so that the write landed elsewhere. Here pinfold starts where /proc
# is an ordinary directory full of bait: it must refuse, or not use it. (A sandbox cannot mount.)
. "$(dirname "$0")/../lib/escape.sh"

claim "A05 nothing is written to a /proc that is not procfs"

BAIT="uid_map gid_map setgroups oom_score_adj loginuid coredump_filter timerslack_ns comm"

bait()
{
	local name

	rm -rf "$W/proc"
	mkdir -p "$W/proc/sys/kernel" "$W/proc/real-proc" "$W/proc/bait/"{attr,ns}
	# Without its own descriptors and group it would not come as far as to write.
	for name in fd cgroup; do
		ln -s "../real-proc/self/$name" "$W/proc/bait/$name"
	done
	for name in $BAIT attr/exec attr/current ns/{ns,mnt,user,pid,net}; do
		: >"$W/proc/bait/$name"
	done
	echo 65534 | tee "$W/proc/sys/kernel/overflowuid" >"$W/proc/sys/kernel/overflowgid"
	ln -s bait "$W/proc/self"
	ln -s bait "$W/proc/thread-self"
	chmod -R a+rwX "$W/proc"
	# Every number that pinfold and its guest could get, while others start processes, too.
	/usr/bin/python3 -I -c 'import os, sys
most = int(open("/proc/sys/kernel/pid_max").read())
last = int(open("/proc/loadavg").read().split()[-1])
for pid in range(last, last + min(most, 32768)):
    os.symlink("bait", f"{sys.argv[1]}/{pid % most}")' "$W/proc"
}

attack()
{
	if [ "$EUID" != 0 ]; then
		skip_mode "only root can replace /proc for a process"
		return
	fi
	bait
	INSIDE_BIND=("$W/proc" /proc)
	inside -- echo RAN
	INSIDE_BIND=()
	checked
	case $RC in
	125) [ -s "$ERR" ] || fell CRASH "refused without a reason" ;;
	0) same "it ran whole" "$(cat "$OUT")" RAN ;;
	*) fell CRASH "status $RC: $(head -c 300 "$ERR")" ;;
	esac
	KIND=WRITE same "bait that was written to" \
		"$(find "$W/proc/bait" -type f -size +0 -printf '%P ')" ""
}

run_case
