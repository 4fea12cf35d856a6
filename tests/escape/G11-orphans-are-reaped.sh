#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# red: pidns
#
# A process whose parent is gone is a zombie until somebody reaps it, and a zombie takes a place
# among the processes: an init that does not reap lets a sandbox fill up, one that is not there
# leaves the host to do it.
. "$(dirname "$0")/../lib/escape.sh"

claim "G11 orphans are reaped inside"

attack()
{
	attack_build
	inside --dir "$BIN" --pids 16 --time 20s -- "$ATTACK"
	ran
	shut adopted-outside orphans-stay places-lost
}

run_case
