#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of pinfold at random moments of random sequences (kill.py): every workspace is as before or
# as after, and nothing is left (F07 of the attacks). PINFOLD_TEST_KILLS: how many; PINFOLD_TEST_SEED: which.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/workspace.sh"
. "$(dirname "$0")/../lib/oracle.sh"

SEED=${PINFOLD_TEST_SEED:-4}
KILLS=${PINFOLD_TEST_KILLS:-40}

no_mounts()
{
	! grep -q "$M" /proc/self/mountinfo
}

# Rows of what is no longer needed are there until who settles has been there.
none_left()
{
	[ -z "$(ls "$M/home/layers"; ls "$M/home/locks" | grep -E '^[1-9]')" ]
}

checks()
{
	{ idle_cgroups; journal_files dead; } >"$EVIDENCE/left.before"
	echo "# seed $SEED, $KILLS kills; PINFOLD_TEST_SEED and PINFOLD_TEST_KILLS choose others"
	drive kill.py --steps "$KILLS" --seed "$SEED"
	exits 0 "after each of $KILLS kills it is as before or as after"
	pinfold run --name last -- true
	pinfold rm last
	check "no layer is open, dead or without its row" wait_for 40 settled
	check "none is left of workspaces that are gone, and no lock of theirs" wait_for 40 none_left
	check "the database is whole" test "$(sql 'PRAGMA integrity_check')" = ok
	check "no mount is left" no_mounts
	wait_for 3 nothing_left || root_runs_once # what others left, too
	check "nor anything else on the host" wait_for 10 nothing_left
}

run_checks
