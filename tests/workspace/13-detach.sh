#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exec --detach in a workspace: the command goes on behind the caller, is listed, followed and ended by
# its id, and what it changed is kept when it ends; with a daemon and without.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/workspace.sh"


# detach WORD...: exec --detach. Sets ID. What started it waits for all that it left (tests/lib/launch.c),
# so it is in the background; that pinfold itself does not wait is what the id before the end says.
detach()
{
	call_start JOB exec --detach "$@"
	check "an id is printed" wait_for 10 grep -sqxE 'sbx[a-z2-7]{26}' "$JOB_OUT"
	ID=$(cat "$JOB_OUT")
	# shellcheck disable=SC2153 # JOB_PID is call_start's
	check "and the caller has ended" wait_for 10 has_ended "$JOB_PID"
}

has_ended()
{
	! kill -0 "$1" 2>/dev/null
}

listed_as()
{
	pinfold ps
	grep -q "^$ID  $1" "$OUT"
}

ends()
{
	fresh w
	detach w -- sh -c 'echo first; echo wrong >&2; echo 1 >kept; exit 3'
	check "$1: it ends by itself" wait_for 40 listed_as 'exited 3'
	pinfold logs "$ID"
	prints first "$1: logs prints what it printed"
	check "$1: and its standard error" grep -qx wrong "$ERR"
	pinfold logs --json "$ID"
	doc_is 3 'd["exit_code"]' "$1: logs --json is its result"
	doc_is 2 'd["snapshot"]' "$1: which has its snapshot"
	sh_in w 'cat kept'
	prints 1 "$1: what it wrote is kept"
	pinfold undo w 2
	sh_in w 'cat kept'
	exits 1 "$1: and can be undone"
	pinfold kill "$ID"
	check "$1: one that is over is forgotten" test "$RC" = 0
	pinfold logs "$ID"
	check "$1: and then unknown" test "$RC" = 125
}

lives()
{
	fresh w
	detach w -- sh -c 'echo begun; trap "echo asked; exit 7" TERM; i=0; while [ $i -lt 500 ]; do sleep 0.02; i=$((i + 1)); done'
	check "it runs" listed_as running
	ws w true
	refuses busy w "and the workspace is busy meanwhile"
	pinfold rm w
	refuses busy w "nor can it be removed"
	check "begun" wait_for 10 has_begun
	pinfold kill --signal TERM "$ID"
	exits 0 "it is sent a signal"
	pinfold attach "$ID"
	exits 7 "attach ends with it, with its status"
	pinfold logs --follow "$ID"
	prints $'begun\nasked' "and all of it is in the logs"
	detach w -- sh -c 'echo x >half; sleep 60'
	check "the second runs" listed_as running
	pinfold kill "$ID"
	exits 0 "it is killed"
	ws w true
	exits 0 "and when kill returns the workspace is free"
	check "killed is what it is listed as" listed_as killed
	detach --time 100ms w -- sleep 60
	check "its time limit is kept" wait_for 40 listed_as timeout
}

has_begun()
{
	pinfold logs "$ID"
	grep -qx begun "$OUT"
}

minder_killed()
{
	local pid

	fresh w
	detach w -- sh -c 'echo lost >lost; exec sleep 61'
	pid=$(pgrep -f "^[^ ]+ exec --detach w -- sh -c echo lost" | head -n 1)
	check "somebody minds it" test -n "$pid"
	kill -9 "$pid"
	check "who minds it is killed: so is it" wait_for 40 listed_as killed
	wait_for 40 free w
	sh_in w 'cat lost'
	exits 1 "and the workspace is as it was before"
}

free()
{
	ws "$1" true
	[ "$RC" = 0 ]
}

refusals()
{
	fresh w
	pinfold exec --detach nosuch -- true
	refuses not_found nosuch "a workspace that is not there"
	pinfold exec --detach w -- /nosuch
	check "a command that is not there" test "$RC" = 127
	pinfold exec --detach w -- /etc/passwd
	check "one that cannot be executed" test "$RC" = 126
	pinfold exec --detach --pty w -- true
	refuses unsupported pty "a terminal"
	pinfold ps
	check "and nothing of them is listed" test "$(grep -cE '/nosuch|passwd' "$OUT")" = 0
	pinfold run --detach --name made -- sh -c 'echo y >x'
	exits 0 "run --name --detach"
	wait_for 40 free made
	sh_in made 'cat x'
	prints y "makes a workspace"
}

artifacts()
{
	pinfold run --json --output 10 -- seq 1000
	local run
	run=$(doc 'd["id"]')
	pinfold logs "$run"
	check "logs RUN prints what did not fit into the result" test "$(md5sum <"$OUT")" = "$(seq 1000 | md5sum)"
	pinfold logs runaaaaaaaaaaaaaaaaaaaaaaaaaa
	refuses not_found output "and says so where nothing is kept"
}

checks()
{
	ends "no daemon"
	lives
	minder_killed
	refusals
	artifacts
	daemon_start
	ends "a daemon"
	daemon_stop
	pinfold ps
	# shellcheck disable=SC2046 # one word each
	pinfold kill $(grep -o '^sbx[a-z2-7]*' "$OUT")
	exits 0 "all that are over can be forgotten"
}

run_checks
