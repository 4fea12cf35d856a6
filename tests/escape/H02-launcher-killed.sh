#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: lifeline, journal, ref-bwrap
#
# SIGKILL of the launcher at random moments from its fork to its end. Measured: bubblewrap with
# --die-with-parent leaves processes, runc leaves processes, control groups and state, runsc leaves
# groups and state. Here: no process after 2 s, and after one further run no trace at all.
# PINFOLD_TEST_KILLS: how many kills (60 in each mode); PINFOLD_TEST_SEED: at which moments.
. "$(dirname "$0")/../lib/escape.sh"

claim "H02 kill -9 of the launcher or of init, at any moment, leaves nothing"

KILLS=${PINFOLD_TEST_KILLS:-60}
SEED=${PINFOLD_TEST_SEED:-$EPOCHSECONDS}

# kills WHAT COUNT [HELPER_OPTION...] run [PINFOLD_OPTION...] -- COMMAND...: starts pinfold COUNT times
# and kills it. The harness's launcher, which inherits all orphans, reports who is left behind the
# last kill.
kills()
{
	local what=$1 count=$2 options=()

	shift 2
	while [ "$1" != run ]; do
		options+=("$1")
		shift
	done
	shift
	INSIDE_WRAP=("$BIN/H-kill" -n "$count" -s "$SEED" "${options[@]}" --)
	inside "$@"
	INSIDE_WRAP=()
	ran
	diag "$MODE, seed $SEED, $what: $(tail -1 "$OUT")"
	absent "$what: a run did not end" hung
	holds "$what: the kills find pinfold alive" \
		[ "$(sed -n 's/^runs.* hit \([0-9]*\) .*/\1/p' "$OUT")" -ge "$((count / 5))" ]
}

attack()
{
	INSIDE_SECONDS=$((120 + KILLS)) # one that hangs is told by H-kill
	attack_build H-kill.c
	# From fork to exit; then mostly while it starts.
	kills "whole life" $((KILLS / 6)) run --dir "$W" -- true
	kills "start" $((KILLS / 6)) -m 4000 run --dir "$W" -- true
	# A process tree that would survive: in sessions of its own, ignoring all signals it can.
	kills "running tree" $((KILLS / 6)) -m 40000 run --json -- sh -c 'trap "" TERM HUP INT PIPE
		mkfifo /tmp/f; for i in 1 2 3; do setsid sh -c "read x <>/tmp/f" & done; wait'
	kills "terminal" $((KILLS / 6)) -m 30000 run --pty -- sh -c 'mkfifo /tmp/f; read x <>/tmp/f'
	# At the level without namespaces init is not PID 1: its end does not end the others.
	kills "level landlock" $((KILLS / 6)) -m 40000 run --isolation landlock --limits best-effort -- \
		sh -c 'mkfifo f; for i in 1 2 3; do setsid sh -c "read x <>f" & done; wait'
	# In a daemon it is not the caller's child: tests/daemon/02-kill.sh kills it there.
	[ ${#THROUGH[@]} -gt 0 ] ||
		kills "init" $((KILLS / 6)) -i -m 30000 run --time 1s --grace 10ms --dir "$W" -- \
			sh -c 'mkfifo /tmp/f; read x <>/tmp/f'

	# What dead runs wrote down is removed by whoever runs next; the oracle looks for the rest.
	inside -- true
	ran
	inside --isolation landlock --limits best-effort -- true
	ran
	same "files of dead runs" "$(find "$M/home" "$M/run" -type f ! -name daemon.sock.lock ! -path "$M/home/ledger/*" ! -path "$M/home/api/ledger/*" ! -path "$M/run/pinfold/private" |
		head -3)" ""
}

run_case
