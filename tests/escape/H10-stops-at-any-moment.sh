#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: signals, ref-bwrap
#
# Stop during create, stop after the end, two stops, a stop that meets the time limit: for one run
# these are signals to pinfold. Whatever the moment, it ends, with a status that says so, and
# nothing is left. PINFOLD_TEST_SEED: which moments.
. "$(dirname "$0")/../lib/escape.sh"

claim "H10 stops, at any moment and twice, end the run in a legal state"

SEED=${PINFOLD_TEST_SEED:-$EPOCHSECONDS}
FOREVER='mkfifo /tmp/f; read x <>/tmp/f'

# stops WHAT COUNT ALLOWED HELPER_OPTION... run PINFOLD_OPTION...: signals at random moments; the
# statuses that runs ended with are all in ALLOWED.
stops()
{
	local what=$1 count=$2 allowed=$3 options=() status

	shift 3
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
	[[ "$(tail -1 "$OUT")" != *" 125*"* ]] || diag "$(grep -a '^pinfold: ' "$ERR" | head -5)"
	for status in $(sed -n 's/^runs.* status \(.*\) window.*/\1/p' "$OUT"); do
		holds "$what: status ${status%\**}" eval '[[ " $allowed " = *" ${status%\**} "* ]]'
	done
}

# Several signals to one run whose command is deaf: it is over long before its grace.
twice()
{
	local what=$1 want=$2 begin signal

	shift 2
	inside_start TWICE --time 85s --grace 80s -- sh -c "trap 'echo heard' TERM; echo ready; mkfifo /tmp/f
		while :; do read x <>/tmp/f; done"
	wait_for 5 grep -q ready "$TWICE_OUT"
	begin=${EPOCHREALTIME/[.,]/}
	kill -TERM "$TWICE_PID"
	# The first one asks politely, and that is heard.
	holds "$what: the command hears the first" wait_for 5 grep -q heard "$TWICE_OUT"
	for signal in "$@"; do
		kill "-$signal" "$TWICE_PID" 2>/dev/null
	done
	inside_wait TWICE
	holds "$what: ended with $RC" eval '[[ " $want " = *" $RC "* ]]'
	holds "$what: at once" [ $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) -le 60000 ]
}

attack()
{
	attack_build H-kill.c
	# Before pinfold listens to signals it dies of them like any program, with nothing made yet.
	stops "whole life" 20 "0 143" -k 15 run --dir "$W" -- true
	stops "start" 20 "0 143" -k 15 -m 6000 run -- true
	stops "running" 10 "143" -k 15 -m 40000 run --grace 20ms -- sh -c "trap '' TERM; $FOREVER"
	stops "terminal" 10 "129" -k 1 -m 30000 run --grace 20ms --pty -- sh -c "$FOREVER"
	stops "meets the time limit" 10 "143 124" -k 15 -m 60000 run --time 30ms --grace 10ms -- \
		sh -c "trap '' TERM; $FOREVER"
	twice "two stops" "143" TERM
	twice "five stops" "143" TERM HUP QUIT TERM HUP
}

run_case
