#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: clock
#
# The wall clock jumps by an hour while a run goes on, as after a first contact with a time server.
# Whoever keeps deadlines by it ends runs at once, or an hour late. The host's clock is not touched:
# pinfold alone sees the jump.
. "$(dirname "$0")/../lib/escape.sh"

claim "H07 time limits do not follow the wall clock"

# jump SECONDS [OPTION...] -- COMMAND...
jump()
{
	INSIDE_WRAP=("$BIN/jump" 150 "$1")
	shift
	inside --json "$@"
	INSIDE_WRAP=()
	JSON=$OUT
	holds "the jump was made" grep -q '^traced' "$ERR"
	KIND=ESCAPE absent "a timer on the wall clock" "open wall-clock-timer"
}

# said STATUS LEAST_MS MOST_MS: what the document says.
said()
{
	same "status $1 after $2 to $3 ms" \
		"$(json 'd["status"] == a[0] and float(a[1]) <= d["usage"]["wall_ms"] <= float(a[2])' "$@")" true
}

attack()
{
	local step

	attack_build
	install -m 0755 "$ATTACK_HOST" "$BIN/jump"
	INSIDE_SECONDS=90
	for step in 3600 -3600; do
		jump "$step" --time 60s -- bash -c 'mkfifo /tmp/f; read -rt 0.4 <>/tmp/f; exit 5'
		ran 5
		said exited 390 60000
		jump "$step" --time 400ms --grace 100ms -- sh -c 'mkfifo /tmp/f; read x <>/tmp/f'
		ran 124
		said timeout 390 60000
		jump "$step" --time 300ms --grace 200ms -- sh -c 'trap "" TERM; mkfifo /tmp/f; read x <>/tmp/f'
		ran 124
		said timeout 490 60000
	done
}

run_case
