#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 2,000 runs in a row (PINFOLD_TEST_RUNS) as root and as an ordinary user leave the host as it was,
# by name: mounts, control groups, entries of the journal, files, devices, interfaces; processes by
# the harness's launcher. What the kernel frees in its own time (dying groups, slabs, namespaces
# without a process) is printed and not judged.
. "$(dirname "$0")/../lib/escape.sh"

claim "2,000 runs in a row leave the host as it was"

RUNS=${PINFOLD_TEST_RUNS:-2000}

# All that a run could leave, one thing a line. Groups and entries of runs that go on are in use.
host_things()
{
	cut -d' ' -f3- /proc/self/mountinfo | sed 's/^/mount /'
	idle_cgroups | sed 's/^/group /'
	journal_files dead | sed 's/^/journal /'
	find "$M/home" "$M/run" "$W" -mindepth 1 -printf 'file %p\n' 2>/dev/null
	find /tmp /var/tmp /dev/shm /run /run/pinfold -maxdepth 1 -name '*sbx*' -printf 'file %p\n' \
		2>/dev/null
	grep -s '' /sys/block/loop*/loop/backing_file | grep -E 'pinfold|sbx' | sed 's/^/loop /'
	sed -n 's/^ *\([^:]*\):.*/interface \1/p' /proc/net/dev
}

host_slabs()
{
	awk '/^(mnt_cache|net_namespace|pid_namespace|user_namespace|cred_jar|kernfs_node_cache) / {
		printf "%s %s  ", $1, $2}' /proc/slabinfo 2>/dev/null
}

nothing_new()
{
	host_things | sort -u >"$EVIDENCE/things.after"
	[ -z "$(comm -13 "$EVIDENCE/things.before" "$EVIDENCE/things.after")" ]
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
	host_things | sort -u >"$EVIDENCE/things.before"
	slabs=$(host_slabs)
	runs 5 0 -- true
	runs 2 0 --dir "$W" --json -- sh -c 'echo x >file; echo y >/work/file; mkdir -p a/b/c
		sh -c "sh -c true &"'
	runs 1 137 -- sh -c 'kill -9 $$'
	runs 1 124 --time 20ms --grace 5ms -- sh -c 'trap "" TERM; mkfifo /tmp/f; read x <>/tmp/f'
	runs 1 127 -- /nonexistent
	checked
	wait_for 10 nothing_new ||
		fell ESCAPE "new on the host: $(comm -13 "$EVIDENCE/things.before" "$EVIDENCE/things.after" |
			head -5 | tr '\n' ' ')"
	diag "$MODE, slabs before: $slabs"
	diag "$MODE, slabs after:  $(host_slabs)"
}

run_case
