#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 2,000 runs in a row (PINFOLD_TEST_RUNS) as root and as an ordinary user leave the host as it was,
# counted: mounts, control groups, entries of the journal, files, namespaces. What the kernel frees in
# its own time (dying groups, slabs) is printed and not judged. For a machine that does nothing else.
. "$(dirname "$0")/../lib/escape.sh"

claim "2,000 runs in a row leave the host as it was"

RUNS=${PINFOLD_TEST_RUNS:-2000}

# What must be the same before and after, one count a line.
host_counts()
{
	echo "mounts $(wc -l </proc/self/mountinfo)"
	echo "namespaces $(find /proc/[0-9]*/ns/ -type l -printf '%l\n' 2>/dev/null | sort -u | wc -l)"
	echo "groups $(find /sys/fs/cgroup -type d -name 'pinfold-*' 2>/dev/null | wc -l)"
	echo "journal $(find /run/pinfold "$M/run" -type f 2>/dev/null | wc -l)"
	echo "data $(find "$M/home" -mindepth 1 2>/dev/null | wc -l)"
	echo "workspace $(find "$W" -mindepth 1 2>/dev/null | wc -l)"
	echo "elsewhere $(find /tmp /var/tmp /dev/shm /run -maxdepth 1 -name '*sbx*' 2>/dev/null | wc -l)"
	echo "loops $(find /sys/block -maxdepth 1 -name 'loop*' -exec test -e '{}/loop/backing_file' \; -print | wc -l)"
	echo "interfaces $(grep -c : /proc/net/dev)"
}

host_slabs()
{
	awk '/^(mnt_cache|net_namespace|pid_namespace|user_namespace|cred_jar|kernfs_node_cache) / {
		printf "%s %s  ", $1, $2}' /proc/slabinfo 2>/dev/null
}

as_before()
{
	host_counts >"$EVIDENCE/counts.after"
	cmp -s "$EVIDENCE/counts.before" "$EVIDENCE/counts.after"
}

# runs SHARE STATUS [OPTION...] -- COMMAND...: a tenth of all runs, SHARE times.
runs()
{
	local count=$((RUNS * $1 / 10)) status=$2 begin=${EPOCHREALTIME/[.,]/}

	shift 2
	INSIDE_WRAP=("$BIN/H-kill" -n "$count" -k 0 --)
	inside "$@"
	INSIDE_WRAP=()
	ran
	same "all of $count ended with $status: $*" "$(sed -n 's/^runs.* status \(.*\) window.*/\1/p' "$OUT")" \
		"$status*$count"
	diag "$MODE: $count runs, $(((${EPOCHREALTIME/[.,]/} - begin) / count)) us each: $*"
}

attack()
{
	local slabs

	INSIDE_SECONDS=1800
	attack_build "$PROJECT_DIR/tests/escape/H-kill.c"
	echo kept >"$W/kept"
	inside -- true
	ran
	host_counts >"$EVIDENCE/counts.before"
	slabs=$(host_slabs)
	runs 5 0 -- true
	runs 2 0 --dir "$W" --json -- sh -c 'echo x >file; echo y >/work/file; mkdir -p a/b/c; sh -c "sh -c true &"'
	runs 1 137 -- sh -c 'kill -9 $$'
	runs 1 124 --time 20ms --grace 5ms -- sh -c 'trap "" TERM; mkfifo /tmp/f; read x <>/tmp/f'
	runs 1 127 -- /nonexistent
	checked
	wait_for 10 as_before ||
		fell ESCAPE "the host is not as it was: $(diff "$EVIDENCE/counts.before" "$EVIDENCE/counts.after" |
			grep '^[<>]' | tr '\n' ' ')"
	diag "$MODE, slabs before: $slabs"
	diag "$MODE, slabs after:  $(host_slabs)"
	diag "$MODE: $(tr '\n' ' ' <"$EVIDENCE/counts.after")"
}

run_case
