#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: kill-all, pidns+kill-all
#
# Who kills a tree by walking it loses against processes that fork faster than one can walk. Rounds
# of a storm of forks that is ended by its time limit, by its caller and by the death of its caller;
# and at level landlock, where no pid namespace and, for a user, no control group ends it.
. "$(dirname "$0")/../lib/escape.sh"

claim "H05 no process survives by forking while all are killed"

ROUNDS=${PINFOLD_TEST_ROUNDS:-8}

# storm WHAT GRACE_MS SECONDS STATUS HELPER_OPTION... -- PINFOLD_OPTION...: rounds of a storm that
# would be over by itself after a minute; who is alive when the grace is over was not ended.
storm()
{
	local what=$1 seconds=$3 status=$4 options=() most

	INSIDE_GRACE_MS=$2
	shift 4
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	INSIDE_WRAP=("$BIN/H-kill" -n "$ROUNDS" -s "$EPOCHSECONDS" "${options[@]}" --)
	if [ "$1" = landlock ]; then
		# The program is not below /usr: it comes as input. Nobody but itself limits it: more
		# than some dozens would leave no processor for whoever has to end it.
		shift
		most=$(($(ps -eLo uid= | grep -cw "$USER_ID") + 40))
		inside --isolation landlock --limits best-effort --stdin "$ATTACK_HOST" "$@" -- \
			sh -c "cat >storm; chmod +x storm; exec ./storm $seconds $most"
	else
		inside --dir "$BIN" --pids 32 "$@" -- "$ATTACK" "$seconds"
	fi
	INSIDE_WRAP=()
	ran
	diag "$MODE, $what: $(tail -1 "$OUT")"
	same "$what: rounds that ended so" "$(sed -n 's/^runs.* status \([0-9*]*\) .*/\1/p' "$OUT")" \
		"$status*$ROUNDS"
}

attack()
{
	INSIDE_SECONDS=$((120 + ROUNDS)) # one that hangs is told by H-kill
	attack_build H-kill.c
	attack_build
	storm "time limit" 0 60 124 -k 0 -- --time 60ms --grace 1ms
	storm "caller" 0 60 143 -k 15 -m 80000 -- --grace 1ms
	storm "death of the caller" 20000 60 137 -k 9 -m 80000 --
	inside --isolation landlock --limits best-effort -- true
	if [ "$RC" = 0 ]; then
		storm "landlock, time limit" 0 60 124 -k 0 -- landlock --time 100ms --grace 1ms
		storm "landlock, caller" 0 60 143 -k 15 -m 120000 -- landlock --grace 1ms
		storm "landlock, death of the caller" 20000 60 137 -k 9 -m 120000 -- landlock
	else
		holds "a level that this kernel cannot give is refused" grep -q 'Landlock ABI' "$ERR"
	fi
	# Cleans up after those that were killed.
	inside --no-daemon -- true
	ran
}

run_case
