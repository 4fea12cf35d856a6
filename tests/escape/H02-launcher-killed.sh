#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: lifeline, ref-bwrap
#
# SIGKILL of the launcher at random moments from its fork to its end. Measured: bubblewrap with
# --die-with-parent leaves processes, runc leaves processes, control groups and state, runsc leaves
# groups and state. Here: no process after 2 s, and after one further run no trace at all.
# PINFOLD_TEST_KILLS and PINFOLD_TEST_SEED: how many (60 in each mode), and which moments.
. "$(dirname "$0")/../lib/escape.sh"

claim "H02 kill -9 of the launcher or of init, at any moment, leaves nothing"

KILLS=${PINFOLD_TEST_KILLS:-60}
SEED=${PINFOLD_TEST_SEED:-$EPOCHSECONDS}

# What dead runs wrote down and nobody has removed yet: entries that are not locked.
stale_entries()
{
	local dir=$M/run/pinfold/live entry

	[ "$MODE" = R ] && dir=/run/pinfold/live
	for entry in "$dir"/*; do
		[ -f "$entry" ] && flock -n "$entry" true && echo "$entry"
	done
}

# Control groups of ours without a process, in any hierarchy.
stale_groups()
{
	local dir

	for dir in /sys/fs/cgroup/pinfold-* /sys/fs/cgroup/*/pinfold-*; do
		[ -d "$dir" ] && [ -z "$(cat "$dir/cgroup.procs" 2>/dev/null)" ] && [ -d "$dir" ] &&
			echo "$dir"
	done
}

nothing_stale()
{
	[ -z "$(stale_entries)$(stale_groups)" ]
}

# kills WHAT PART HELPER_OPTION... -- PINFOLD_OPTION... -- COMMAND...: a share of all kills.
kills()
{
	local what=$1 count=$((KILLS / $2)) options=()

	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	INSIDE_WRAP=("$BIN/H-kill" -n "$count" -s "$SEED" "${options[@]}" --)
	inside "$@"
	INSIDE_WRAP=()
	ran
	diag "$MODE seed $SEED: $what: $(cat "$OUT")"
	holds "$what: most kills found pinfold alive" [ "$(sed 's/.*hit \([0-9]*\).*/\1/' "$OUT")" \
		-ge "$((count / 3))" ]
	wait_for 2 eval '! sandboxes_of_this_case' ||
		fell ESCAPE "$what: processes of dead runs are alive after 2 s"
}

# Every command of this case has its directory in an argument.
sandboxes_of_this_case()
{
	grep -qlsaF "H02-mark-${T##*.}" /proc/[0-9]*/cmdline
}

attack()
{
	local mark=H02-mark-${T##*.}

	INSIDE_SECONDS=$((30 + KILLS))
	attack_build H-kill.c
	# From fork to exit.
	kills "short run" 3 -- -- true
	# A tree that would live on: children that left their session and ignore what can be ignored.
	kills "running tree" 3 -m 40000 -- --dir "$W" --json -- sh -c 'trap "" TERM HUP INT
		for i in 1 2 3; do setsid tail -f /dev/null "$0" 2>/dev/null & done; wait' "${mark/2/''2}"
	kills "terminal" 6 -m 30000 -- --pty -- tail -f /dev/null
	kills "init" 6 -i -m 30000 -- --dir "$W" -- tail -f /dev/null

	# What is written down is removed by whoever runs next.
	inside -- true
	ran
	wait_for 5 nothing_stale || fell ESCAPE "left after the next run: $(stale_entries | head -3) \
$(stale_groups | head -3)"
	checked
	same "files of dead runs" "$(find "$M/home" "$M/run" -type f | head -3)" ""
}

run_case
